package sound

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/flowrun/flowrun/engine/schema"
)

// draws is a source of random choices. The same seed draws the same.
type draws struct{ *rand.Rand }

func newDraws(seed uint64) draws { return draws{rand.New(rand.NewPCG(seed, 0x50d))} }

func (d draws) chance(percent int) bool { return d.IntN(100) < percent }

func pick[T any](d draws, from ...T) T { return from[d.IntN(len(from))] }

func fieldNames() []string {
	return []string{"id", "name", "tags", "at", "n", "ratio", "flag", "kind", "note", "rows", "meta", "x-y"}
}

// object is a JSON Schema, or a part of one, before it is written.
type object = map[string]any

// schemaOf draws a schema.
func (d draws) schemaOf(depth int) object {
	kinds := []string{"string", "string", "integer", "integer", "number", "boolean", "time", "duration", "enum"}
	if depth > 0 {
		kinds = append(kinds, "list", "list", "rows", "rows", "object", "object", "map", "free", "any", "choice", "tuple")
	}
	s := object{}
	switch kind := pick(d, kinds...); kind {
	case "time":
		s["type"], s["format"] = "string", "date-time"
	case "duration":
		s["type"], s["format"] = "string", "duration"
	case "enum":
		s["type"], s["enum"] = "string", []any{"open", "done", "a"}[:1+d.IntN(3)]
	case "list", "tuple":
		s["type"], s["items"] = "array", d.schemaOf(depth-1)
		if d.chance(20) {
			s["minItems"] = 1 + d.IntN(2)
		}
	case "rows":
		s["type"], s["items"] = "array", d.objectSchema(depth-1)
	case "object":
		s = d.objectSchema(depth - 1)
	case "map":
		s["type"], s["additionalProperties"] = "object", d.schemaOf(depth-1)
	case "free":
		s["type"] = "object"
	case "any":
		return object{}
	case "choice":
		return d.choice(depth)
	default:
		s["type"] = kind
	}
	if d.chance(25) {
		s["type"] = []any{s["type"], "null"}
		if values, ok := s["enum"].([]any); ok {
			s["enum"] = append(append([]any{}, values...), nil)
		}
	}
	return s
}

// choice is of one of several kinds, or of all that several schemas say.
func (d draws) choice(depth int) object {
	switch d.IntN(5) {
	case 0:
		return object{"anyOf": []any{object{"type": "string"}, object{"type": "integer"}}}
	case 1:
		return object{"type": []any{"string", pick(d, "integer", "boolean", "array"), pick(d, "null", "number")}, "items": d.schemaOf(max(0, depth-1))}
	case 2:
		return object{"oneOf": []any{d.objectSchema(depth - 1), d.objectSchema(depth - 1)}}
	case 3:
		return object{"anyOf": []any{d.objectSchema(depth - 1), object{"type": "string", "format": "date-time"}, object{"type": "null"}}}
	default:
		return object{"allOf": []any{d.objectSchema(depth - 1), d.objectSchema(depth - 1)}}
	}
}

func (d draws) objectSchema(depth int) object {
	properties, required := object{}, []any{}
	names := fieldNames()
	for range 1 + d.IntN(4) {
		name := pick(d, names...)
		properties[name] = d.schemaOf(depth)
	}
	for _, name := range names {
		if _, there := properties[name]; there && d.chance(65) {
			required = append(required, name)
		}
	}
	s := object{"type": "object", "properties": properties, "required": required}
	switch n := d.IntN(100); {
	case n < 15:
		s["additionalProperties"] = d.schemaOf(max(0, depth-1))
	case n < 55:
		s["additionalProperties"] = false
	case n < 60:
		s["additionalProperties"], s["patternProperties"] = false, object{"^[A-Z]": object{}}
	}
	return s
}

func typeOf(s object) *schema.Type {
	raw, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return schema.MustFromJSON(string(raw))
}

// value draws a value of a type, in the form that the engine decodes to.
// oneOf draws an object, of several one whole.
func (d draws) oneOf(t *schema.Type, depth int) any {
	object := d.object(t, depth)
	for range 20 {
		if t.Variants == nil {
			return object
		}
		object = d.object(pick(d, t.Variants...), depth)
		if text, err := schema.Encode(object); err == nil && t.WithoutSecrets().Check(text) == nil {
			return object
		}
	}
	return object
}

func (d draws) value(t *schema.Type, depth int) any {
	if t.Nullable && d.chance(30) {
		return nil
	}
	if len(t.Enum) > 0 {
		return pick(d, t.Enum...)
	}
	if t.Alternatives != nil {
		return d.value(pick(d, t.Alternatives...), depth)
	}
	switch t.Kind {
	case schema.Null:
		return nil
	case schema.Bool:
		return d.chance(50)
	case schema.Int:
		return pick(d, 0, 1, -1, 2, 3, 7, 100, 1<<53+1, -1<<53-1, math.MaxInt64, math.MinInt64, d.IntN(20))
	case schema.Number:
		return pick(d, 0, 0.5, -1.5, 3, 1e300, -1e300, 1e-9, 1<<53+2, float64(d.IntN(9)))
	case schema.String:
		return d.text()
	case schema.Time:
		return time.Date(1+d.IntN(9000), time.Month(1+d.IntN(12)), 1+d.IntN(28), d.IntN(24), d.IntN(60), 0, d.IntN(2), time.UTC)
	case schema.Duration:
		return pick(d, time.Second, 36*time.Hour, time.Nanosecond, -time.Minute, 0, 200*365*24*time.Hour)
	case schema.List:
		return d.list(t, depth)
	case schema.Object:
		return d.oneOf(t, depth)
	}
	return d.anything(depth)
}

func (d draws) text() string {
	return pick(d, "", "a", "b", "abc", "äöü", "日本語😀", "a,b,c", "=1+1", "2026-01-02", "2026-01-02T03:04:05Z", "12", " -3.5 ", "open", "id", "\r\n\t",
		"{\"a\": [1]}", "aGk=", "Europe/Berlin", "1h", strings.Repeat("x", 60), "e\u0301", "name")
}

func (d draws) list(t *schema.Type, depth int) any {
	n := pick(d, 0, 0, 1, 1, 2, 3)
	if t.MinLength != nil {
		n = max(n, *t.MinLength)
	}
	if t.MaxLength != nil {
		n = min(n, *t.MaxLength)
	}
	list := make([]any, n)
	for i := range list {
		list[i] = d.value(t.Element(), depth-1)
	}
	return list
}

func (d draws) object(t *schema.Type, depth int) any {
	values := map[string]any{}
	for _, field := range t.Fields {
		if field.Required || d.chance(60) {
			values[field.Name] = d.value(field.Type, depth-1)
		}
	}
	if others := t.Others(); others != nil {
		for range d.IntN(3) {
			if name := d.otherName(t); !isField(t, name) {
				values[name] = d.value(others, depth-1)
			}
		}
	}
	return values
}

// otherName is a name beyond a schema: of another field, one that looks like it, or
// like a path.
func (d draws) otherName(t *schema.Type) string {
	name := pick(d, append(fieldNames(), "a", "zz", "")...)
	switch d.IntN(6) {
	case 0:
		return strings.ToUpper(name)
	case 1:
		return strings.ToUpper(name[:min(1, len(name))]) + name[min(1, len(name)):]
	case 2:
		if dotted := dottedPaths(t); len(dotted) > 0 {
			return pick(d, dotted...)
		}
		return pick(d, "a.b", "rows.0.id", "meta.id")
	}
	return name
}

// dottedPaths lists the fields of the objects in an object.
func dottedPaths(t *schema.Type) []string {
	var dotted []string
	for _, outer := range t.Fields {
		for _, inner := range outer.Type.Fields {
			dotted = append(dotted, outer.Name+"."+inner.Name)
		}
	}
	return dotted
}

func isField(t *schema.Type, name string) bool {
	for _, field := range t.Fields {
		if field.Name == name {
			return true
		}
	}
	return false
}

// anything is a value of which the schema says nothing.
func (d draws) anything(depth int) any {
	n := 9
	if depth > 0 {
		n = 12
	}
	switch d.IntN(n) {
	case 0, 1:
		return nil
	case 2:
		return d.chance(50)
	case 3, 4:
		return d.IntN(50) - 5
	case 5:
		return 1.5
	case 6, 7:
		return d.text()
	case 8:
		return json.Number("123456789012345678901234567890")
	case 9:
		return []any{d.anything(depth - 1), d.anything(depth - 1)}[:d.IntN(3)]
	}
	return map[string]any{pick(d, fieldNames()...): d.anything(depth - 1)}
}

// belongs says where a value is none of a type's, "" where it is one.
func belongs(t *schema.Type, v any) string {
	if v == nil {
		if t.AcceptsNull() || !t.Known() {
			return ""
		}
		return "null is no " + t.String()
	}
	if !t.Known() {
		return ""
	}
	problem := ""
	for _, one := range t.Each() {
		if problem = belongsTo(one, v); problem == "" {
			return ""
		}
	}
	return problem
}

func belongsTo(t *schema.Type, v any) string {
	kind := schema.KindOf(v)
	if kind != t.Kind && !(kind == schema.Int && t.Kind == schema.Number) {
		return fmt.Sprintf("%s is no %s", schema.TypeOf(v), t)
	}
	switch v := v.(type) {
	case string:
		if len(t.Enum) == 0 {
			return ""
		}
		for _, one := range t.Enum {
			if one == v {
				return ""
			}
		}
		return fmt.Sprintf("%q is none of %v", v, t.Enum)
	case []any:
		if len(v) < t.Least() || t.AlwaysEmpty() && len(v) > 0 {
			return fmt.Sprintf("%d elements in a %s of at least %d", len(v), t, t.Least())
		}
		for i, item := range v {
			elem := t.Element()
			if t.Tuple != nil {
				elem = t.Tuple[i]
			}
			if problem := belongs(elem, item); problem != "" {
				return fmt.Sprintf("[%d]: %s", i, problem)
			}
		}
	case map[string]any:
		return objectBelongs(t, v)
	}
	return ""
}

func objectBelongs(t *schema.Type, v map[string]any) string {
	for _, field := range t.Fields {
		if _, there := v[field.Name]; field.Required && !there {
			return "field " + field.Name + " is missing"
		}
	}
	for name, item := range v {
		field, ok := t.Field(name)
		switch {
		case !ok && t.Open:
			continue
		case !ok:
			return "there is a field " + name
		}
		if problem := belongs(field, item); problem != "" {
			return name + ": " + problem
		}
	}
	return ""
}
