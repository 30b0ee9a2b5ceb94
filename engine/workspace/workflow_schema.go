package workspace

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/editor"
	"github.com/flowrun/flowrun/engine/interp"
	"github.com/flowrun/flowrun/engine/spec"
)

// WorkflowSchema returns the draft-07 schema of workflows with every action that
// the project has. A plugin that can't be described is left out and told of in
// the error; the schema is good all the same.
func (p *Workspace) WorkflowSchema(context.Context) (json.RawMessage, error) {
	actions := interp.Builtins()
	var broken []error
	for _, plugin := range p.PluginNames() {
		description, err := p.Describe(plugin)
		if err != nil {
			broken = append(broken, err)
			continue
		}
		actions = append(actions, description.Actions...)
	}
	schema, err := editor.Schema(spec.V1(), actions, diag.NamesOf(p.ConnectionNames(), NamedConnection.name))
	return schema, errors.Join(append(broken, err)...)
}
