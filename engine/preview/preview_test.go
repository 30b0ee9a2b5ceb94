package preview

import (
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/ratelimit"
	"github.com/flowrun/flowrun/engine/workspace"
)

func TestPreviewMinutesOfLimits(t *testing.T) {
	fixed := ratelimit.Spec{Requests: 60, Window: time.Minute, Fixed: true}
	spread := ratelimit.Spec{Requests: 60, Window: time.Minute}
	for _, c := range []struct {
		spec  ratelimit.Spec
		calls int
		want  float64
	}{
		{fixed, 0, 0}, {fixed, 60, 0}, {fixed, 61, 1}, {fixed, 181, 3},
		{spread, 1, 0}, {spread, 61, 1}, {spread, 91, 1.5},
	} {
		if got := minutes(c.spec, c.calls); got != c.want {
			t.Errorf("%d calls at %s (fixed %t): %v minutes, want %v", c.calls, c.spec, c.spec.Fixed, got, c.want)
		}
	}
}

func TestPreviewCallsMultiply(t *testing.T) {
	most := func(n int) bounds { return bounds{1, n} }
	if got := most(3).by(bounds{2, 5}).calls(); got.Min != 2 || *got.Max != 15 {
		t.Errorf("got %+v", got)
	}
	if got := most(3).by(bounds{0, -1}).calls(); got.Min != 0 || got.Max != nil {
		t.Errorf("an unbounded loop: %+v", got)
	}
	if got := most(-1).by(bounds{}).calls(); got.Max == nil || *got.Max != 0 {
		t.Errorf("what never runs: %+v", got)
	}
	if got := most(1 << 20).by(bounds{1, 1 << 20}).calls(); got.Max != nil {
		t.Errorf("a product beyond all bounds: %+v", got)
	}
}

func TestPreviewEvaluatesOnlyWhatIsKnown(t *testing.T) {
	env := map[string]any{
		"inputs": map[string]any{"n": 2}, "steps": map[string]any{"a": map[string]any{"outputs": map[string]any{"x": 3}}},
	}
	for source, want := range map[string]any{
		"inputs.n * 2":                     4,
		"steps.a.outputs.x + inputs.n":     5,
		"let k = inputs.n; k + 1":          3,
		"1 < 2":                            true,
		"inputs.m":                         nil,
		"steps.b.outputs.x":                nil,
		"run.scheduled_at":                 nil,
		"now()":                            nil,
		"inputs":                           nil,
		"inputs.n / 0":                     nil,
		"map([1], # + inputs.n)[0]":        3,
		"inputs.n > 1 ? run.id : 'nobody'": nil,
	} {
		got, known := static(source, env)
		if known != (want != nil) || known && got != want {
			t.Errorf("%s: got %v %t, want %v", source, got, known, want)
		}
	}
}

func TestPreviewWindowsOfARange(t *testing.T) {
	action := &plan.Action{Range: &plan.Range{FromField: "from", ToField: "to", Max: 89 * 24 * time.Hour}}
	for _, c := range []struct {
		from, to any
		want     int
	}{
		{"2026-01-01", "2026-01-02", 1}, {"2026-01-01", "2026-12-01", 4}, {"2026-01-01T00:00:00Z", "2026-03-31T00:00:00Z", 1},
		{"${{ run.scheduled_at }}", "2026-12-01", 0}, {"2026-12-01", "2026-01-01", 0}, {nil, "2026-01-01", 0},
	} {
		if got := windowsOf(action, map[string]any{"from": c.from, "to": c.to}); got != c.want {
			t.Errorf("%v to %v: %d windows, want %d", c.from, c.to, got, c.want)
		}
	}
}

func TestPreviewExampleStepsHideSecrets(t *testing.T) {
	action := &plan.Action{
		Plugin: "svc", Name: "do-it", Effect: plan.EffectOnce, Output: []byte(`{"type":"object"}`),
		Input:    []byte(`{"type":"object","properties":{"a":{"type":"string"},"key":{"type":"string","writeOnly":true},"list":{"type":"array"}},"required":["a"]}`),
		Examples: []plan.Example{{Input: []byte(`{"a":"x: y","key":"clear","list":[{"b":1,"c":"no"}]}`)}},
	}
	doc, err := workspace.DescribeAction(action)
	want := "- id: do_it\n  uses: svc.do-it\n  with:\n    a: \"x: y\"\n    key: ${{ secrets.NAME }}\n    list: [{b: 1, c: \"no\"}]\n"
	if err != nil || doc.Example != want {
		t.Errorf("got %q (%v), want %q", doc.Example, err, want)
	}
	action.Examples = nil
	if doc, err = workspace.DescribeAction(action); err != nil || doc.Example != "- id: do_it\n  uses: svc.do-it\n  with:\n    a: ${{ inputs.a }}\n" {
		t.Errorf("got %q (%v)", doc.Example, err)
	}
}
