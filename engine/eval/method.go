package eval

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/expr-lang/expr/ast"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/schema"
)

// method is something that a time or a duration can be asked for. It takes no
// arguments.
type method struct {
	returns schema.Kind
	run     func(v any) any
}

// methodTable holds the methods by kind and name. They are expr's, which has
// Go's; months and days of the week are integers here.
var methodTable = sync.OnceValue(func() map[schema.Kind]map[string]method {
	of := func(run func(time.Time) int) method {
		return method{schema.Int, func(v any) any { return run(v.(time.Time)) }}
	}
	span := func(run func(time.Duration) float64) method {
		return method{schema.Number, func(v any) any { return run(v.(time.Duration)) }}
	}
	return map[schema.Kind]map[string]method{
		schema.Time: {
			"Year":      of(time.Time.Year),
			"Month":     of(func(t time.Time) int { return int(t.Month()) }),
			"Day":       of(time.Time.Day),
			"Hour":      of(time.Time.Hour),
			"Minute":    of(time.Time.Minute),
			"Second":    of(time.Time.Second),
			"Weekday":   of(func(t time.Time) int { return int(t.Weekday()) }),
			"YearDay":   of(time.Time.YearDay),
			"Unix":      of(func(t time.Time) int { return int(t.Unix()) }),
			"UnixMilli": of(func(t time.Time) int { return int(t.UnixMilli()) }),
		},
		schema.Duration: {
			"Hours":   span(time.Duration.Hours),
			"Minutes": span(time.Duration.Minutes),
			"Seconds": span(time.Duration.Seconds),
			"Milliseconds": {schema.Int, func(v any) any {
				return int(v.(time.Duration).Milliseconds())
			}},
		},
	}
})

func referenceTime() time.Time { return time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC) }

// methodCall infers x.Method(). short is set when the chain may end early.
func (c *checker) methodCall(n *ast.CallNode, scope *Scope, short *bool) *schema.Type {
	callee, ok := n.Callee.(*ast.MemberNode)
	if !ok {
		return c.infer(n, scope)
	}
	if callee.Optional {
		c.handle(callee.Node)
	}
	base := c.base(callee, scope, short)
	for _, arg := range n.Arguments {
		c.value(arg, scope)
	}
	base, ok = c.readable(callee, base, short)
	name, literal := callee.Property.(*ast.StringNode)
	if !ok || !literal {
		return anyType
	}
	return c.method(n, callee, name.Value, base)
}

func (c *checker) method(n *ast.CallNode, callee *ast.MemberNode, name string, base *schema.Type) *schema.Type {
	var t *schema.Type
	c.mustKnow(callee.Node, base, "it can't be checked whether it has a method `"+name+"`")
	known := len(c.issues)
	for _, one := range base.Each() {
		t = joined(t, c.methodOf(n, callee, name, one))
		if c.failedSince(known) {
			return anyType
		}
	}
	return t
}

// methodOf is method for one kind of receiver.
func (c *checker) methodOf(n *ast.CallNode, callee *ast.MemberNode, name string, base *schema.Type) *schema.Type {
	if base.Kind == schema.Any {
		return anyType
	}
	methods := methodTable()[base.Kind]
	found, ok := methods[name]
	if !ok {
		issue := c.issueAt(callee.Property, CodeFunction, "%s has no method `%s`", base.Article(), name)
		if issue.Hint = diag.DidYouMean(name, slices.Sorted(maps.Keys(methods))); issue.Hint == "" {
			if _, isFunction := functionTable()[name]; isFunction {
				issue.Hint = "functions are called as `" + name + "(x)` or `x | " + name + "()`"
			}
		}
		return c.report(issue)
	}
	if len(n.Arguments) > 0 {
		return c.report(c.issueAt(callee.Property, CodeArgument, "%s needs no arguments, got %d", name, len(n.Arguments)))
	}
	return schema.Of(found.returns)
}

// callMethod runs a method at run time.
func callMethod(v any, name string) (any, error) {
	found, ok := methodTable()[schema.KindOf(v)][name]
	if !ok {
		return nil, failf("%s has no method `%s`", article(v), name)
	}
	return found.run(v), nil
}

// follow returns the type at a dotted path; false when nothing is declared
// there. A field whose name is the whole path comes first.
func follow(t *schema.Type, path string) (*schema.Type, bool) {
	if t.Kind == schema.Object {
		if whole, ok := t.Field(path); ok && strings.Contains(path, ".") && t.Additional == nil {
			return whole, true
		}
	}
	whole, hasWhole := (*schema.Type)(nil), false
	if t.Kind == schema.Object && strings.Contains(path, ".") {
		whole, hasWhole = t.Field(path) // a name beyond those declared may be it
	}
	for _, part := range strings.Split(path, ".") {
		var ok bool
		if t, ok = stepInto(t, part); !ok {
			return whole, hasWhole
		}
	}
	if hasWhole {
		return schema.Join(whole, t), true
	}
	return t, true
}

// stepInto returns the type of a field or an element, of whatever the value can
// be; false when none of that has one.
func stepInto(t *schema.Type, part string) (*schema.Type, bool) {
	var found *schema.Type
	for _, one := range t.Each() {
		switch one.Kind {
		case schema.Any:
			return anyType, true
		case schema.List:
			found = joined(found, one.Element())
		case schema.Object:
			if field, ok := one.Field(part); ok {
				found = joined(found, field)
			}
		}
	}
	return found, found != nil
}

func nearName(name string, candidates []string) string { return diag.DidYouMean(name, candidates) }
