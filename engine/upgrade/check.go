package upgrade

import (
	"context"
	"fmt"
	"slices"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/pluginhost"
	"github.com/flowrun/flowrun/engine/workspace"
)

// Check compares the plugin of a project as it is now with what it would be, and says for
// each change whom it hits. Both are the same project but for the plugin.
//
// Whether something works is asked of the checker itself: each workflow, test, connection
// and open run is checked as it would be with the next revision, and what breaks is then
// checked once with each single change, which says whose doing it is.
func Check(ctx context.Context, now, next *workspace.Workspace, plugin string, material Material) (*Report, error) {
	was, err := now.Describe(plugin)
	if err != nil {
		return nil, fmt.Errorf("as it is now: %w", err)
	}
	is, err := next.Describe(plugin)
	if err != nil {
		return nil, fmt.Errorf("as it would be: %w", err)
	}
	was, is = now.WholeDescription(was), next.WholeDescription(is)
	changes, err := Compare(was, is)
	if err != nil {
		return nil, err
	}
	c := &checker{plugin: plugin, material: material}
	t := trial{checker: c, before: map[int]look{}, units: c.units()}
	t.run(ctx, now, next)
	for i := range changes {
		t.blame(ctx, now, was, &changes[i])
		t.behaviour(&changes[i])
	}
	if rest := t.unexplained(changes); len(rest) > 0 {
		changes = append(changes, Change{Rule: "together", Message: "several changes together, or what the plugin itself checks", Hits: rest})
	}
	wants, err := c.wants(now, next)
	if err != nil {
		return nil, err
	}
	r := &Report{
		Plugin: plugin, From: Revision{Version: was.Version, Digest: was.Digest}, To: Revision{Version: is.Version, Digest: is.Digest}, Changes: []Change{}, Others: []Change{},
		Looked: Looked{Workflows: len(material.Workflows), Tests: len(material.Tests), Runs: len(material.Runs)},
	}
	for _, change := range append(changes, wants...) {
		change.Breaks = slices.ContainsFunc(change.Hits, func(h Hit) bool { return h.Breaks })
		r.Breaks = r.Breaks || change.Breaks
		if len(change.Hits) > 0 {
			r.Changes = append(r.Changes, change)
			continue
		}
		change.Hits = []Hit{}
		r.Others = append(r.Others, change)
	}
	return r, nil
}

// trial is the project with the next revision, beside what it is now.
type trial struct {
	*checker
	units  []unit
	before map[int]look // by unit
	broken []int        // units with hits that they do not have now
	fresh  []Hit
}

// run checks all units with both revisions.
func (t *trial) run(ctx context.Context, now, next *workspace.Workspace) {
	told := map[string]bool{}
	for i, u := range t.units {
		t.before[i] = t.look(ctx, now, u)
		hits := t.since(i, t.look(ctx, next, u))
		if len(hits) == 0 {
			continue
		}
		t.broken = append(t.broken, i)
		for _, hit := range hits {
			if !told[hit.key()] {
				t.fresh = append(t.fresh, hit)
			}
			told[hit.key()] = true
		}
	}
}

// since returns the hits of a unit that it does not have now.
func (t *trial) since(i int, after look) []Hit {
	before := map[string]bool{}
	for _, hit := range t.before[i].hits {
		before[hit.key()] = true
	}
	return slices.DeleteFunc(after.hits, func(h Hit) bool { return before[h.key()] })
}

// blame makes one change alone and looks at what breaks with the whole of them.
func (t *trial) blame(ctx context.Context, now *workspace.Workspace, was *pluginhost.Description, change *Change) {
	if change.make == nil || len(t.broken) == 0 {
		return
	}
	hybrid := *was
	change.make(&hybrid)
	project := now.TrialOf(&hybrid)
	told := map[string]bool{}
	for _, i := range t.broken {
		if change.Action != "" && !t.mayUse(i, change.Action) {
			continue
		}
		for _, hit := range t.since(i, t.look(ctx, project, t.units[i])) {
			if !told[hit.key()] {
				change.Hits = append(change.Hits, hit)
			}
			told[hit.key()] = true
		}
	}
}

// mayUse reports whether a unit uses an action, as far as its plan tells.
func (t *trial) mayUse(i int, action string) bool {
	workflow := t.before[i].plan
	if workflow == nil {
		return t.units[i].kind == HitTest || t.units[i].kind == HitWorkflow
	}
	used := false
	workspace.EachWorkflow(workflow, func(w *plan.Workflow) { used = used || w.Actions[action] != nil })
	return used
}

// behaviour adds the steps that pass as they are, and act otherwise.
func (t *trial) behaviour(change *Change) {
	if change.uses == nil {
		return
	}
	for i, u := range t.units {
		workflow := t.before[i].plan
		if workflow == nil {
			continue
		}
		usesOf(workflow, change.Action, func(top string, step plan.Step) {
			if !change.uses(stepInput{with: step.With, timeout: step.Timeout}) || u.run != nil && u.run.Done(top) {
				return
			}
			hit := Hit{
				Kind: HitWorkflow, Pos: diag.Pos{File: workflow.File, Line: step.Pos.Line, Column: step.Pos.Column},
				Message: "step `" + step.ID + "` uses it", Workflow: workflow.Name, Step: step.ID, Breaks: change.hard,
			}
			if u.run != nil {
				hit = ofRun(hit, u.run, step.ID)
			}
			change.Hits = append(change.Hits, hit)
		})
	}
}

// unexplained are the hits of the whole at places that no single change hits.
func (t *trial) unexplained(changes []Change) []Hit {
	place := func(h Hit) string { return h.Pos.String() + " " + h.Run }
	explained := map[string]bool{}
	for _, change := range changes {
		for _, hit := range change.Hits {
			explained[place(hit)] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(t.fresh), func(h Hit) bool { return explained[place(h)] })
}

// wants are what the next revision asks for and this one does not. What flowrun.yaml does
// not grant yet is for a person to decide: until then calls may fail that went before.
func (c *checker) wants(now, next *workspace.Workspace) ([]Change, error) {
	before, _, err := now.PluginGrants(c.plugin)
	if err != nil {
		return nil, err
	}
	after, _, err := next.PluginGrants(c.plugin)
	if err != nil {
		return nil, err
	}
	more := after.Without(before)
	if more.Empty() {
		return nil, nil
	}
	change := Change{Rule: "wants", Message: "it asks for " + more.String()}
	if missing := next.Lacks(c.plugin, more); !missing.Empty() {
		hit := Hit{
			Kind: HitProject, Message: "flowrun.yaml does not grant it " + missing.String() + ": it would run without", Breaks: true,
			Hint: diag.Sayf("take it over and grant it: %s, then %s", diag.Command{"plugins", "update", c.plugin}, diag.Command{"plugins", "grants", c.plugin}),
		}
		for _, plugin := range next.Declared().Plugins {
			if plugin.Name == c.plugin {
				hit.Pos = plugin.Pos
			}
		}
		change.Hits = append(change.Hits, hit)
	}
	return []Change{change}, nil
}
