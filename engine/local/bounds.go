package local

import (
	"encoding/json"
	"fmt"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/drive"
	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/quota"
	"github.com/flowrun/flowrun/engine/runs"
)

// DefaultJournalBytes is what the journal of a run may hold, with its log, where
// Options name nothing else (docs/reliability.md, P20): the default of
// quota.Journal.
const DefaultJournalBytes = 64 << 20

// reserveShare is the part of that bound which a run may have on top of it to end
// well: for the answers of canceled calls, its handlers and its last record.
const reserveShare = 8

// replayShare is how many times that bound a journal may have which is read to go
// on with its run: older programs did not count all of it.
const replayShare = 2

// recordFrame is about what a record takes beside its event and its commands.
const recordFrame = 40

// pageShare is the part of what is stored that its pages take on top of it: they are
// not quite full, and those that were written anew leave room between them.
const pageShare = 16

// inPages is what so many bytes take in the store's file.
func inPages(bytes int64) int64 { return bytes + bytes/pageShare }

// smallRecord is what a record may take that a run needs to come to its end.
const smallRecord = 64 << 10

// tally counts the bytes of a run's journal as they are stored: whole encoded
// records and log lines, with their part of the pages, so that no field can be
// forgotten.
type tally struct {
	bytes int64
	logs  map[string]int // by step, up to what is kept of its log
	mute  bool           // it was said that the log ends here
}

// room is up to where the run's journal may grow now.
func (r *run) room() int64 {
	bound := r.driver.options.JournalBytes
	if r.Machine.InEnd() {
		return bound + bound/reserveShare
	}
	return bound
}

// weigh counts what is stored of the run, and refuses a journal that would need
// too much memory to be replayed.
func (r *run) weigh() error {
	records, logs, err := r.driver.options.Journal.JournalBytes(r.row.ID)
	if err != nil {
		return fmt.Errorf("measure journal of run %s: %w", r.row.ID, err)
	}
	if bound := r.driver.options.ReplayBytes; records > bound {
		return &TooLargeError{RunID: r.row.ID, Bytes: records, Bound: bound}
	}
	r.stored = tally{bytes: inPages(records + logs)}
	return nil
}

// TooLargeError says that a run's journal is not read, since that would take too
// much memory: one that an older program stored without counting all of it.
type TooLargeError struct {
	RunID        string
	Bytes, Bound int64
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("the journal of run %s has %d MiB, and at most %d MiB are read to go on with a run", e.RunID, e.Bytes>>20, e.Bound>>20)
}

// Hint says what can be done about it.
func (e *TooLargeError) Hint() diag.Hint {
	return diag.Sayf("start it anew with %s, or remove it with %s; to go on with it, allow %s in flowrun.yaml first: `limits: {journal: SIZE}`",
		diag.Command{"runs", "rerun", e.RunID}, diag.Command{"runs", "rm", e.RunID}, "half of its size")
}

// firstRecord refuses a run whose first record finds no room.
func (r *run) firstRecord() error {
	if bound := r.driver.options.JournalBytes; r.stored.bytes > bound {
		failure := r.fullError("inputs")
		failure.Message = fmt.Sprintf("the run would begin with a record of %d bytes: its journal holds %s at most", r.stored.bytes, quota.SizeText(bound))
		return failure
	}
	return nil
}

// countLog counts a line that is to be stored.
func (r *run) countLog(line *runs.Log) {
	encoded, err := json.Marshal(line)
	if err != nil {
		return // the store refuses it
	}
	if r.stored.logs == nil {
		r.stored.logs = map[string]int{}
	}
	kept := min(len(encoded), max(0, quota.MaxStepLog-r.stored.logs[line.Step]))
	r.stored.logs[line.Step] += kept
	r.stored.bytes += inPages(int64(kept))
}

// takeLog queues a line for the run's log. Where it fills the journal, the run
// ends; what handlers say after that is left out, with a word.
func (r *run) takeLog(line *runs.Log) {
	if r.Machine.InEnd() && r.stored.bytes > r.room() {
		if r.stored.mute {
			return
		}
		r.stored.mute = true
		line = &runs.Log{At: line.At, Level: "warn", Step: line.Step, Message: "the run's journal is full: what follows is not kept in its log"}
	}
	r.logs = append(r.logs, *line)
	r.countLog(line)
	r.fullWhenOver(line.Step)
}

// sizeOf is what a record takes in the journal whose event and commands have so many bytes.
func sizeOf(bytes int) int64 { return inPages(int64(bytes) + recordFrame) }

// take applies an event, the answer to a command unless that is nil, and
// dispatches what needs no durable intent. One that finds no room in the journal
// is recorded as what it is: a failure for want of room.
func (r *run) take(event journal.Event, answered *drive.Operation) {
	if event.At.IsZero() {
		event.At = r.driver.now()
	}
	draft, err := r.Draft(event)
	if err != nil {
		r.fail(fmt.Errorf("run %s: %w", r.row.ID, err))
		return
	}
	room, size := r.room(), draft.EventBytes()
	if r.stored.bytes+int64(size) > room && !r.mustFit(size) {
		r.overflow(event, answered, "")
		return
	}
	r.Quiet = r.unwatched()
	turn, err := r.ApplyDraft(draft)
	if err != nil {
		r.fail(fmt.Errorf("run %s: apply %s %s: %w", r.row.ID, event.Kind, event.Path, err))
		return
	}
	applied := r.batch(turn)
	if r.stored.bytes > room && !r.mustFit(int(applied.size)) {
		if err := r.goBack(); err != nil {
			r.fail(fmt.Errorf("run %s: go back to what is stored: %w", r.row.ID, err))
			return
		}
		r.overflow(event, answered, largestOf(applied.record.Commands))
		return
	}
	r.taken(applied, event, answered)
}

// mustFit reports whether a record is stored in any case: what ends a run that
// is ending, and is small.
func (r *run) mustFit(size int) bool { return r.Machine.Ending() && size <= smallRecord }

// overflow takes an event that, with what follows from it, finds no room in the
// journal: what is recorded in its place is small. The answer is a failure of its
// step, then, where the run goes on all the same, comes its end. A replay reads
// these events and counts nothing. follows is the largest part of what would
// follow from the event.
func (r *run) overflow(event journal.Event, answered *drive.Operation, follows string) {
	inEnd := r.Machine.InEnd()
	small, field := r.withoutContent(event, answered)
	if field != "" {
		r.accept(small, answered)
		if r.Machine.InEnd() && r.stored.bytes <= r.room() {
			return // the run ends by it, or a handler's step has failed: handlers go on in the reserve
		}
	}
	limited := journal.Event{Kind: journal.Limited, At: event.At, Failed: r.fullError(follows)}
	if event.Kind == journal.TimerFired {
		limited.Path = event.Path
	}
	r.accept(limited, nil)
	if field == "" && (inEnd && event.Kind == journal.TimerFired || !dispensable(event.Kind)) {
		r.accept(event, answered)
	}
}

// accept applies an event whether there is room for it or not.
func (r *run) accept(event journal.Event, answered *drive.Operation) {
	if r.failed != nil {
		return
	}
	applied, err := r.applyEvent(event)
	if err != nil {
		r.fail(fmt.Errorf("run %s: apply %s %s: %w", r.row.ID, event.Kind, event.Path, err))
		return
	}
	r.taken(applied, event, answered)
}

// goBack makes the Machine anew from what is stored.
func (r *run) goBack() error {
	r.store()
	stored := make(chan error, 1)
	r.driver.options.Journal.Append(r.row.ID, nil, nil, nil, func(err error) { stored <- err })
	if err := <-stored; err != nil {
		return err
	}
	return r.rebuild()
}

// fullWhenOver ends a run whose log has filled its journal, by a line of the step.
func (r *run) fullWhenOver(step string) {
	if r.stored.bytes <= r.room() || r.Machine.InEnd() || r.Machine.Unstarted() {
		return
	}
	limited := journal.Event{Kind: journal.Limited, At: r.driver.now(), Failed: r.fullError("log")}
	for _, op := range r.Open() {
		if op.Command.Call != nil && op.Command.Call.Step == step {
			limited.Path = op.Command.Path
		}
	}
	r.accept(limited, nil)
}

// dispensable reports whether an event is left out where there is no room for it:
// what it would begin is not begun, and what it would tell comes too late.
func dispensable(kind journal.EventKind) bool {
	switch kind {
	case journal.TimerFired, journal.Resumed, journal.Replanned, journal.Driven:
		return true
	}
	return false
}

// fullError says that the journal has no room for what a step answered, or for
// what follows (field is "").
func (r *run) fullError(field string) *runs.Error {
	bound := r.driver.options.JournalBytes
	failure := &runs.Error{
		Kind: plan.KindInvalid, Reason: quota.ReasonLimit,
		Message: fmt.Sprintf("the run's journal is full: it holds %s at most, with its log", quota.SizeText(bound)),
		Hint:    diag.Say("split the work into several runs, or read less at a time; `limits: {journal: SIZE}` in flowrun.yaml gives more room"),
	}
	details := map[string]string{"limit": "journal"}
	if field != "" {
		failure.Message = fmt.Sprintf("the run's journal is full: `%s` finds no room in the %s that it may hold, with its log", field, quota.SizeText(bound))
		details["field"] = field
	}
	failure.Details, _ = json.Marshal(details) // texts only
	return failure
}

// withoutContent is an answer in its smallest form: that it came, and that what it
// brought found no room. field is what was largest in it; "" for what is no answer.
func (r *run) withoutContent(event journal.Event, answered *drive.Operation) (small journal.Event, field string) {
	small = journal.Event{Kind: journal.Failed, At: event.At, Path: event.Path}
	switch {
	case event.Completed != nil:
		c := event.Completed
		field = largest(part{"output", len(c.Output)}, part{"next_cursor", len(c.NextCursor)}, part{"watermark", len(c.Watermark)},
			part{"meta", len(c.Meta)}, part{"page_note", len(c.PageNote)})
		small.Failed = r.fullError(field)
		small.Failed.Applied = runs.AppliedFully
	case event.Pending != nil:
		field = largest(part{"checkpoint", len(event.Pending.Checkpoint)}, part{"message", len(event.Pending.Message)}, part{"prompt", sizeOfPrompt(event.Pending.Prompt)})
		small.Failed = r.fullError(field)
		small.Failed.Applied = runs.AppliedPartly
	case event.Kind == journal.Failed && event.Failed != nil:
		field = largest(part{"error.details", len(event.Failed.Details)}, part{"error.message", len(event.Failed.Message)})
		small.Failed = r.fullError(field)
		small.Failed.Applied = event.Failed.Applied
		if answered != nil && answered.Command.Call != nil && answered.Command.Call.Effect.Writes() {
			small.Failed.Kind = event.Failed.Kind // what is known of the effect follows from it
		}
	case event.Outcome != nil:
		field = "output"
		small.Kind, small.Outcome = journal.Reconciled, &runs.Outcome{Applied: event.Outcome.Applied, Note: r.fullError(field).Message}
	case event.Child != nil:
		child := *event.Child
		field = "outputs"
		child.Outputs, child.Failed = nil, r.fullError(field)
		small.Kind, small.Child = journal.ChildEnded, &child
	default:
		return event, ""
	}
	return small, field
}

// largestOf names the largest part of the calls among commands.
func largestOf(commands []journal.Command) string {
	most := part{}
	for i := range commands {
		if call := commands[i].Call; call != nil {
			for _, p := range []part{{"input", len(call.Input)}, {"checkpoint", len(call.Checkpoint)}, {"next_cursor", len(call.PageCursor)}, {"page_note", len(call.PageNote)}} {
				if p.bytes > most.bytes {
					most = p
				}
			}
		}
		if finish := commands[i].Finish; finish != nil {
			size := 0
			for _, value := range finish.Outputs {
				size += len(value)
			}
			if size > most.bytes {
				most = part{"outputs", size}
			}
		}
	}
	return most.field
}

// part is a field of an answer with its size.
type part struct {
	field string
	bytes int
}

func largest(parts ...part) string {
	most := parts[0]
	for _, p := range parts[1:] {
		if p.bytes > most.bytes {
			most = p
		}
	}
	return most.field
}

func sizeOfPrompt(p *runs.Prompt) int {
	if p == nil {
		return 0
	}
	return len(p.Title) + len(p.URL) + len(p.UserCode) + len(p.Message)
}
