package view

import (
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

// Quiet shows nothing but notes: it is for commands that only wait.
type Quiet struct{ note func(string) }

// NewQuiet returns a follower that hands notes on to note.
func NewQuiet(note func(string)) *Quiet { return &Quiet{note} }

// Apply does nothing.
func (q *Quiet) Apply(engine.Update) {}

// Tick does nothing.
func (q *Quiet) Tick(time.Time) {}

// Note hands the line on.
func (q *Quiet) Note(text string) { q.note(text) }

// Close does nothing.
func (q *Quiet) Close() {}

// JSONL prints the stored records of a run, one a line and nothing else, and
// hands notes on.
type JSONL struct {
	Quiet
	out  io.Writer
	last uint64
}

// NewJSONL returns a follower that prints records on out; notes go to note.
func NewJSONL(out io.Writer, note func(string)) *JSONL { return &JSONL{Quiet: Quiet{note}, out: out} }

// Apply prints a record that was not printed yet.
func (j *JSONL) Apply(update engine.Update) {
	if update.Kind == engine.UpdateRecord && update.Seq > j.last {
		j.last = update.Seq
		fmt.Fprintf(j.out, "%s\n", update.Record)
	}
}
