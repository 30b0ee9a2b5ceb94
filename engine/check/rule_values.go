package check

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/eval"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/schema"
	"github.com/flowrun/flowrun/engine/spec"
)

// valuer turns nodes into values of the plan, by the type of the place that
// they go to.
type valuer struct {
	c       *checker
	scope   *eval.Scope // nil = expressions can't stand here
	unknown []string    // JSON pointers of what is known only when the step runs
	bad     bool        // a problem was reported
	field   bool        // the place is an action's input, else one of the workflow
	quiet   bool        // nothing is reported, and expressions are only passed by: to see what is known
}

// value is one value with what is known of it. json is nil when a part is not
// known before the run, typ when a problem was reported.
type value struct {
	plan plan.Value
	json json.RawMessage // what is known, without the parts that are not
	typ  *schema.Type
}

func anyValue() value { return value{typ: eval.Faulty} }

func (v *valuer) problem(pos diag.Pos, code, format string, args ...any) *diag.Problem {
	v.bad = true
	if v.quiet {
		return &diag.Problem{}
	}
	return v.c.errorAt(pos, code, format, args...)
}

// value reads a node for a place of type t; a nil t says that nothing is known
// of the place. in says that an object around is secret as a whole.
func (v *valuer) value(node *spec.Node, t *schema.Type, pointer string, in bool) value {
	if node.Bad {
		v.bad = true
		return anyValue()
	}
	switch node.Kind {
	case spec.Mapping:
		return v.object(node, t, pointer, in)
	case spec.Sequence:
		return v.list(node, t, pointer, in)
	}
	return v.scalar(node, t, pointer, in)
}

func (v *valuer) scalar(node *spec.Node, t *schema.Type, pointer string, in bool) value {
	text := v.c.text(node)
	rest, named := inFile(t)
	t = rest
	switch {
	case text.bad:
		v.bad = true
		v.checkParts(text)
		return anyValue()
	case v.quiet && (named || text.hasExpr()):
		v.bad = v.bad || named && !text.hasExpr() // a file is read once, when the step is checked
		v.unknown = append(v.unknown, pointer)
		return anyValue()
	case named && !text.hasExpr() && text.literal() != "" && !node.IsNull():
		return v.file(node, text.literal(), t)
	case !text.hasExpr():
		return v.literal(node, text, t, in)
	case v.scope == nil:
		v.bad = !v.c.static(node)
		return anyValue()
	}
	v.unknown = append(v.unknown, pointer)
	if text.whole != nil {
		return v.whole(node, text, t, in)
	}
	return v.mixed(node, text, t)
}

// checkParts looks at the expressions that can be read beside one that can't.
func (v *valuer) checkParts(text *text) {
	if v.scope == nil {
		return
	}
	for i := range text.parts {
		if p := &text.parts[i]; p.parsed != nil {
			v.infer(text, p)
		}
	}
}

// infer checks an expression; false when a problem was reported.
func (v *valuer) infer(text *text, p *part) (*schema.Type, bool) {
	t, issues := v.c.infer(p, v.scope)
	for _, issue := range issues {
		v.c.issue(text.node, p.offset, issue)
	}
	fine := !eval.HasErrors(issues)
	v.bad = v.bad || !fine
	return t, fine
}

func (v *valuer) literal(node *spec.Node, text *text, t *schema.Type, in bool) value {
	if t == nil {
		t = schema.Of(schema.Any)
	}
	clear := t
	if in && t.Secret {
		open := *t
		open.Secret = false
		clear = &open
	}
	raw, err := clear.FromScalar(text.literal(), node.IsPlain())
	if err != nil {
		v.mismatch(node, CodeLiteral, err)
		return anyValue()
	}
	typ := t
	if t.Kind == schema.Any {
		decoded, err := t.Decode(raw)
		if err == nil {
			typ = schema.Of(schema.KindOf(decoded))
		}
	}
	if string(raw) == "null" {
		typ = schema.Of(schema.Null)
	}
	return value{plan: literal(raw), json: raw, typ: typ}
}

// mismatch reports a literal that does not have its type.
func (v *valuer) mismatch(node *spec.Node, code string, err error) {
	var m *schema.Mismatch
	if !errors.As(err, &m) {
		v.problem(node.Pos, code, "%s", err.Error())
		return
	}
	at := node.Find(m.Pointer)
	v.problem(at.Pos, code, "%s", m.Message).Hint = m.Hint
}

// whole reads a scalar that is one expression: its result keeps its type.
func (v *valuer) whole(node *spec.Node, text *text, t *schema.Type, in bool) value {
	result, ok := v.infer(text, text.whole)
	if !ok {
		return anyValue()
	}
	if name, secret := secretName(text.whole, result); secret {
		if t != nil && !t.Secret && !in {
			v.problem(node.Pos, CodeSecretText, "a secret can't stand here").Hint = diag.Say(v.secretHint())
			return anyValue()
		}
		return value{plan: plan.Value{Kind: plan.ValueSecret, Secret: name}, typ: result}
	}
	x := text.expr(text.whole)
	x.Source = text.whole.parsed.Arranged(v.scope)
	out := value{plan: plan.Value{Kind: plan.ValueExpr, Expr: &x}, typ: result}
	v.c.knownType(text, result)
	switch {
	case readsSecrets(text.whole):
		v.problem(node.Pos, CodeSecretText, "secrets are read by their names, one at a time").Hint = diag.Say("write ${{ secrets.NAME }} as the whole value")
		return anyValue()
	case t == nil || in && result.Secret:
		return out
	}
	if misfit := v.c.fits(result, t); misfit != nil {
		code := CodeType
		if result.HasSecret() {
			code = CodeSecretText
		}
		v.problem(node.Pos, code, "%s", misfit.Message).Hint = misfit.Hint
		return anyValue()
	}
	return out
}

func (v *valuer) secretHint() string {
	if v.field {
		return "secrets go only into inputs that the action marks as secret"
	}
	return "a secret stands only as the whole value of an action's input that is marked secret"
}

// secretName returns NAME of an expression that is `secrets.NAME`.
func secretName(p *part, t *schema.Type) (string, bool) {
	reads := p.parsed.Reads()
	if !t.Secret || len(reads) != 1 || len(reads[0].Path) != 2 || reads[0].Path[0] != "secrets" || reads[0].Dynamic {
		return "", false
	}
	return reads[0].Path[1], true
}

// readsSecrets reports whether an expression reads the root `secrets`.
func readsSecrets(p *part) bool {
	return slices.ContainsFunc(p.parsed.Reads(), func(r eval.Read) bool { return r.Path[0] == "secrets" })
}

// mixed reads text with expressions in it: only single values can stand there.
func (v *valuer) mixed(node *spec.Node, text *text, t *schema.Type) value {
	var parts []plan.TextPart
	ok := true
	for i := range text.parts {
		p := &text.parts[i]
		if !p.isExpr {
			parts = append(parts, plan.TextPart{Text: p.literal})
			continue
		}
		x := text.expr(p)
		if p.parsed != nil {
			x.Source = p.parsed.Arranged(v.scope)
		}
		parts = append(parts, plan.TextPart{Expr: &x})
		result, fine := v.infer(text, p)
		ok = ok && fine
		if !fine {
			continue
		}
		if v.c.strict && !result.Known() && !result.HasSecret() {
			ok = false
			v.problem(node.Span(p.offset, p.offset+len(p.source)), eval.CodeAny, "the type of this value is not known, so that it may not be able to stand inside text").Hint =
				diag.Say("string(x) makes text of it, toJSON(x) of any value")
		}
		if misfit := eval.FitsText(result); misfit != nil {
			code := eval.CodeText
			switch {
			case result.HasSecret():
				code = CodeSecretText
			case result.MayBeNull():
				code = eval.CodeNull
			}
			ok = false
			v.problem(node.Span(p.offset, p.offset+len(p.source)), code, "%s", misfit.Message).Hint = misfit.Hint
		}
	}
	out := value{plan: plan.Value{Kind: plan.ValueText, Text: parts}, typ: schema.Of(schema.String)}
	if t == nil || !ok {
		return out
	}
	if misfit := out.typ.Fits(t); misfit != nil {
		problem := v.problem(node.Pos, CodeType, "%s", misfit.Message)
		if problem.Hint = misfit.Hint; t.Secret {
			problem.Hint = diag.Say("a secret stands only as the whole value, never inside text")
		} else if text.parts[0].literal == "" || problem.Hint.Text == "" {
			problem.Hint = diag.Say("a value that is exactly one ${{ }} keeps its type; with more around it, it is text")
		}
	}
	return out
}

func (v *valuer) list(node *spec.Node, t *schema.Type, pointer string, in bool) value {
	var elem *schema.Type
	t = t.Shaped(schema.List)
	switch {
	case t == nil:
	case !t.Known():
		elem = schema.Of(schema.Any)
	case t.Kind == schema.List:
		elem = t.Element()
	default:
		v.problem(node.Pos, CodeLiteral, "expects %s, got a list", t.Article())
		return anyValue()
	}
	var joined *schema.Type
	values := make([]plan.Value, 0, len(node.Items))
	messages := make([]json.RawMessage, 0, len(node.Items))
	for i, item := range node.Items {
		part := v.value(item, elem, child(pointer, itoa(i)), in)
		values = append(values, part.plan)
		if part.json == nil {
			part.json = json.RawMessage("null") // the places of the others must stay
		}
		messages = append(messages, part.json)
		if joined == nil {
			joined = part.typ
		} else {
			joined = schema.Join(joined, part.typ)
		}
	}
	v.length(node, t)
	typ := schema.EmptyList()
	if joined != nil {
		typ = schema.AtLeast(schema.ListOf(joined), len(node.Items))
	}
	out := value{plan: plan.Value{Kind: plan.ValueList, List: values}, json: encode(messages), typ: typ}
	return folded(out, values)
}

// length checks the number of items of a list that is written out.
func (v *valuer) length(node *spec.Node, t *schema.Type) {
	switch {
	case t == nil:
	case t.MinLength != nil && len(node.Items) < *t.MinLength:
		v.problem(node.Pos, CodeLiteral, "needs at least %s, got %d", items(*t.MinLength), len(node.Items))
	case t.MaxLength != nil && len(node.Items) > *t.MaxLength:
		v.problem(node.Pos, CodeLiteral, "takes at most %s, got %d", items(*t.MaxLength), len(node.Items))
	}
}

func items(n int) string {
	if n == 1 {
		return "1 item"
	}
	return itoa(n) + " items"
}

// folded makes one literal of a value whose parts are all literals.
func folded(out value, parts []plan.Value) value {
	if slices.ContainsFunc(parts, func(p plan.Value) bool { return p.Kind != plan.ValueLiteral }) {
		return out
	}
	out.plan = literal(out.json)
	return out
}

func (v *valuer) object(node *spec.Node, t *schema.Type, pointer string, in bool) value {
	t = t.Shaped(schema.Object)
	if t != nil && t.Known() && t.Kind != schema.Object {
		v.problem(node.Pos, CodeLiteral, "expects %s, got an object", t.Article())
		return anyValue()
	}
	if pair, ok := node.Pair("$secret"); ok && len(node.Pairs) == 1 {
		v.problem(pair.Key.Pos, CodeForgedSecret, "a secret reference can't be written out").Hint = diag.Say("write ${{ secrets.NAME }}")
		return anyValue()
	}
	if t != nil && t.Blob {
		return v.writtenBlob(node)
	}
	t = tagged(node, t)
	in = in || t != nil && t.Secret
	bindings := make([]plan.Binding, 0, len(node.Pairs))
	parts := make([]plan.Value, 0, len(node.Pairs))
	fields := make([]schema.Field, 0, len(node.Pairs))
	known := make([]jsonMember, 0, len(node.Pairs))
	for _, pair := range node.Pairs {
		name := pair.Key.Text
		fieldType, ok := v.fieldType(node, pair, t)
		if !ok {
			v.value(pair.Value, nil, child(pointer, name), in)
			continue
		}
		part := v.value(pair.Value, fieldType, child(pointer, name), in)
		bindings = append(bindings, plan.Binding{Name: name, Value: part.plan})
		parts = append(parts, part.plan)
		fields = append(fields, schema.Required(name, part.typ))
		if part.json != nil {
			known = append(known, jsonMember{name, part.json})
		}
	}
	v.missing(node, t)
	out := folded(value{plan: plan.Value{Kind: plan.ValueObject, Object: bindings}, json: encodeObject(known), typ: schema.ObjectOf(fields...)}, parts)
	if t != nil && t.Variants != nil && out.plan.Kind == plan.ValueLiteral && !v.bad {
		if err := t.Check(out.json); err != nil {
			v.mismatch(node, CodeLiteral, err)
		}
	}
	return out
}

// tagged leaves those of the objects that may stand here which have the texts that are
// written out.
func tagged(node *spec.Node, t *schema.Type) *schema.Type {
	if t == nil || t.Variants == nil {
		return t
	}
	for _, pair := range node.Pairs {
		if pair.Value.Kind == spec.Scalar && t.TagsBy(pair.Key.Text) && !strings.Contains(pair.Value.Text, "${{") {
			t = t.Tagged(pair.Key.Text, []string{pair.Value.Text}, true)
		}
	}
	return t
}

// fieldType is the type of a name in an object; false when it has no such name,
// which is reported.
func (v *valuer) fieldType(node *spec.Node, pair spec.Pair, t *schema.Type) (*schema.Type, bool) {
	switch {
	case t == nil:
		return nil, true
	case t.Kind == schema.Any:
		return t, true
	}
	for _, f := range t.Fields {
		if f.Name == pair.Key.Text {
			return f.Type, true
		}
	}
	if t.Additional != nil {
		return t.Additional, true
	}
	problem := v.problem(pair.Key.Pos, CodeUnknownField, "there is no field `%s` here", pair.Key.Text)
	names := t.FieldNames()
	problem.Hint = diag.DidYouMean(pair.Key.Text, names)
	switch {
	case problem.Hint.Text != "":
	case len(names) == 0:
		problem.Hint = diag.Say("it takes no fields")
	case len(names) <= 12:
		problem.Hint = diag.Say("it takes " + strings.Join(names, ", "))
	}
	return nil, false
}

// missing reports required fields that are not written. A misspelt field that
// is near one may well be it: that was reported.
func (v *valuer) missing(node *spec.Node, t *schema.Type) {
	if t == nil {
		return
	}
	for _, f := range t.Fields {
		if _, written := node.Pair(f.Name); written || !f.Required || v.misspelt(node, t, f.Name) {
			continue
		}
		v.problem(node.FirstKey(), CodeMissingField, "field `%s` is missing", f.Name).Hint = diag.Takes(f.Type.Article())
	}
}

func (v *valuer) misspelt(node *spec.Node, t *schema.Type, name string) bool {
	if t.Additional != nil {
		return false
	}
	return slices.ContainsFunc(node.Pairs, func(pair spec.Pair) bool {
		return !slices.Contains(t.FieldNames(), pair.Key.Text) && diag.Nearest(pair.Key.Text, t.FieldNames()) == name
	})
}
