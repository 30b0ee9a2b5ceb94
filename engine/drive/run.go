// Package drive is what every driver owes the Machine, without I/O, clock or
// goroutine. A driver turns the Machine's commands into calls and timers, and their
// ends into events. How it does so is its own affair; what it must keep to is here:
//
//   - An event is applied as the journal will give it back, and what follows from it
//     is done at once or when the record is durable (Run.Apply, Turn).
//   - What is open is known by its path. An end of what is no longer open is late,
//     and dropped; a canceled timer is gone, a canceled call still has its answer,
//     and what is canceled before it begins never does (Run.Do, Operation).
//   - After a crash the journal is replayed and compared, the crash is counted, and
//     what is still in flight is sent again (Run.Rebuild, Run.Recover, Run.Abandon).
//
// A driver with a journal, for every event:
//
//	turn, err := run.Apply(event)
//	now, intents := turn.Split()
//	run.Do(now, begin)       // at once
//	...                      // store turn.Record; when it is durable:
//	run.Do(intents, begin)
//	...                      // when an operation has ended:
//	if run.Settle(op) { … }  // its end is the next event
//
// begin starts what an operation asks for: a call, a timer, a sub-workflow's run.
// Virtual is a driver without a journal, by a clock that only it moves: for tests.
package drive

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/flowrun/flowrun/engine/interp"
	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/jsontext"
	"github.com/flowrun/flowrun/engine/runs"
)

// Run is one run as its driver has it: the Machine, and what of its commands is
// open. Not safe for concurrent use.
type Run struct {
	Machine *interp.Machine
	Seq     uint64 // of the last record
	Quiet   bool   // nobody looks at Turn.Changes: there are none

	open    map[string]*Operation
	dropped map[string]bool // paths of what was canceled before it began; nil = none yet
	resent  map[string]bool // paths of calls that an earlier process may have sent, until they begin again; nil = none
	opened  int             // counts operations, for their order
	calls   int             // open ones
	careful int             // answers to take until reads are sent before their records are durable
}

// New returns the run of a Machine that has not begun.
func New(machine *interp.Machine) *Run {
	return &Run{Machine: machine, open: map[string]*Operation{}}
}

// Stopped reports whether a driver lets the run go: it has ended with its handlers,
// or is paused. Only a person goes on with it.
func (r *Run) Stopped() bool {
	status, _ := r.Machine.Status()
	return r.Machine.Done() || status == runs.RunPaused
}

// Apply folds an event into the Machine: the event as the journal will give it back,
// so that a run and its replay see equal values.
func (r *Run) Apply(ev journal.Event) (*Turn, error) {
	draft, err := r.Draft(ev)
	if err != nil {
		return nil, err
	}
	return r.ApplyDraft(draft)
}

// Draft encodes an event that is to be applied next.
func (r *Run) Draft(ev journal.Event) (*journal.Draft, error) { return journal.NewDraft(r.Seq+1, ev) }

// ApplyDraft is Apply of the event that was encoded last.
func (r *Run) ApplyDraft(draft *journal.Draft) (*Turn, error) {
	commands, err := r.Machine.Apply(draft.Event())
	if err != nil {
		return nil, err
	}
	r.Seq++
	record, size, err := recordOf(draft, commands)
	if err != nil {
		return nil, err
	}
	return &Turn{
		Record:   record,
		Bytes:    size,
		Changes:  r.changes(),
		Commands: commands,
		careful:  r.careful > 0,
	}, nil
}

// changes are the steps that views must show again.
func (r *Run) changes() []runs.Step {
	if r.Quiet {
		r.Machine.DropChanges()
		return nil
	}
	return r.Machine.Changes()
}

// largeOutput is from which size on an output of a run is counted without a copy of it.
const largeOutput = 1 << 20

// recordOf makes the record of an event and of what followed from it, and counts how long
// both are, encoded.
func recordOf(draft *journal.Draft, commands []journal.Command) (*journal.Record, int, error) {
	small, more := withoutLarge(commands)
	if more == 0 {
		return draft.Record(commands)
	}
	whole := draft.Unencoded(commands)
	_, size, err := draft.Record(small)
	return whole, size + more, err
}

// withoutLarge returns commands in which a 0 stands for each large output of a run, and
// what these take more than that.
func withoutLarge(commands []journal.Command) (small []journal.Command, more int) {
	small = commands
	for i := range commands {
		finish := commands[i].Finish
		if finish == nil {
			continue
		}
		for name, value := range finish.Outputs {
			if len(value) < largeOutput || !jsontext.Plain(value) {
				continue
			}
			if small[i].Finish == finish { // the first one: others keep theirs
				own := *finish
				own.Outputs = maps.Clone(finish.Outputs)
				small = slices.Clone(small)
				small[i].Finish = &own
			}
			small[i].Finish.Outputs[name] = json.RawMessage("0")
			more += len(value) - 1
		}
	}
	return small, more
}

// Rebuild makes the run anew on a Machine that has not begun. each gives replay the
// stored records in order. A record that leads to other commands than the stored
// ones is a *MismatchError. What is open stays so.
func (r *Run) Rebuild(machine *interp.Machine, each func(replay func(*journal.Record) error) error) error {
	r.Machine, r.Seq = machine, 0
	if err := each(r.replay); err != nil {
		return err
	}
	machine.DropChanges() // watchers get a snapshot first
	return nil
}

// Each gives records that are in memory to Rebuild.
func Each(records []*journal.Record) func(replay func(*journal.Record) error) error {
	return func(replay func(*journal.Record) error) error {
		for _, record := range records {
			if err := replay(record); err != nil {
				return err
			}
		}
		return nil
	}
}

func (r *Run) replay(record *journal.Record) error {
	commands, err := r.Machine.Apply(record.Event)
	if err != nil {
		return fmt.Errorf("apply record %d: %w", record.Seq, err)
	}
	same, err := sameCommands(record.Commands, commands)
	if err != nil {
		return err
	}
	if !same {
		return mismatch(record, commands)
	}
	r.Seq = record.Seq
	return nil
}

// MismatchError says that a stored journal does not lead to the stored commands: a
// driver must not go on with such a run (docs/reliability.md, P8).
type MismatchError struct {
	Seq    uint64
	Stored string // commands as they were stored
	Now    string // commands as this version gives them
}

func (e *MismatchError) Error() string {
	return fmt.Sprintf("record %d leads to other commands than those stored: stored %s, now %s", e.Seq, e.Stored, e.Now)
}

func mismatch(record *journal.Record, commands []journal.Command) error {
	stored, err := canonical(record.Commands)
	if err != nil {
		return err
	}
	now, err := canonical(commands)
	if err != nil {
		return err
	}
	return &MismatchError{Seq: record.Seq, Stored: string(stored), Now: string(now)}
}

// sameCommands compares commands one at a time, so that no more than one of them
// is encoded in memory.
func sameCommands(stored, now []journal.Command) (bool, error) {
	if len(stored) != len(now) {
		return false, nil
	}
	for i := range stored {
		before, after := withoutEqual(stored[i], now[i])
		was, err := canonical([]journal.Command{before})
		if err != nil {
			return false, err
		}
		is, err := canonical([]journal.Command{after})
		if err != nil || !bytes.Equal(was, is) {
			return false, err
		}
	}
	return true, nil
}

// withoutEqual returns two commands without the outputs of a run that are the same text
// in both: large ones need no copy to be compared.
func withoutEqual(a, b journal.Command) (journal.Command, journal.Command) {
	if a.Finish == nil || b.Finish == nil {
		return a, b
	}
	one, other := *a.Finish, *b.Finish
	one.Outputs, other.Outputs = maps.Clone(one.Outputs), maps.Clone(other.Outputs)
	for name, value := range a.Finish.Outputs {
		if same, there := b.Finish.Outputs[name]; there && bytes.Equal(value, same) {
			one.Outputs[name], other.Outputs[name] = json.RawMessage("0"), json.RawMessage("0")
		}
	}
	a.Finish, b.Finish = &one, &other
	return a, b
}

// canonical encodes commands so that equal ones have equal bytes, whether they
// were stored before or not.
func canonical(commands []journal.Command) ([]byte, error) {
	if len(commands) == 0 {
		return nil, nil
	}
	encoded, err := json.Marshal(commands)
	if err != nil {
		return nil, fmt.Errorf("encode commands: %w", err)
	}
	return encoded, nil
}
