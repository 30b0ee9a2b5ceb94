package interp_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/flowrun/flowrun/engine/enginetest"
	"github.com/flowrun/flowrun/engine/interp"
	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/plan"
)

// drawnPlan is a random workflow with random answers; delays are apart, so that
// the same plan can run with other ones.
type drawnPlan struct {
	workflow *plan.Workflow
	answers  map[string][]enginetest.Answer
}

var failing = []plan.ErrorKind{
	plan.KindUnavailable, plan.KindNotFound, plan.KindRateLimited, plan.KindTimeout, plan.KindAuthRequired, plan.KindCrashed,
}

func drawPlan(t *rapid.T) drawnPlan {
	d := drawnPlan{answers: map[string][]enginetest.Answer{}}
	n := rapid.IntRange(1, 7).Draw(t, "steps")
	var steps []plan.Step
	for i := range n {
		steps = append(steps, d.drawStep(t, i))
	}
	d.workflow = enginetest.Workflow(steps...)
	last := fmt.Sprintf("${{ steps.s%d?.status ?? 'none' }}", n-1)
	enginetest.Output(d.workflow, "last", last)
	enginetest.Handlers(d.workflow,
		[]plan.Step{enginetest.Do("good", "core.log", map[string]any{"text": "good"})},
		[]plan.Step{enginetest.Do("bad", "svc.read", nil)},
		[]plan.Step{enginetest.Do("end", "core.log", map[string]any{"text": "${{ run.status }}"})})
	return d
}

func (d *drawnPlan) drawStep(t *rapid.T, i int) plan.Step {
	id := fmt.Sprintf("s%d", i)
	var step plan.Step
	switch kind := rapid.SampledFrom([]string{"let", "read", "post", "send", "list", "loop"}).Draw(t, "kind"); kind {
	case "let":
		step = enginetest.Let(id, "x", i)
	case "loop":
		step = d.drawLoop(t, id)
	case "list":
		step = enginetest.Do(id, "svc.list", nil, enginetest.Paginate(3, 10))
		d.answers[id] = append(d.drawFailures(t), enginetest.Page(`{"rows":[1,2]}`, "x"))
		d.answers[id+"#page2"] = append(d.drawFailures(t), enginetest.Page(`{"rows":[3]}`, ""))
	default:
		step = enginetest.Do(id, "svc."+kind, nil)
		d.answers[id] = append(d.drawFailures(t), enginetest.OK(`{"value":1}`))
	}
	needs := []string{}
	for j := range i {
		if rapid.IntRange(0, 2).Draw(t, "need") == 0 {
			needs = append(needs, fmt.Sprintf("s%d", j))
		}
	}
	options := []enginetest.Option{enginetest.Needs(needs...)}
	options = append(options, enginetest.RunIf(rapid.SampledFrom([]plan.RunIf{
		plan.RunIfOK, plan.RunIfOK, plan.RunIfFailed, plan.RunIfAny,
	}).Draw(t, "run_if")))
	if rapid.IntRange(0, 4).Draw(t, "if") == 0 {
		options = append(options, enginetest.If("false"))
	}
	if step.Kind == plan.StepAction && rapid.IntRange(0, 3).Draw(t, "continue") == 0 {
		options = append(options, enginetest.OnError("", plan.ReactContinue))
	}
	return enginetest.With(step, options...)
}

// drawLoop draws a loop. One that stops at the first failure has no failure that
// parks its item: whether that item had begun when another failed is a matter
// of time alone.
func (d *drawnPlan) drawLoop(t *rapid.T, id string) plan.Step {
	collecting := rapid.Bool().Draw(t, "collecting")
	kinds := failing
	if !collecting {
		kinds = slices.DeleteFunc(slices.Clone(failing), func(kind plan.ErrorKind) bool { return kind == plan.KindAuthRequired })
	}
	var items []any
	for i := range rapid.IntRange(0, 4).Draw(t, "items") {
		items = append(items, i)
		path := fmt.Sprintf("%s[%d].%s_get", id, i, id)
		d.answers[path] = append(d.drawFailuresOf(t, kinds), enginetest.OK(`{"value":2}`))
	}
	body := []plan.Step{
		enginetest.Do(id+"_get", "svc.read", map[string]any{"value": "${{ item }}"}),
		enginetest.Let(id+"_more", "v", "${{ steps."+id+"_get.outputs.value }}"),
	}
	options := []enginetest.Option{
		enginetest.Parallel(rapid.IntRange(1, 3).Draw(t, "parallel")),
		enginetest.Collect("${{ steps." + id + "_more.outputs.v }}"),
	}
	if collecting {
		options = append(options, enginetest.Collecting())
	}
	return enginetest.Each(id, append([]any{}, items...), body, options...)
}

func (d *drawnPlan) drawFailures(t *rapid.T) []enginetest.Answer { return d.drawFailuresOf(t, failing) }

func (d *drawnPlan) drawFailuresOf(t *rapid.T, kinds []plan.ErrorKind) []enginetest.Answer {
	if rapid.IntRange(0, 2).Draw(t, "fails") > 0 {
		return nil
	}
	var answers []enginetest.Answer
	for range rapid.IntRange(1, 5).Draw(t, "failures") {
		answers = append(answers, enginetest.Fail(rapid.SampledFrom(kinds).Draw(t, "kind")))
	}
	return answers
}

// script gives every answer a delay of its own, so that the answers come in an
// order of their own.
func (d *drawnPlan) script(t *rapid.T, acts ...enginetest.Act) *enginetest.Script {
	script := &enginetest.Script{Answers: map[string][]enginetest.Answer{}, Acts: acts}
	for _, path := range slices.Sorted(maps.Keys(d.answers)) {
		for _, answer := range d.answers[path] {
			delay := time.Duration(rapid.IntRange(0, 20).Draw(t, "delay")) * 100 * time.Millisecond
			script.Answers[path] = append(script.Answers[path], answer.In(delay))
		}
	}
	return script
}

// outcome is what must not depend on the order of the answers: the run's status
// and outputs, and those of the main steps.
func outcome(w *plan.Workflow, got enginetest.Result) map[string]string {
	found := map[string]string{"status": string(got.Status), "outputs": fmt.Sprintf("%s", got.Outputs)}
	for _, step := range w.Steps {
		view := got.Steps[step.ID]
		found[step.ID] = fmt.Sprintf("%s %s", view.Status, view.Outputs)
	}
	return found
}

func TestRule8OutcomeDoesNotDependOnTheOrderOfAnswers(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		drawn := drawPlan(rt)
		first := (&enginetest.Reference{}).Run(t, drawn.workflow, json.RawMessage(`{}`), drawn.script(rt))
		shuffled := &enginetest.Reference{Hostile: true, Shuffle: func() int { return rapid.IntRange(0, 1000).Draw(rt, "order") }}
		second := shuffled.Run(t, drawn.workflow, json.RawMessage(`{}`), drawn.script(rt))
		if diff := cmp.Diff(outcome(drawn.workflow, first), outcome(drawn.workflow, second)); diff != "" {
			rt.Fatalf("the outcome depends on the order (-first +second):\n%s", diff)
		}
	})
}

func TestP8EveryPrefixOfAJournalReplaysToTheSameCommandsAndState(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		drawn := drawPlan(rt)
		var seen [][]byte
		driver := &enginetest.Reference{Seen: func(m *interp.Machine) { seen = append(seen, enginetest.Snapshot(t, m)) }}
		acts := []enginetest.Act{
			enginetest.Cancel(time.Duration(rapid.IntRange(0, 60).Draw(rt, "cancel")) * 100 * time.Millisecond),
			enginetest.Resume(time.Hour), enginetest.Resume(2 * time.Hour),
		}
		got := driver.Run(t, drawn.workflow, json.RawMessage(`{}`), drawn.script(rt, acts...))
		machine, err := interp.New(drawn.workflow)
		if err != nil {
			rt.Fatal(err)
		}
		for i, record := range got.Records {
			enginetest.Replay(t, machine, []*journal.Record{stored(rt, record)})
			if state := enginetest.Snapshot(t, machine); !bytes.Equal(state, seen[i]) {
				rt.Fatalf("after record %d the replayed state differs:\n live   %s\n replay %s", i+1, seen[i], state)
			}
		}
	})
}

// stored is a record as the journal gives it back.
func stored(t interface{ Fatal(...any) }, record *journal.Record) *journal.Record {
	data, err := journal.Encode(record)
	if err != nil {
		t.Fatal(err)
	}
	decoded, err := journal.Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	return decoded
}

func TestP6ACrashAtAnyTimeChangesNoOutcome(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		drawn := drawPlan(rt)
		for i := range drawn.workflow.Steps { // a once call in flight would be unknown, as it must
			if drawn.workflow.Steps[i].Uses == "svc.send" {
				drawn.workflow.Steps[i].Uses = "svc.post"
			}
		}
		for path, answers := range drawn.answers { // the script counts calls, and a crash makes more of them
			drawn.answers[path] = answers[:1]
		}
		calm := (&enginetest.Reference{}).Run(t, drawn.workflow, json.RawMessage(`{}`), drawn.script(rt))
		var acts []enginetest.Act
		for range rapid.IntRange(1, 3).Draw(rt, "crashes") {
			acts = append(acts, enginetest.Crash(time.Duration(rapid.IntRange(0, 100).Draw(rt, "crash"))*100*time.Millisecond))
		}
		crashed := (&enginetest.Reference{}).Run(t, drawn.workflow, json.RawMessage(`{}`), drawn.script(rt, acts...))
		if diff := cmp.Diff(outcome(drawn.workflow, calm), outcome(drawn.workflow, crashed)); diff != "" {
			rt.Fatalf("the crash changed the outcome (-calm +crashed):\n%s", diff)
		}
	})
}
