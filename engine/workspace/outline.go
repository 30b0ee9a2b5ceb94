package workspace

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/flowrun/flowrun/engine/spec"
)

// Outline is what a workflow file says of itself, read without a plugin and without a
// check: what is wrong with the file is left out.
type Outline struct {
	File        string // relative to the project's root
	Name        string
	Description string
	Inputs      []OutlineInput
	Steps       []string // ids, those of loops too, in written order
	Triggers    []string // those that fire by the clock
	Hooks       []string // the other ones
	State       []string
	Outputs     []string
	Secrets     []string // that its expressions name
}

// OutlineInput is an input of a workflow file.
type OutlineInput struct {
	Name, Type, Description string
	Values                  []string // that it may have; nil = not a few
}

// How much is read of a project for its outlines.
const (
	mostOutlines     = 500
	mostOutlineBytes = 4 << 20
)

// Outlines are those of the project's workflow files. No plugin is started for them.
func (p *Workspace) Outlines() (all []Outline) {
	files, err := p.Workflows()
	if err != nil {
		return nil
	}
	left := int64(mostOutlineBytes)
	for _, file := range files[:min(len(files), mostOutlines)] {
		path := filepath.Join(p.Root(), filepath.FromSlash(file))
		info, err := os.Stat(path)
		if err != nil || info.Size() > left {
			continue
		}
		left -= info.Size()
		if src, err := os.ReadFile(path); err == nil {
			all = append(all, OutlineOf(file, src))
		}
	}
	return all
}

// OutlineOf reads the outline of one file.
func OutlineOf(file string, src []byte) Outline {
	outline := Outline{File: file}
	w, _ := spec.Parse(file, src) // what is wrong is told by validate
	if w == nil {
		return outline
	}
	outline.Name, outline.Description = textOf(w.Name), textOf(w.Description)
	outline.State, outline.Outputs = keysOf(w.State), keysOf(w.Outputs)
	if w.Root != nil {
		w.Root.EachScalar(func(node *spec.Node) { outline.Secrets = secretsIn(outline.Secrets, node.Text) })
	}
	for _, steps := range [][]*spec.Step{w.Steps, w.OnSuccess, w.OnFailure, w.Finally} {
		outline.Steps = stepIDs(outline.Steps, steps)
	}
	if w.Inputs != nil {
		for _, pair := range w.Inputs.Pairs {
			outline.Inputs = append(outline.Inputs, outlineInput(pair))
		}
	}
	if w.Triggers != nil {
		for _, pair := range w.Triggers.Pairs {
			if byClock(pair.Value) {
				outline.Triggers = append(outline.Triggers, pair.Key.Text)
			} else {
				outline.Hooks = append(outline.Hooks, pair.Key.Text)
			}
		}
	}
	return outline
}

// secretsIn adds the names that stand behind `secrets.` in a text.
func secretsIn(names []string, text string) []string {
	for {
		_, rest, found := strings.Cut(text, "secrets.")
		if !found {
			return names
		}
		end := strings.IndexFunc(rest, func(r rune) bool {
			return r != '_' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
		})
		if end < 0 {
			end = len(rest)
		}
		if name := rest[:end]; ValidSecretName(name) && !slices.Contains(names, name) {
			names = append(names, name)
		}
		text = rest[end:]
	}
}

func outlineInput(pair spec.Pair) OutlineInput {
	input := OutlineInput{Name: pair.Key.Text, Type: textOf(pair.Value.Get("type")), Description: textOf(pair.Value.Get("description"))}
	switch values := pair.Value.Get("enum"); {
	case values != nil:
		for _, value := range values.Items {
			if value.Kind == spec.Scalar {
				input.Values = append(input.Values, value.Text)
			}
		}
	case input.Type == "boolean":
		input.Values = []string{"true", "false"}
	}
	return input
}

func stepIDs(ids []string, steps []*spec.Step) []string {
	for _, step := range steps {
		if id := textOf(step.ID); id != "" && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
		ids = stepIDs(ids, step.Steps)
	}
	return ids
}

// byClock reports whether a trigger is a schedule: cron, every or poll.
func byClock(trigger *spec.Node) bool {
	for _, key := range []string{"cron", "every", "poll"} {
		if trigger.Get(key) != nil {
			return true
		}
	}
	return false
}

func textOf(node *spec.Node) string {
	if node == nil || node.Kind != spec.Scalar {
		return ""
	}
	return node.Text
}

func keysOf(node *spec.Node) (keys []string) {
	if node == nil {
		return nil
	}
	for _, pair := range node.Pairs {
		keys = append(keys, pair.Key.Text)
	}
	return keys
}

// RememberedActions are the actions that are known without starting a plugin: the engine's
// own, and those of plugins that have described themselves before.
func (p *Workspace) RememberedActions() (names []string) {
	for name := range p.builtins {
		names = append(names, name)
	}
	for _, source := range p.sources() {
		names = append(names, p.host.RememberedActions(source.Name)...)
	}
	slices.Sort(names)
	return names
}
