package sound

import (
	"fmt"
	"strconv"

	"github.com/flowrun/flowrun/engine/schema"
)

// binding is a name that a program can read, or a path below one.
type binding struct {
	source string
	typ    *schema.Type
}

// generator draws programs that are mostly well typed. What it wants is a type; it
// looks for something that has about that type.
type generator struct {
	draws
	names []binding // innermost last
	fresh int       // names of let
	slips int       // percent of parts that are meant to be wrong
	size  int       // parts that may still be drawn
}

var (
	boolean  = schema.Of(schema.Bool)
	integer  = schema.Of(schema.Int)
	number   = schema.Of(schema.Number)
	text     = schema.Of(schema.String)
	moment   = schema.Of(schema.Time)
	duration = schema.Of(schema.Duration)
)

func (g *generator) scalar() *schema.Type {
	return pick(g.draws, boolean, integer, integer, number, text, text, text, moment, duration)
}

// goal draws what a program is to give.
func (g *generator) goal() *schema.Type {
	switch g.IntN(10) {
	case 0, 1:
		return schema.ListOf(g.scalar())
	case 2:
		return schema.MapOf(g.scalar())
	}
	return g.scalar()
}

// paths lists what can be read of a binding, to a depth of three.
func paths(b binding, depth int, into []binding) []binding {
	into = append(into, b)
	if depth > 0 && b.typ.Kind == schema.List {
		dot := ""
		if b.typ.MayBeNull() {
			dot = "?."
		}
		return paths(binding{b.source + dot + "[0]", schema.Nullable(b.typ.Element())}, depth-1, into)
	}
	if depth == 0 || b.typ.Kind != schema.Object {
		return into
	}
	for _, field := range b.typ.Fields {
		t, _ := b.typ.Field(field.Name)
		dot := "."
		if b.typ.MayBeNull() {
			dot, t = "?.", schema.Nullable(t)
		}
		source := b.source + dot + field.Name
		if field.Name == "x-y" {
			source = b.source + pickDot(dot) + `["x-y"]`
		}
		into = paths(binding{source, t}, depth-1, into)
	}
	return into
}

func pickDot(dot string) string {
	if dot == "." {
		return ""
	}
	return dot
}

// readable lists all that can be read here.
func (g *generator) readable() []binding {
	var all []binding
	seen := map[string]bool{}
	for i := len(g.names) - 1; i >= 0; i-- {
		if b := g.names[i]; !seen[b.source] {
			seen[b.source] = true
			all = paths(b, 3, all)
		}
	}
	return all
}

func suits(t, goal *schema.Type) bool {
	t = schema.NonNull(t)
	switch {
	case !t.Known() || !goal.Known():
		return !goal.Known()
	case goal.Kind == schema.Number && t.Kind == schema.Int:
		return true
	case t.Kind != goal.Kind:
		return false
	case goal.Kind == schema.List:
		return !goal.Element().Known() || suits(t.Element(), goal.Element())
	}
	return true
}

// path draws something to read, nil when nothing suits.
func (g *generator) path(goal *schema.Type) *binding {
	var suitable []binding
	for _, b := range g.readable() {
		if suits(b.typ, goal) {
			suitable = append(suitable, b)
		}
	}
	if len(suitable) == 0 {
		return nil
	}
	return &suitable[g.IntN(len(suitable))]
}

// read makes a part of a path: what may be null is mostly provided for.
func (g *generator) read(b *binding, goal *schema.Type, depth int) *part {
	read := node("read", b.source)
	if !b.typ.MayBeNull() || g.chance(g.slips) {
		return read
	}
	switch g.IntN(5) {
	case 0:
		return node("?:", "(", read, pick(g.draws, " != nil ? ", " != nil and true ? "), node("read", b.source), " : ", g.literal(goal), ")")
	case 1:
		return node("?:", "(", read, " == nil ? ", g.expr(goal, depth-2), " : ", node("read", b.source), ")")
	}
	return node("??", "(", read, " ?? ", g.expr(goal, min(depth-1, 1)), ")")
}

// literal draws a value that is written out.
func (g *generator) literal(goal *schema.Type) *part {
	switch goal.Kind {
	case schema.Bool:
		return node("", pick(g.draws, "true", "false"))
	case schema.Int:
		return node("", pick(g.draws, "0", "1", "2", "5", "9007199254740993", "9223372036854775807"))
	case schema.Number:
		return node("", pick(g.draws, "0.5", "1.5", "1e300", "2"))
	case schema.String:
		return node("", pick(g.draws, `""`, `"a"`, `"äö"`, `"open"`, `"12"`, "`raw`", `'q'`))
	case schema.Time:
		return node("", pick(g.draws, "now()", `date("2026-01-02")`))
	case schema.Duration:
		return node("", pick(g.draws, `duration("1h")`, `duration("7d")`))
	case schema.List:
		if g.chance(30) || !goal.Element().Known() {
			return node("", "[]")
		}
		return node("[]", "[", g.literal(goal.Element()), ", ", g.literal(goal.Element()), "]")
	case schema.Object:
		if goal.Additional != nil && g.chance(60) {
			return node("{}", "{", pick(g.draws, "a", "id", "name"), ": ", g.literal(orScalar(g, goal.Additional)), "}")
		}
		return node("", "{}")
	}
	return node("", pick(g.draws, "nil", "1", `"a"`))
}

func orScalar(g *generator, t *schema.Type) *schema.Type {
	if t.Known() {
		return t
	}
	return g.scalar()
}

func (g *generator) leaf(goal *schema.Type, depth int) *part {
	if g.chance(75) {
		if b := g.path(goal); b != nil {
			return g.read(b, goal, depth)
		}
	}
	return g.literal(goal)
}

// expr draws a part that gives about a value of goal.
func (g *generator) expr(goal *schema.Type, depth int) *part {
	g.size--
	if depth <= 0 || g.size < 0 {
		return g.leaf(goal, 0)
	}
	if g.chance(g.slips) {
		return g.slip(goal, depth)
	}
	switch g.IntN(20) {
	case 0, 1, 2:
		return g.leaf(goal, depth)
	case 3:
		return node("?:", "(", g.condition(depth-1), " ? ", g.expr(goal, depth-1), " : ", g.expr(goal, depth-1), ")")
	case 4:
		return g.let(goal, depth)
	case 5:
		return g.guarded(goal, depth)
	case 6:
		return g.element(goal, depth)
	}
	return g.operation(goal, depth)
}

func (g *generator) condition(depth int) *part { return g.expr(boolean, depth) }

// slip draws something that is likely wrong: another type, two types, null.
func (g *generator) slip(goal *schema.Type, depth int) *part {
	switch g.IntN(6) {
	case 0:
		return g.expr(g.goal(), depth-1)
	case 1:
		return node("?:", "(", g.condition(depth-1), " ? ", g.expr(goal, depth-1), " : ", g.expr(g.goal(), depth-1), ")")
	case 2:
		if g.chance(60) {
			return node("read", "u")
		}
		all := g.readable()
		return node("read", all[g.IntN(len(all))].source)
	case 3:
		return node("nil", "nil")
	case 4:
		return node("[i]", "[", g.expr(goal, depth-1), ", ", g.expr(g.goal(), depth-1), "][", g.expr(integer, 1), "]")
	}
	if b := g.path(schema.Of(schema.Any)); b != nil {
		return node("read", b.source)
	}
	return node("??", "(", g.expr(schema.ListOf(g.scalar()), depth-1), " ?? ", g.expr(goal, depth-1), ")")
}

func (g *generator) let(goal *schema.Type, depth int) *part {
	g.fresh++
	name, t := "v"+strconv.Itoa(g.fresh), g.goal()
	if g.chance(30) {
		if b := g.nullable(); b != nil { // a flag that tells whether something is there
			return g.flagged(name, b, goal, depth)
		}
	}
	value := g.expr(t, depth-1)
	defer g.bound(binding{name, t})()
	return node("let", "(let "+name+" = ", value, "; ", g.expr(goal, depth-1), ")")
}

// bound adds a name until the function that it returns is called.
func (g *generator) bound(more ...binding) func() {
	old := g.names
	g.names = append(append([]binding{}, g.names...), more...)
	return func() { g.names = old }
}

// nullable draws something that may be null.
func (g *generator) nullable() *binding {
	var found []binding
	for _, b := range g.readable() {
		if b.typ.Nullable && b.typ.Known() {
			found = append(found, b)
		}
	}
	if len(found) == 0 {
		return nil
	}
	return &found[g.IntN(len(found))]
}

func (g *generator) flagged(name string, b *binding, goal *schema.Type, depth int) *part {
	release := g.bound(binding{b.source, schema.NonNull(b.typ)}, binding{name, boolean})
	then := g.expr(goal, depth-1)
	release()
	defer g.bound(binding{name, boolean})()
	return node("let", fmt.Sprintf("(let %s = %s != nil; %s ? ", name, b.source, name), then, " : ", g.expr(goal, depth-1), ")")
}

// guarded draws a ternary whose condition tells that something is there, or that a
// list has elements.
func (g *generator) guarded(goal *schema.Type, depth int) *part {
	b := g.nullable()
	if b == nil || g.chance(30) {
		return g.counted(goal, depth)
	}
	t := schema.NonNull(b.typ)
	var test *part
	switch {
	case t.Kind == schema.String && g.chance(50):
		test = node("==", pick(g.draws, fmt.Sprintf(`%s in ["open", "a"]`, b.source), fmt.Sprintf(`%s == "open"`, b.source), fmt.Sprintf(`(%s ?? "") != ""`, b.source),
			fmt.Sprintf(`len(%s ?? "") > 0`, b.source), fmt.Sprintf(`(%s ?? "") contains "a"`, b.source)))
	case t.Kind == schema.Int && g.chance(50):
		test = node("??", fmt.Sprintf(`(%s ?? 0) > 0`, b.source))
	case t.Kind == schema.Bool && g.chance(50):
		test = node("??", fmt.Sprintf(`(%s ?? false)`, b.source))
	default:
		test = node("!=", b.source, " != nil")
	}
	switch {
	case g.chance(25):
		test = node("and", "(", test, " and ", g.condition(depth-2), ")")
	case g.chance(g.slips): // proves nothing
		test = node("or", "(", test, " or ", g.condition(depth-2), ")")
	}
	release := g.bound(binding{b.source, t})
	then := g.expr(goal, depth-1)
	release()
	other := g.expr(goal, depth-2)
	if g.chance(20) {
		return node("not", "(not (", test, ") ? ", other, " : ", then, ")")
	}
	return node("?:", "(", test, " ? ", then, " : ", other, ")")
}

// counted draws a ternary whose condition tells that a list has elements.
func (g *generator) counted(goal *schema.Type, depth int) *part {
	b := g.path(schema.ListOf(nil))
	if b == nil {
		return g.operation(goal, depth)
	}
	list, elem := b.source, b.typ.Element()
	if b.typ.MayBeNull() {
		list = "(" + b.source + " ?? [])"
	}
	test := pick(g.draws, "len(%s) > 0", "%s != []", "len(%s) >= 1", "0 < len(%s)", "any(%s, true)", "not (len(%s) == 0)", "count(%s, true) > 0", "len(%s) >= 2", "not (len(%s) < 2)")
	at := pick(g.draws, b.source+"[0]", b.source+"[-1]", b.source+"[len("+b.source+") - 1]", b.source+"[7 % len("+b.source+")]", b.source+"[1]", b.source+"[-2]", "first("+b.source+")", "last("+b.source+")")
	defer g.bound(binding{at, elem})()
	then := g.expr(goal, depth-1)
	return node("[i]", "("+fmt.Sprintf(test, list)+" ? ", then, " : ", g.literal(goal), ")")
}

// element draws one element of a list, by its place or by a function.
func (g *generator) element(goal *schema.Type, depth int) *part {
	list := g.expr(schema.ListOf(goal), depth-1)
	if name := pick(g.draws, "first", "last", "max", "min"); g.chance(3 * g.slips) {
		return node("fn:"+name, name+"(", list, ")") // may be null
	}
	fallback := g.expr(goal, min(1, depth-1))
	switch g.IntN(6) {
	case 0:
		return node("[i]", "(", list, pick(g.draws, "[0]", "[1]", "[-1]"), " ?? ", fallback, ")")
	case 1:
		return node("[i]", "(", list, "[", g.expr(integer, depth-2), "] ?? ", fallback, ")")
	case 2:
		return node("fn:"+"get", "(get(", list, ", ", g.expr(integer, 1), ") ?? ", fallback, ")")
	case 3:
		return node("[i]", list, pick(g.draws, "[0]", "[-1]"))
	case 4:
		return g.found(goal, depth)
	}
	name := pick(g.draws, "first", "last")
	return node("fn:"+name, "("+name+"(", list, ") ?? ", fallback, ")")
}

func (g *generator) found(goal *schema.Type, depth int) *part {
	name := pick(g.draws, "find", "findLast")
	list, elem := g.list(schema.ListOf(goal), depth)
	return node("fn:"+name, "("+name+"(", list, ", ", g.body(elem, boolean, depth-1), ") ?? ", g.expr(goal, depth-2), ")")
}

// list draws a list and says what its elements are.
func (g *generator) list(goal *schema.Type, depth int) (*part, *schema.Type) {
	if g.chance(60) {
		if b := g.path(goal); b != nil && b.typ.Kind == schema.List {
			if b.typ.MayBeNull() && !g.chance(5) {
				return node("??", "(", node("read", b.source), " ?? [])"), b.typ.Element()
			}
			return node("read", b.source), b.typ.Element()
		}
	}
	elem := goal.Element()
	if !elem.Known() {
		elem = g.scalar()
	}
	return g.expr(schema.ListOf(elem), depth-1), elem
}

// body draws what a predicate evaluates for an element.
func (g *generator) body(elem, goal *schema.Type, depth int, more ...binding) *part {
	if goal.Kind == schema.Bool && elem.MayBeNull() && g.chance(2*g.slips) {
		return g.shadowed(elem)
	}
	more = append([]binding{{"#", elem}, {"#index", integer}}, more...)
	defer g.bound(more...)()
	if goal.Kind == schema.Bool && elem.MayBeNull() && g.chance(30) {
		return node("!=", "# != nil")
	}
	if elem.Kind == schema.Object && goal.Kind == schema.Bool && g.chance(25) {
		for _, b := range paths(binding{"#", elem}, 1, nil) {
			if b.typ.Nullable && b.source != "#" {
				return node("!=", b.source, " != nil")
			}
		}
	}
	return g.expr(goal, depth)
}

// shadowed draws a condition that says of one element what an inner predicate
// takes for its own.
func (g *generator) shadowed(elem *schema.Type) *part {
	b := g.path(schema.ListOf(schema.NonNull(elem)))
	if b == nil || b.typ.MayBeNull() {
		return node("!=", "# != nil")
	}
	use := map[schema.Kind]string{
		schema.Bool: "#", schema.Int: "# > 0", schema.Number: "# > 0", schema.String: "len(#) > 0", schema.Time: "# > now()",
		schema.Duration: `# > duration("1h")`, schema.List: "len(#) > 0", schema.Object: "len(#) > 0",
	}[elem.Kind]
	if use == "" {
		use = "# == nil"
	}
	return node("and", "(# != nil and ", pick(g.draws, "any", "all", "none"), "("+b.source+", "+use+"))")
}
