package check

import (
	"slices"
	"strings"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/schema"
	"github.com/flowrun/flowrun/engine/spec"
)

// corePlugin is the plugin name of the built-in actions.
const corePlugin = "core"

// action is an action with its types.
type action struct {
	plan   *plan.Action
	input  *schema.Type
	output *schema.Type
}

// actionStep checks a step that calls an action.
func (c *checker) actionStep(s *step, p *plan.Step) {
	p.Kind = plan.StepAction
	s.action = c.uses(s)
	if s.action != nil {
		p.Uses = s.action.plan.FullName()
		s.output = s.action.output
	}
	c.with(s, p)
	c.connection(s, p)
	c.times(s, p)
	c.retryOf(s, p)
	c.onError(s, p)
	c.onUnknown(s, p)
	c.repeat(s, p)
	c.paginate(s, p)
	c.laterKeys(s)
}

// uses finds the action and reports a name that is none.
func (c *checker) uses(s *step) *action {
	node := s.src.Uses
	if node == nil || !c.scalar(node, "the name of an action") {
		return nil
	}
	name := node.Text
	if known, ok := c.actions[name]; ok && known != nil {
		return known
	}
	if strings.HasPrefix(name, "./") || strings.HasPrefix(name, "../") {
		c.later(node.Pos, "a sub-workflow in `uses`")
		return nil
	}
	found, ok := c.catalog.Action(name)
	if !ok {
		c.unknownAction(node)
		return nil
	}
	loaded, err := loadAction(found)
	if err != nil {
		c.errorAt(node.Pos, CodeUnknownPlugin, "the schemas of %s can't be read: %v", name, err)
		return nil
	}
	if found.Deprecated != "" {
		c.problems.Warnf(node.Pos, CodeDeprecated, "%s is deprecated", name).Hint = found.Deprecated
	}
	c.actions[name] = loaded
	return loaded
}

func loadAction(found *plan.Action) (*action, error) {
	a := &action{plan: found, input: schema.ObjectOf(), output: schema.ObjectOf()}
	for _, part := range []struct {
		from []byte
		into **schema.Type
	}{{found.Input, &a.input}, {found.Output, &a.output}} {
		if len(part.from) == 0 {
			continue
		}
		t, err := schema.FromJSON(part.from)
		if err != nil {
			return nil, err
		}
		*part.into = t
	}
	return a, nil
}

// unknownAction says what is wrong with the name: the plugin, or the action.
func (c *checker) unknownAction(node *spec.Node) {
	name := node.Text
	plugin, short, dotted := strings.Cut(name, ".")
	if reason := c.catalog.PluginProblem(plugin); dotted && reason != "" {
		c.errorAt(node.Pos, CodeUnknownPlugin, "the plugin `%s` can't be used: %s", plugin, reason)
		return
	}
	all := c.catalog.ActionNames()
	if slices.Contains(laterActions(), name) {
		c.later(node.Pos, "the action `"+name+"`")
		return
	}
	var plugins, actions []string
	for _, full := range all {
		of, action, _ := strings.Cut(full, ".")
		if !slices.Contains(plugins, of) {
			plugins = append(plugins, of)
		}
		if of == plugin {
			actions = append(actions, action)
		}
	}
	switch {
	case !dotted:
		c.errorAt(node.Pos, CodeUnknownAction, "`%s` is not an action; an action is `plugin.name`", name).Hint = fullNameHint(name, all)
	case len(actions) == 0:
		problem := c.errorAt(node.Pos, CodeUnknownPlugin, "no plugin has the name `%s`", plugin)
		if near := diag.Nearest(plugin, plugins); near != "" {
			problem.Hint = "did you mean `" + near + "." + short + "`?"
		} else if len(plugins) > 0 {
			problem.Hint = "the plugins are " + strings.Join(plugins, ", ")
		}
	default:
		problem := c.errorAt(node.Pos, CodeUnknownAction, "the plugin `%s` has no action `%s`", plugin, short)
		if near := diag.Nearest(short, actions); near != "" {
			problem.Hint = "did you mean `" + plugin + "." + near + "`?"
		} else {
			problem.Hint = "it has " + strings.Join(actions, ", ")
		}
	}
}

// fullNameHint finds an action by its last part alone.
func fullNameHint(name string, all []string) string {
	for _, full := range all {
		if strings.HasSuffix(full, "."+name) {
			return "did you mean `" + full + "`?"
		}
	}
	return diag.DidYouMean(name, all)
}
