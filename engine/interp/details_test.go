package interp

import (
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
)

func TestRangesAreCutIntoHalfOpenWindows(t *testing.T) {
	limit := &plan.Range{FromField: "from", ToField: "to", Max: 7 * 24 * time.Hour}
	day := func(n int) time.Time { return time.Date(2026, 1, n, 0, 0, 0, 0, time.UTC) }
	for name, c := range map[string]struct {
		from, to any
		windows  int
	}{
		"shorter than the limit":    {day(1), day(5), 1},
		"exactly the limit":         {day(1), day(8), 1},
		"a moment longer":           {day(1), day(8).Add(time.Second), 2},
		"three windows":             {day(1), day(20), 3},
		"text":                      {"2026-01-01T00:00:00Z", "2026-01-20T00:00:00Z", 3},
		"days":                      {"2026-01-01", "2026-01-20", 3},
		"a day and a time":          {"2026-01-01", day(20), 1},
		"no end":                    {day(1), nil, 1},
		"backwards":                 {day(20), day(1), 1},
		"text that is no time":      {"soon", "later", 1},
		"an empty range":            {day(1), day(1), 1},
		"a range in different text": {"2026-01-01T00:00:00+02:00", "2026-01-09T00:00:00+02:00", 2},
	} {
		t.Run(name, func(t *testing.T) {
			cut, failure := cutRange(map[string]any{"from": c.from, "to": c.to}, limit)
			if failure != nil || cut.count() != c.windows {
				t.Errorf("%d windows (error %v), want %d", cut.count(), failure, c.windows)
			}
		})
	}
	if _, failure := cutRange(map[string]any{"from": day(1), "to": day(1).AddDate(250, 0, 0)}, limit); failure == nil {
		t.Error("a range of 250 years was cut")
	}
}

func TestTheExpressionBehindAPointerIsFound(t *testing.T) {
	x := &plan.Expr{Source: "x", Pos: plan.Pos{Line: 3, Column: 7}}
	expr := plan.Value{Kind: plan.ValueExpr, Expr: x}
	text := plan.Value{Kind: plan.ValueText, Text: []plan.TextPart{{Text: "a"}, {Expr: x}}}
	list := plan.Value{Kind: plan.ValueList, List: []plan.Value{{Kind: plan.ValueLiteral}, expr}}
	object := plan.Value{Kind: plan.ValueObject, Object: []plan.Binding{
		{Name: "a/b", Value: list}, {Name: "t", Value: text}, {Name: "l", Value: plan.Value{Kind: plan.ValueLiteral}},
	}}
	for pointer, found := range map[string]bool{
		"": false, "/a~1b/1": true, "/a~1b/1/deep/er": true, "/a~1b/0": false, "/a~1b/7": false, "/t": true, "/l/x": false, "/none": false,
	} {
		if got := exprAt(object, pointer); (got != nil) != found {
			t.Errorf("exprAt(%q) = %v", pointer, got)
		}
	}
}

func TestRule10TheBackoffGrowsToItsBound(t *testing.T) {
	policy := &plan.Retry{Delay: time.Second, Factor: 2, MaxDelay: 10 * time.Second}
	list := &list{m: &Machine{}}
	for attempt, want := range map[int]time.Duration{1: time.Second, 2: 2 * time.Second, 4: 8 * time.Second, 5: 10 * time.Second, 1000: 10 * time.Second} {
		s := &step{list: list, path: "a", action: &action{attempt: attempt, round: 1}}
		if got := s.backoff(policy, &runs.Error{}); got != want {
			t.Errorf("after attempt %d the delay is %s, want %s", attempt, got, want)
		}
	}
	s := &step{list: list, path: "a", action: &action{attempt: 1, round: 1}}
	if got := s.backoff(policy, &runs.Error{RetryAfterS: 1e300}); got != maxRetryAfter {
		t.Errorf("an absurd retry_after gives %s", got)
	}
}

func TestSpreadIsEvenAndStable(t *testing.T) {
	sum := 0.0
	for i := range 1000 {
		x := spread("run", "step", i)
		if x < -1 || x > 1 {
			t.Fatalf("spread %v", x)
		}
		sum += x
	}
	if sum < -100 || sum > 100 {
		t.Errorf("1,000 numbers from -1 to 1 sum up to %v", sum)
	}
	if spread("run", "step", 1) != spread("run", "step", 1) {
		t.Error("spread is not stable")
	}
}

func TestTimeoutsDefaultByWhatTheStepIs(t *testing.T) {
	code := &stepCode{step: &plan.Step{}, action: &actionCode{action: &plan.Action{}}}
	main := &list{code: &listCode{}}
	if got := (&step{list: main, code: code}).timeout(); got != time.Minute {
		t.Errorf("a step has %s", got)
	}
	handler := &list{code: &listCode{handler: true}}
	if got := (&step{list: handler, code: code}).timeout(); got != 5*time.Minute {
		t.Errorf("a handler's step has %s", got)
	}
	code.action.action.DefaultTimeout = time.Hour
	if got := (&step{list: main, code: code}).timeout(); got != time.Hour {
		t.Errorf("a step of an action with a timeout has %s", got)
	}
	code.step.Timeout = time.Second
	if got := (&step{list: handler, code: code}).timeout(); got != time.Second {
		t.Errorf("a step with a timeout has %s", got)
	}
}
