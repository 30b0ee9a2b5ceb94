package sound

import (
	"slices"
	"strings"
	"sync"

	"github.com/flowrun/flowrun/engine/eval"
	"github.com/flowrun/flowrun/engine/schema"
)

// function is what a signature says.
type function struct {
	name     string
	params   []param
	required int
	variadic bool
	returns  string
}

type param struct {
	name  string
	kinds []string
}

// functions are those of the language that are no predicates, read from their
// documentation, so that a new one is tried without a word here.
var functions = sync.OnceValue(func() []function {
	var all []function
	for _, doc := range eval.Functions() {
		if slices.Contains(predicates(), doc.Name) {
			continue
		}
		_, rest, _ := strings.Cut(doc.Signature, "(")
		list, returns, _ := strings.Cut(rest, "): ")
		f := function{name: doc.Name, returns: returns}
		for _, one := range strings.Split(list, ", ") {
			name, kinds, ok := strings.Cut(one, ": ")
			if !ok {
				continue
			}
			f.variadic = f.variadic || strings.HasSuffix(name, "...")
			if !strings.HasSuffix(name, "?") {
				f.required++
			}
			f.params = append(f.params, param{strings.TrimRight(name, "?."), strings.Split(kinds, "|")})
		}
		all = append(all, f)
	}
	return all
})

func predicates() []string {
	return []string{"all", "none", "any", "one", "count", "sum", "find", "findLast", "findIndex", "findLastIndex", "filter", "map", "groupBy", "sortBy", "reduce"}
}

func kindOf(word string) *schema.Type {
	switch word {
	case "boolean":
		return boolean
	case "integer":
		return integer
	case "number":
		return number
	case "text":
		return text
	case "time":
		return moment
	case "duration":
		return duration
	case "list":
		return schema.ListOf(nil)
	case "object":
		return schema.MapOf(nil)
	}
	return schema.Of(schema.Any)
}

// call draws a call of any function with such a result.
func (g *generator) call(goal *schema.Type, depth int) *part {
	var suitable []function
	for _, f := range functions() {
		if kindOf(f.returns).Kind == goal.Kind && goal.Known() {
			suitable = append(suitable, f)
		}
	}
	if len(suitable) == 0 {
		return g.leaf(goal, depth)
	}
	return g.callOf(suitable[g.IntN(len(suitable))], goal, depth)
}

func (g *generator) callOf(f function, goal *schema.Type, depth int) *part {
	n := f.required
	if extra := len(f.params) - f.required; extra > 0 {
		n += g.IntN(extra + 1)
	}
	if f.variadic {
		n += g.IntN(2)
	}
	args := make([]*part, n)
	for i := range args {
		args[i] = g.argument(f, f.params[min(i, len(f.params)-1)], goal, depth)
	}
	p := node("fn:" + f.name)
	if n > 0 && g.chance(20) {
		p.items = append(p.items, "(", args[0], " | "+f.name+"(")
		args = args[1:]
		defer func() { p.items = append(p.items, ")") }()
	} else {
		p.items = append(p.items, f.name+"(")
	}
	for i, arg := range args {
		if i > 0 {
			p.items = append(p.items, ", ")
		}
		p.items = append(p.items, arg)
	}
	p.items = append(p.items, ")")
	return p
}

// written are arguments that mean something only in some forms.
func written(f, name string) []string {
	switch name {
	case "zone":
		return []string{`"UTC"`, `"Europe/Berlin"`}
	case "unit":
		return []string{`"day"`, `"week"`, `"quarter"`}
	case "amount":
		return []string{`"1mo"`, `"-2d12h"`}
	case "layout":
		return []string{`"2006-01-02"`, `"15:04"`, `"2006-01-02T15:04:05Z07:00"`}
	case "order":
		return []string{`"asc"`, `"desc"`}
	case "separator":
		return []string{`","`, `""`, `"-"`}
	case "times", "parts":
		return []string{"0", "1", "3"}
	case "field", "path":
		return []string{`"id"`, `"name"`, `"a.b"`, `"rows.0.id"`, `"meta.id"`}
	}
	switch f {
	case "duration":
		return []string{`"1h"`, `"7d"`}
	case "date", "parseTime":
		return []string{`"2026-01-02"`}
	case "fromJSON":
		return []string{`"[1, 2]"`, `"{}"`}
	case "fromBase64":
		return []string{`"aGk="`}
	}
	return nil
}

func (g *generator) argument(f function, p param, goal *schema.Type, depth int) *part {
	if forms := written(f.name, p.name); forms != nil && g.chance(80) {
		return node("", pick(g.draws, forms...))
	}
	t := kindOf(pick(g.draws, p.kinds...))
	switch {
	case (f.name == "max" || f.name == "min") && !g.chance(g.slips):
		t = goal // all of one kind
		if g.chance(40) {
			t = schema.ListOf(goal)
		}
	case t.Kind == schema.List:
		t = g.listFor(f, goal)
	case t.Kind == schema.Object && g.chance(70):
		t = schema.MapOf(g.scalar())
	case !t.Known():
		t = g.goal()
	}
	if t.Kind == schema.List {
		list, _ := g.list(t, depth)
		return list
	}
	return g.expr(t, depth-1)
}

// listFor is the type of list that a function takes to give goal.
func (g *generator) listFor(f function, goal *schema.Type) *schema.Type {
	switch f.name {
	case "join":
		return schema.ListOf(text)
	case "mean", "median":
		return schema.ListOf(pick(g.draws, integer, number))
	case "sort":
		return schema.ListOf(orScalar(g, goal.Element()))
	case "toCSV", "mdTable", "uniqueBy":
		return schema.ListOf(schema.MapOf(nil))
	case "fromPairs":
		return schema.ListOf(schema.ListOf(nil))
	}
	if goal.Kind == schema.List && goal.Element().Known() {
		return goal
	}
	return schema.ListOf(g.scalar())
}

// operation draws an operator or a function.
func (g *generator) operation(goal *schema.Type, depth int) *part {
	switch goal.Kind {
	case schema.Bool:
		return g.truth(depth)
	case schema.Int, schema.Number:
		return g.arithmetic(goal, depth)
	case schema.String:
		return g.textual(depth)
	case schema.Time, schema.Duration:
		return g.temporal(goal, depth)
	case schema.List:
		return g.listing(goal, depth)
	case schema.Object:
		return g.keyed(goal, depth)
	}
	return g.expr(g.goal(), depth-1)
}

func (g *generator) truth(depth int) *part {
	d := depth - 1
	t := g.scalar()
	two := func(t *schema.Type, operators ...string) *part {
		operator := pick(g.draws, operators...)
		return node(operator, "(", g.expr(t, d), " "+operator+" ", g.expr(t, d), ")")
	}
	switch g.IntN(16) {
	case 0, 1:
		return two(t, "==", "!=")
	case 2:
		return two(pick(g.draws, integer, number, text, moment, duration), "<", "<=", ">", ">=")
	case 3, 4:
		return two(boolean, "and", "or", "&&", "||")
	case 5:
		return node("not", pick(g.draws, "not ", "!"), "(", g.condition(d), ")")
	case 6:
		return node("in", "(", g.expr(t, d), pick(g.draws, " in ", " not in "), g.expr(schema.ListOf(t), d), ")")
	case 7:
		return node("in", "(", g.expr(text, d), " in ", g.expr(schema.MapOf(t), d), ")")
	case 8:
		return two(text, "contains", "startsWith", "endsWith")
	case 9:
		return node("matches", "(", g.expr(text, d), ` matches `, pick(g.draws, `"^a"`, `"[0-9]+"`, "`\\w`"), ")")
	case 10, 11:
		name := pick(g.draws, "all", "none", "any", "one")
		list, elem := g.list(schema.ListOf(nil), d)
		return node("fn:"+name, name+"(", list, ", ", g.body(elem, boolean, d), ")")
	case 12:
		if b := g.nullable(); b != nil {
			return node("!=", "(", b.source, pick(g.draws, " != nil", " == nil"), ")")
		}
	case 13:
		return node("<", "(", g.expr(integer, 1), " < ", g.expr(integer, d), " <= ", g.expr(integer, 1), ")")
	}
	return g.call(boolean, d)
}

func (g *generator) arithmetic(goal *schema.Type, depth int) *part {
	d := depth - 1
	list := func(t *schema.Type) (*part, *schema.Type) { return g.list(schema.ListOf(t), d) }
	switch g.IntN(16) {
	case 0, 1, 2:
		operators := []string{"+", "-", "*"}
		if goal.Kind == schema.Number {
			operators = append(operators, "/", "**", "^")
		} else {
			operators = append(operators, "%")
		}
		operator := pick(g.draws, operators...)
		return node(operator, "(", g.expr(goal, d), " "+operator+" ", g.expr(goal, d), ")")
	case 3:
		return node("-x", "(", pick(g.draws, "-", "+"), "(", g.expr(goal, d), "))")
	case 4:
		items, elem := list(goal)
		if suits(elem, goal) && g.chance(50) {
			return node("fn:sum", "sum(", items, ")")
		}
		return node("fn:sum", "sum(", items, ", ", g.body(elem, goal, d), ")")
	case 5:
		items, elem := list(schema.Of(schema.Any))
		return node("fn:count", "count(", items, ", ", g.body(elem, boolean, d), ")")
	case 6:
		name := pick(g.draws, "findIndex", "findLastIndex")
		items, elem := list(schema.Of(schema.Any))
		return node("fn:"+name, "("+name+"(", items, ", ", g.body(elem, boolean, d), ") ?? ", g.expr(goal, 1), ")")
	case 7:
		return g.reduced(goal, d)
	case 8:
		name := pick(g.draws, "max", "min")
		for _, f := range functions() {
			if f.name == name {
				call := g.callOf(f, goal, d)
				if g.chance(75) {
					return node("??", "(", call, " ?? ", g.literal(goal), ")")
				}
				return call
			}
		}
	case 9:
		if b := g.path(moment); b != nil && b.typ.Nullable && goal.Kind == schema.Int && g.chance(50) {
			return node(".Year", "("+b.source+"?.Year() ?? ", g.literal(goal), ")")
		}
		if goal.Kind == schema.Int {
			name := pick(g.draws, "Year", "Month", "Day", "Hour", "Minute", "Second", "Weekday", "YearDay", "Unix", "UnixMilli")
			return node("."+name, "(", g.expr(moment, d), ")."+name+"()")
		}
		name := pick(g.draws, "Hours", "Minutes", "Seconds", "Milliseconds")
		return node("."+name, "(", g.expr(duration, d), ")."+name+"()")
	case 10:
		if goal.Kind == schema.Int {
			return node("fn:int", "int(", g.expr(number, d), ")")
		}
		return node("/", "(", g.expr(duration, d), " / ", g.expr(duration, d), ")")
	case 11:
		return node("if", "(if ", g.condition(d), " { ", g.expr(goal, d), " } else { ", g.expr(goal, d), " })")
	}
	return g.call(goal, d)
}

// reduced draws a reduce.
func (g *generator) reduced(goal *schema.Type, depth int) *part {
	list, elem := g.list(schema.ListOf(goal), depth)
	body := g.body(elem, goal, depth, binding{"#acc", goal})
	if g.chance(10) {
		return node("fn:reduce", "reduce(", list, ", ", body, ")")
	}
	return node("fn:reduce", "reduce(", list, ", ", body, ", ", g.expr(goal, 1), ")")
}

func (g *generator) textual(depth int) *part {
	d := depth - 1
	switch g.IntN(12) {
	case 0, 1:
		return node("+", "(", g.expr(text, d), " + ", g.expr(text, d), ")")
	case 2:
		return node("[:]", g.expr(text, d), "[", g.expr(integer, 1), ":", g.expr(integer, 1), "]")
	case 3:
		return node("[:]", g.expr(text, d), pick(g.draws, "[:3]", "[1:]", "[-2:]", "[:]"))
	case 4:
		return g.reduced(text, d)
	case 5:
		return node("fn:string", "string(", g.expr(g.scalar(), d), ")")
	case 7:
		form := pick(g.draws, "toJSON(fromJSON(%))", `string(get(fromJSON(%), "a") ?? "")`, `string(int(get(fromJSON(%), 0) ?? 1))`)
		before, after, _ := strings.Cut(form, "%")
		return node("fn:fromJSON", before, g.argument(function{name: "fromJSON"}, param{"text", []string{"text"}}, text, d), after)
	case 6:
		for _, f := range functions() {
			if f.name == "join" {
				return g.callOf(f, text, d)
			}
		}
	}
	return g.call(text, d)
}

func (g *generator) temporal(goal *schema.Type, depth int) *part {
	d := depth - 1
	if goal.Kind == schema.Time {
		switch g.IntN(4) {
		case 0:
			return node("+", "(", g.expr(moment, d), pick(g.draws, " + ", " - "), g.expr(duration, d), ")")
		case 1:
			return node("+", "(", g.expr(duration, d), " + ", g.expr(moment, d), ")")
		}
		return g.call(goal, d)
	}
	switch g.IntN(5) {
	case 0:
		return node("-", "(", g.expr(moment, d), " - ", g.expr(moment, d), ")")
	case 1:
		return node("*", "(", g.expr(duration, d), pick(g.draws, " * ", " / "), g.expr(pick(g.draws, integer, number), d), ")")
	case 2:
		return node("+", "(", g.expr(duration, d), pick(g.draws, " + ", " - "), g.expr(duration, d), ")")
	case 3:
		return node("-x", "(-(", g.expr(duration, d), "))")
	}
	return g.call(goal, d)
}
