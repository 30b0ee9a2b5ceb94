package check

import (
	"encoding/json"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/schema"
	"github.com/flowrun/flowrun/engine/spec"
)

// FileCatalog is a Catalog that reads files of the project, for inputs that may stand in one.
type FileCatalog interface {
	// File reads a file; its name is relative to the workflow that is checked. The error
	// says why it can't be read, without the name.
	File(name string) ([]byte, error)
}

// inFile reports whether a place takes the name of a file in the stead of what the file
// holds: a text with the format of a file, besides other kinds. rest is what it takes
// itself.
func inFile(t *schema.Type) (rest *schema.Type, ok bool) {
	if t == nil || t.Alternatives == nil {
		return t, false
	}
	for _, one := range t.Alternatives {
		if one.File {
			ok = true
			continue
		}
		if rest == nil {
			rest = one
		} else {
			rest = schema.Join(rest, one)
		}
	}
	if rest == nil || !ok {
		return t, false
	}
	if t.Nullable {
		rest = schema.Nullable(rest)
	}
	return rest, true
}

// file puts what a file holds, JSON or YAML, in the place of its name: the plan has it, so
// that a run keeps what it was accepted with.
func (v *valuer) file(node *spec.Node, name string, t *schema.Type) value {
	problem := func(hint diag.Hint, format string, args ...any) value {
		v.problem(node.Pos, CodeInputFile, "`%s` "+format, append([]any{name}, args...)...).Hint = hint
		return anyValue()
	}
	files, ok := v.c.catalog.(FileCatalog)
	if !ok {
		return problem(diag.Hint{}, "is a file, and none is read here")
	}
	content, err := files.File(name)
	if err != nil {
		return problem(diag.Say("name a file of the project, relative to this one, or write here what it holds"), "can't be read: %v", err)
	}
	raw := json.RawMessage(content)
	if !json.Valid(content) {
		tree, problems := spec.ParseNode(name, content, spec.DataLimits())
		if problems.HasErrors() || tree == nil {
			said := "it holds nothing"
			if len(problems) > 0 {
				said = problems[0].String()
			}
			return problem(diag.Say("it holds JSON or YAML"), "is not what stands here: %s", said)
		}
		raw = tree.JSON()
	}
	if _, err := t.Decode(raw); err != nil {
		return problem(diag.Hint{}, "does not hold what belongs here: %v", err)
	}
	return value{plan: literal(raw), json: raw, typ: t}
}
