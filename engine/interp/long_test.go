package interp_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flowrun/flowrun/engine/enginetest"
	"github.com/flowrun/flowrun/engine/interp"
	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
)

// overItems are expressions over the items of a reading, in all places where a value
// of one goes.
func overItems() []string {
	const items = "steps.a.outputs.items"
	return []string{
		items, "len(" + items + ")", items + "[0]?.n ?? -1", "first(" + items + ")", items + "[1:3]", "filter(" + items + ", .n > 2)", "map(" + items + ", .n)", "sum(" + items + ", .n)",
		"chunk(" + items + ", 2)", "{all: " + items + ", outputs: steps.a.outputs}", "steps.a.outputs", "steps.a", "values(steps)[0].outputs.items == " + items, "groupBy(" + items + ", .k)",
		"sortBy(" + items + ", .n)", "uniqueBy(" + items + `, "k")`, "toJSON(" + items + ")", "flatten([" + items + "])", "reverse(" + items + ")", "[" + items + "[0:1], " + items + "]",
	}
}

// longWorkflow reads pages, uses their items in a let, in a loop over batches with a
// call, as a call's input and as outputs.
func longWorkflow(rng *rand.Rand) *plan.Workflow {
	pick := func() string { return "${{ " + overItems()[rng.IntN(len(overItems()))] + " }}" }
	loop := enginetest.Each("each", "${{ chunk(steps.a.outputs.items, 2) }}", []plan.Step{
		enginetest.Do("each_get", "svc.read", map[string]any{"value": "${{ item }}"}), enginetest.Let("each_let", "v", "${{ [index, len(item), item[-1]] }}"),
	}, enginetest.Collect("${{ item }}"))
	w := enginetest.Workflow(
		enginetest.Do("a", "svc.list", nil, enginetest.Paginate(10, 1000)),
		enginetest.With(enginetest.Let("b", "v", pick()), enginetest.Needs("a")),
		enginetest.With(enginetest.Do("c", "svc.read", map[string]any{"value": pick()}), enginetest.Needs("a")),
		enginetest.With(loop, enginetest.Needs("a"), enginetest.Parallel(2)),
		enginetest.With(enginetest.Let("d", "v", "${{ [steps.b.outputs.v, steps.each.outputs.items] }}"), enginetest.Needs("b", "each")),
	)
	for i := range 3 {
		enginetest.Output(w, fmt.Sprintf("o%d", i), pick())
	}
	return w
}

// TestIssue16_03ALongReadingGoesAsAShortOne drives random workflows over the same pages:
// by the version before, which decoded all items, and with the items kept as text. All
// commands, states and outputs are the same, and so they are in a replay.
func TestIssue16_03ALongReadingGoesAsAShortOne(t *testing.T) {
	for seed := range uint64(150) {
		rng := rand.New(rand.NewPCG(seed, 71))
		w := longWorkflow(rng)
		var pages []string
		for page, id := 0, 0; page < 1+rng.IntN(4); page++ {
			var rows []string
			for range rng.IntN(5) {
				rows = append(rows, fmt.Sprintf(`{"n": %d, "k":"k%d","deep":{"b":[%d,2.5],"a":null}}`, id, rng.IntN(3), id))
				id++
			}
			pages = append(pages, `{"rows":[`+strings.Join(rows, ", ")+`]}`)
		}
		before := drivePages(t, w, pages, 6, 0)
		if diff := cmp.Diff(before, drivePages(t, w, pages, interp.Version, -1)); diff != "" {
			t.Fatalf("seed %d: with items kept as text it goes another way (-before +now):\n%s", seed, diff)
		}
	}
}

// drivePages is what a run did: its commands, one a line, and how it ended.
func drivePages(t *testing.T, w *plan.Workflow, pages []string, version int, longFrom int64) []string {
	t.Helper()
	m := newMachine(t, w)
	m.LongFrom(longFrom)
	var did []string
	waiting := apply(t, m, journal.Event{Kind: journal.Started, Start: &journal.Start{RunID: enginetest.RunID, Inputs: json.RawMessage(`{}`), Trigger: "manual", Interpreter: version}})
	for page := 0; len(waiting) > 0; {
		command := waiting[0]
		text, err := json.Marshal(command)
		if err != nil {
			t.Fatal(err)
		}
		did, waiting = append(did, string(text)), waiting[1:]
		if command.Kind != journal.CommandCall {
			continue
		}
		answer := &runs.Completed{Output: json.RawMessage(`{"value":1}`)}
		if command.Call.Step == "a" {
			answer.Output = json.RawMessage(pages[page])
			if page++; page < len(pages) {
				answer.NextCursor = fmt.Sprint("c", page)
			}
		}
		waiting = append(waiting, apply(t, m, journal.Event{Kind: journal.Completed, Path: command.Path, Completed: answer})...)
	}
	for _, step := range m.Steps() {
		text, err := json.Marshal(step)
		if err != nil {
			t.Fatal(err)
		}
		did = append(did, string(text))
	}
	status, _ := m.Status()
	return append(did, fmt.Sprintf("%s %s %v", status, m.Outputs(), m.Error()))
}

// TestIssue16_03LongOutputsAreLeftOutInShort: what is long is told by its length alone,
// and not more than once held as a whole.
func TestIssue16_03LongOutputsAreLeftOutInShort(t *testing.T) {
	m := newMachine(t, enginetest.Workflow(enginetest.Do("a", "svc.list", nil, enginetest.Paginate(10, 1000))))
	m.LongFrom(1)
	apply(t, m, journal.Event{Kind: journal.Started, Start: &journal.Start{RunID: enginetest.RunID, Inputs: json.RawMessage(`{}`), Trigger: "manual", Interpreter: interp.Version}})
	m.Changes()
	apply(t, m, journal.Event{Kind: journal.Completed, Path: "a", Completed: &runs.Completed{Output: json.RawMessage(`{"rows":[1,2,3]}`)}})
	changes, short, whole := m.Changes(), m.StepsInShort(), m.Steps()
	for _, step := range []runs.Step{changes[len(changes)-1], short[0]} {
		if step.Outputs != nil || step.OutputsBytes != 7 {
			t.Errorf("in short it has %s, %d bytes", step.Outputs, step.OutputsBytes)
		}
	}
	if want := `{"items":[1,2,3],"next_cursor":null,"pages":1,"truncated":false}`; string(whole[0].Outputs) != want || whole[0].OutputsBytes != 0 {
		t.Errorf("as a whole it has %s", whole[0].Outputs)
	}
}

// TestIssue16_03ARerunTakesALongReadingOver as text, with the types of its items: what
// JSON has no form for is the same in the new run, and nothing is decoded for it.
func TestIssue16_03ARerunTakesALongReadingOver(t *testing.T) {
	const typed = `{"type":"object","required":["rows"],"properties":{"rows":{"type":"array","items":{"type":"object","properties":{"at":{"type":"string","format":"date-time"},"share":{"type":"number"},"for":{"type":"string","format":"duration"}}}}}}`
	w := enginetest.Workflow(
		enginetest.Do("a", "svc.list", nil, enginetest.Paginate(10, 1000)),
		enginetest.With(enginetest.Let("b", "year", "${{ steps.a.outputs.items[-1].at.Year() }}", "share", "${{ sum(steps.a.outputs.items, .share) }}"), enginetest.Needs("a")),
	)
	enginetest.Output(w, "all", "${{ [steps.a.outputs, steps.b.outputs] }}")
	for i := range w.Actions {
		if w.Actions[i].Name == "list" {
			w.Actions[i].Output = json.RawMessage(typed)
		}
	}
	outcome := func(m *interp.Machine) string {
		status, _ := m.Status()
		return fmt.Sprintf("%s %s %v", status, m.Outputs(), m.Error())
	}
	first := newMachine(t, w)
	first.LongFrom(-1)
	apply(t, first, journal.Event{Kind: journal.Started, Start: &journal.Start{RunID: enginetest.RunID, Inputs: json.RawMessage(`{}`), Trigger: "manual", Interpreter: interp.Version}})
	for path, page := range map[string]*runs.Completed{"a": {Output: json.RawMessage(`{"rows":[{"at":"2026-03-02T00:00:00Z","share":1},{"at":"2027-03-02T00:00:00+02:00","share":0.5}]}`), NextCursor: "c"}} {
		apply(t, first, journal.Event{Kind: journal.Completed, Path: path, Completed: page})
	}
	apply(t, first, journal.Event{Kind: journal.Completed, Path: "a#page2", Completed: &runs.Completed{Output: json.RawMessage(`{"rows":[{"at":"2028-03-02T00:00:00Z","share":3}]}`)}})
	taken, err := first.TakeOver("b")
	if err != nil {
		t.Fatal(err)
	}
	a := taken.Results["a"]
	if len(a.Items) != 1 || a.Items[0].Count != 3 || len(a.Result) > 0 {
		t.Fatalf("it is taken over with %+v and the result %s", a.Items, a.Result)
	}
	second, calls := begun(t, w, `{}`, taken.Results)
	if len(calls) > 0 || outcome(second) != outcome(first) || !strings.Contains(outcome(first), `"year":2028`) {
		t.Errorf("calls %q\n%s\nwant\n%s", calls, outcome(second), outcome(first))
	}
	if diff := cmp.Diff(string(first.Steps()[0].Outputs), string(second.Steps()[0].Outputs)); diff != "" {
		t.Errorf("the outputs differ (-first +rerun):\n%s", diff)
	}
	for name, spoil := range map[string]func(*journal.Taken){
		"fewer items": func(t *journal.Taken) { t.Items = []journal.TakenItems{{Count: 2, Schema: json.RawMessage(`{}`)}} },
		"no schema": func(t *journal.Taken) {
			t.Items = []journal.TakenItems{{Count: 3, Schema: json.RawMessage(`{"type":7}`)}}
		},
		"no outputs": func(t *journal.Taken) { t.Outputs = json.RawMessage(`[]`) },
	} {
		own := *a
		spoil(&own)
		m := newMachine(t, w)
		start := &journal.Start{RunID: enginetest.RunID, Inputs: json.RawMessage(`{}`), Interpreter: interp.Version, Taken: map[string]*journal.Taken{"a": &own}}
		if _, err := m.Apply(journal.Event{Kind: journal.Started, At: enginetest.Begin(), Start: start}); err == nil {
			t.Errorf("%s: it is taken", name)
		}
	}
}
