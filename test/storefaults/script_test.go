//go:build linux && (amd64 || arm64)

package storefaults_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/store"
)

// A script is what several writers do to a store, one operation after the other
// each. It is drawn from a seed, so that another process knows what must stand
// in the file from the number of acknowledgements alone.
type script struct {
	Seed uint64
	Ops  int // of each writer
}

// writer names the writers.
type writer string

const (
	rows   writer = "rows"   // puts and deletes rows
	memory writer = "memory" // changes state values
	brief  writer = "brief"  // makes runs, fills and removes them
)

// longRuns are writers of one run each that gets ever more records.
const longRuns = 3

func (s script) writers() []writer {
	all := []writer{rows, memory, brief, fires}
	for n := range longRuns {
		all = append(all, runWriter(n))
	}
	return all
}

func runWriter(n int) writer { return writer(fmt.Sprintf("run%d", n)) }

func (w writer) run() (n int, ok bool) {
	_, err := fmt.Sscanf(string(w), "run%d", &n)
	return n, err == nil
}

// source draws what operation op of a writer contains.
func (s script) source(w writer, op int) *rand.Rand {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %s %d", s.Seed, w, op))
	return rand.New(rand.NewChaCha8(sum))
}

// content is a JSON text of some size: mostly small, at times of several pages,
// rarely so large that it lies in a blob.
func (s script) content(w writer, op int) []byte {
	source := s.source(w, op)
	size := 20 + source.IntN(400)
	switch draw := source.IntN(40); {
	case draw == 0:
		size = 66 << 10
	case draw < 4:
		size = 5 << 10
	}
	var text strings.Builder
	for text.Len() < size {
		fmt.Fprintf(&text, "%016x", source.Uint64())
	}
	return fmt.Appendf(nil, `{"writer":%q,"op":%d,"text":%q}`, w, op, text.String())
}

func beginning() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }

func idAt(n int) string {
	var id ulid.ULID
	if err := id.SetTime(uint64(beginning().Add(time.Duration(n) * time.Second).UnixMilli())); err != nil {
		panic(err)
	}
	return strings.ToLower(id.String())
}

// The plan of every run of a script; one of them lies in a blob.
func (s script) plan(n int) []byte {
	text := fmt.Sprintf(`{"format":1,"name":"weekly","seed":%d,"n":%d}`, s.Seed, n%2)
	if n%2 == 1 {
		text += strings.Repeat(" ", 70<<10)
	}
	return []byte(text)
}

func hashOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// row is that of a run which has count records.
func (s script) row(n, count int, closed bool) *runs.Run {
	at := beginning().Add(time.Duration(n) * time.Second)
	run := &runs.Run{
		ID: idAt(n), Workflow: fmt.Sprintf("weekly-%d", n%2), Status: runs.RunRunning, Attempt: count, Trigger: "manual",
		Labels: map[string]string{"team": "web"}, ScheduledAt: at, StartedAt: at, PlanHash: hashOf(s.plan(n)),
	}
	if closed {
		run.Status, run.Closed = runs.RunSucceeded, true
	}
	return run
}

func (s script) record(w writer, n, op, seq int) *journal.Record {
	if seq == 1 {
		return &journal.Record{Seq: 1, Event: journal.Event{
			Kind: journal.Started, At: beginning(),
			Start: &journal.Start{RunID: idAt(n), Inputs: s.content(w, op), Trigger: "manual", ScheduledAt: beginning(), PlanHash: hashOf(s.plan(n))},
		}}
	}
	return &journal.Record{
		Seq: uint64(seq),
		Event: journal.Event{
			Kind: journal.Completed, At: beginning(), Path: fmt.Sprintf("step_%d", seq),
			Completed: &runs.Completed{Output: s.content(w, op)},
		},
		Commands: []journal.Command{{Kind: journal.CommandCall, Path: fmt.Sprintf("step_%d", seq+1), Call: &journal.Call{
			Step: fmt.Sprintf("step_%d", seq+1), Action: "netinfo.whois", Effect: plan.EffectRead,
			Input: json.RawMessage(`{"domain":"example.com"}`), Attempt: 1, Timeout: time.Minute,
		}}},
	}
}

// line is the log line that goes with record seq.
func line(seq int) runs.Log {
	return runs.Log{At: beginning(), Level: "info", Step: "step", Message: fmt.Sprintf("record %d", seq)}
}

// rowOp is operation op of the rows: a put, or a delete of a key that is there.
func (s script) rowOp(op int) (key string, value []byte) {
	source := s.source(rows, op)
	key = fmt.Sprintf("token-%d", source.IntN(5))
	if source.IntN(4) > 0 {
		value = s.content(rows, op)
	}
	return key, value
}

// rowsAfter is what the rows hold after count operations.
func rowsAfter(count int, operation func(op int) (key string, value []byte)) map[string]string {
	found := map[string]string{}
	for op := range count {
		if key, value := operation(op); value != nil {
			found[key] = string(value)
		} else {
			delete(found, key)
		}
	}
	return found
}

const workflowOfState = "weekly-0"

func (s script) stateOp(op int) store.Change {
	source := s.source(memory, op)
	change := store.Change{
		Workflow: workflowOfState, Name: fmt.Sprintf("value_%d", source.IntN(3)), At: beginning(), By: fmt.Sprint(op),
	}
	if source.IntN(5) > 0 {
		change.Value = fmt.Appendf(nil, `{"op":%d,"text":"%x"}`, op, source.Uint64())
	}
	return change
}

// stateAfter is what the state holds after count operations, and what its
// history says of who changed each name.
func (s script) stateAfter(count int) (values map[string]string, history map[string][]string) {
	values, history = map[string]string{}, map[string][]string{}
	for op := range count {
		change := s.stateOp(op)
		_, there := values[change.Name]
		switch {
		case change.Value != nil:
			values[change.Name] = string(change.Value)
		case there:
			delete(values, change.Name)
		default:
			continue // nothing to reset
		}
		history[change.Name] = append(history[change.Name], change.By)
	}
	for name, by := range history {
		history[name] = slices.Clone(by[max(0, len(by)-50):])
	}
	return values, history
}

// The brief writer's run n is made by operation 3n, ended by 3n+1 and removed by
// 3n+2.
const (
	briefOps   = 3
	firstBrief = 1000
)
