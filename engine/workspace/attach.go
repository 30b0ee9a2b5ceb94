package workspace

import (
	"maps"
	"slices"
	"time"

	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/pluginhost"
)

// NoTimeout is the timeout of what has none: a person may look at it in a debugger.
const NoTimeout = 10 * 365 * 24 * time.Hour

// attach lets the processes that a person started take the place of their plugins' files,
// of which nothing is held against the lock then. A plugin that the project does not have
// is one more.
func (p *Workspace) attach(sources []pluginhost.Source) []pluginhost.Source {
	for _, name := range slices.Sorted(maps.Keys(p.config.Attach)) {
		at := slices.IndexFunc(sources, func(source pluginhost.Source) bool { return source.Name == name })
		if at < 0 {
			sources = append(sources, pluginhost.Source{Name: name})
			at = len(sources) - 1
		}
		sources[at].Attach, sources[at].Locked, sources[at].Refused = p.config.Attach[name], "", nil
	}
	return sources
}

// Untimed reports whether calls of a plugin have no timeout.
func (p *Workspace) Untimed(plugin string) bool {
	return p.config.Attach[plugin] != "" && !p.config.AttachTimeouts
}

// giveTime takes the timeouts of steps of attached plugins away, and that of a workflow
// which has such a step. It is a part of the plan: a run keeps it.
func (p *Workspace) giveTime(workflow *plan.Workflow) {
	if len(p.config.Attach) == 0 || p.config.AttachTimeouts {
		return
	}
	EachWorkflow(workflow, func(w *plan.Workflow) {
		attached := false
		for _, list := range [][]plan.Step{w.Steps, w.OnSuccess, w.OnFailure, w.Finally} {
			attached = p.giveSteps(w, list) || attached
		}
		if attached {
			w.Timeout = 0
		}
	})
	if used := pluginsOf(workflow); slices.ContainsFunc(used, p.Untimed) { // a sub-workflow's step holds up its caller
		workflow.Timeout = 0
	}
}

func (p *Workspace) giveSteps(w *plan.Workflow, steps []plan.Step) (attached bool) {
	for i := range steps {
		step := &steps[i]
		inside := step.Loop != nil && p.giveSteps(w, step.Loop.Steps)
		if sub := w.Workflows[step.Workflow]; step.Workflow != "" && sub != nil {
			inside = slices.ContainsFunc(pluginsOf(sub), p.Untimed)
		}
		if action := w.Actions[step.Uses]; action != nil && p.Untimed(action.Plugin) {
			step.Timeout, step.Within, attached = NoTimeout, 0, true
		} else if inside {
			step.Timeout, step.Within, attached = 0, 0, true
		}
	}
	return attached
}

// pluginsOf are the plugins whose actions a workflow and its sub-workflows use.
func pluginsOf(workflow *plan.Workflow) []string {
	var names []string
	EachWorkflow(workflow, func(w *plan.Workflow) {
		for _, action := range w.Actions {
			names = append(names, action.Plugin)
		}
	})
	return names
}
