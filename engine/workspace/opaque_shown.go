package workspace

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/secret"
)

// Opaque is what people see of a plugin's own bytes: checkpoints, watermarks, page
// notes. The digest is keyed: it is equal for equal bytes, and tells nothing of them.
// Bytes of runs from before they were sealed have none.
type Opaque struct {
	Bytes  int    `json:"bytes"`
	Digest string `json:"digest,omitempty"`
}

// String is the form for one line.
func (o *Opaque) String() string {
	switch {
	case o == nil:
		return ""
	case o.Digest == "":
		return fmt.Sprintf("{%d bytes}", o.Bytes)
	}
	return fmt.Sprintf("{%d bytes, digest %s}", o.Bytes, o.Digest)
}

// OpaqueOf tells of sealed bytes what may be shown; nil of none.
func OpaqueOf(stored []byte) *Opaque {
	if len(stored) == 0 {
		return nil
	}
	size, digest := secret.Shape(stored)
	return &Opaque{Bytes: size, Digest: digest}
}

// ShownCursor is what people see of a page's cursor: one that was sealed holds a
// secret.
func (p *Workspace) ShownCursor(cursor string) string {
	encoded, sealed := strings.CutPrefix(cursor, runs.OpaquePrefix)
	if !sealed {
		return p.redactor.Redact(cursor) // of a run from before cursors were sealed
	}
	stored, err := base64.RawURLEncoding.DecodeString(encoded)
	if err != nil {
		return cursor
	}
	return OpaqueOf(stored).String()
}

// A record as people see it: size and digest stand where the journal has a plugin's
// own bytes. The fields of the outer structs take the place of the inner ones.
type (
	shownRecord struct {
		Seq      uint64         `json:"seq"`
		Event    shownEvent     `json:"event"`
		Commands []shownCommand `json:"commands,omitempty"`
	}
	shownEvent struct {
		journal.Event
		Completed *shownCompleted `json:"completed,omitempty"`
		Pending   *shownPending   `json:"pending,omitempty"`
	}
	shownCompleted struct {
		*runs.Completed
		NextCursor string  `json:"next_cursor,omitempty"`
		Watermark  *Opaque `json:"watermark,omitempty"`
		PageNote   *Opaque `json:"page_note,omitempty"`
	}
	shownPending struct {
		*runs.Pending
		Checkpoint *Opaque `json:"checkpoint,omitempty"`
	}
	shownCommand struct {
		journal.Command
		Call   *shownCall   `json:"call,omitempty"`
		Finish *shownFinish `json:"finish,omitempty"`
	}
	shownCall struct {
		*journal.Call
		PageCursor string  `json:"page_cursor,omitempty"`
		Checkpoint *Opaque `json:"checkpoint,omitempty"`
		PageNote   *Opaque `json:"page_note,omitempty"`
	}
	shownFinish struct {
		*journal.Finish
		Cursors map[string]*Opaque `json:"cursors,omitempty"`
	}
)

// Event is a record of a run as people see it.
type Event struct {
	shownRecord
	read json.RawMessage // what it was read from; nil = it was not
}

// MarshalJSON returns the event's form in the API: as it was read, byte for byte.
func (e Event) MarshalJSON() ([]byte, error) {
	if e.read != nil {
		return e.read, nil
	}
	return json.Marshal(e.shownRecord)
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (e *Event) UnmarshalJSON(data []byte) error {
	e.read = slices.Clone(data)
	return json.Unmarshal(data, &e.shownRecord)
}

// EventOf is a record for people, and how many bytes it takes in the API.
func (p *Workspace) EventOf(record *journal.Record) (Event, int, error) {
	event := Event{shownRecord: p.Shown(record)}
	encoded, err := event.MarshalJSON()
	return event, len(encoded), err
}

// Shown is a record for people.
func (p *Workspace) Shown(record *journal.Record) shownRecord {
	seen := shownRecord{Seq: record.Seq, Event: shownEvent{Event: record.Event}}
	if c := record.Event.Completed; c != nil {
		seen.Event.Completed = &shownCompleted{Completed: c, NextCursor: p.ShownCursor(c.NextCursor), Watermark: OpaqueOf(c.Watermark), PageNote: OpaqueOf(c.PageNote)}
	}
	if pending := record.Event.Pending; pending != nil {
		seen.Event.Pending = &shownPending{Pending: pending, Checkpoint: OpaqueOf(pending.Checkpoint)}
	}
	for i := range record.Commands {
		seen.Commands = append(seen.Commands, p.shownCommand(&record.Commands[i]))
	}
	return seen
}

func (p *Workspace) shownCommand(command *journal.Command) shownCommand {
	seen := shownCommand{Command: *command}
	if call := command.Call; call != nil {
		seen.Call = &shownCall{Call: call, PageCursor: p.ShownCursor(call.PageCursor), Checkpoint: OpaqueOf(call.Checkpoint), PageNote: OpaqueOf(call.PageNote)}
	}
	if finish := command.Finish; finish != nil {
		seen.Finish = &shownFinish{Finish: finish}
		for name, watermark := range finish.Cursors {
			if seen.Finish.Cursors == nil {
				seen.Finish.Cursors = map[string]*Opaque{}
			}
			seen.Finish.Cursors[name] = OpaqueOf(watermark)
		}
	}
	return seen
}

// record is what a person was shown as a record again. What was opaque in it is the
// text that they saw.
func (e Event) record() *journal.Record {
	seen := e.shownRecord
	record := &journal.Record{Seq: seen.Seq, Event: seen.Event.Event}
	if c := seen.Event.Completed; c != nil && c.Completed != nil {
		record.Event.Completed = c.Completed
		record.Event.Completed.NextCursor = c.NextCursor
		if c.Watermark != nil {
			record.Event.Completed.Watermark = []byte(c.Watermark.String())
		}
	}
	if pending := seen.Event.Pending; pending != nil {
		record.Event.Pending = pending.Pending
	}
	for _, command := range seen.Commands {
		own := command.Command
		if command.Call != nil {
			own.Call = command.Call.Call
		}
		if command.Finish != nil {
			own.Finish = command.Finish.Finish
		}
		record.Commands = append(record.Commands, own)
	}
	return record
}
