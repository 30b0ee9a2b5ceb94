package check

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/schema"
	"github.com/flowrun/flowrun/engine/spec"
)

// inputSchema reads the workflow's inputs into its type and into a JSON Schema
// for the plan.
func (c *checker) inputSchema() {
	c.inputs = schema.ObjectOf()
	if c.tree.Inputs == nil {
		if _, written := c.tree.Root.Pair(inputsKey); written {
			c.inputs = schema.MapOf(schema.Of(schema.Any)) // its shape was reported
		}
		return
	}
	r := inputReader{c: c}
	text := closed(r.properties(c.tree.Inputs))
	t, err := schema.FromJSON(text)
	if err != nil || r.bad {
		// What is known is kept, so that expressions are checked all the same.
		if !r.bad {
			c.errorAt(c.tree.Inputs.FirstKey(), CodeSchema, "%s", err.Error())
		}
		c.inputs = looseInputs(c.tree.Inputs, t)
		return
	}
	c.plan.Inputs = text
	c.inputs = withDefaults(t)
}

// InputsOf returns the name that a workflow has and its declared inputs as JSON Schema,
// without asking any plugin; ok is false where the declarations have problems. A workflow
// without inputs has an empty schema.
func InputsOf(tree *spec.Workflow) (name string, inputs json.RawMessage, ok bool) {
	c := &checker{tree: tree, texts: map[*spec.Node]*text{}, plan: &plan.Workflow{File: tree.File}}
	name = c.name()
	c.inputSchema()
	return name, c.plan.Inputs, !c.problems.HasErrors()
}

// withDefaults is the type that expressions see: an input that has a default is
// always there, and no object has a name that is not declared.
func withDefaults(t *schema.Type) *schema.Type {
	fields := slices.Clone(t.Exact().Fields)
	for i := range fields {
		fields[i].Required = fields[i].Required || fields[i].Type.Default != nil
	}
	return schema.ObjectOf(fields...)
}

// looseInputs keeps what is known of the inputs beside one that is wrong: its
// name, but no type of its. t is nil when none is known.
func looseInputs(node *spec.Node, t *schema.Type) *schema.Type {
	var fields []schema.Field
	if t != nil {
		fields = withDefaults(t).Fields
	}
	for _, pair := range node.Pairs {
		name := pair.Key.Text
		if !slices.ContainsFunc(fields, func(f schema.Field) bool { return f.Name == name }) {
			fields = append(fields, schema.Required(name, schema.Of(schema.Any)))
		}
	}
	return schema.ObjectOf(fields...)
}

// member and object are JSON with names in written order.
type member struct {
	name  string
	value json.RawMessage
}

type object []member

func (o object) encode() json.RawMessage {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(jsonText(m.name))
		b.WriteByte(':')
		b.Write(m.value)
	}
	b.WriteByte('}')
	return b.Bytes()
}

// closed is the schema of an object without other names.
func closed(properties json.RawMessage, required []string) json.RawMessage {
	whole := object{{"type", jsonText("object")}, {"properties", properties}}
	if len(required) > 0 {
		whole = append(whole, member{"required", encode(required)})
	}
	return append(whole, member{"additionalProperties", json.RawMessage("false")}).encode()
}

// inputReader turns schemas as authors write them into JSON Schema.
type inputReader struct {
	c       *checker
	bad     bool
	noBlobs string // why a value can't be a large one, in a hint; "" = it can
}

func (r *inputReader) problem(pos diag.Pos, format string, args ...any) *diag.Problem {
	r.bad = true
	return r.c.errorAt(pos, CodeSchema, format, args...)
}

// properties reads a map of inputs, which are required unless they have a default.
func (r *inputReader) properties(node *spec.Node) (json.RawMessage, []string) {
	var out object
	var required []string
	for _, pair := range node.Pairs {
		name := pair.Key.Text
		if !isField(name) {
			r.c.errorAt(pair.Key.Pos, CodeName, "`%s` is not a name for an input", name).Hint = diag.Say(fieldHint)
			r.bad = true
		}
		if pair.Value.Bad {
			r.bad = true
			continue
		}
		text, hasDefault := r.schema(pair.Value, "input `"+name+"`")
		out = append(out, member{name, text})
		if !hasDefault {
			required = append(required, name)
		}
	}
	return out.encode(), required
}

// schema reads one schema. The words that need its type come last.
func (r *inputReader) schema(node *spec.Node, what string) (json.RawMessage, bool) {
	anything := json.RawMessage("{}")
	if node.Kind != spec.Mapping {
		problem := r.problem(node.Pos, "the schema of %s must be a map, not a %s", what, node.Kind)
		if node.Kind == spec.Scalar && slices.Contains(r.c.key(schemaMap, "type").Values, node.Text) {
			problem.Hint = diag.Say("write {type: " + node.Text + "}")
		} else if node.Kind == spec.Sequence {
			problem.Hint = diag.Say("one of some texts is `{type: string, enum: [a, b]}`, a list `{type: array}`")
		} else {
			problem.Hint = diag.Say("write {type: string, default: …}")
		}
		return anything, true
	}
	before, words := len(r.c.problems), r.c.tree.Language.Map(schemaMap)
	var out object
	meant := "" // by a word for a type that is another product's
	for _, pair := range node.Pairs {
		key := words.Key(pair.Key.Text)
		if pair.Key.Text == optionsKey && isChoice(node) {
			continue
		}
		if key == nil {
			problem := r.problem(pair.Key.Pos, "the key `%s` is not known in a schema", pair.Key.Text)
			problem.Hint = diag.MeantOr(pair.Key.Text, words.KeyNames(""), "its keys are ")
			continue
		}
		if pair.Value.Bad {
			r.bad = true
			continue
		}
		if key.Name == "type" && pair.Value.Kind == spec.Scalar && pair.Value.Text == blobType {
			if r.noBlobs != "" {
				r.noBlobType(pair.Value, what)
			}
			out = append(out, blobWords()...)
			continue
		}
		if key.Name == "type" {
			if meant = r.typeWord(pair.Value); meant != "" {
				out = append(out, member{"type", jsonText(meant)})
				continue
			}
		}
		if text := r.word(key, pair.Value, what); text != nil {
			out = append(out, member{pair.Key.Text, text})
		}
	}
	_, hasDefault := node.Pair("default")
	if len(r.c.problems) > before {
		r.bad = true
		if t, err := schema.FromJSON(out.encode()); err == nil && meant != "" {
			r.typed(node, t)
		}
		return anything, hasDefault
	}
	if r.kindWords(node) {
		return anything, hasDefault
	}
	t, err := schema.FromJSON(out.encode())
	if err != nil {
		r.problem(node.FirstKey(), "%s", strings.TrimPrefix(err.Error(), "read schema: "))
		return anything, hasDefault
	}
	return append(out, r.typed(node, t)...).encode(), hasDefault
}

// word reads a word that does not need the schema's type; nil for the others
// and for what is not valid.
func (r *inputReader) word(key *spec.Key, node *spec.Node, what string) json.RawMessage {
	c := r.c
	switch key.Name {
	case "pattern":
		return r.pattern(node)
	case "items":
		text, _ := r.schema(node, "the items of "+what)
		return text
	case "properties":
		return r.inner(node, what)
	case "required":
		return r.required(key, node)
	case "const", "default", "enum":
		return nil // typed reads them
	}
	switch {
	case key.Map == schemaMap && node.Kind == spec.Mapping:
		text, _ := r.schema(node, "other fields of "+what)
		return text
	case key.Type == spec.Word:
		word, ok := c.word(key, node)
		switch {
		case ok && slices.Contains(key.Values, "true"):
			return json.RawMessage(word)
		case ok:
			return jsonText(word)
		}
	case key.Type == spec.Text && c.scalar(node, key.What):
		return jsonText(node.Text)
	case key.Type == spec.Integer:
		if n, ok := c.integer(key, node); ok {
			return json.RawMessage(itoa(n))
		}
	case key.Type == spec.Number:
		if _, ok := c.number(key, node); ok {
			return json.RawMessage(node.Text)
		}
	}
	return nil
}

func (r *inputReader) inner(node *spec.Node, what string) json.RawMessage {
	if node.Kind != spec.Mapping {
		r.problem(node.Pos, "`properties` must be a map, not a %s", node.Kind)
		return nil
	}
	var out object
	for _, pair := range node.Pairs {
		if pair.Value.Bad {
			r.bad = true
			continue
		}
		text, _ := r.schema(pair.Value, "`"+pair.Key.Text+"` of "+what)
		out = append(out, member{pair.Key.Text, text})
	}
	return out.encode()
}

func (r *inputReader) required(key *spec.Key, node *spec.Node) json.RawMessage {
	if node.Kind != spec.Sequence {
		r.problem(node.Pos, "`required` must be a list of names, not a %s", node.Kind).Hint =
			diag.Say("leave it out: what has no `default` is required; where null may stand too, write `nullable: true`")
		return nil
	}
	names := []string{}
	for _, item := range node.Items {
		if r.c.scalar(item, key.Items.What) {
			names = append(names, item.Text)
		}
	}
	return encode(names)
}

func (r *inputReader) pattern(node *spec.Node) json.RawMessage {
	if !r.c.scalar(node, "a pattern") {
		return nil
	}
	if _, err := regexp.Compile(node.Text); err != nil {
		r.problem(node.Pos, "the pattern can't be used: %s", strings.TrimPrefix(err.Error(), "error parsing regexp: "))
		return nil
	}
	return jsonText(node.Text)
}

// kindWords reports words that say nothing about the schema's type.
func (r *inputReader) kindWords(node *spec.Node) bool {
	kind := node.Get("type")
	if kind == nil {
		return false
	}
	ok := false
	for _, pair := range node.Pairs {
		key := r.c.key(schemaMap, pair.Key.Text)
		if types := key.Kinds; types != nil && !slices.Contains(types, kind.Text) {
			ok = true
			r.problem(pair.Key.Pos, "`%s` does not belong to the type %s", pair.Key.Text, kind.Text).Hint =
				diag.Say("it belongs to " + strings.Join(types, " and "))
		}
	}
	return ok
}

// typed reads the words whose values are of the schema's own type.
func (r *inputReader) typed(node *spec.Node, t *schema.Type) object {
	before := len(r.c.problems)
	var out object
	for _, pair := range node.Pairs {
		switch pair.Key.Text {
		case "default", "const":
			if text := r.ofType(pair.Value, t); text != nil {
				out = append(out, member{pair.Key.Text, text})
			}
		case "enum":
			out = append(out, r.enum(pair.Value, t)...)
		}
	}
	if len(r.c.problems) == before {
		r.defaultInEnum(node, t, out)
	}
	return out
}

func (r *inputReader) enum(node *spec.Node, t *schema.Type) object {
	if node.Kind != spec.Sequence || len(node.Items) == 0 {
		r.problem(node.Pos, "`enum` must be a list with at least one value")
		return nil
	}
	var values []json.RawMessage
	for _, item := range node.Items {
		if text := r.ofType(item, t); text != nil {
			values = append(values, text)
		}
	}
	return object{{"enum", encode(values)}}
}

func (r *inputReader) defaultInEnum(node *spec.Node, t *schema.Type, words object) {
	value := node.Get("default")
	if value == nil || value.IsNull() && t.AcceptsNull() {
		return
	}
	var enum, given string
	for _, m := range words {
		switch m.name {
		case "enum":
			enum = string(m.value)
		case "default":
			given = string(m.value)
		}
	}
	var allowed []json.RawMessage
	if json.Unmarshal([]byte(enum), &allowed) != nil {
		return
	}
	if !slices.ContainsFunc(allowed, func(v json.RawMessage) bool { return string(v) == given }) {
		r.problem(value.Pos, "the default is not one of `enum`")
	}
}

// ofType reads a literal of a type.
func (r *inputReader) ofType(node *spec.Node, t *schema.Type) json.RawMessage {
	v := valuer{c: r.c}
	out := v.value(node, t, "", false)
	if v.bad {
		r.bad = true
		return nil
	}
	return out.json
}
