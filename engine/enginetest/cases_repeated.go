package enginetest

import (
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
)

// repeatedCases are about items that a later page gives again, and about what
// one page leaves for the next (docs/language.md, rule 12).
func repeatedCases() []*Case {
	list := func(options ...Option) *plan.Workflow {
		return Workflow(Do("a", "svc.list", nil, append(options, Paginate(10, 100))...))
	}
	span := map[string]any{"from": "2026-01-01T00:00:00Z", "to": "2026-01-10T00:00:00Z"}
	repeated := func(calls int) Want {
		return Want{Status: runs.RunFailed, Count: calls, Error: &WantError{Kind: plan.KindUnexpectedResponse, Step: "a", Reason: "repeated_item"}}
	}
	named := func(want Want, message string) Want {
		want.Check = func(t testing.TB, got Result) {
			if failure := got.Steps["a"].Error; failure == nil || failure.Message != message {
				t.Errorf("the error is %v, want %s", failure, message)
			}
		}
		return want
	}
	return []*Case{
		{
			Name:     "rule 12: pages that start again fail, with both pages named",
			Workflow: list(),
			Answers:  map[string][]Answer{"a": {Page(`{"rows":[{"id":1},{"id":2}]}`, "x")}, "a#page2": {Page(`{"rows":[{"id":1},{"id":2}]}`, "y")}},
			Want:     named(repeated(2), "page 2 has an item again that page 1 gave (item 1 there, item 1 here): it would count twice"),
		},
		{
			Name:     "rule 12: one item that moved over to a later page, its members in another order",
			Workflow: list(),
			Answers: map[string][]Answer{
				"a": {Page(`{"rows":[{"n":1},{"n":2,"m":{"x":1,"y":2}}]}`, "x")}, "a#page2": {Page(`{"rows":[{"n":3}]}`, "y")},
				"a#page3": {Page(`{"rows":[{"n":4},{"m":{"y":2,"x":1},"n":2}]}`, "")},
			},
			Want: named(repeated(3), "page 3 has an item again that page 1 gave (item 2 there, item 2 here): it would count twice"),
		},
		{
			Name:     "rule 12: a window that gives the items of another one",
			Workflow: Workflow(Do("a", "svc.usage", span, Paginate(10, 100))),
			Answers:  map[string][]Answer{"a": {Page(`{"rows":[{"id":1}]}`, "")}, "a#window2": {Page(`{"rows":[{"id":1}]}`, "")}},
			Want:     named(repeated(2), "page 1 of window 2 has an item again that page 1 of window 1 gave (item 1 there, item 1 here): it would count twice"),
		},
		{
			Name:     "rule 12: values that are no objects may repeat, and so may what is twice on one page",
			Workflow: list(),
			Answers:  map[string][]Answer{"a": {Page(`{"rows":[1,{"n":1},{"n":1}]}`, "x")}, "a#page2": {Page(`{"rows":[1,"1"]}`, "")}},
			Want:     Want{Status: runs.RunSucceeded, StepOut: map[string]string{"a": `{"items":[1,{"n":1},{"n":1},1,"1"],"next_cursor":null,"pages":2,"truncated":false}`}},
		},
		{
			Name:     "rule 12: a resume reads a page with repeated items once more",
			Workflow: list(),
			Answers: map[string][]Answer{
				"a":       {Page(`{"rows":[{"id":1}]}`, "x")},
				"a#page2": {Page(`{"rows":[{"id":2},{"id":1}]}`, ""), Page(`{"rows":[{"id":2},{"id":3}]}`, "")},
			},
			Acts: []Act{Resume(time.Hour)},
			Want: Want{
				Status: runs.RunSucceeded, Attempt: 2, Calls: []string{"a", "a#page2", "a#page2"},
				StepOut: map[string]string{"a": `{"items":[{"id":1},{"id":2},{"id":3}],"next_cursor":null,"pages":2,"truncated":false}`},
			},
		},
		{
			Name:     "rule 12: a page that failed otherwise is not held against its second reading",
			Workflow: list(),
			Answers: map[string][]Answer{
				"a":       {Page(`{"rows":[{"id":1}]}`, "x")},
				"a#page2": {Page(`{"rows":[{"id":2}]}`, "x"), Page(`{"rows":[{"id":2}]}`, "")},
			},
			Acts: []Act{Resume(time.Hour)},
			Want: Want{Status: runs.RunSucceeded, Attempt: 2, StepOut: map[string]string{"a": `{"items":[{"id":1},{"id":2}],"next_cursor":null,"pages":2,"truncated":false}`}},
		},
		{
			Name:     "rule 12: a reading that starts again gives its items again",
			Workflow: list(),
			Answers: map[string][]Answer{
				"a": {noted(Page(`{"rows":[{"id":1}]}`, "x"), "of a reading that was dropped")}, "a#page2": {Fail(plan.KindCursorExpired)},
				"a#restart": {Page(`{"rows":[{"id":1}]}`, "z")}, "a#restart#page2": {Page(`{"rows":[{"id":2}]}`, "")},
			},
			Want: Want{
				Status:  runs.RunSucceeded,
				StepOut: map[string]string{"a": `{"items":[{"id":1},{"id":2}],"next_cursor":null,"pages":2,"truncated":false}`},
				Check: func(t testing.TB, got Result) {
					if note := got.Calls[2].Command.PageNote; len(note) > 0 {
						t.Errorf("the first page of the new reading goes with %q", note)
					}
				},
			},
		},
		{
			Name:     "rule 12: an engine that dies between two pages finds them repeated all the same",
			Workflow: list(),
			Answers:  map[string][]Answer{"a": {Page(`{"rows":[{"id":1}]}`, "x")}, "a#page2": {Page(`{"rows":[{"id":1}]}`, "").In(10 * time.Second)}},
			Acts:     []Act{Crash(time.Second)},
			Want:     Want{Status: runs.RunFailed, Error: &WantError{Kind: plan.KindUnexpectedResponse, Step: "a", Reason: "repeated_item"}},
		},
		{
			Name:     "rule 12: what a page leaves goes with the next one, and with all its attempts, polls and engines",
			Workflow: list(Retry(2, time.Second)),
			Answers: map[string][]Answer{
				"a":       {noted(Page(`{"rows":[{"id":1}]}`, "x"), "list is rows")},
				"a#page2": {Later(time.Second, "poll"), Fail(plan.KindUnavailable), noted(Page(`{"rows":[{"id":2}]}`, "y").In(10*time.Second), "second")},
				"a#page3": {Page(`{"rows":[]}`, "")},
			},
			Acts: []Act{Crash(5 * time.Second)},
			Want: Want{Status: runs.RunSucceeded, Check: func(t testing.TB, got Result) {
				for _, call := range got.Calls {
					want := map[string]string{"a": "", "a#page2": "list is rows", "a#page3": "second"}[call.Path]
					if note := string(call.Command.PageNote); note != want {
						t.Errorf("%s goes with %q, want %q", call.Path, note, want)
					}
				}
			}},
		},
	}
}

// noted is a page that leaves something for the next.
func noted(page Answer, note string) Answer {
	page.Completed.PageNote = []byte(note)
	return page
}
