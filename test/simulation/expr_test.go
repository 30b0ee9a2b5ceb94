package simulation

import (
	"fmt"
	"strconv"
	"strings"
)

// expr is an expression of the language with its meaning: the source is what the
// engine evaluates, eval what the model does.
type expr struct {
	src  string
	eval func(*scope) any
}

// scope is what an expression of the model can see.
type scope struct {
	flow   *flow
	list   *mlist         // the innermost list that is visible
	items  map[string]any // loop names
	index  int
	result any // of repeat.until
}

// noValue is the failure of an expression at run time.
type noValue struct{}

// value evaluates; ok is false when it fails, as an expression does at run time.
func (e *expr) value(s *scope) (v any, ok bool) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case noValue:
			v, ok = nil, false
		default:
			panic(r)
		}
	}()
	return e.eval(s), true
}

func (e *expr) hole() string { return "${{ " + e.src + " }}" }

// quoted writes a scalar so that YAML leaves it alone.
func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

func number(n int) *expr {
	return &expr{strconv.Itoa(n), func(*scope) any { return n }}
}

func intOf(e *expr, s *scope) int { return e.eval(s).(int) }

func sumOf(a, b *expr) *expr {
	return &expr{"(" + a.src + " + " + b.src + ") % 97", func(s *scope) any { return (intOf(a, s) + intOf(b, s)) % 97 }}
}

// table fails at run time for every fourth number.
func table(a *expr) *expr {
	return &expr{"[5, 6, 7][(" + a.src + ") % 4]", func(s *scope) any {
		i := intOf(a, s) % 4
		if i == 3 {
			panic(noValue{})
		}
		return 5 + i
	}}
}

func even(a *expr) *expr {
	return &expr{"(" + a.src + ") % 2 == 0", func(s *scope) any { return intOf(a, s)%2 == 0 }}
}

func below(a *expr, n int) *expr {
	return &expr{fmt.Sprintf("(%s) < %d", a.src, n), func(s *scope) any { return intOf(a, s) < n }}
}

func not(a *expr) *expr {
	return &expr{"not (" + a.src + ")", func(s *scope) any { return !a.eval(s).(bool) }}
}

func both(a, b *expr) *expr {
	return &expr{"(" + a.src + ") and (" + b.src + ")", func(s *scope) any { return a.eval(s).(bool) && b.eval(s).(bool) }}
}

// field reads a path of a step's outputs, with what stands for it when it is
// absent.
func field(id, path string, absent any) *expr {
	src := "steps." + id + "?.outputs"
	for part := range strings.SplitSeq(path, ".") {
		src += "?." + part
	}
	return &expr{"(" + src + " ?? " + literal(absent) + ")", func(s *scope) any {
		value := s.outputs(id)
		for part := range strings.SplitSeq(path, ".") {
			object, _ := value.(map[string]any)
			value = object[part]
		}
		if value == nil {
			return absent
		}
		return value
	}}
}

func count(list *expr) *expr {
	return &expr{"len(" + list.src + ")", func(s *scope) any { return len(list.eval(s).([]any)) }}
}

func statusIs(id, word string) *expr {
	return &expr{`(steps.` + id + `?.status ?? "none") == "` + word + `"`, func(s *scope) any {
		step := s.step(id)
		return step != nil && step.settled && string(step.status) == word
	}}
}

func kindIs(id, word string) *expr {
	return &expr{`(steps.` + id + `?.error?.kind ?? "") == "` + word + `"`, func(s *scope) any {
		step := s.step(id)
		return step != nil && step.settled && step.err != nil && string(step.err.kind) == word
	}}
}

func literal(v any) string {
	switch v := v.(type) {
	case int:
		return strconv.Itoa(v)
	case bool:
		return strconv.FormatBool(v)
	case []any:
		return "[]"
	}
	return `""`
}

// step finds a visible step: of the list, or of those around it.
func (s *scope) step(id string) *mstep {
	for l := s.list; l != nil; l = l.outer {
		if step := l.byID[id]; step != nil {
			return step
		}
	}
	return nil
}

func (s *scope) outputs(id string) any {
	step := s.step(id)
	if step == nil || !step.settled {
		return nil
	}
	return step.outputs
}
