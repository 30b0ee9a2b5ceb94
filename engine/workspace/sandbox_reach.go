package workspace

import (
	"strings"

	"github.com/flowrun/flowrun/engine/project"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/plan"
)

// reached lists the connections that a run of a workflow can reach, each once. In a
// sandbox the steps that a test file answers reach none, and one whose connection is
// computed can reach all of its plugin.
func (p *Workspace) reached(workflow *plan.Workflow) []ConnectionUse {
	if p.sandbox == nil {
		return uses(workflow)
	}
	return usesOf(workflow, func(w *plan.Workflow, path string, step *plan.Step) ([]string, bool) {
		if step.Kind == plan.StepAction && p.mocked(w.Name, path) != nil {
			return nil, false
		}
		return p.connectionsOf(step), true
	})
}

// connectionsOf lists the connections that a step may take.
func (p *Workspace) connectionsOf(step *plan.Step) []string {
	if step.Connection == nil {
		return nil
	}
	if name, ok := literalText(step.Connection); ok {
		return []string{name}
	}
	plugin, _, _ := strings.Cut(step.Uses, ".")
	names := p.namesOf(plugin)
	if len(names) == 0 {
		names = []string{plugin}
	}
	return names
}

// namesOf lists the declared connections of a plugin.
func (p *Workspace) namesOf(plugin string) []string {
	var names []string
	for _, declared := range p.file.Connections {
		if declared.Plugin == plugin {
			names = append(names, declared.Name)
		}
	}
	return names
}

// SandboxLacks are the connections of a workflow that a sandbox refuses. Outside of
// one there are none.
func (p *Workspace) SandboxLacks(workflow *plan.Workflow) diag.List {
	if p.sandbox == nil {
		return nil
	}
	var problems diag.List
	for _, u := range p.reached(workflow) {
		p.tryUse(u, &problems)
	}
	return problems
}

// TriggersReach are those of what starts by itself: of the runs, and of the polls.
func (p *Workspace) TriggersReach(workflow *plan.Workflow) diag.List {
	if p.sandbox == nil || len(workflow.Triggers) == 0 {
		return nil
	}
	problems := p.SandboxLacks(workflow)
	for i := range workflow.Triggers {
		t := &workflow.Triggers[i]
		if t.Poll == nil {
			continue
		}
		if u, ok := polledConnection(workflow, t); ok {
			p.tryUse(u, &problems)
			continue
		}
		plugin, _, _ := strings.Cut(t.Poll.Uses, ".")
		for _, name := range append(p.namesOf(plugin), plugin) {
			u := ConnectionUse{Plugin: plugin, Name: name, place: placeIn(workflow, t.Pos), what: "trigger " + t.Name}
			if before := len(problems); name != plugin || len(p.namesOf(plugin)) == 0 {
				if p.tryUse(u, &problems); len(problems) > before {
					break
				}
			}
		}
	}
	return problems
}

// tryUse reports a use that a sandbox refuses.
func (p *Workspace) tryUse(u ConnectionUse, problems *diag.List) {
	_, err := p.Connection(u.Plugin, u.Name)
	refusedUse(u, err, problems)
}

// refusedUse reports why a sandbox refuses a use, where that is what err says.
func refusedUse(u ConnectionUse, err error, problems *diag.List) {
	if outside := AsSandboxError(err); outside != nil {
		problems.Errorf(u.place, project.CodeSandbox, "%s", u.says(outside)).Hint = outside.Hint
	}
}
