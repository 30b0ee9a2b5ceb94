package page

import (
	"encoding/xml"
	"io"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
)

func at(seconds float64) time.Time { return noon.Add(time.Duration(seconds * float64(time.Second))) }

func TestALongWaitIsFolded(t *testing.T) {
	busy := []interval{{at(0), at(2)}, {at(3602), at(3604)}}
	s := newScale(at(0), at(3604), busy, false)
	if len(s.pieces) != 3 || !s.pieces[1].folded {
		t.Fatalf("%+v", s.pieces)
	}
	if width := s.x(at(2)) - s.x(at(0)); width < 30 {
		t.Errorf("the two seconds before the wait take %.1f %%", width)
	}
	if axis := string(s.axis()); !strings.Contains(axis, "59m") || !strings.Contains(axis, `class="fold"`) {
		t.Errorf("the fold is not told: %s", axis)
	}
}

func TestAShortRunIsNotFolded(t *testing.T) {
	for name, s := range map[string]*scale{
		"all within a minute":  newScale(at(0), at(50), []interval{{at(0), at(1)}}, false),
		"always busy":          newScale(at(0), at(5000), []interval{{at(0), at(5000)}}, false),
		"many waits, each few": newScale(at(0), at(500), []interval{{at(100), at(101)}, {at(200), at(201)}, {at(300), at(301)}, {at(400), at(401)}}, false),
	} {
		if len(s.pieces) != 1 {
			t.Errorf("%s: %+v", name, s.pieces)
		}
	}
}

func TestAnOpenAxisEndsAtARoundTime(t *testing.T) {
	for _, c := range []struct{ took, end float64 }{{0.05, 0.1}, {0.7, 1}, {1.9, 5}, {4, 5}, {4.6, 10}, {40, 60}} {
		s := newScale(at(0), at(c.took), []interval{{at(0), at(c.took)}}, true)
		if got := s.pieces[0].to.Sub(noon).Seconds(); got != c.end {
			t.Errorf("after %v s it ends at %v s, want %v", c.took, got, c.end)
		}
	}
}

func TestPropertyPlacesRiseWithTheTimeAndStayOnTheAxis(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		total := rapid.Float64Range(0, 1e6).Draw(t, "total")
		var busy []interval
		for range rapid.IntRange(0, 8).Draw(t, "spans") {
			from := rapid.Float64Range(0, 1).Draw(t, "from") * total
			busy = append(busy, interval{at(from), at(from + rapid.Float64Range(0, 1).Draw(t, "length")*(total-from))})
		}
		s := newScale(at(0), at(total), busy, rapid.Bool().Draw(t, "open"))
		last := -1.0
		for i := range 101 {
			x := s.x(at(total * float64(i) / 100))
			if x < last-1e-9 || x < 0 || x > lineRight+1e-9 {
				t.Fatalf("place %d is %v after %v: %+v", i, x, last, s.pieces)
			}
			last = x
		}
		if len(s.ticks) > 16 {
			t.Fatalf("%d ticks", len(s.ticks))
		}
		wellFormed(t, string(s.axis()))
	})
}

type failing interface{ Fatalf(string, ...any) }

func wellFormed(t failing, text string) {
	decoder := xml.NewDecoder(strings.NewReader(text))
	for {
		_, err := decoder.Token()
		if err == io.EOF {
			return
		}
		if err != nil {
			t.Fatalf("not XML: %v\n%s", err, text)
		}
	}
}

func TestLanesKeepItemsApart(t *testing.T) {
	list := []bar{
		{from: at(0), to: at(4)}, {from: at(1), to: at(2)}, {from: at(2), to: at(3)}, {from: at(3.5), to: at(9)}, {from: at(4), to: at(5)}, {from: at(4), to: at(5)},
	}
	lanes(list, 3)
	for i, want := range []int{0, 1, 1, 1, 0, 2} {
		if list[i].lane != want {
			t.Errorf("item %d is in lane %d, want %d", i, list[i].lane, want)
		}
	}
	for i := range list {
		for j := range i {
			if list[i].lane == list[j].lane && list[i].from.Before(list[j].to) && list[j].from.Before(list[i].to) {
				t.Errorf("items %d and %d overlap", i, j)
			}
		}
	}
}

func TestThousandsOfItemsStayFew(t *testing.T) {
	var list []bar
	for i := range 10_000 {
		b := bar{from: at(float64(i)), to: at(float64(i) + 0.9), tone: "ok", lane: i % 8, title: "x"}
		if i == 5000 {
			b.tone = "bad"
		}
		list = append(list, b)
	}
	s := newScale(at(0), at(10_000), nil, false)
	kept := thin(s, list)
	bad := 0
	for _, b := range kept {
		if b.tone == "bad" {
			bad++
		}
	}
	if len(kept) > 3000 || bad != 1 {
		t.Errorf("%d bars, %d of them failed", len(kept), bad)
	}
}

// drawnList draws a list of steps, with loops.
func drawnList(t *rapid.T, depth int) []plan.Step {
	list := make([]plan.Step, rapid.IntRange(1, 4).Draw(t, "steps"))
	for i := range list {
		list[i] = plan.Step{ID: string(rune('a'+i)) + strings.Repeat("x", depth), Kind: plan.StepAction}
		if depth < 2 && rapid.IntRange(0, 3).Draw(t, "loop") == 0 {
			list[i].Kind, list[i].Loop = plan.StepLoop, &plan.Loop{As: "it", Steps: drawnList(t, depth+1)}
		}
	}
	return list
}

// ran gives the steps of a list as the engine lists them.
func ran(t *rapid.T, list []plan.Step, prefix string, into []runs.Step) []runs.Step {
	for _, step := range list {
		into = append(into, runs.Step{Path: prefix + step.ID})
		if step.Loop == nil {
			continue
		}
		keys := rapid.SliceOfNDistinct(rapid.StringMatching(`[a-z. /%]{1,6}`), 0, 3, rapid.ID[string]).Draw(t, "keys")
		for _, key := range keys {
			into = ran(t, step.Loop.Steps, prefix+step.ID+"["+strings.ReplaceAll(key, "%", "%25")+"].", into)
		}
	}
	return into
}

func TestPropertyATreeHasAllStepsInTheirOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &plan.Workflow{Steps: drawnList(t, 0), Finally: drawnList(t, 0)}
		steps := ran(t, w.Steps, "", nil)
		if rapid.Bool().Draw(t, "handlers") {
			steps = ran(t, w.Finally, "finally:", steps)
		}
		var got []runs.Step
		for _, g := range newTree(steps, w) {
			walk(g.nodes, func(n *node) {
				got = append(got, n.step)
				if n.def == nil {
					t.Fatalf("%s has no place in the workflow", n.step.Path)
				}
			})
		}
		if len(got) != len(steps) {
			t.Fatalf("%d of %d steps", len(got), len(steps))
		}
		for i := range got {
			if got[i].Path != steps[i].Path {
				t.Fatalf("step %d is %s, want %s", i, got[i].Path, steps[i].Path)
			}
		}
	})
}

func TestATreeKeepsStepsThatThePlanDoesNotHave(t *testing.T) {
	w := &plan.Workflow{Steps: []plan.Step{{ID: "a"}}}
	steps := []runs.Step{{Path: "a"}, {Path: "gone"}, {Path: "each[1].gone"}, {Path: "finally:x"}}
	var got []string
	for _, g := range newTree(steps, w) {
		walk(g.nodes, func(n *node) { got = append(got, n.step.Path) })
	}
	if strings.Join(got, " ") != "a gone each[1].gone finally:x" {
		t.Errorf("%v", got)
	}
}

func TestAnItemIsAsItsStepsAre(t *testing.T) {
	failed := func(reaction plan.Reaction) *node {
		return &node{step: runs.Step{Status: runs.StepFailed, Error: &runs.Error{Kind: plan.KindNotFound}}, def: &plan.Step{OnErrorAll: reaction}}
	}
	with := func(status runs.StepStatus) *node {
		return &node{step: runs.Step{Status: status}, def: &plan.Step{}}
	}
	byKind := failed(plan.ReactFail)
	byKind.def.OnError = map[plan.ErrorKind]plan.Reaction{plan.KindNotFound: plan.ReactContinue}
	for name, c := range map[string]struct {
		nodes []*node
		want  runs.StepStatus
	}{
		"all went well":                       {[]*node{with(runs.StepSucceeded), with(runs.StepSkipped)}, runs.StepSucceeded},
		"one failed":                          {[]*node{failed(plan.ReactFail), with(runs.StepBlocked)}, runs.StepFailed},
		"one failed and the item goes on":     {[]*node{failed(plan.ReactContinue), with(runs.StepSucceeded)}, runs.StepSucceeded},
		"the same for its kind of error":      {[]*node{byKind, with(runs.StepSucceeded)}, runs.StepSucceeded},
		"its only step failed, which is fine": {[]*node{failed(plan.ReactContinue)}, runs.StepSucceeded},
		"one waits after a failure":           {[]*node{failed(plan.ReactFail), with(runs.StepWaiting)}, runs.StepWaiting},
		"between two steps":                   {[]*node{with(runs.StepSucceeded), with(runs.StepPending)}, runs.StepRunning},
		"not begun":                           {[]*node{with(runs.StepPending), with(runs.StepPending)}, runs.StepPending},
		"an outcome is not known":             {[]*node{with(runs.StepUnknown), with(runs.StepSucceeded)}, runs.StepUnknown},
	} {
		if got := itemStatus(c.nodes); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// A wait for the rate limit has the look of a wait and says in words what it is: it
// is not the call's time.
func TestIssue12_22AWaitForTheLimiterLooksLikeAWait(t *testing.T) {
	wait := engine.Span{Step: "get", Operation: "get", Kind: engine.SpanLimit, From: noon, To: noon.Add(9500 * time.Millisecond), End: engine.EndOK, Message: string(runs.WaitRateLimit)}
	if b := spanBar(wait, noon); b.kind != "wait" || b.tone != "wait" || b.title != "wait for the rate limit: 9.5s" {
		t.Errorf("%+v", b)
	}
	wait.To, wait.End = time.Time{}, ""
	if b := spanBar(wait, noon.Add(2*time.Second)); b.kind != "wait" || b.title != "wait for the rate limit: 2s so far" {
		t.Errorf("while it lasts: %+v", b)
	}
	wait.Message = "disk almost full"
	if row := newCallRow("r", wait, noon); row.Word != "held back: disk almost full" || row.Tone != "wait" {
		t.Errorf("%+v", row)
	}
	if text, _ := stepDetail(runs.Step{Path: "get", Status: runs.StepSucceeded, WaitedMS: 9500}); text != "of it 9.5s waiting for the rate limit" {
		t.Error(text)
	}
	if text, _ := stepDetail(runs.Step{Path: "get", Status: runs.StepWaiting, Wait: string(runs.WaitRateLimit)}); text != "waits for the rate limit" {
		t.Error(text)
	}
}
