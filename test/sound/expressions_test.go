package sound

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/eval"
	"github.com/flowrun/flowrun/engine/schema"
	"github.com/flowrun/flowrun/internal/suitesize"
)

const (
	perWorld = 40 // programs over one schema
	values   = 8  // that each accepted program runs with
)

var at = time.Date(2026, 1, 5, 8, 0, 0, 0, time.UTC)

// amount is a number that FLOWRUN_name can raise.
func amount(t testing.TB, name string, least int) int {
	t.Helper()
	written := os.Getenv("FLOWRUN_" + name)
	if written == "" {
		return least
	}
	n, err := strconv.Atoi(written)
	if err != nil {
		t.Fatalf("FLOWRUN_%s=%s: %v", name, written, err)
	}
	return n
}

func seed(t testing.TB) uint64 {
	t.Helper()
	return uint64(amount(t, "SEED", 1))
}

// world is a schema with values of it.
type world struct {
	scope *eval.Scope
	names []binding
	envs  []map[string]any
}

func (d draws) world() *world {
	w := &world{scope: eval.NewScope()}
	for _, name := range []string{"inputs", "item"} {
		s := d.objectSchema(3)
		if name == "item" && d.chance(60) {
			s = d.schemaOf(2)
		}
		w.names = append(w.names, binding{name, typeOf(s)})
		w.scope = w.scope.With(name, w.names[len(w.names)-1].typ)
	}
	a, b := typeOf(d.schemaOf(2)), typeOf(d.schemaOf(2)) // as a ternary in another step makes it
	w.names = append(w.names, binding{"u", schema.Join(a, b)})
	w.scope = w.scope.With("u", schema.Join(a, b))
	for range values {
		env := map[string]any{}
		for _, b := range w.names {
			env[b.source] = d.value(b.typ, 5)
		}
		if d.chance(50) {
			env["u"] = d.value(pick(d, a, b), 5)
		}
		w.envs = append(w.envs, env)
	}
	return w
}

func (w *world) program(d draws) *part {
	g := &generator{draws: d, names: w.names, slips: pick(d, 0, 4, 10, 25), size: 60}
	goal := g.goal()
	if d.chance(15) {
		return g.member(goal, 3)
	}
	return g.expr(goal, 1+d.IntN(4))
}

// accepted reports whether the strict check has nothing against a program, and of
// what type it is.
func (w *world) accepted(source string) (*eval.Expression, *schema.Type) {
	x, issues := eval.Parse(source)
	if len(issues) > 0 {
		return nil, nil
	}
	t, issues := x.CheckStrict(w.scope)
	if len(issues) > 0 || !t.Known() {
		return nil, nil
	}
	return x, t
}

// run says how an accepted program fails, "" when it does not.
func (w *world) run(x *eval.Expression, t *schema.Type, excused map[string]int) string {
	program := x.Compile()
	for _, env := range w.envs {
		v, err := program.Run(env, at)
		if err != nil {
			why := excuse(err)
			if why == "" {
				return fmt.Sprintf("%v with %s", err, shown(env))
			}
			excused[why]++
			continue
		}
		excused["none"]++
		if problem := belongs(t, v); problem != "" {
			return fmt.Sprintf("the result is not of the type %s: %s, with %s", t, problem, shown(env))
		}
	}
	return ""
}

func shown(v any) string {
	raw, err := schema.Encode(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(raw)
}

// fails reports whether a program is accepted and fails all the same.
func (w *world) fails(p *part) bool {
	x, t := w.accepted(p.String())
	return x != nil && w.run(x, t, map[string]int{}) != ""
}

// explain describes a failure, made small.
func (w *world) explain(seed uint64, p *part) string {
	p = shrink(p, w.fails)
	x, t := w.accepted(p.String())
	var types []string
	for _, b := range w.names {
		if strings.Contains(p.String(), b.source) {
			types = append(types, b.source+": "+string(b.typ.JSONSchema()))
		}
	}
	return fmt.Sprintf("world %d: %s\n  fails: %s\n  %s", seed, p, w.run(x, t, map[string]int{}), strings.Join(types, "\n  "))
}

// tally counts what was tried.
type tally struct {
	programs, accepted int
	used               map[string]int // operators and functions of accepted programs
	excused            map[string]int
	failures           []string
}

func newTally() *tally { return &tally{used: map[string]int{}, excused: map[string]int{}} }

func (c *tally) world(seed uint64) {
	d := newDraws(seed)
	w := d.world()
	for range perWorld {
		p := w.program(d)
		c.programs++
		x, t := w.accepted(p.String())
		if x == nil {
			continue
		}
		c.accepted++
		p.walk(func(one *part) { c.used[one.tag]++ })
		if w.run(x, t, c.excused) != "" {
			c.failures = append(c.failures, w.explain(seed, p))
		}
	}
}

// TestSoundExpressions: what the strict check accepts fails with no value that
// conforms, but for what values alone decide.
func TestSoundExpressions(t *testing.T) {
	programs, first := suitesize.Of(t, "FLOWRUN_SOUND_PROGRAMS", 40_000), seed(t)
	c := newTally()
	for i := range uint64(programs / perWorld) {
		if c.world(first<<32 + i); len(c.failures) >= 5 {
			break
		}
	}
	for _, failure := range c.failures {
		t.Error(failure)
	}
	runs := 0
	for _, n := range c.excused {
		runs += n
	}
	t.Logf("%d programs, %d accepted, %d runs, of which %v", c.programs, c.accepted, runs, c.excused)
	if len(c.failures) > 0 {
		return
	}
	if share := 100 * c.accepted / c.programs; share < 25 || share > 90 {
		t.Errorf("%d %% of the programs are accepted: both verdicts must be tried", share)
	}
	rare(t, c)
}

// rare fails for each operator and function that hardly any accepted program has.
func rare(t *testing.T, c *tally) {
	t.Helper()
	least := max(2, c.accepted/4000)
	wanted := []string{"==", "!=", "<", "<=", ">", ">=", "and", "or", "&&", "||", "not", "in", "contains", "startsWith", "endsWith", "matches", "+", "-", "*", "/", "%", "**", "^",
		"-x", "??", "?:", "?.", "[i]", "[:]", "[]", "{}", "..", "let", "if", ".Year", ".Hours"}
	for _, name := range eval.FunctionNames() {
		wanted = append(wanted, "fn:"+name)
	}
	for _, tag := range wanted {
		if c.used[tag] < least {
			t.Errorf("%s occurs %d times in accepted programs, want %d", tag, c.used[tag], least)
		}
	}
	var counts []string
	for tag, n := range c.used {
		counts = append(counts, fmt.Sprintf("%s %d", tag, n))
	}
	slices.Sort(counts)
	t.Logf("parts of accepted programs: %s", strings.Join(counts, ", "))
}
