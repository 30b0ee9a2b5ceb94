package check

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/flowrun/flowrun/engine/spec"
)

// onCatalog notes through which connections the plugin is asked.
type onCatalog struct {
	*fakeCatalog
	on []string
}

func (c *onCatalog) ValidateOn(ctx context.Context, action, connection string, input json.RawMessage, unknown []string) (Validation, error) {
	c.on = append(c.on, connection)
	return c.Validate(ctx, action, input, unknown)
}

// A plugin is told the connection that the step will call through, as far as it is known.
func TestThePluginIsAskedThroughTheConnectionOfTheStep(t *testing.T) {
	for _, c := range []struct {
		name, step  string
		connections map[string]string
		want        string
	}{
		{"written", "connection: home, ", map[string]string{"home": "net", "work": "net"}, "home"},
		{"the only one", "", map[string]string{"work": "net", "other": "task"}, "work"},
		{"named like the plugin", "", map[string]string{"net": "net", "work": "net"}, "net"},
		{"none declared", "", map[string]string{}, "net"},
		{"several", "", map[string]string{"home": "net", "work": "net"}, ""},
		{"computed", `connection: "${{ inputs.where }}", `, map[string]string{"home": "net"}, ""},
	} {
		catalog := &onCatalog{fakeCatalog: fake()}
		catalog.connections = c.connections
		source := "flowrun: v1\nname: t\ninputs:\n  where: {type: string, default: home}\nsteps:\n  - {id: a, uses: net.whois, " + c.step + "with: {domain: example.com}}\n"
		tree, problems := spec.Parse("t.yaml", []byte(source))
		if tree == nil {
			t.Fatal(problems)
		}
		Check(t.Context(), tree, catalog)
		if len(catalog.on) != 1 || catalog.on[0] != c.want {
			t.Errorf("%s: asked through %q, want %q", c.name, catalog.on, c.want)
		}
	}
}
