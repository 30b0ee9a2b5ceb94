package view

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/flowrun/flowrun/engine/duration"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/internal/cli/term"
)

// Runs prints runs, one a line. On a terminal it says less of each where there is less
// room, and below each that failed why; ids and names are never cut.
func (p Page) Runs(out io.Writer, items []runs.Run) {
	table := p.runTable(items)
	if p.Width <= 0 {
		table.Write(out)
		return
	}
	wide := p.Width - 1 // some terminals wrap at the last cell
	if table.width() > wide {
		table = p.agedRuns(items, true)
	}
	if table.width() > wide {
		table = p.agedRuns(items, false)
	}
	below := func(i int) { p.runError(out, &items[i]) }
	if table.width() <= wide {
		table.writeWith(out, below)
		return
	}
	for i := range items {
		p.runLines(out, &items[i], wide)
		below(i)
	}
}

// runTable is the table with all that there is to say.
func (p Page) runTable(items []runs.Run) *Table {
	table := &Table{Head: []string{"RUN", "WORKFLOW", "STATUS", "TRIGGER", "STARTED", "TOOK"}}
	for _, run := range items {
		table.Add(run.ID, term.Clean(run.Workflow), paintRun(p.Style, run.Status, runStatusText(run)), term.Clean(run.Trigger), p.Times.Short(run.StartedAt), runTook(&run))
	}
	return table
}

// agedRuns is the table with ages in the place of times, and perhaps without triggers.
func (p Page) agedRuns(items []runs.Run, triggers bool) *Table {
	table := &Table{Head: []string{"RUN", "WORKFLOW", "STATUS", "TRIGGER", "STARTED", "TOOK"}}
	for _, run := range items {
		table.Add(run.ID, term.Clean(run.Workflow), paintRun(p.Style, run.Status, runStatusText(run)), term.Clean(run.Trigger), Age(p.Now, run.StartedAt), runTook(&run))
	}
	if !triggers {
		table.drop(3)
	}
	return table
}

// runLines are a run over several lines: its id and status, and the rest below.
func (p Page) runLines(out io.Writer, run *runs.Run, wide int) {
	status := runStatusText(*run)
	first := run.ID
	rest := []string{term.Clean(run.Workflow)}
	if len(run.ID)+2+term.Width(status) <= wide {
		first += "  " + paintRun(p.Style, run.Status, status)
	} else {
		rest = append(rest, status)
	}
	rest = append(rest, term.Clean(run.Trigger), Age(p.Now, run.StartedAt))
	if took := runTook(run); took != "" {
		rest = append(rest, "took "+took)
	}
	fmt.Fprintln(out, first)
	p.below(out, wrapParts(rest, max(wide-runIndent, 1)))
}

// wrapParts joins parts to lines of at most width cells. A part that is longer is broken.
func wrapParts(parts []string, width int) (lines []string) {
	line := ""
	for _, part := range parts {
		if line != "" && term.Width(line+" · "+part) <= width {
			line += " · " + part
			continue
		}
		if line != "" {
			lines = append(lines, line)
		}
		broken := term.Wrap(part, width)
		lines, line = append(lines, broken[:len(broken)-1]...), broken[len(broken)-1]
	}
	return append(lines, line)
}

// runIndent is how far what stands below a run is moved to the right.
const runIndent = 4

// runErrorLines is how much of an error a list shows, in lines.
const runErrorLines = 2

// runError says below a run why it failed.
func (p Page) runError(out io.Writer, run *runs.Run) {
	if run.Error == nil {
		return
	}
	text := errorLine(run.Error)
	if run.Error.Step != "" {
		text = run.Error.Step + ": " + text
	}
	room := max(p.Width-1-runIndent, 1)
	lines := term.WrapWords(term.Clean(text), room)
	if len(lines) > runErrorLines {
		lines[runErrorLines-1] = term.Truncate(lines[runErrorLines-1]+" …", room)
		lines = lines[:runErrorLines]
	}
	for i := range lines {
		lines[i] = p.Style.Red(lines[i])
	}
	p.below(out, lines)
}

func (p Page) below(out io.Writer, lines []string) {
	for _, line := range lines {
		fmt.Fprintln(out, strings.Repeat(" ", runIndent)+line)
	}
}

func runTook(run *runs.Run) string {
	if run.FinishedAt == nil {
		return ""
	}
	return duration.Brief(time.Duration(run.DurationMS) * time.Millisecond)
}
