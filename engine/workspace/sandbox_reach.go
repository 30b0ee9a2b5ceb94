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
	var connectionUses []ConnectionUse
	seen := map[string]bool{}
	eachStep(workflow, func(w *plan.Workflow, path string, step *plan.Step) bool {
		if step.Kind == plan.StepAction && p.mocked(w.Name, path) != nil {
			return false
		}
		for _, name := range p.connectionsOf(step) {
			plugin, _, _ := strings.Cut(step.Uses, ".")
			if key := plugin + " " + name; !seen[key] {
				seen[key] = true
				connectionUses = append(connectionUses, ConnectionUse{Plugin: plugin, Name: name, file: w.File, pos: step.Pos, what: "step " + path})
			}
		}
		return true
	})
	return connectionUses
}

// connectionsOf lists the connections that a step may take.
func (p *Workspace) connectionsOf(step *plan.Step) []string {
	if step.Connection == nil {
		return nil
	}
	if _, name, ok := literalConnection(step); ok {
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
		p.refusedUse(u, &problems)
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
			p.refusedUse(u, &problems)
			continue
		}
		plugin, _, _ := strings.Cut(t.Poll.Uses, ".")
		for _, name := range append(p.namesOf(plugin), plugin) {
			u := ConnectionUse{Plugin: plugin, Name: name, file: workflow.File, pos: t.Pos, what: "trigger " + t.Name}
			if before := len(problems); name != plugin || len(p.namesOf(plugin)) == 0 {
				if p.refusedUse(u, &problems); len(problems) > before {
					break
				}
			}
		}
	}
	return problems
}

// refusedUse reports a use that a sandbox refuses.
func (p *Workspace) refusedUse(u ConnectionUse, problems *diag.List) {
	_, err := p.Connection(u.Plugin, u.Name)
	if outside := AsSandboxError(err); outside != nil {
		place := diag.Pos{File: u.file, Line: u.pos.Line, Column: u.pos.Column}
		problems.Errorf(place, project.CodeSandbox, "%s", u.says(outside)).Hint = outside.Hint
	}
}
