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
	"slices"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/editor"
	"github.com/flowrun/flowrun/engine/interp"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/pluginhost"
	"github.com/flowrun/flowrun/engine/spec"
)

// keptSchema is the file of the state folder with the last schema of workflows: a line
// that says what it was made of, then the schema.
const keptSchema = "workflow-schema.json"

// smallIndex is how many actions an index may have so that editors complete the inputs of
// all of them: those of a larger one are asked for that a workflow of the project uses.
const smallIndex = 100

// WorkflowSchema returns the draft-07 schema of workflows with every action that
// the project has: of a large index those that its workflows use have inputs. A plugin that can't be described is left out and told of in
// the error; the schema is good all the same. One that is made of what the last one was
// made of is not made again: with a thousand actions that takes a third of a second.
func (p *Workspace) WorkflowSchema(context.Context) (json.RawMessage, error) {
	actions := interp.Builtins()
	var descriptions []*pluginhost.Description
	connections := diag.NamesOf(p.ConnectionNames(), NamedConnection.name)
	made := sha256.New()
	fmt.Fprintf(made, "%q %q\n", p.config.Version, connections)
	var broken []error
	used := p.usedByWorkflows()
	wanted := map[*pluginhost.Description][]string{}
	for _, plugin := range p.PluginNames() {
		description, err := p.Describe(plugin)
		if err != nil {
			broken = append(broken, err)
			continue
		}
		fmt.Fprintf(made, "%q %q %d\n", plugin, description.Digest, description.Format)
		names := unwritten(description, used[plugin])
		fmt.Fprintf(made, "%q\n", names)
		wanted[description] = names
		descriptions = append(descriptions, description)
	}
	of := []byte(hex.EncodeToString(made.Sum(nil)) + "\n")
	keep := len(broken) == 0 && len(p.config.Attach) == 0
	if keep {
		if schema := p.lastSchema(of); schema != nil {
			return schema, nil
		}
	}
	for _, description := range descriptions {
		actions = append(actions, p.withInputs(description, wanted[description])...)
	}
	schema, err := editor.Schema(spec.V1(), actions, connections)
	if err == nil && keep {
		p.keepSchema(of, schema)
	}
	return schema, errors.Join(append(broken, err)...)
}

// usedByWorkflows are the actions that the project's workflows name, by plugin. A file that
// can't be read uses none here: validate tells of it.
func (p *Workspace) usedByWorkflows() map[string][]string {
	used := map[string][]string{}
	files, err := p.Workflows()
	if err != nil {
		return used
	}
	for _, file := range files {
		src, err := os.ReadFile(filepath.Join(p.config.Dir, file))
		if err != nil {
			continue
		}
		if tree, _ := p.parse(file, src); tree != nil {
			for plugin, names := range usedActions(tree) {
				used[plugin] = append(used[plugin], names...)
			}
		}
	}
	return used
}

// unwritten are the actions of a description whose inputs an editor needs and that are
// still to be asked for, by name.
func unwritten(d *pluginhost.Description, used []string) []string {
	names := []string{}
	for _, action := range d.Actions {
		if !pluginhost.Whole(action) && (len(d.Actions) <= smallIndex || slices.Contains(used, action.Name)) {
			names = append(names, action.Name)
		}
	}
	slices.Sort(names)
	return names
}

// withInputs are the actions of a description, those named with their schemas as far as
// they can be had.
func (p *Workspace) withInputs(d *pluginhost.Description, names []string) []*plan.Action {
	if len(names) == 0 {
		return d.Actions
	}
	whole, err := p.wholeActions(d, names)
	if err != nil {
		return d.Actions
	}
	actions := slices.Clone(d.Actions)
	for i, action := range actions {
		if at := slices.Index(names, action.Name); at >= 0 {
			actions[i] = whole[at]
		}
	}
	return actions
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
