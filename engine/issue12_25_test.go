package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/fault"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/workspace"
)

const asksOnce = `flowrun: v1
name: asks
steps:
  - {id: ask, uses: core.approve, with: {message: "go on?"}}
`

// TestIssue12_25ACancelThatIsTakenEndsTheRun: it comes in the moment in which the run
// ends by itself, and is refused exactly where that was first.
func TestIssue12_25ACancelThatIsTakenEndsTheRun(t *testing.T) {
	e := stateProject(t, time.Now, nil)
	taken, refused := 0, 0
	for i := range 300 {
		run, problems, err := e.Start(t.Context(), StartRequest{File: "asks.yaml", Source: []byte(asksOnce)})
		if err != nil || run == nil {
			t.Fatal(err, problems)
		}
		eventually(t, "the run waits", func() bool {
			row, err := e.store.Run(run.ID)
			return err == nil && row.Status == runs.RunWaiting
		})
		decided := make(chan struct{})
		go func() {
			defer close(decided)
			_, _ = e.Decide(t.Context(), run.ID, "ask", ActApprove, DecideRequest{}) // or the cancel was first
		}()
		err = e.Cancel(t.Context(), run.ID, "ann")
		<-decided
		result, waitErr := e.Wait(t.Context(), run.ID)
		if waitErr != nil {
			t.Fatal(waitErr)
		}
		var conflict *fault.ConflictError
		switch {
		case err == nil && result.Run.Status == runs.RunCanceled:
			taken++
		case errors.As(err, &conflict) && result.Run.Status == runs.RunSucceeded:
			refused++
		default:
			t.Fatalf("try %d: the cancel gives %v, and the run is %s", i, err, result.Run.Status)
		}
	}
	t.Logf("%d were taken, %d refused", taken, refused)
}

const twoInputs = `flowrun: v1
name: two
inputs:
  name: {type: string, minLength: 1}
  times: {type: integer, minimum: 1}
  rows: {type: array, items: {type: object, required: [id], properties: {id: {type: integer}, note: {type: string}}}, default: []}
steps:
  - {id: one, let: {a: 1}}
`

// TestIssue12_25AllMistakesOfInputsAtOnce, each with its place.
func TestIssue12_25AllMistakesOfInputsAtOnce(t *testing.T) {
	e := stateProject(t, time.Now, nil)
	_, _, err := e.Start(t.Context(), StartRequest{File: "two.yaml", Source: []byte(twoInputs), Inputs: map[string]workspace.Input{
		"times": {Text: "many"},
		"nam":   {Text: "Ada"},
		"rows":  {JSON: json.RawMessage(`[{"id":1},{"id":"x","note":2},{"nope":1}]`)},
	}})
	var wrong *fault.InputError
	if !errors.As(err, &wrong) {
		t.Fatal(err)
	}
	var got []string
	for _, one := range wrong.All() {
		got = append(got, fmt.Sprintf("%s %s", one.Input, one.Pointer))
		if one.Message == "" || one.Hint.Text == "" {
			t.Errorf("%+v says nothing", one)
		}
	}
	want := []string{"nam /nam", "name /name", "times /times", "rows /rows/1/id", "rows /rows/1/note", "rows /rows/2", "rows /rows/2/nope"}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("told are\n%q, want\n%q", got, want)
	}
}

// TestIssue12_25TheSameRequestIsTheSameRun, and another one under its id is none.
func TestIssue12_25TheSameRequestIsTheSameRun(t *testing.T) {
	e := serving(t, t.TempDir(), map[string]string{"flowrun.yaml": "workflows: [flows]\n", "flows/two.yaml": twoInputs}, nil)
	defer closeEngine(t, e)
	start := func(name, digest string) (string, bool, error) {
		replayed := false
		run, problems, err := e.StartNamed(t.Context(), "two", NamedStart{
			Inputs: map[string]workspace.Input{"name": {Text: name}, "times": {Text: "1"}}, RequestID: "one", Digest: digest, Replayed: &replayed,
		})
		if err != nil {
			return "", replayed, err
		}
		if run == nil {
			t.Fatal(problems)
		}
		return run.ID, replayed, nil
	}
	first, replayed, err := start("Ada", "a")
	if err != nil || replayed {
		t.Fatal(replayed, err)
	}
	again, replayed, err := start("Ada", "a")
	if err != nil || !replayed || again != first {
		t.Errorf("again: run %s, replayed %v, %v", again, replayed, err)
	}
	var reused *ReusedKeyError
	if _, _, err := start("Bob", "b"); !errors.As(err, &reused) || reused.Run != first {
		t.Errorf("another request: %v", err)
	}
	ended(t, e, first)
	rerun := func(digest string) (string, error) {
		run, _, err := e.Rerun(t.Context(), first, RerunRequest{RequestID: "two", Digest: digest})
		if err != nil {
			return "", err
		}
		return run.ID, nil
	}
	one, err := rerun("a")
	if err != nil {
		t.Fatal(err)
	}
	if two, err := rerun("a"); err != nil || two != one {
		t.Errorf("a rerun that is sent twice: %s and %s, %v", one, two, err)
	}
	if _, err := rerun("b"); !errors.As(err, &reused) {
		t.Errorf("another rerun: %v", err)
	}
}
