package schema

import (
	"encoding/json"
	"errors"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/duration"
)

// coercion turns a value into a value of a type, or says what is wrong. Each
// method returns the value and whether it differs from what came in, so that
// values of others are copied only where something changes.
type coercion struct {
	exact bool // names and durations as people must write them
	own   bool // the value is ours to change in place
	json  bool // the value came from JSON: 1.0 is a whole number
	clear bool // what is marked secret may stand in clear
	trim  bool // names that the schema excludes are left out
	path  path

	// inSecret counts the objects around that are secret as a whole: their
	// leaves are references or clear values.
	inSecret int

	// all collects what is wrong in each part; nil = the first fault ends it.
	all *[]*Mismatch
}

// maxMismatches bounds how many faults of one value are told.
const maxMismatches = 50

// goOn keeps what is wrong with a part of a list or an object, and reports whether
// the other parts are looked at too. depth is the length of the path outside of
// the part.
func (c *coercion) goOn(err error, depth int) bool {
	var wrong *Mismatch
	if c.all == nil || !errors.As(err, &wrong) || len(*c.all) >= maxMismatches {
		return false
	}
	*c.all = append(*c.all, wrong)
	c.path = c.path[:depth]
	return true
}

func (c *coercion) value(t *Type, v any) (any, bool, error) {
	if len(c.path) > maxDepth {
		return nil, false, &Mismatch{Message: "value is nested too deeply"}
	}
	if v == nil {
		if t.AcceptsNull() {
			return nil, false, nil
		}
		return nil, false, mismatchf(c.path, "expects %s, got null", t.Article())
	}
	if list, encoded := v.(*Encoded); encoded {
		whole, err := c.whole(list)
		if err != nil {
			return nil, false, err
		}
		value, _, err := c.value(t, whole)
		return value, true, err
	}
	if IsSecretRef(v) {
		if t.Secret || c.inSecret > 0 {
			return v, false, nil
		}
		return nil, false, mismatchf(c.path, "a secret can't stand here").
			hint("secrets go only into fields that are marked secret")
	}
	if t.Secret && t.Kind != Object && c.clear {
		return c.clearSecret(t, v)
	}
	if t.Secret && t.Kind != Object {
		return nil, false, mismatchf(c.path, "expects a secret, got a clear value").
			hint("write ${{ secrets.NAME }} as the whole value")
	}
	value, changed, err := c.kind(t, v)
	if err != nil {
		return nil, false, err
	}
	if err := t.checkEnum(c.path, value); err != nil {
		return nil, false, err
	}
	return value, changed, nil
}

// mostWhole is how long a list that is kept as text may be which a place takes as a
// whole: more than a message holds.
const mostWhole = 16 << 20

// whole decodes a list that is kept as text, for a place that takes it.
func (c *coercion) whole(list *Encoded) ([]any, error) {
	if list.Bytes() > mostWhole {
		return nil, mismatchf(c.path, "the list has %d elements, %d MiB as JSON: too many for one value", list.Len(), list.Bytes()>>20).
			hint("`foreach` over chunk(list, 100) hands them on in batches")
	}
	return list.Values()
}

// clearSecret checks a secret that stands in clear, without a word on what it is.
func (c *coercion) clearSecret(t *Type, v any) (any, bool, error) {
	open := *t
	open.Secret = false
	value, changed, err := c.kind(&open, v)
	if err == nil {
		err = open.checkEnum(c.path, value)
	}
	if err != nil {
		return nil, false, mismatchf(c.path, "the secret value does not fit: the field takes %s", open.Article())
	}
	return value, changed, nil
}

func (c *coercion) kind(t *Type, v any) (any, bool, error) {
	switch t.Kind {
	case Any:
		if t.Alternatives != nil {
			return c.alternative(t, v)
		}
		return c.any(v)
	case Bool:
		if b, ok := v.(bool); ok {
			return b, false, nil
		}
	case Int:
		return c.integer(t, v)
	case Number:
		return c.number(t, v)
	case String:
		return c.text(t, v)
	case Time:
		return c.time(t, v)
	case Duration:
		return c.duration(t, v)
	case List:
		if list, ok := v.([]any); ok {
			return c.list(t, list)
		}
	case Object:
		if object, ok := v.(map[string]any); ok {
			return c.object(t, object)
		}
	}
	return nil, false, c.wrongKind(t, v)
}

func (c *coercion) wrongKind(t *Type, v any) error {
	m := mismatchf(c.path, "expects %s, got %s", t.Article(), TypeOf(v))
	switch {
	case t.Kind == Int && KindOf(v) == Number && !c.json:
		m.Hint = diag.Say("int(x) or int(round(x)) makes an integer of a number")
	case t.Kind == String && KindOf(v) == Time:
		m.Hint = diag.Say(`formatTime(t, "2006-01-02") makes text of a time`)
	case t.Kind == String && (KindOf(v) == Int || KindOf(v) == Number || KindOf(v) == Bool) && !c.json:
		m.Hint = diag.Say("string(x) makes text of it")
	case t.Kind == String && (KindOf(v) == List || KindOf(v) == Object) && !c.json:
		m.Hint = diag.Say("toJSON(x) makes text of it")
	}
	return m
}

// any brings numbers of unknown type into their exact form and looks for
// secrets in places that are not marked for them.
func (c *coercion) any(v any) (any, bool, error) {
	switch v := v.(type) {
	case json.Number:
		exact := exactNumber(v)
		_, same := exact.(json.Number)
		return exact, !same, nil
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, false, mismatchf(c.path, "the number %v can't be written", v)
		}
	case []any:
		return c.list(&Type{Kind: List}, v)
	case map[string]any:
		return c.object(&Type{Kind: Object, Additional: &Type{}}, v)
	}
	if KindOf(v) == Any {
		return nil, false, mismatchf(c.path, "%T is no value of a workflow", v)
	}
	return v, false, nil
}

func (c *coercion) integer(t *Type, v any) (any, bool, error) {
	var n int
	var changed bool
	switch v := v.(type) {
	case int:
		n = v
	case json.Number:
		whole, ok := wholeNumber(v)
		if !ok && isIntegerText(string(v)) {
			return nil, false, mismatchf(c.path, "the integer %s does not fit 64 bits", v)
		}
		if !ok {
			return nil, false, mismatchf(c.path, "expects an integer, got the number %s", v)
		}
		n, changed = whole, true
	default:
		return nil, false, c.wrongKind(t, v)
	}
	if t.Min != nil || t.Max != nil {
		if err := t.checkRange(c.path, float64(n), strconv.Itoa(n)); err != nil {
			return nil, false, err
		}
	}
	return n, changed, nil
}

func (c *coercion) number(t *Type, v any) (any, bool, error) {
	var f float64
	changed := true
	switch v := v.(type) {
	case float64:
		f, changed = v, false
	case int:
		f = float64(v)
	case json.Number:
		parsed, err := strconv.ParseFloat(string(v), 64)
		if err != nil {
			return nil, false, mismatchf(c.path, "the number %s is too large", v)
		}
		f = parsed
	default:
		return nil, false, c.wrongKind(t, v)
	}
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil, false, mismatchf(c.path, "the number %v can't be written", f)
	}
	if t.Min != nil || t.Max != nil {
		if err := t.checkRange(c.path, f, strconv.FormatFloat(f, 'g', -1, 64)); err != nil {
			return nil, false, err
		}
	}
	return f, changed, nil
}

func (c *coercion) text(t *Type, v any) (any, bool, error) {
	s, ok := v.(string)
	if !ok {
		return nil, false, c.wrongKind(t, v)
	}
	return s, false, t.checkText(c.path, s)
}

func (c *coercion) time(t *Type, v any) (any, bool, error) {
	switch v := v.(type) {
	case time.Time:
		return v, false, nil
	case string:
		parsed, err := ParseTime(v)
		if err != nil {
			return nil, false, mismatchf(c.path, "%v", err)
		}
		return parsed, true, nil
	}
	return nil, false, c.wrongKind(t, v)
}

func (c *coercion) duration(t *Type, v any) (any, bool, error) {
	d, changed := time.Duration(0), false
	switch v := v.(type) {
	case time.Duration:
		d = v
	case string:
		parsed, err := duration.Signed(v)
		if err != nil {
			return nil, false, mismatchf(c.path, "%v", err).hint("%s", duration.Hint(v))
		}
		d, changed = parsed, true
	default:
		return nil, false, c.wrongKind(t, v)
	}
	if c.exact && d <= 0 {
		return nil, false, mismatchf(c.path, "duration %s must be greater than 0", FormatDuration(d))
	}
	return d, changed, nil
}

func (c *coercion) list(t *Type, list []any) (any, bool, error) {
	if err := t.checkCount(c.path, len(list)); err != nil {
		return nil, false, err
	}
	elem := t.Element()
	out, changed, depth := list, false, len(c.path)
	for i, item := range list {
		c.path.pushIndex(i)
		value, differs, err := c.value(elem, item)
		if err != nil {
			if c.goOn(err, depth) {
				continue
			}
			return nil, false, err
		}
		c.path.pop()
		if !differs {
			continue
		}
		if !changed && !c.own {
			out = slices.Clone(list)
		}
		out[i], changed = value, true
	}
	return out, changed, nil
}

func (c *coercion) object(t *Type, object map[string]any) (any, bool, error) {
	switch {
	case t.Variants != nil:
		return c.variant(t, object)
	case t.Blob:
		if err := c.blob(object); err != nil {
			return nil, false, err
		}
	}
	return c.fields(t, object)
}

func (c *coercion) fields(t *Type, object map[string]any) (any, bool, error) {
	depth := len(c.path)
	for _, field := range t.Fields {
		if _, there := object[field.Name]; !there && field.Required {
			if err := mismatchf(c.path, "field `%s` is missing", field.Name); !c.goOn(err, depth) {
				return nil, false, err
			}
		}
	}
	if t.Secret {
		c.inSecret++
		defer func() { c.inSecret-- }()
	}
	out, changed := object, false
	// Keys in order, so that of several mismatches the same one is told always.
	var room [16]string
	for _, name := range sortedNames(room[:0], object) {
		if c.trim && t.excludes(name) {
			delete(out, name) // it came from JSON, so that it is ours
			changed = true
			continue
		}
		value, differs, err := c.named(t, name, object[name])
		if err != nil {
			if c.goOn(err, depth) {
				continue
			}
			return nil, false, err
		}
		c.path.pop()
		if !differs {
			continue
		}
		if !changed && !c.own {
			out = maps.Clone(object)
		}
		out[name], changed = value, true
	}
	return out, changed, nil
}

// sortedNames appends the names of an object in order to names.
func sortedNames(names []string, object map[string]any) []string {
	for name := range object {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// excludes reports whether the schema says that an object has no such name.
func (t *Type) excludes(name string) bool {
	return t.Additional == nil && !t.Open && t.fieldIndex(name) < 0
}

// named is value for the part of an object; the path is left in it.
func (c *coercion) named(t *Type, name string, v any) (any, bool, error) {
	part, err := c.part(t, name)
	if err != nil {
		return nil, false, err
	}
	c.path.push(name)
	return c.value(part, v)
}

// part returns the type of an object's value under name.
func (c *coercion) part(t *Type, name string) (*Type, error) {
	var part *Type
	switch i := t.fieldIndex(name); {
	case i >= 0:
		part = t.Fields[i].Type
	case t.Additional != nil:
		part = t.Additional
	case c.exact:
		c.path.push(name)
		unknown := mismatchf(c.path, "unknown field `%s`", name)
		unknown.Hint = diag.DidYouMean(name, t.FieldNames())
		return nil, unknown
	default:
		part = &Type{}
	}
	return part, nil
}
