package sound

import (
	"strings"

	"github.com/flowrun/flowrun/engine/schema"
)

// listing draws a list.
func (g *generator) listing(goal *schema.Type, depth int) *part {
	d := depth - 1
	elem := orScalar(g, goal.Element())
	goal = schema.ListOf(elem)
	switch g.IntN(18) {
	case 0, 1:
		list, of := g.list(goal, d)
		return node("fn:filter", "filter(", list, ", ", g.body(of, boolean, d), ")")
	case 2, 3, 4:
		list, of := g.list(schema.ListOf(nil), d)
		if g.chance(20) {
			return node("fn:map", "(", list, " | map(", g.body(of, elem, d), "))")
		}
		return node("fn:map", "map(", list, ", ", g.body(of, elem, d), ")")
	case 5:
		list, of := g.list(goal, d)
		by := pick(g.draws, integer, number, text, moment, duration)
		return node("fn:sortBy", "sortBy(", list, ", ", g.body(of, by, d), pick(g.draws, "", `, "desc"`, `, "asc"`), ")")
	case 6:
		list, _ := g.list(goal, d)
		return node("[:]", list, pick(g.draws, "[1:]", "[:2]", "[-1:]", "[:]"))
	case 7:
		list, _ := g.list(goal, d)
		return node("[:]", list, "[", g.expr(integer, 1), ":", g.expr(integer, 1), "]")
	case 8:
		if elem.Kind == schema.Int {
			return node("..", "(", g.expr(integer, 1), " .. ", g.expr(integer, 1), ")")
		}
		return node("[]", "[", g.expr(elem, d), ", ", g.expr(elem, d), "]")
	case 9:
		return node("[]", "[", g.expr(elem, d), "]")
	case 10:
		list, of := g.list(goal, d)
		return node("fn:groupBy", "flatten(values(groupBy(", list, ", ", g.body(of, pick(g.draws, text, integer, boolean), d), ")))")
	case 11:
		return node("fn:values", "values(", g.expr(schema.MapOf(elem), d), ")")
	case 12:
		list, of := g.list(goal, d)
		return node("fn:reduce", "reduce(", list, ", concat(#acc, [", g.body(of, elem, d), "]), [])")
	case 13:
		return g.pairs(elem, d)
	case 14:
		return g.fields(elem, d)
	}
	return g.call(goal, d)
}

// fields draws what is made of all fields of an object that is read, as they are
// declared.
func (g *generator) fields(elem *schema.Type, d int) *part {
	object, of := g.object()
	if of == nil {
		return g.pairs(elem, d)
	}
	switch g.IntN(3) {
	case 0:
		if suits(of, elem) {
			return node("fn:values", "values("+object+")")
		}
	case 1:
		return node("fn:toPairs", "map(toPairs("+object+"), ", g.body(schema.TupleOf(text, of), elem, d), ")")
	}
	return node("fn:values", "map(values("+object+"), ", g.body(of, elem, d), ")")
}

// object finds an object with declared fields, and what these have in common.
func (g *generator) object() (source string, of *schema.Type) {
	b := g.path(schema.MapOf(nil))
	if b == nil || len(b.typ.Fields) == 0 {
		return "", nil
	}
	of = b.typ.Fields[0].Type
	for _, field := range b.typ.Fields[1:] {
		of = schema.Join(of, field.Type)
	}
	if b.typ.MayBeNull() {
		return "(" + b.source + " ?? {})", of
	}
	return b.source, of
}

// pairs draws uses of cross and toPairs, whose elements are typed by place.
func (g *generator) pairs(elem *schema.Type, d int) *part {
	if g.chance(50) {
		list, of := g.list(schema.ListOf(elem), d)
		return node("fn:cross", "map(cross(", list, ", [1, 2]), #[0]", g.orLiteral(of, elem), ")")
	}
	return node("fn:toPairs", "map(toPairs(", g.expr(schema.MapOf(elem), d), "), #[1])")
}

func (g *generator) orLiteral(t, goal *schema.Type) any {
	if t.MayBeNull() {
		return node("??", " ?? ", g.literal(goal))
	}
	return ""
}

// keyed draws an object.
func (g *generator) keyed(goal *schema.Type, depth int) *part {
	d := depth - 1
	value := g.scalar()
	if goal.Additional != nil && goal.Additional.Known() {
		value = goal.Additional
	}
	switch g.IntN(8) {
	case 0, 1:
		return node("{}", "{", pick(g.draws, "a", "id", `"x-y"`), ": ", g.expr(value, d), ", name: ", g.expr(value, d), "}")
	case 2:
		return node("{}", "{(", g.expr(text, 1), "): ", g.expr(value, d), pick(g.draws, "", ", id: "+g.literal(value).String()), "}")
	case 3:
		list, of := g.list(schema.ListOf(nil), d)
		return node("fn:fromPairs", "fromPairs(map(", list, ", [", g.body(of, pick(g.draws, text, text, integer), 1), ", ", g.body(of, value, d), "]))")
	case 4:
		list, of := g.list(schema.ListOf(nil), d)
		return node("fn:groupBy", "groupBy(", list, ", ", g.body(of, pick(g.draws, text, integer, boolean), d), ")")
	case 5:
		return node("fn:toPairs", "fromPairs(toPairs(", g.expr(goal, d), "))")
	case 6:
		rows, row := g.list(schema.ListOf(schema.MapOf(nil)), d)
		if row.Kind != schema.Object {
			break
		}
		return node("fn:first", "(first(", rows, ") ?? ", g.literal(goal), ")")
	}
	return g.leaf(goal, d)
}

// member draws what is read of a computed object: by name, computed name, index.
func (g *generator) member(goal *schema.Type, depth int) *part {
	if g.chance(2 * g.slips) { // the computed name may be that of the written one
		return node("{}", "({id: ", g.literal(goal), ", (", g.expr(text, 1), "): ", g.literal(g.scalar()), "}.id)")
	}
	if g.chance(40) {
		if source, of := g.object(); of != nil && suits(of, goal) {
			return node("[i]", "("+source+"[", g.expr(text, 1), "] ?? ", g.literal(goal), ")")
		}
	}
	if g.chance(30) {
		if b := g.path(schema.MapOf(nil)); b != nil {
			for _, path := range dottedPaths(b.typ) {
				outer, inner, _ := strings.Cut(path, ".")
				t, _ := b.typ.Field(outer)
				if t, _ = t.Field(inner); suits(t, goal) {
					return node("fn:get", "(get("+b.source+`, "`+path+`") ?? `, g.literal(goal), ")")
				}
			}
		}
	}
	object := g.expr(schema.MapOf(goal), depth-1)
	switch g.IntN(3) {
	case 0:
		if g.chance(6 * g.slips) { // no field may have the name
			return node("[i]", object, "[", g.expr(text, 1), "]")
		}
		return node("[i]", "(", object, "[", g.expr(text, 1), "] ?? ", g.literal(goal), ")")
	case 1:
		return node("?.", "(", object, "?.", pick(g.draws, "id", "a", "name"), " ?? ", g.literal(goal), ")")
	}
	return node("fn:get", "(get(", object, `, "id") ?? `, g.literal(goal), ")")
}
