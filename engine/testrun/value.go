package testrun

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/schema"
	"github.com/flowrun/flowrun/engine/spec"
)

// converter turns nodes into JSON by the types that are wanted, so that what
// does not fit is told at its place. In a lenient one names beyond the schema
// are kept, as in a service's own answer. One that completes puts the defaults of
// the schema in the place of required fields that are not written.
type converter struct {
	r         *reader
	code      string
	lenient   bool
	completes bool
	blobs     *blobs
}

// convert returns the node as JSON of the type; false when it does not fit.
func (c converter) convert(node *spec.Node, t *schema.Type) (json.RawMessage, bool) {
	before := len(c.r.problems)
	raw := c.value(node, t)
	if len(c.r.problems) > before || raw == nil {
		return nil, false
	}
	if _, err := t.Decode(raw); err != nil {
		c.mismatch(node, err)
		return nil, false
	}
	return raw, true
}

func (c converter) wrong(pos diag.Pos, message string, hint diag.Hint) {
	c.r.problems.Errorf(pos, c.code, "%s", message).Hint = hint
}

// mismatch reports what does not fit its type, at the part that it is about.
func (c converter) mismatch(node *spec.Node, err error) {
	if mismatch, ok := errors.AsType[*schema.Mismatch](err); ok {
		c.wrong(node.Find(mismatch.Pointer).Pos, mismatch.Message, mismatch.Hint)
	} else {
		c.wrong(node.Pos, err.Error(), diag.Hint{})
	}
}

func (c converter) value(node *spec.Node, t *schema.Type) json.RawMessage {
	switch {
	case node.Bad:
		return nil
	case t.Secret && !(node.IsNull() && t.AcceptsNull()):
		return secretOf(node)
	case !t.Known():
		return node.JSON()
	}
	switch node.Kind {
	case spec.Mapping:
		if object := t.Shaped(schema.Object); object.Blob {
			return c.blob(node)
		}
		return c.object(node, t.Shaped(schema.Object))
	case spec.Sequence:
		return c.list(node, t.Shaped(schema.List))
	}
	raw, err := t.FromScalar(node.Text, node.IsPlain())
	if err != nil {
		c.mismatch(node, err)
		return nil
	}
	return raw
}

// SecretPrefix begins the names of secrets that stand in answers.
const SecretPrefix = "test:"

// secretOf stands for a secret value as a run sees it: a reference.
func secretOf(node *spec.Node) json.RawMessage {
	raw, err := json.Marshal(schema.SecretRef(SecretPrefix + strconv.Itoa(node.Pos.Line) + ":" + strconv.Itoa(node.Pos.Column)))
	if err != nil {
		return nil // a map of texts always encodes
	}
	return raw
}

func (c converter) object(node *spec.Node, t *schema.Type) json.RawMessage {
	if t.Kind != schema.Object {
		c.wrong(node.Pos, "expects "+t.Article()+", got a map", diag.Hint{})
		return nil
	}
	var b bytes.Buffer
	b.WriteByte('{')
	for _, pair := range node.Pairs {
		var raw json.RawMessage
		field, ok := t.Field(pair.Key.Text)
		switch {
		case ok:
			raw = c.value(pair.Value, field)
		case c.lenient:
			raw = pair.Value.JSON()
		default:
			c.unknown(pair.Key, t)
		}
		writeMember(&b, pair.Key.Text, raw)
	}
	for _, field := range t.Fields {
		if _, written := node.Pair(field.Name); !written && c.filledIn(field) {
			writeMember(&b, field.Name, field.Type.Default)
		}
	}
	b.WriteByte('}')
	c.missing(node, t)
	return b.Bytes()
}

func writeMember(b *bytes.Buffer, name string, raw json.RawMessage) {
	if b.Len() > 1 {
		b.WriteByte(',')
	}
	key, err := json.Marshal(name)
	if err != nil || raw == nil {
		key, raw = []byte(`""`), json.RawMessage("null") // what is wrong was told
	}
	b.Write(key)
	b.WriteByte(':')
	b.Write(raw)
}

func (c converter) unknown(key *spec.Node, t *schema.Type) {
	hint := diag.DidYouMean(key.Text, t.FieldNames()).Or(diag.Naming("its fields are ", t.FieldNames()...))
	c.wrong(key.Pos, "the schema has no field `"+key.Text+"`", hint)
}

// filledIn reports whether a field is completed where it is not written.
func (c converter) filledIn(field schema.Field) bool {
	return c.completes && field.Required && field.Type.Default != nil
}

func (c converter) missing(node *spec.Node, t *schema.Type) {
	var names []string
	for _, field := range t.Fields {
		if _, written := node.Pair(field.Name); field.Required && !written && !c.filledIn(field) {
			names = append(names, "`"+field.Name+"`")
		}
	}
	if len(names) == 0 || node.Partial {
		return
	}
	verb := " is missing"
	if len(names) > 1 {
		verb = " are missing"
	}
	c.wrong(node.FirstKey(), strings.Join(names, ", ")+verb, diag.Hint{})
}

func (c converter) list(node *spec.Node, t *schema.Type) json.RawMessage {
	if t.Kind != schema.List {
		c.wrong(node.Pos, "expects "+t.Article()+", got a list", diag.Hint{})
		return nil
	}
	var b bytes.Buffer
	b.WriteByte('[')
	for i, item := range node.Items {
		if i > 0 {
			b.WriteByte(',')
		}
		raw := c.value(item, t.Element())
		if raw == nil {
			raw = json.RawMessage("null") // what is wrong was told
		}
		b.Write(raw)
	}
	b.WriteByte(']')
	return b.Bytes()
}
