package check

import (
	"encoding/json"
	"strings"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/schema"
	"github.com/flowrun/flowrun/engine/spec"
)

// connection finds the connection that a step calls through (docs/language.md, rule
// 15).
func (c *checker) connection(s *step) {
	node, plugin := s.src.Connection, s.action.plan.Plugin
	switch {
	case s.action.builtin():
		if pair, written := s.src.Node.Pair("connection"); written {
			c.errorAt(pair.Key.Pos, CodeWithoutPlugins, "`%s` needs no connection", s.src.Uses.Text).Hint = diag.Say("leave `connection` out")
		}
	case node != nil:
		c.writtenConnection(s, node, plugin)
	case !s.src.Written("connection"):
		c.defaultConnection(s, plugin)
	}
}

func (c *checker) writtenConnection(s *step, node *spec.Node, plugin string) {
	text := c.text(node)
	if text.hasExpr() || text.bad {
		c.computedConnection(s, node, text)
		return
	}
	name := text.literal()
	value := literal(jsonText(name))
	s.plan.Connection = &value
	known := c.catalog.Connections()
	if known == nil {
		return
	}
	owner, ok := known[name]
	switch {
	case !ok && name == plugin && len(connectionsOf(known, plugin)) == 0:
		// A plugin without any stands under its own name.
	case !ok:
		c.errorAt(node.Pos, CodeNoConnection, "no connection has the name `%s`", name).Hint = connectionHint(known, name, plugin)
	case owner != plugin:
		c.errorAt(node.Pos, CodeOtherPlugin, "connection `%s` belongs to the plugin `%s`, not to `%s`", name, owner, plugin).Hint =
			connectionHint(known, "", plugin)
	}
}

func (c *checker) computedConnection(s *step, node *spec.Node, text *text) {
	if text.whole == nil && !text.bad {
		c.errorAt(node.Pos, CodeStatic, "a connection is a name, or one ${{ }} that gives a name")
		return
	}
	v := valuer{c: c, scope: c.scope(s, false, true)}
	if out := v.value(node, schema.Of(schema.String), "", false); !v.bad {
		s.plan.Connection = &out.plan
	}
}

// connectionKnown is the name of the connection that a step calls through, where it is
// known before the run; "" where it is computed, or can't be told. What is wrong with it
// is told by connection.
func (c *checker) connectionKnown(s *step) string {
	switch node := s.src.Connection; {
	case s.action.builtin():
		return ""
	case node == nil && s.src.Written("connection"), node != nil && (node.Kind != spec.Scalar || strings.Contains(node.Text, "${{")):
		return ""
	case node != nil:
		return node.Text
	}
	name, several := c.connectionByDefault(s.action.plan.Plugin)
	if len(several) > 0 {
		return ""
	}
	return name
}

// defaultConnection is the one named like the plugin, else the plugin's only
// one. A plugin without any stands under its own name, with an empty config.
func (c *checker) defaultConnection(s *step, plugin string) {
	_, several := c.connectionByDefault(plugin)
	if len(several) > 0 {
		c.errorAt(s.src.Uses.Pos, CodeWhichOne, "the plugin `%s` has several connections: %s", plugin, strings.Join(several, ", ")).Hint =
			diag.Say("say which one: `connection: " + several[0] + "`")
		return
	}
	value := literal(c.chosen[plugin].text)
	s.plan.Connection = &value
}

// chosen is the connection of a plugin where a step names none.
type chosen struct {
	name    string
	text    json.RawMessage // the name, as steps have it
	several []string        // of which one must be named; nil = it is known
}

// connectionByDefault is the connection of a plugin where none is named, or the several
// of which one must be named.
func (c *checker) connectionByDefault(plugin string) (name string, several []string) {
	known, asked := c.chosen[plugin]
	if !asked {
		known.name, known.several = c.choose(plugin)
		known.text = jsonText(known.name)
		c.chosen[plugin] = known
	}
	return known.name, known.several
}

func (c *checker) choose(plugin string) (name string, several []string) {
	name = plugin
	if sandboxed, ok := c.catalog.(DefaultCatalog); ok {
		if own := sandboxed.DefaultConnection(plugin); own != "" {
			name = own
		}
	}
	if known := c.catalog.Connections(); known != nil && known[plugin] != plugin {
		switch own := connectionsOf(known, plugin); len(own) {
		case 0:
		case 1:
			name = own[0]
		default:
			return "", own
		}
	}
	return name, nil
}

func connectionsOf(known map[string]string, plugin string) []string {
	var names []string
	for _, name := range sortedNames(known) {
		if known[name] == plugin {
			names = append(names, name)
		}
	}
	return names
}

func connectionHint(known map[string]string, name, plugin string) diag.Hint {
	own := connectionsOf(known, plugin)
	if near := diag.DidYouMean(name, own); near.Text != "" {
		return near
	}
	if len(own) == 0 {
		return diag.Say("declare one of the plugin " + plugin + " under `connections` in flowrun.yaml")
	}
	return diag.Say("the connections of " + plugin + " are " + strings.Join(own, ", "))
}
