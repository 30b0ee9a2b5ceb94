package view

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/flowrun/flowrun/engine/duration"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/workspace"
	"github.com/flowrun/flowrun/internal/cli/term"
)

// StepCalls is what the journal tells of the calls of one step. The zero value is that of a
// step without any.
type StepCalls struct {
	Step string // its path

	with  json.RawMessage // of its first call, with secrets as references
	sent  map[string]time.Time
	lines []string
}

// Add takes a record of the run; times are shown as page does.
func (c *StepCalls) Add(page Page, record *workspace.Event) {
	event := record.Event
	if sent, ok := c.sent[event.Path]; ok && (event.Failed != nil || event.Completed != nil || event.Pending != nil) {
		c.answer(page, record, event.At.Sub(sent))
	}
	for i := range record.Commands {
		command := &record.Commands[i]
		if command.Call == nil || command.Call.Call == nil || command.Call.Step != c.Step {
			continue
		}
		if c.sent == nil {
			c.sent, c.with = map[string]time.Time{}, command.Call.Input
		}
		c.sent[command.Path] = event.At
	}
}

func (c *StepCalls) answer(page Page, record *workspace.Event, took time.Duration) {
	event := record.Event
	for _, hold := range event.Waits {
		held := hold.Until.Sub(hold.From)
		took -= held
		c.lines = append(c.lines, fmt.Sprintf("%s  waited %s (%s)", page.Times.Clock(hold.From), duration.Brief(held), term.Clean(string(hold.For))))
	}
	what := "answered"
	switch {
	case event.Failed != nil:
		what = "failed: " + term.Clean(errorLine(event.Failed))
		if event.Failed.Attempt > 0 {
			what = fmt.Sprintf("attempt %d %s", event.Failed.Attempt, what)
		}
	case event.Pending != nil:
		what = "not yet: " + term.Clean(event.Pending.Message)
	case event.Completed.Cached:
		what = "taken from the cache"
	}
	if part := runs.ParsePath(event.Path).Part; part != "" {
		what = part + " " + what
	}
	c.lines = append(c.lines, fmt.Sprintf("%s  %s, after %s", page.Times.Clock(event.At), what, duration.Brief(max(took, 0))))
	for i := range record.Commands {
		if timer := record.Commands[i].Timer; timer != nil && timer.Reason == string(runs.WaitRetry) && runs.OperationOf(record.Commands[i].Path) == event.Path {
			c.lines = append(c.lines, fmt.Sprintf("%s  next attempt, after a wait of %s", page.Times.Clock(timer.At), duration.Brief(timer.At.Sub(event.At))))
		}
	}
}

// callLines is how many lines about the calls of a step are shown: the newest.
const callLines = 40

// calls prints what a step was given, and its attempts with their waits and times.
func (p Page) calls(out io.Writer, c StepCalls) {
	if len(c.with) > 0 && string(c.with) != "{}" {
		fmt.Fprintf(out, "\n%s\n%s\n", p.Style.Bold("with:"), indentJSON(c.with))
	}
	if len(c.lines) == 0 {
		return
	}
	fmt.Fprintf(out, "\n%s\n", p.Style.Bold("calls:"))
	left := max(len(c.lines)-callLines, 0)
	if left > 0 {
		fmt.Fprintf(out, "  … %d lines before\n", left)
	}
	for _, line := range c.lines[left:] {
		fmt.Fprintln(out, "  "+line)
	}
}

// Inputs prints what a run was given.
func (p Page) Inputs(out io.Writer, inputs json.RawMessage) {
	var values map[string]json.RawMessage
	if json.Unmarshal(inputs, &values) != nil || len(values) == 0 {
		return
	}
	fmt.Fprintf(out, "\n%s\n", p.Style.Bold("inputs:"))
	for _, name := range objectKeys(inputs) {
		text, _ := outputText(values[name], p.outputRoom(), p.outputLines())
		fmt.Fprintf(out, "  %s: %s\n", term.Clean(name), text)
	}
}
