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
	present, ok := c.readable(callee, base, short)
	name, literal := callee.Property.(*ast.StringNode)
	switch {
	case !ok:
		return unread(callee, base)
	case !literal:
		return anyType
	}
	return c.method(n, callee, name.Value, present)
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
		if issue.Hint = diag.DidYouMean(name, slices.Sorted(maps.Keys(methods))); issue.Hint.Text == "" {
			if _, isFunction := functionTable()[name]; isFunction {
				issue.Hint = diag.Say("functions are called as `" + name + "(x)` or `x | " + name + "()`")
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
// there. A field whose name is the whole path comes first, where a value has it;
// open says that an object may have it beyond its schema.
func follow(t *schema.Type, path string, open bool) (*schema.Type, bool) {
	whole, declared, always := wholeName(t, path, open)
	if always {
		return whole, true
	}
	for _, part := range strings.Split(path, ".") {
		var ok bool
		if t, ok = stepInto(t, part); !ok {
			return whole, declared
		}
	}
	if whole != nil {
		return schema.Join(whole, t), true
	}
	return t, true
}

// wholeName is what a value has under a name with a dot in it, nil where none can:
// whether that is declared, and whether each value has it.
func wholeName(t *schema.Type, path string, open bool) (whole *schema.Type, declared, always bool) {
	if !strings.Contains(path, ".") {
		return nil, false, false
	}
	always = true
	for _, one := range t.Each() {
		if one.Kind != schema.Object {
			always = false
			continue
		}
		field, ok := one.Field(path)
		switch {
		case ok:
			whole, declared = joined(whole, field), true
		case open && one.Open:
			whole = joined(whole, schema.Beyond())
		}
		always = always && slices.ContainsFunc(one.Fields, func(f schema.Field) bool { return f.Name == path && f.Required })
	}
	return whole, declared, always
}

// stepInto returns the type of a field or an element, of whatever the value can
// be; false when none of that declares one.
func stepInto(t *schema.Type, part string) (*schema.Type, bool) {
	var found *schema.Type
	declared := false
	for _, one := range t.Each() {
		switch one.Kind {
		case schema.Any:
			return anyType, true
		case schema.List:
			found, declared = joined(found, one.Element()), true
		case schema.Object:
			field, ok := one.Field(part)
			switch {
			case ok:
				found, declared = joined(found, field), true
			case one.Open:
				found = joined(found, schema.Beyond())
			}
		}
	}
	return found, declared
}
