package journal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/flowrun/flowrun/engine/jsontext"
)

// Draft is a record in the making: an event that was encoded, and is to be applied as the
// journal will give it back. The commands that follow from it make it a record.
type Draft struct {
	record Record  // but for its commands; in the memory of the draft
	b      []byte  // the stored form, up to the event's end
	event  int     // where the event begins in it
	room   *[]byte // of rooms, that b began in; nil = b is the draft's own
}

// headRoom is about what a record takes beside a small event and its commands, and more
// than most records take: those are encoded in room that is used again, and copied when
// their length is known.
const headRoom = 2 << 10

var rooms = sync.Pool{New: func() any { b := make([]byte, 0, headRoom); return &b }}

// NewDraft encodes an event, once. Its parts may be shared with others: they are not
// changed.
func NewDraft(seq uint64, ev Event) (*Draft, error) {
	normal, isNormal := ev.normalized()
	d := &Draft{record: Record{Seq: seq, Event: normal}}
	if size := outputSize(&normal); size > headRoom/2 {
		d.b = make([]byte, 0, headRoom+size)
	} else {
		d.room = rooms.Get().(*[]byte)
		d.b = *d.room
	}
	d.b = append(d.b, codecVersion)
	d.b = append(d.b, `{"seq":`...)
	d.b = strconv.AppendUint(d.b, seq, 10)
	d.b = append(d.b, `,"event":`...)
	d.event = len(d.b)
	w := writer{jsontext.Writer{Out: d.b}}
	w.event(&normal)
	if w.Err != nil {
		return nil, fmt.Errorf("encode %s event: %w", ev.Kind, w.Err)
	}
	d.b = w.Out
	if !isNormal {
		d.record.Event = Event{}
		if err := json.Unmarshal(d.b[d.event:], &d.record.Event); err != nil {
			return nil, fmt.Errorf("decode event: %w", err)
		}
	}
	return d, nil
}

func outputSize(ev *Event) int {
	if ev.Completed == nil {
		return 0
	}
	return len(ev.Completed.Output)
}

// Event is the event as it is decoded from what is stored. Its parts must not be changed.
func (d *Draft) Event() Event { return d.record.Event }

// EventBytes is how long the encoded event is.
func (d *Draft) EventBytes() int { return len(d.b) - d.event }

// Record returns the record of the event and the commands that followed from it, and how
// long both are, encoded. The record knows its stored form: neither it nor its parts may be changed.
// The draft must not be used any more.
func (d *Draft) Record(commands []Command) (record *Record, size int, err error) {
	record = &d.record
	record.Commands = commands
	size = d.EventBytes()
	w := writer{jsontext.Writer{Out: d.b}}
	if len(commands) > 0 {
		w.Out = append(w.Out, `,"commands":`...)
		begin := len(w.Out)
		w.commands(commands)
		size += len(w.Out) - begin
	}
	if w.Err != nil {
		return nil, 0, fmt.Errorf("encode commands: %w", w.Err)
	}
	record.encoded = append(w.Out, '}')
	if d.room != nil {
		if &record.encoded[0] == &(*d.room)[:1][0] { // it found place in it
			record.encoded = bytes.Clone(record.encoded)
		}
		rooms.Put(d.room)
	}
	d.room, d.b = nil, nil
	return record, size, nil
}

// Unencoded returns the record without its stored form, for one whose commands are too
// large to be encoded more often than they must.
func (d *Draft) Unencoded(commands []Command) *Record {
	return &Record{Seq: d.record.Seq, Event: d.record.Event, Commands: commands}
}

// normalized returns the event with those of its values that are often not yet as they
// are stored brought into that form; normal reports whether all of it is then as it
// comes back from the journal. false costs a decoding, nothing else.
func (ev *Event) normalized() (event Event, normal bool) {
	event = *ev
	switch {
	case ev.Pending != nil, ev.Failed != nil, ev.Signal != nil, ev.Resolution != nil, ev.Cancel != nil, ev.Child != nil, ev.Outcome != nil, ev.Replan != nil:
		return event, false
	}
	normal = normalTime(ev.At) && utf8.ValidString(ev.Path) && utf8.ValidString(ev.By) && utf8.ValidString(string(ev.Kind)) &&
		ev.Interrupted == nil && ev.Unsent == nil && normalHolds(ev) && ev.Start.normal()
	if c := ev.Completed; c != nil {
		if !jsontext.Plain(c.Output) {
			text, err := json.Marshal(c.Output)
			if err != nil {
				return event, false
			}
			own := *c
			own.Output, c = text, &own
			event.Completed = c
		}
		normal = normal && utf8.ValidString(c.NextCursor) && normalBytes(c.Watermark) && normalBytes(c.PageNote) && normalJSON(c.Meta) &&
			(c.Cursor == nil || utf8.ValidString(c.Cursor.Key))
	}
	return event, normal
}

func normalHolds(ev *Event) bool {
	if ev.Waits != nil && len(ev.Waits) == 0 {
		return false
	}
	for i := range ev.Waits {
		if w := &ev.Waits[i]; !normalTime(w.From) || !normalTime(w.Until) || !utf8.ValidString(string(w.For)) {
			return false
		}
	}
	return true
}

// normal reports whether the beginning of a run is as it comes back. That of a rerun, and
// one that reads state, is not looked at.
func (s *Start) normal() bool {
	if s == nil {
		return true
	}
	if s.State != nil || s.StateVersions != nil || s.Taken != nil || s.EditedInputs != nil || s.Plugins != nil && len(s.Plugins) == 0 {
		return false
	}
	for i := range s.Plugins {
		if p := &s.Plugins[i]; !utf8.ValidString(p.Plugin) || !utf8.ValidString(p.Version) || !utf8.ValidString(p.Digest) || !utf8.ValidString(p.Contract) {
			return false
		}
	}
	for _, text := range [...]string{s.RunID, s.Trigger, s.PlanHash, s.LockHash, s.RerunOf, s.From, string(s.TriggerKind), s.RequestDigest} {
		if !utf8.ValidString(text) {
			return false
		}
	}
	return jsontext.Plain(s.Inputs) && normalTime(s.ScheduledAt) && normalTime(s.TriggerAt) && normalJSON(s.TriggerItem) && normalJSON(s.TriggerOutputs)
}

// normalTime reports whether a time is in UTC and has no monotonic clock.
func normalTime(t time.Time) bool {
	return t.Location() == time.UTC && t == t.Round(0) //nolint:staticcheck // the readings of the clock too
}

// normalBytes reports whether bytes that are left out where there are none come back as
// they are.
func normalBytes(data []byte) bool { return data == nil || len(data) > 0 }

// normalJSON is normalBytes for JSON.
func normalJSON(raw json.RawMessage) bool { return raw == nil || len(raw) > 0 && jsontext.Plain(raw) }
