package cli

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/runquery"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/workspace"
	"github.com/flowrun/flowrun/internal/cli/view"
	"github.com/flowrun/flowrun/internal/web"
)

// runLooker tells of runs what completes a word.
type runLooker interface {
	list(filter runs.Filter) []runs.Run // no query
	steps(id string) (paths []runs.Step, whole bool)
	outputs(id string) []string
	secrets() []string
	tokens() []word
}

// lookAtRuns asks the owner of the store, or reads the store where nobody owns it.
func (a *app) lookAtRuns(ctx context.Context, at place) (looker runLooker, end func()) {
	client, _, err := web.Dial(ctx, at.stateDir)
	var gone *web.GoneError
	switch {
	case err == nil:
		return &askedRuns{ctx, client}, client.Close
	case errors.As(err, &gone) && !gone.Closing() && ctx.Err() == nil:
		return &restingRuns{a.engineConfig(at), at.stateDir}, func() {}
	}
	return noRuns{}, func() {}
}

// noRuns is what nothing is known of.
type noRuns struct{}

func (noRuns) list(runs.Filter) []runs.Run      { return nil }
func (noRuns) steps(string) ([]runs.Step, bool) { return nil, false }
func (noRuns) outputs(string) []string          { return nil }
func (noRuns) secrets() []string                { return nil }
func (noRuns) tokens() []word                   { return nil }

// askedRuns are those of an owner.
type askedRuns struct {
	ctx    context.Context
	client *web.Client
}

func (r *askedRuns) list(filter runs.Filter) []runs.Run {
	page, err := r.client.Runs(r.ctx, filter)
	if err != nil {
		return nil
	}
	return page.Items
}

func (r *askedRuns) steps(id string) (steps []runs.Step, whole bool) {
	steps, err := r.client.StepsInShort(r.ctx, id)
	return steps, err == nil
}

func (r *askedRuns) outputs(id string) []string {
	result, err := r.client.ResultOpen(r.ctx, id)
	if err != nil {
		return nil
	}
	return slices.Sorted(maps.Keys(result.Outputs))
}

func (r *askedRuns) secrets() []string {
	names, err := r.client.SecretNames(r.ctx)
	if err != nil {
		return nil
	}
	return names
}

func (r *askedRuns) tokens() (words []word) {
	list, err := r.client.Tokens(r.ctx)
	if err != nil {
		return nil
	}
	for _, token := range list {
		words = append(words, word{token.Name, token.Scope})
	}
	return words
}

// restingRuns are those of a store that nobody has open.
type restingRuns struct {
	config   workspace.Config
	stateDir string
}

func (r *restingRuns) list(filter runs.Filter) []runs.Run {
	return engine.RestingRuns(r.config, r.stateDir, filter)
}

func (r *restingRuns) steps(id string) (steps []runs.Step, whole bool) {
	paths, _ := engine.RestingRun(r.config, r.stateDir, id)
	for _, path := range paths {
		steps = append(steps, runs.Step{Path: path})
	}
	return steps, false
}

func (r *restingRuns) outputs(id string) []string {
	_, outputs := engine.RestingRun(r.config, r.stateDir, id)
	return outputs
}

func (r *restingRuns) secrets() []string { return engine.RestingSecrets(r.config, r.stateDir) }
func (r *restingRuns) tokens() []word    { return nil }

// listedRuns is how many runs of each kind complete a word.
const listedRuns = 50

// runsFor are the runs that a command takes, the newest first, behind the words that name
// one.
func runsFor(fit runFit, fits func(*runs.Run) bool) noun {
	return func(q *question) (words []word) {
		var found []runs.Run
		letters := ""
		if runquery.IsPrefix(q.typed) {
			letters = q.typed
		}
		for _, filter := range fit.filters {
			filter.Query, filter.Limit, filter.IDPrefix = "", listedRuns, letters
			found = append(found, q.runs().list(filter)...)
		}
		slices.SortFunc(found, func(a, b runs.Run) int { return cmp.Compare(b.ID, a.ID) })
		found = slices.CompactFunc(found, func(a, b runs.Run) bool { return a.ID == b.ID })
		if fits != nil {
			found = slices.DeleteFunc(found, func(run runs.Run) bool { return !fits(&run) })
		}
		found = found[:min(len(found), listedRuns)]
		words = wordsFor(found)
		for i := range found {
			words = append(words, word{found[i].ID, strings.Join(view.RunCells(found[i], q.app.sys.Now())[1:], ", ")})
		}
		return words
	}
}

// wordsFor are the words that name one of the runs.
func wordsFor(found []runs.Run) (words []word) {
	names := map[string]func(run *runs.Run) bool{refLast: func(*runs.Run) bool { return true }, refFailed: hasFailed, refWaiting: waitsOrAsks}
	for _, w := range refWords {
		if slices.ContainsFunc(found, func(run runs.Run) bool { return names[w.word](&run) }) {
			words = append(words, word{w.word, w.means})
		}
	}
	return words
}

func waitsOrAsks(run *runs.Run) bool {
	return run.Asks > 0 || run.Status == runs.RunPaused || run.Status == runs.RunWaiting
}

// What of a run's row says that a command takes it.
func asksPerson(run *runs.Run) bool { return run.Asks > 0 }

func unknownOutcome(run *runs.Run) bool { return run.Paused == runs.PausedUnknownOutcome }

func canResume(run *runs.Run) bool {
	switch run.Status {
	case runs.RunQueued, runs.RunRunning, runs.RunWaiting:
		return run.Undriven
	}
	return true
}

func hasFailed(run *runs.Run) bool {
	return run.Status == runs.RunFailed || run.Status == runs.RunTimedOut
}

// run is the run that the words before name.
func (q *question) run() (run runs.Run, ok bool) {
	text, workflow := argument(q.args, 0), ""
	if flag := q.command.Flags().Lookup("workflow"); flag != nil && flag.Changed {
		workflow = flag.Value.String()
		if !isRefWord(text) {
			text = ""
		}
	}
	list := func(filter runs.Filter, fits func(*runs.Run) bool) (runs.Run, bool) {
		filter.Workflow = workflow
		for _, run := range q.runs().list(filter) {
			if fits(&run) {
				return run, true
			}
		}
		return runs.Run{}, false
	}
	top := func(run *runs.Run) bool { return run.Parent == nil || workflow != "" }
	switch letters := strings.ToLower(text); {
	case text == "" && workflow != "", text == refLast:
		return list(runs.Filter{Limit: listedRuns}, top)
	case text == refFailed:
		failed, ok := list(runs.Filter{Status: runs.RunFailed, Limit: listedRuns}, top)
		late, also := list(runs.Filter{Status: runs.RunTimedOut, Limit: listedRuns}, top)
		if also && late.ID > failed.ID {
			return late, true
		}
		return failed, ok
	case text == refWaiting:
		return list(runs.Filter{Attention: true, Limit: listedRuns}, func(run *runs.Run) bool { return run.Asks > 0 || run.Status == runs.RunPaused })
	case runquery.IsSuffix(letters):
		for _, filter := range []runs.Filter{{IDPrefix: letters, Limit: 2}, {IDSuffix: letters, Limit: 2}} {
			if filter.IDPrefix != "" && !runquery.IsPrefix(letters) {
				continue
			}
			if found := q.runs().list(filter); len(found) > 0 {
				return found[0], len(found) == 1
			}
		}
	}
	return run, false
}

// stepsOfRun are the steps of the run before it.
func stepsOfRun(q *question) []word { return q.steps(nil) }

// stepsThat are the steps of the run before it that a person must do something about: those
// that are known to be.
func stepsThat(needs ...runs.Need) noun {
	return func(q *question) []word { return q.steps(needs) }
}

func (q *question) steps(needs []runs.Need) (words []word) {
	run, ok := q.run()
	if !ok {
		return nil
	}
	steps, whole := q.runs().steps(run.ID)
	if needs != nil && !whole {
		return nil
	}
	for _, step := range steps {
		if needs == nil || slices.Contains(needs, step.Needs()) {
			words = append(words, word{step.Path, strings.Trim(string(step.Status)+", "+step.Uses, ", ")})
		}
	}
	return words
}

// outputsOfRun are the names of the outputs of the run before it.
func outputsOfRun(q *question) (words []word) {
	run, ok := q.run()
	if !ok {
		return nil
	}
	for _, name := range q.runs().outputs(run.ID) {
		words = append(words, word{name, "output of " + run.Workflow})
	}
	return words
}
