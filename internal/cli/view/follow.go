package view

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/internal/cli/term"
)

// Follower shows a run while it goes on. Not safe for concurrent use.
type Follower interface {
	// Apply takes what happened.
	Apply(update engine.Update)
	// Tick tells the time: followers draw and beat by it.
	Tick(now time.Time)
	// Note shows a line of the command itself.
	Note(text string)
	// Close shows the last state; nothing may follow.
	Close()
}

// logLine returns a log line for people. level is left out for info.
func logLine(log *runs.Log, times Times, style term.Style) string {
	text := style.Dim(times.Clock(log.At)) + " "
	switch log.Level {
	case "error":
		text += style.Red("error") + " "
	case "warn":
		text += style.Yellow("warn") + " "
	case "debug":
		text += style.Dim("debug") + " "
	}
	if log.Step != "" {
		text += style.Dim(term.Clean(log.Step)+":") + " "
	}
	text += term.Clean(log.Message)
	if len(log.Fields) > 0 && string(log.Fields) != "{}" && string(log.Fields) != "null" {
		text += " " + style.Dim(term.Clean(string(log.Fields)))
	}
	return text
}

// JSONL prints the stored records of a run, one a line and nothing else.
type JSONL struct {
	out  io.Writer
	last uint64
	note func(string)
}

// NewJSONL returns a follower that prints records on out; notes go to note.
func NewJSONL(out io.Writer, note func(string)) *JSONL { return &JSONL{out: out, note: note} }

// Apply prints a record that was not printed yet.
func (j *JSONL) Apply(update engine.Update) {
	if update.Kind != engine.UpdateRecord || update.Seq <= j.last {
		return
	}
	j.last = update.Seq
	j.print(update.Record)
}

func (j *JSONL) print(record json.RawMessage) { fmt.Fprintf(j.out, "%s\n", record) }

// Tick does nothing: the output is for programs.
func (j *JSONL) Tick(time.Time) {}

// Note hands the line on.
func (j *JSONL) Note(text string) { j.note(text) }

// Close does nothing.
func (j *JSONL) Close() {}

// Quiet shows nothing but notes.
type Quiet struct{ note func(string) }

// NewQuiet returns a follower for commands that only wait.
func NewQuiet(note func(string)) *Quiet { return &Quiet{note} }

// Apply does nothing.
func (q *Quiet) Apply(engine.Update) {}

// Tick does nothing.
func (q *Quiet) Tick(time.Time) {}

// Note hands the line on.
func (q *Quiet) Note(text string) { q.note(text) }

// Close does nothing.
func (q *Quiet) Close() {}
