package check

import (
	"slices"
	"strings"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/schema"
	"github.com/flowrun/flowrun/engine/spec"
)

// corePlugin is the plugin name of the actions that are built in.
const corePlugin = "core"

// action is an action that is used, with its types.
type action struct {
	plan   *plan.Action
	input  *schema.Type
	output *schema.Type
}

func (a *action) builtin() bool { return a.plan.Plugin == corePlugin }

// actionOf finds the action that a step uses; nil when there is none, which is
// reported.
func (c *checker) actionOf(node *spec.Node) *action {
	if node == nil || !c.static(node) {
		return nil
	}
	name := node.Text
	if known := c.actions[name]; known != nil {
		c.deprecated(node, known.plan)
		return known
	}
	found, ok := c.catalog.Action(name)
	if !ok {
		c.unknownAction(node)
		return nil
	}
	c.deprecated(node, found)
	a, err := actionTypes(found)
	if err != nil {
		c.errorAt(node.Pos, CodeNotAsked, "the schema of `%s` can't be read: %s", name, err.Error()).Hint = diag.Say("this is a fault of the plugin " + found.Plugin)
		return nil
	}
	c.actions[name] = a
	return a
}

// deprecated warns of an action that should not be used any more.
func (c *checker) deprecated(node *spec.Node, a *plan.Action) {
	if a.Deprecated != "" {
		c.problems.Warnf(node.Pos, CodeDeprecated, "`%s` is deprecated", node.Text).Hint = diag.Say(a.Deprecated)
	}
}

// actionTypes reads the schemas of an action.
func actionTypes(found *plan.Action) (*action, error) {
	a := &action{plan: found}
	var err error
	if a.input, err = typeOf(found.Input); err == nil {
		a.output, err = typeOf(found.Output)
	}
	return a, err
}

func typeOf(text []byte) (*schema.Type, error) {
	if len(text) == 0 {
		return schema.MapOf(nil), nil
	}
	return schema.FromJSON(text)
}

// NotDescribed begins the problem of a step whose plugin can't be described.
func NotDescribed(plugin string) string {
	return "the plugin `" + plugin + "` can't be described: "
}

// unknownAction says what is wrong with a name that names no action.
func (c *checker) unknownAction(node *spec.Node) {
	name := node.Text
	plugin, short, dotted := strings.Cut(name, ".")
	switch {
	case dotted && c.catalog.PluginProblem(plugin) != "":
		problem := c.errorAt(node.Pos, CodeUnknownPlugin, "%s%s", NotDescribed(plugin), c.catalog.PluginProblem(plugin))
		if advice, ok := c.catalog.(Advice); ok {
			problem.Hint = advice.PluginHint(plugin)
		}
		if dead, ok := c.catalog.(LastWords); ok {
			problem.Stderr = dead.LastWords(plugin)
		}
		return
	}
	names := c.catalog.ActionNames()
	own, plugins := byPlugin(names, plugin)
	near := diag.DidYouMean(name, names)
	var problem *diag.Problem
	switch {
	case !dotted:
		problem = c.errorAt(node.Pos, CodeUnknownAction, "`%s` is not an action", name)
		problem.Hint = diag.Say("an action is written `plugin.action`")
	case len(own) == 0:
		problem = c.errorAt(node.Pos, CodeUnknownPlugin, "no plugin has the name `%s`", plugin)
		problem.Hint = diag.MeantOr(plugin, plugins, "the plugins are ")
	default:
		problem = c.errorAt(node.Pos, CodeUnknownAction, "the plugin `%s` has no action `%s`", plugin, short)
		problem.Hint = diag.Say("it has " + strings.Join(own, ", "))
	}
	problem.Hint = near.Or(problem.Hint)
	if name == runs.CorePlugin+".http" {
		problem.Hint = diag.Say("the plugin `http` has them: http.get, http.post, http.put")
	}
}

// byPlugin returns the actions of one plugin and the names of all plugins.
func byPlugin(names []string, plugin string) (own, plugins []string) {
	for _, name := range names {
		its, _, _ := strings.Cut(name, ".")
		if its == plugin {
			own = append(own, name)
		}
		if !slices.Contains(plugins, its) {
			plugins = append(plugins, its)
		}
	}
	return own, plugins
}
