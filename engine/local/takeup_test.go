package local_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/enginetest"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/internal/suitesize"
)

// takeUpFactor is how many times its journal a run may take in memory while it is
// taken up (docs/reliability.md, P20); takeUpFloor is what any may take here, with what
// the collector has not seen yet.
const (
	takeUpFactor = 4
	takeUpFloor  = 12 << 20
)

// shape is a journal of a kind: answers of the step's calls.
type shape struct {
	steps  int // action steps, one after the other
	paged  bool
	answer func(n int) runs.Answer // nth answer; its last one ends the step
	reads  string                  // an expression with %s for each step, joined by +; "" = none
}

// filled is a JSON list of so many bytes, of one element again and again.
func filled(element string, size int) string {
	n := size / (len(element) + 1)
	return "[" + strings.Repeat(element+",", n) + element + "]"
}

// shapes are journals of about size bytes.
func shapes(size int) map[string]shape {
	const parts = 8
	part := size / parts
	lists := func(element string, steps int) shape {
		text := filled(element, size/steps)
		return shape{steps: steps, reads: map[bool]string{true: "len(steps.%s.outputs.items)"}[steps > parts], answer: func(n int) runs.Answer {
			return answered(fmt.Sprintf(`{"items":%s,"n":%d}`, text, n))
		}}
	}
	const pageSize = 64 << 10
	pages := func(element func(page, item int) string, of int) shape {
		return shape{steps: 1, paged: true, answer: func(n int) runs.Answer {
			var items []string
			for i, bytes := 0, 0; bytes < of; i++ {
				item := element(n, i)
				items, bytes = append(items, item), bytes+len(item)+1
			}
			answer := answered(`{"items":[` + strings.Join(items, ",") + `]}`)
			if n < min(size/(of+300), 24_000) { // two events a page, 50,000 in a run
				answer.Completed.NextCursor = strconv.Itoa(n)
			}
			return answer
		}}
	}
	return map[string]shape{
		"large texts":             {steps: parts, answer: func(n int) runs.Answer { return answered(fmt.Sprintf(`{"text":"%d%s"}`, n, strings.Repeat("x", part))) }},
		"empty lists":             lists("[]", parts),
		"empty objects":           lists("{}", parts),
		"small objects":           lists(`{"a":1}`, parts),
		"numbers":                 lists("1", parts),
		"deep lists":              lists(strings.Repeat("[", 50)+strings.Repeat("]", 50), parts),
		"small objects, all read": lists(`{"a":1}`, 8*parts), "numbers, all read": lists("1", 8*parts), "empty lists, all read": lists("[]", 8*parts),
		"rows in pages": pages(func(page, item int) string { return fmt.Sprintf(`{"id":%d,"name":"row %d"}`, page*100_000+item, item) }, pageSize),
		"small pages":   pages(func(page, item int) string { return fmt.Sprintf(`{"id":%d}`, page*100_000+item) }, 200),
		"checkpoints": {steps: 1, answer: func(n int) runs.Answer {
			if n == parts {
				return answered(`{}`)
			}
			return runs.Answer{Pending: &runs.Pending{RetryAfter: time.Millisecond, Checkpoint: []byte(strings.Repeat(strconv.Itoa(n), part/3))}}
		}},
		"errors": {steps: 1, answer: func(n int) runs.Answer {
			if n == size/40_000 {
				return answered(`{}`)
			}
			return runs.Answer{Failed: &runs.Error{Kind: plan.KindUnavailable, Message: strings.Repeat("m", 20_000), Details: json.RawMessage(filled("[]", 20_000))}}
		}},
	}
}

func answered(output string) runs.Answer {
	return runs.Answer{Completed: &runs.Completed{Output: json.RawMessage(output)}}
}

// takeUps are the journals of the test: a few small ones for the usual tests.
func takeUps() map[string]shape {
	if os.Getenv("FLOWRUN_GROWTH") == "full" {
		return shapes(52 << 20)
	}
	few := shapes(4 << 20)
	maps.DeleteFunc(few, func(name string, _ shape) bool {
		return !slices.Contains([]string{"large texts", "empty objects", "rows in pages"}, name)
	})
	return few
}

// TestIssue13_02TakingUpARunTakesFourTimesItsJournal: of memory, whatever it is
// that the journal holds.
func TestIssue13_02TakingUpARunTakesFourTimesItsJournal(t *testing.T) {
	shapes := takeUps()
	for _, name := range suitesize.Part(t, slices.Sorted(maps.Keys(shapes))) {
		t.Run(name, func(t *testing.T) {
			s := shapes[name]
			b := newBench(t)
			b.close()
			b.bounds.DecodedBytes = 4 << 20
			b.open()
			id := b.hanging(s)
			records, logs, err := b.store.JournalBytes(id)
			if err != nil {
				t.Fatal(err)
			}
			b.close()
			again := make(chan struct{})
			b.service.script["last"] = func(ctx context.Context, r runs.Request) runs.Answer {
				close(again)
				return hang(ctx, r)
			}
			b.open()
			peak := enginetest.Peak(func() {
				if err := b.driver.Load(id, nil); err != nil {
					t.Fatal(err)
				}
				<-again
			})
			journal := records + logs
			t.Logf("%5.1f MiB of memory for a journal of %5.1f MiB: %.1f times", float64(peak)/(1<<20), float64(journal)/(1<<20), float64(peak)/float64(journal))
			if peak > takeUpFactor*journal+takeUpFloor {
				t.Errorf("a journal of %d bytes takes %d bytes when its run is taken up", journal, peak)
			}
		})
	}
}

// hanging starts a run of the shape and returns when its last step is in flight.
func (b *bench) hanging(s shape) string {
	b.t.Helper()
	var texts []string
	var reads []string
	for i := range s.steps {
		id := fmt.Sprintf("s%d", i)
		texts = append(texts, id+" read")
		if s.reads != "" {
			reads = append(reads, fmt.Sprintf(s.reads, id))
		}
		n := 0
		b.service.script[id] = func(context.Context, runs.Request) runs.Answer {
			n++
			return s.answer(n + i)
		}
	}
	w := workflow(texts...)
	action := *w.Actions["fake.read"]
	action.Input = json.RawMessage(`{"type":"object","properties":{"cursor":{"type":"string"}}}`)
	action.Output = json.RawMessage(`{"type":"object","properties":{"items":{"type":"array","items":{}}}}`)
	w.Actions["fake.read"] = &action
	for i := range w.Steps {
		w.Steps[i].Retry.Attempts = 100_000
	}
	if s.paged {
		action.Paging = &plan.Paging{CursorField: "cursor", ItemsField: "items"}
		w.Steps[0].Paginate = &plan.Paginate{MaxPages: 100_000, MaxItems: 10_000_000}
	}
	before := w.Steps[len(w.Steps)-1].ID
	if len(reads) > 0 {
		look := plan.Step{ID: "look", Kind: plan.StepLet, RunIf: plan.RunIfOK, Needs: []string{before}, Let: []plan.Binding{{
			Name: "n", Value: plan.Value{Kind: plan.ValueExpr, Expr: &plan.Expr{Source: strings.Join(reads, " + ")}},
		}}}
		w.Steps, before = append(w.Steps, look), "look"
	}
	last := w.Steps[0]
	last.ID, last.Needs, last.Paginate = "last", []string{before}, nil
	w.Steps = append(w.Steps, last)
	reached := make(chan struct{})
	b.service.script["last"] = func(ctx context.Context, r runs.Request) runs.Answer {
		close(reached)
		return hang(ctx, r)
	}
	id := b.start(w)
	ended, stop := context.WithCancel(b.t.Context())
	defer stop()
	updates, err := b.driver.Watch(ended, id, 1<<62)
	if err != nil {
		b.t.Fatal(err)
	}
	for {
		select {
		case <-reached:
			return id
		case _, open := <-updates:
			if !open {
				result, err := b.driver.Snapshot(b.t.Context(), id)
				b.t.Fatalf("the run has ended: %+v, %v", result.Error, err)
			}
		}
	}
}
