package simulation

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/interp"
	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
)

// The golden journals lie with those of engine/interp and have its form, with a
// hash of the final state besides. UPDATE=1 writes those that are not there; one
// that is there is never written again.
const goldenFolder = "../../engine/interp/testdata/history/v1"

type goldenFile struct {
	Name    string                     `json:"name"`
	Plan    *plan.Workflow             `json:"plan"`
	Records []*journal.Record          `json:"records"`
	Status  runs.Status                `json:"status"`
	Paused  string                     `json:"paused,omitempty"`
	Outputs map[string]json.RawMessage `json:"outputs,omitempty"`
	State   string                     `json:"state_sha256,omitempty"`
}

// stateHash is a digest of what a run came to, made of what every later version
// must still show.
func stateHash(m *interp.Machine) string {
	type shown struct {
		Path     string          `json:"path"`
		Status   runs.StepStatus `json:"status"`
		Attempts int             `json:"attempts"`
		Outputs  json.RawMessage `json:"outputs"`
		Kind     plan.ErrorKind  `json:"kind"`
		Reason   string          `json:"reason"`
		Pages    int             `json:"pages"`
		Items    int             `json:"items"`
		Done     int             `json:"done"`
	}
	var all []any
	status, paused := m.Status()
	all = append(all, status, paused, m.Attempt())
	for _, step := range m.Steps() {
		s := shown{Path: step.Path, Status: step.Status, Attempts: step.Attempts, Outputs: step.Outputs, Pages: step.Pages, Items: step.Items, Done: step.Done}
		if step.Error != nil {
			s.Kind, s.Reason = step.Error.Kind, step.Error.Reason
		}
		if s.Outputs == nil {
			s.Outputs = json.RawMessage("null")
		}
		all = append(all, s)
	}
	for _, command := range m.InFlight() {
		all = append(all, command.Path)
	}
	sum := sha256.Sum256(encoded(all))
	return hex.EncodeToString(sum[:])
}

// replayStored replays a journal on a stored plan and compares the end.
func replayStored(planBytes []byte, records [][]byte, want []byte) (err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case violation:
			err = fmt.Errorf("%s", r.text)
		default:
			panic(r)
		}
	}()
	workflow, err := plan.Decode(planBytes)
	if err != nil {
		return err
	}
	machine, err := interp.New(workflow)
	if err != nil {
		return err
	}
	for _, data := range records {
		replay(machine, data)
	}
	machine.Changes()
	if got := snapshot(machine); !bytes.Equal(got, want) {
		return fmt.Errorf("the replay leads to another state:\n got  %s\n want %s", got, want)
	}
	return nil
}

func TestP8TheGoldenJournalsReplayToTheSameState(t *testing.T) {
	if os.Getenv("UPDATE") == "1" {
		for _, g := range goldens() {
			writeGolden(t, g)
		}
	}
	files, err := filepath.Glob(goldenFolder + "/*.json")
	if err != nil || len(files) < len(goldens()) {
		t.Fatalf("%d golden journals, want at least %d (%v); UPDATE=1 writes them", len(files), len(goldens()), err)
	}
	hashed := 0
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var g goldenFile
		if err := json.Unmarshal(compacted(data), &g); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		machine, err := interp.New(g.Plan)
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		if err := replayRecords(machine, g.Records); err != nil {
			t.Errorf("%s: %v", filepath.Base(file), err)
			continue
		}
		status, paused := machine.Status()
		if status != g.Status || paused != g.Paused {
			t.Errorf("%s: the run is %s %s, was %s %s", filepath.Base(file), status, paused, g.Status, g.Paused)
		}
		if g.State != "" {
			hashed++
			if got := stateHash(machine); got != g.State {
				t.Errorf("%s: the final state is another one", filepath.Base(file))
			}
		}
	}
	t.Logf("%d golden journals, %d with the hash of their state", len(files), hashed)
}

func replayRecords(m *interp.Machine, records []*journal.Record) (err error) {
	defer func() {
		if r := recover(); r != nil {
			broken, ok := r.(violation)
			if !ok {
				panic(r)
			}
			err = fmt.Errorf("%s", broken.text)
		}
	}()
	for _, record := range records {
		data, err := journal.Encode(record)
		if err != nil {
			return err
		}
		replay(m, data)
	}
	return nil
}

// golden is one feature of the language: a workflow, and what happens to it.
type golden struct {
	name string
	yaml string
	acts []act
}

// act is what happens, in order. path names what it answers; to is the end of a
// call, or an event.
type act struct {
	after time.Duration
	event journal.Event
}

func writeGolden(t *testing.T, g golden) {
	t.Helper()
	file := filepath.Join(goldenFolder, strings.NewReplacer(" ", "-", ",", "", ":", "").Replace(strings.ToLower(g.name))+".json")
	if _, err := os.Stat(file); err == nil {
		return
	}
	workflow, err := checker().check(t.Context(), "golden.yaml", "flowrun: v1\nname: golden\n"+g.yaml)
	if err != nil {
		t.Fatalf("%s: %v", g.name, err)
	}
	machine, err := interp.New(workflow)
	if err != nil {
		t.Fatal(err)
	}
	at := begin()
	start := &journal.Start{RunID: runID, Inputs: json.RawMessage(`{}`), Trigger: "manual", ScheduledAt: at, Interpreter: interp.Version}
	if len(workflow.State) > 0 {
		start.State, start.StateVersions = stored(), map[string]uint64{"total": 4}
	}
	var records []*journal.Record
	events := slices.Concat([]act{{event: journal.Event{Kind: journal.Started, Start: start}}}, g.acts)
	for i, a := range events {
		at = at.Add(a.after + time.Second)
		ev := a.event
		ev.At = at
		ev = recoded(ev)
		open := slices.ContainsFunc(machine.InFlight(), func(c journal.Command) bool { return c.Path == ev.Path })
		if answers(ev.Kind) && !open {
			t.Fatalf("%s: act %d: %s is not open, but %s", g.name, i, ev.Path, encoded(machine.InFlight()))
		}
		commands, err := machine.Apply(ev)
		if err != nil {
			t.Fatalf("%s: act %d: %v", g.name, i, err)
		}
		records = append(records, &journal.Record{Seq: uint64(i + 1), Event: ev, Commands: commands})
	}
	status, paused := machine.Status()
	if !machine.Done() && status != runs.RunPaused {
		t.Fatalf("%s: the run is %s; in flight: %s", g.name, status, encoded(machine.InFlight()))
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "{\"name\":%s,\n\"plan\":%s,\n\"records\":[\n", encoded(g.name), encoded(workflow))
	for i, record := range records {
		comma := ","
		if i == len(records)-1 {
			comma = ""
		}
		fmt.Fprintf(&b, "%s%s\n", encoded(record), comma)
	}
	outputs := machine.Outputs()
	fmt.Fprintf(&b, "],\n\"status\":%s,\"paused\":%s,\"outputs\":%s,\n\"state_sha256\":\"%s\"}\n", encoded(status), encoded(paused), encoded(outputs), stateHash(machine))
	if err := os.WriteFile(file, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

func answers(kind journal.EventKind) bool {
	switch kind {
	case journal.Completed, journal.Pending, journal.Failed, journal.TimerFired, journal.ChildEnded:
		return true
	}
	return false
}
