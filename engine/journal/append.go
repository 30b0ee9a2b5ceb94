package journal

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"
)

// What happens at every step is written by hand, byte for byte as json.Marshal writes it;
// json.Marshal writes what is rare.

// writer appends JSON to a buffer. After an error it appends what nobody reads.
type writer struct {
	b     []byte
	err   error
	comma bool // an object has members already
}

// member begins a member of an object.
func (w *writer) member(name string) {
	if w.comma {
		w.b = append(w.b, ',')
	}
	w.comma = true
	w.b = append(w.b, '"')
	w.b = append(w.b, name...)
	w.b = append(w.b, '"', ':')
}

// open and close are the brackets of an object that is a member of another.
func (w *writer) open() { w.b, w.comma = append(w.b, '{'), false }

func (w *writer) close() { w.b, w.comma = append(w.b, '}'), true }

// marshal appends what json.Marshal writes of v.
func (w *writer) marshal(v any) {
	encoded, err := json.Marshal(v)
	if err != nil && w.err == nil {
		w.err = err
	}
	w.b = append(w.b, encoded...)
}

// text appends a text.
func (w *writer) text(s string) {
	if !stands(s) {
		w.marshal(s)
		return
	}
	w.b = append(w.b, '"')
	w.b = append(w.b, s...)
	w.b = append(w.b, '"')
}

// stands reports whether json.Marshal writes a text without an escape. false costs time,
// nothing else.
func stands(s string) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case c < ' ', c >= utf8.RuneSelf, c == '"', c == '\\', c == '<', c == '>', c == '&':
			return false
		}
	}
	return true
}

// optional appends a member that is left out where it is empty.
func (w *writer) optional(name, s string) {
	if s != "" {
		w.member(name)
		w.text(s)
	}
}

func (w *writer) number(name string, n int64) {
	w.member(name)
	w.b = strconv.AppendInt(w.b, n, 10)
}

func (w *writer) unsigned(name string, n uint64) {
	w.member(name)
	w.b = strconv.AppendUint(w.b, n, 10)
}

func (w *writer) time(name string, t time.Time) {
	w.member(name)
	if year := t.Year(); t.Location() != time.UTC || year < 0 || year > 9999 {
		w.marshal(t)
		return
	}
	w.b = append(w.b, '"')
	w.b = t.AppendFormat(w.b, time.RFC3339Nano)
	w.b = append(w.b, '"')
}

func (w *writer) raw(name string, raw json.RawMessage) {
	w.member(name)
	if !Plain(raw) {
		w.marshal(raw)
		return
	}
	w.b = append(w.b, raw...)
}

// bytes appends bytes that are left out where there are none.
func (w *writer) bytes(name string, data []byte) {
	if len(data) == 0 {
		return
	}
	w.member(name)
	w.b = append(w.b, '"')
	w.b = base64.StdEncoding.AppendEncode(w.b, data)
	w.b = append(w.b, '"')
}

// flag appends a boolean that is left out where it is false.
func (w *writer) flag(name string, set bool) {
	if set {
		w.member(name)
		w.b = append(w.b, "true"...)
	}
}

// object appends a member by json.Marshal, unless it is nil.
func object[T any](w *writer, name string, value *T) {
	if value != nil {
		w.member(name)
		w.marshal(value)
	}
}

// list appends a member by json.Marshal, unless it is empty.
func list[T any](w *writer, name string, values []T) {
	if len(values) > 0 {
		w.member(name)
		w.marshal(values)
	}
}

// event appends an event.
func (w *writer) event(ev *Event) {
	w.open()
	w.member("kind")
	w.text(string(ev.Kind))
	w.time("at", ev.At)
	w.optional("path", ev.Path)
	object(w, "start", ev.Start)
	if c := ev.Completed; c != nil {
		w.member("completed")
		w.open()
		w.raw("output", c.Output)
		w.optional("next_cursor", c.NextCursor)
		w.bytes("watermark", c.Watermark)
		if len(c.Meta) > 0 {
			w.raw("meta", c.Meta)
		}
		w.bytes("page_note", c.PageNote)
		w.flag("cached", c.Cached)
		if c.Cursor != nil {
			w.member("cursor")
			w.open()
			w.member("key")
			w.text(c.Cursor.Key)
			w.unsigned("version", c.Cursor.Version)
			w.close()
		}
		w.close()
	}
	object(w, "pending", ev.Pending)
	object(w, "failed", ev.Failed)
	object(w, "signal", ev.Signal)
	object(w, "resolution", ev.Resolution)
	object(w, "cancel", ev.Cancel)
	object(w, "child", ev.Child)
	object(w, "outcome", ev.Outcome)
	object(w, "replan", ev.Replan)
	w.flag("discard", ev.Discard)
	w.optional("by", ev.By)
	list(w, "interrupted", ev.Interrupted)
	list(w, "waits", ev.Waits)
	list(w, "unsent", ev.Unsent)
	w.close()
}

// commands appends a list of commands.
func (w *writer) commands(commands []Command) {
	w.b = append(w.b, '[')
	for i := range commands {
		if i > 0 {
			w.b = append(w.b, ',')
		}
		w.command(&commands[i])
	}
	w.b = append(w.b, ']')
}

func (w *writer) command(c *Command) {
	w.open()
	w.member("kind")
	w.text(string(c.Kind))
	w.optional("path", c.Path)
	if c.Call != nil {
		w.member("call")
		w.call(c.Call)
	}
	if c.Timer != nil {
		w.member("timer")
		w.open()
		w.time("at", c.Timer.At)
		w.member("reason")
		w.text(c.Timer.Reason)
		w.close()
	}
	object(w, "child", c.Child)
	object(w, "log", c.Log)
	if c.Finish != nil {
		w.member("finish")
		w.finish(c.Finish)
	}
	w.close()
}

func (w *writer) call(c *Call) {
	w.open()
	w.member("step")
	w.text(c.Step)
	w.member("action")
	w.text(c.Action)
	w.member("effect")
	w.text(string(c.Effect))
	w.optional("connection", c.Connection)
	w.raw("input", c.Input)
	w.number("attempt", int64(c.Attempt))
	w.optional("page_cursor", c.PageCursor)
	w.bytes("checkpoint", c.Checkpoint)
	w.bytes("page_note", c.PageNote)
	w.flag("all_pages", c.AllPages)
	w.optional("cursor", c.Cursor)
	w.number("timeout", int64(c.Timeout))
	if c.Cache != 0 {
		w.number("cache", int64(c.Cache))
	}
	w.optional("reconcile", c.Reconcile)
	w.close()
}

func (w *writer) finish(f *Finish) {
	if len(f.State)+len(f.Cursors)+len(f.StateVersions)+len(f.CursorVersions) > 0 {
		w.marshal(f)
		w.comma = true
		return
	}
	w.open()
	w.member("status")
	w.text(string(f.Status))
	w.optional("paused", f.Paused)
	if len(f.Outputs) > 0 {
		w.member("outputs")
		w.outputs(f.Outputs)
	}
	object(w, "error", f.Error)
	w.close()
}

func (w *writer) outputs(outputs map[string]json.RawMessage) {
	var room [16]string
	names := room[:0]
	for name := range outputs {
		if !stands(name) { // a name that is not written as it is may stand elsewhere in the order
			w.marshal(outputs)
			return
		}
		names = append(names, name)
	}
	slices.Sort(names)
	w.open()
	for _, name := range names {
		w.raw(name, outputs[name])
	}
	w.close()
}
