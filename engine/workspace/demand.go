package workspace

import (
	"context"
	"slices"
	"strings"

	"github.com/flowrun/flowrun/engine/check"
	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/pluginhost"
	"github.com/flowrun/flowrun/engine/spec"
)

// Of a plugin that describes an index, the actions are asked for that somebody uses.

// wholeActions returns actions of a description with their schemas.
func (p *Workspace) wholeActions(d *pluginhost.Description, names []string) ([]*plan.Action, error) {
	ctx, cancel := context.WithTimeout(context.Background(), describeTimeout)
	defer cancel()
	return p.host.Actions(ctx, d.Name, d.Digest, names...)
}

// WholeActions returns all actions of a plugin with their schemas: those of an index are
// asked for.
func (p *Workspace) WholeActions(plugin string) ([]*plan.Action, error) {
	d, err := p.Describe(plugin)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(d.Actions))
	for i, action := range d.Actions {
		names[i] = action.Name
	}
	return p.wholeActions(d, names)
}

// WholeDescription is a description with the schemas of all actions that can be had: of a
// revision whose settings are gone, those that somebody has used.
func (p *Workspace) WholeDescription(d *pluginhost.Description) *pluginhost.Description {
	whole := *d
	whole.Actions = slices.Clone(d.Actions)
	var missing []string
	for _, action := range d.Actions {
		if !pluginhost.Whole(action) {
			missing = append(missing, action.Name)
		}
	}
	if len(missing) == 0 {
		return d
	}
	all, err := p.wholeActions(d, missing)
	for i, action := range whole.Actions {
		at := slices.Index(missing, action.Name)
		switch {
		case at < 0:
		case err == nil:
			whole.Actions[i] = all[at]
		default:
			if one, err := p.wholeActions(d, []string{action.Name}); err == nil {
				whole.Actions[i] = one[0]
			}
		}
	}
	return &whole
}

// demandUsed asks for all actions of indexes that a workflow names, in one question for
// each plugin. What is wrong with one is told where it is used.
func (p *Workspace) demandUsed(tree *spec.Workflow) {
	used := usedActions(tree)
	for _, plugin := range p.PluginNames() {
		if len(used[plugin]) < 2 {
			continue // one alone is asked for where it is used
		}
		d, err := p.Describe(plugin)
		if err != nil {
			continue
		}
		wanted := []string{}
		for _, name := range used[plugin] {
			if action, there := d.Action(name); there && !pluginhost.Whole(action) {
				wanted = append(wanted, name)
			}
		}
		if len(wanted) > 0 {
			_, _ = p.wholeActions(d, wanted)
		}
	}
}

// usedActions are the actions that a workflow names, as far as they are written out, by
// plugin.
func usedActions(tree *spec.Workflow) map[string][]string {
	used := map[string][]string{}
	var visit func(n *spec.Node)
	visit = func(n *spec.Node) {
		if n == nil {
			return
		}
		for _, item := range n.Items {
			visit(item)
		}
		for _, pair := range n.Pairs {
			if plugin, action, dotted := strings.Cut(pair.Value.Text, "."); pair.Key.Text == "uses" && dotted {
				used[plugin] = append(used[plugin], action)
			}
			visit(pair.Value)
		}
	}
	visit(tree.Root)
	return used
}

// withTold adds what is wrong with what the plugins of a workflow are told. It is told
// once, and not at each step of the plugin besides.
func (p *Workspace) withTold(problems diag.List, tree *spec.Workflow) diag.List {
	used := usedActions(tree)
	for _, plugin := range p.file.Plugins {
		if len(used[plugin.Name]) == 0 || plugin.With == nil && plugin.Bundled == "" {
			continue
		}
		told := p.ToldProblems(plugin.Name)
		if len(told) > 0 {
			at := check.NotDescribed(plugin.Name)
			problems = slices.DeleteFunc(problems, func(found diag.Problem) bool {
				return found.Code == check.CodeUnknownPlugin && strings.HasPrefix(found.Message, at)
			})
		}
		problems = append(problems, told...)
	}
	return problems
}
