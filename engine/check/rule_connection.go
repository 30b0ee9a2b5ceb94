package check

import (
	"slices"
	"strings"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/schema"
)

// connection resolves the connection of a plugin's action (LANGUAGE.md, rule
// 15): a name is checked here, an expression when the step runs, and without
// either it is the one named like the plugin, else the plugin's only one.
func (c *checker) connection(s *step, p *plan.Step) {
	node := s.src.Connection
	switch {
	case s.action == nil:
		if node != nil {
			(&valuer{c: c, scope: c.scopeOf(s, true)}).value(node, textType(), "")
		}
	case s.action.plan.Plugin == corePlugin:
		if node != nil {
			pair, _ := s.src.Node.Pair("connection")
			c.errorAt(pair.Key.Pos, CodeWithoutPlugins, "%s needs no connection", s.action.plan.FullName()).Hint = "leave `connection` out"
		}
	case node != nil:
		v := &valuer{c: c, scope: c.scopeOf(s, true)}
		value, _ := v.value(node, &schema.Type{Kind: schema.String}, "")
		p.Connection = &value
		if t := c.text(node); !v.failed && !t.hasExpr() {
			c.namedConnection(s, t.literal())
		}
	case !s.src.Written("connection"):
		if name, ok := c.defaultConnection(s); ok {
			value := literal(quoted(name))
			p.Connection = &value
		}
	}
}

// namedConnection reports a name that is no connection of the plugin.
func (c *checker) namedConnection(s *step, name string) {
	connections, plugin := c.catalog.Connections(), s.action.plan.Plugin
	if connections == nil {
		return
	}
	switch of, ok := connections[name]; {
	case !ok:
		problem := c.errorAt(s.src.Connection.Pos, CodeNoConnection, "no connection has the name `%s`", name)
		if problem.Hint = diag.DidYouMean(name, connectionsOf(connections, plugin)); problem.Hint == "" {
			problem.Hint = connectionsHint(connections, plugin)
		}
	case of != plugin:
		c.errorAt(s.src.Connection.Pos, CodeOtherPlugin, "the connection `%s` belongs to the plugin `%s`, not to `%s`", name, of, plugin).Hint =
			connectionsHint(connections, plugin)
	}
}

func (c *checker) defaultConnection(s *step) (string, bool) {
	connections, plugin := c.catalog.Connections(), s.action.plan.Plugin
	own := connectionsOf(connections, plugin)
	switch {
	case connections == nil || connections[plugin] == plugin:
		return plugin, true
	case len(own) == 1:
		return own[0], true
	case len(own) == 0:
		c.errorAt(s.src.Uses.Pos, CodeWhichOne, "the plugin `%s` has no connection", plugin).Hint =
			"add one to flowrun.yaml under `connections`: " + plugin + ": {plugin: " + plugin + ", config: {…}}"
	default:
		c.errorAt(s.src.Uses.Pos, CodeWhichOne, "the plugin `%s` has several connections", plugin).Hint =
			"write `connection:` with one of " + strings.Join(own, ", ")
	}
	return "", false
}

// connectionsOf returns the names of a plugin's connections, sorted.
func connectionsOf(connections map[string]string, plugin string) []string {
	var names []string
	for name, of := range connections {
		if of == plugin {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func connectionsHint(connections map[string]string, plugin string) string {
	own := connectionsOf(connections, plugin)
	if len(own) == 0 {
		return "the plugin `" + plugin + "` has no connection in flowrun.yaml"
	}
	return "the connections of `" + plugin + "` are " + strings.Join(own, ", ")
}
