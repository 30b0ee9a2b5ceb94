package check

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/flowrun/flowrun/engine/content"
	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/schema"
)

// readWords are the words of core.read that say what it gives.
type readWords struct {
	As        content.Format  `json:"as"`
	Answer    json.RawMessage `json:"answer"`
	Columns   json.RawMessage `json:"columns"`
	Delimiter json.RawMessage `json:"delimiter"`
}

// read checks the `with` of core.read, and returns the type of what it gives.
func (c *checker) read(s *step) *schema.Type {
	node := s.src.With
	if node == nil {
		c.with(s) // reports what is missing
		return schema.Of(schema.Any)
	}
	v := &valuer{c: c, scope: c.scope(s, false, true), field: true}
	out := v.value(node, s.action.input, "", false)
	s.plan.With = out.plan
	for _, name := range []string{"as", "answer"} {
		for _, pointer := range v.unknown {
			if pointer == "/"+name || strings.HasPrefix(pointer, "/"+name+"/") {
				v.problem(node.Find(pointer).Pos, CodeStatic, "`%s` of core.read must be written out", name).Hint =
					diag.Say("it says the type of the outputs, which is checked before the run")
			}
		}
	}
	var words readWords
	if v.bad || json.Unmarshal(out.json, &words) != nil {
		return schema.Of(schema.Any)
	}
	refuse := func(name, format string, args ...any) {
		at := node.Get(name)
		v.problem(at.Pos, CodeRefused, format, args...)
	}
	if words.As != content.CSV {
		for name, given := range map[string]json.RawMessage{"columns": words.Columns, "delimiter": words.Delimiter} {
			if given != nil {
				refuse(name, "`%s` belongs to `as: csv` alone", name)
			}
		}
	}
	answer := c.readAnswer(v, words, refuse)
	if v.bad {
		return schema.Of(schema.Any)
	}
	t := content.OutputOf(words.As, answer)
	s.plan.OutputSchema = t.JSONSchema()
	return t
}

// readAnswer is the type that `answer` of core.read says; nil where there is none.
func (c *checker) readAnswer(v *valuer, words readWords, refuse func(name, format string, args ...any)) *schema.Type {
	if words.Answer == nil {
		return nil
	}
	if slices.Contains([]content.Format{content.Text, content.Lines}, words.As) {
		refuse("answer", "`answer` does not belong to `as: %s`, which gives text", words.As)
		return nil
	}
	t, err := schema.FromJSON(words.Answer)
	switch {
	case err != nil:
		refuse("answer", "`answer` is no JSON Schema that can be read: %s", strings.TrimPrefix(err.Error(), "read schema: "))
	case t.HasSecret() || t.HasBlob():
		refuse("answer", "what is read of a large value holds no secrets and no large values")
	case words.As == content.CSV && t.Kind != schema.Object:
		refuse("answer", "`answer` of `as: csv` is the schema of one row, an object; this is %s", t.Article())
	}
	return t
}
