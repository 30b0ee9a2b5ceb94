package workspace

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/editor"
	"github.com/flowrun/flowrun/engine/interp"
	"github.com/flowrun/flowrun/engine/spec"
)

// keptSchema is the file of the state folder with the last schema of workflows: a line
// that says what it was made of, then the schema.
const keptSchema = "workflow-schema.json"

// WorkflowSchema returns the draft-07 schema of workflows with every action that
// the project has. A plugin that can't be described is left out and told of in
// the error; the schema is good all the same. One that is made of what the last one was
// made of is not made again: with a thousand actions that takes a third of a second.
func (p *Workspace) WorkflowSchema(context.Context) (json.RawMessage, error) {
	actions := interp.Builtins()
	connections := diag.NamesOf(p.ConnectionNames(), NamedConnection.name)
	made := sha256.New()
	fmt.Fprintf(made, "%q %q\n", p.config.Version, connections)
	var broken []error
	for _, plugin := range p.PluginNames() {
		description, err := p.Describe(plugin)
		if err != nil {
			broken = append(broken, err)
			continue
		}
		fmt.Fprintf(made, "%q %q %d\n", plugin, description.Digest, description.Format)
		actions = append(actions, description.Actions...)
	}
	of := []byte(hex.EncodeToString(made.Sum(nil)) + "\n")
	keep := len(broken) == 0 && len(p.config.Attach) == 0
	if keep {
		if schema := p.lastSchema(of); schema != nil {
			return schema, nil
		}
	}
	schema, err := editor.Schema(spec.V1(), actions, connections)
	if err == nil && keep {
		p.keepSchema(of, schema)
	}
	return schema, errors.Join(append(broken, err)...)
}

// lastSchema is the one that was kept, where it was made of the same; else nil.
func (p *Workspace) lastSchema(of []byte) json.RawMessage {
	kept, err := os.ReadFile(filepath.Join(p.config.StateDir, keptSchema))
	schema, same := bytes.CutPrefix(kept, of)
	if err != nil || !same {
		return nil
	}
	return schema
}

// keepSchema writes it for the next time; a failure only costs that time.
func (p *Workspace) keepSchema(of []byte, schema json.RawMessage) {
	file, err := os.CreateTemp(p.config.StateDir, keptSchema+".")
	if err != nil {
		return
	}
	_, err = file.Write(append(of, schema...))
	if errors.Join(err, file.Close()) != nil || os.Rename(file.Name(), filepath.Join(p.config.StateDir, keptSchema)) != nil {
		_ = os.Remove(file.Name())
	}
}
