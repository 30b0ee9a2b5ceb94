package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/runquery"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/internal/cli/view"
	"github.com/flowrun/flowrun/internal/web"
)

// maxCandidates is how many runs an error lists that may be meant.
const maxCandidates = 10

// findRun finds the run that a reference names. It asks nothing for a whole id.
func (a *app) findRun(ctx context.Context, c *web.Client, run *runRef) (err error) {
	switch letters := strings.ToLower(run.text); {
	case run.id != "":
	case web.ValidRunID(letters):
		run.id = letters
	case run.text == "" && run.workflow == "":
		return a.findFitting(ctx, c, run)
	case run.text == "", isRefWord(run.text):
		return a.findByWord(ctx, c, run)
	case !runquery.IsSuffix(letters):
		return noSuchRef(run.text)
	default:
		return a.findByLetters(ctx, c, run, letters)
	}
	return nil
}

// findAll finds all runs of a command before it does anything with one.
func (a *app) findAll(ctx context.Context, c *web.Client, list []*runRef) (ids []string, err error) {
	for _, run := range list {
		if err := a.findRun(ctx, c, run); err != nil {
			return nil, err
		}
		ids = append(ids, run.id)
	}
	return ids, nil
}

// findByLetters finds the run whose id begins so, else the one whose id ends so.
func (a *app) findByLetters(ctx context.Context, c *web.Client, run *runRef, letters string) error {
	for _, filter := range []runs.Filter{{IDPrefix: letters}, {IDSuffix: letters}} {
		if filter.IDPrefix > "7zzz" { // no id begins so
			continue
		}
		found, err := newest(ctx, c, maxCandidates+1, filter)
		switch {
		case err != nil:
			return err
		case len(found) == 1:
			run.id = found[0].ID
			return nil
		case len(found) > 1:
			return a.ambiguous(run, fmt.Sprintf("%q may be one of several runs", run.text), found)
		}
	}
	return a.noneOf(fmt.Errorf("there is no run %q: no id begins or ends so", run.text), runs.Filter{IDPrefix: letters}, runs.Filter{IDSuffix: letters})
}

// findByWord finds the run that a word names, or the newest one of a workflow, and says
// which one it is.
func (a *app) findByWord(ctx context.Context, c *web.Client, run *runRef) error {
	found, err := newestByWord(ctx, c, run.text, run.workflow)
	if err != nil {
		return err
	}
	if found == nil {
		what := map[string]string{refFailed: "no run has failed", refWaiting: "no run waits for a person"}[run.text]
		what = cmp.Or(what, "there is no run yet")
		if run.workflow != "" {
			what = fmt.Sprintf("workflow %q has no such run", run.workflow)
		}
		return a.noneOf(errors.New(what), runs.Filter{Workflow: run.workflow})
	}
	run.id = found.ID
	a.noteRun(found)
	return nil
}

func newestByWord(ctx context.Context, c *web.Client, word, workflow string) (*runs.Run, error) {
	switch word {
	case refFailed:
		return first(newest(ctx, c, 1, of(workflow, withStatus(topLevel, runs.RunFailed, runs.RunTimedOut))...))
	case refWaiting:
		return newestWaiting(ctx, c, workflow)
	case refLast:
		if workflow == "" {
			return first(newest(ctx, c, 1, runs.Filter{Query: topLevel}))
		}
	}
	return first(newest(ctx, c, 1, runs.Filter{Workflow: workflow}))
}

// mostWaiting is how many waiting runs are looked at for one that waits for a signal.
const mostWaiting = 20

// newestWaiting is the newest run that asks a person or is paused, or the newest one of
// those that wait for a signal.
func newestWaiting(ctx context.Context, c *web.Client, workflow string) (*runs.Run, error) {
	asks, err := first(newest(ctx, c, 1, runs.Filter{Workflow: workflow, Attention: true, Query: `asks > 0 || status == "paused"`}))
	if err != nil {
		return nil, err
	}
	waiting, err := newest(ctx, c, mostWaiting, runs.Filter{Workflow: workflow, Status: runs.RunWaiting})
	for i := range waiting {
		if err != nil || asks != nil && asks.ID >= waiting[i].ID {
			break
		}
		var result *runs.Result
		if result, err = c.ResultOpen(ctx, waiting[i].ID); err == nil && waitsForPerson(result) {
			return &waiting[i], nil
		}
	}
	return asks, err
}

func waitsForPerson(result *runs.Result) bool {
	for _, step := range result.Steps {
		if step.Run == "" && step.ForPerson() {
			return true
		}
	}
	return false
}

// of keeps filters to a workflow.
func of(workflow string, filters []runs.Filter) []runs.Filter {
	kept := slices.Clone(filters)
	for i := range kept {
		kept[i].Workflow = workflow
	}
	return kept
}

// newest are the newest of the runs that any of the filters selects.
func newest(ctx context.Context, c *web.Client, limit int, filters ...runs.Filter) (found []runs.Run, err error) {
	for _, filter := range filters {
		filter.Limit = limit
		page, err := fullPage(ctx, c, filter)
		if err != nil {
			return nil, err
		}
		found = append(found, page.Items...)
	}
	slices.SortFunc(found, func(a, b runs.Run) int { return cmp.Compare(b.ID, a.ID) })
	return found[:min(len(found), limit)], nil
}

func first(found []runs.Run, err error) (*runs.Run, error) {
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return &found[0], nil
}

// findFitting takes the newest run that fits the command, and says which one it is. What
// acts on a run takes it only where it is the only one.
func (a *app) findFitting(ctx context.Context, c *web.Client, run *runRef) error {
	found, err := newest(ctx, c, maxCandidates+1, run.fit.filters...)
	switch {
	case err != nil:
		return err
	case len(found) == 0:
		return a.noneOf(errors.New(strings.TrimSpace("there is no run "+run.fit.of)), run.fit.filters...)
	case run.fit.acts && len(found) > 1:
		return a.ambiguous(run, strings.TrimSpace("name the run: there is more than one "+run.fit.of), found)
	}
	run.id = found[0].ID
	a.noteRun(&found[0])
	return nil
}

// noteRun says which run is taken.
func (a *app) noteRun(run *runs.Run) {
	a.note("run %s: %s, %s, %s", run.ID, run.Workflow, view.RunStatus(*run), view.Age(a.sys.Now(), run.StartedAt))
}

// ambiguous lists the runs that may be meant, and says how one of them is named.
func (a *app) ambiguous(run *runRef, why string, found []runs.Run) error {
	var text strings.Builder
	text.WriteString(why + ":\n")
	table := view.Table{Indent: "  "}
	for i := range found[:min(len(found), maxCandidates)] {
		table.Add(view.RunCells(found[i], a.sys.Now())...)
	}
	table.Write(&text)
	if len(found) > maxCandidates {
		text.WriteString("  … and more\n")
	}
	id := found[0].ID
	hint := fmt.Sprintf("take a whole id, or its ending: `%s`", a.commandText(run.again(shortest(id, found))...))
	return usageError(errors.New(strings.TrimRight(text.String(), "\n")), hint)
}

// shortest is the shortest ending of an id, of some letters more than the least, that no
// other one of the runs has.
func shortest(id string, among []runs.Run) string {
	for letters := 6; letters < len(id); letters++ {
		ending, n := id[len(id)-letters:], 0
		for _, run := range among {
			if strings.HasSuffix(run.ID, ending) {
				n++
			}
		}
		if n == 1 {
			return ending
		}
	}
	return id
}

// named is how a reference is told of in an error.
func (r *runRef) named() string { return cmp.Or(r.id, r.text) }

// noRunYet says that the run is not there where nothing has run yet.
func (a *app) noRunYet(run *runRef, err error) error {
	if !errors.Is(err, errNoStore) {
		return err
	}
	text, looked := "there is no run: nothing has run here yet", []runs.Filter{{Workflow: run.workflow}}
	switch named := run.named(); {
	case web.ValidRunID(named):
		text, looked = fmt.Sprintf("there is no run %q: nothing has run here yet", named), nil
	case named != "" && !isRefWord(named):
		text, looked = fmt.Sprintf("there is no run %q: nothing has run here yet", named), nil
		if runquery.IsSuffix(strings.ToLower(named)) {
			looked = []runs.Filter{{IDSuffix: strings.ToLower(named)}}
		}
	}
	return &codedError{code: exitNotFound, err: errors.New(text), hint: "`" + a.commandText("config", "paths") + "` shows where runs are looked for", looked: looked}
}

// noneOf says that no run is there that the filters select, or a query of theirs.
func (a *app) noneOf(err error, looked ...runs.Filter) error {
	kept := slices.Clone(looked)
	for i := range kept {
		kept[i].Query = ""
	}
	return &codedError{code: exitNotFound, err: err, hint: "`" + a.commandText("runs") + "` lists the runs", looked: kept}
}

// stepChoices are steps that may be meant.
func stepChoices(steps []runs.Step) string {
	paths := texts(steps, func(step runs.Step) string { return "`" + step.Path + "`" })
	if len(paths) > maxCandidates {
		paths = append(paths[:maxCandidates], diag.Count(len(steps)-maxCandidates, "more step"))
	}
	return strings.Join(paths, ", ")
}
