package view

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/duration"
	"github.com/flowrun/flowrun/engine/lastwords"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/workspace"
	"github.com/flowrun/flowrun/internal/cli/term"
)

// Page is how text views are shown.
type Page struct {
	Style term.Style
	Times Times
	// Command returns how a flowrun command is typed, with the global flags that
	// this one was given.
	Command func(args ...string) string
	Width   int // of the terminal in cells, 0 for what is none
	Now     time.Time
}

// outputRoom is how wide a value may be, in cells: it never wraps on a terminal.
func (p Page) outputRoom() int {
	if p.Width <= 0 {
		return outputWidth
	}
	return max(min(outputWidth, p.Width-outputIndent), 20)
}

// outputLines is how high a text may be, in lines: one that scrolls away is of no
// use on a terminal. 0 = no limit.
func (p Page) outputLines() int {
	if p.Width <= 0 {
		return 0
	}
	return outputHeight
}

// JSON prints value as one line of JSON.
func JSON(out io.Writer, value any) error {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return fmt.Errorf("print JSON: %w", err)
	}
	return nil
}

// Result prints what `runs show` shows: on a failure the error first, then the
// run, its steps, its outputs and the next command.
func (p Page) Result(out io.Writer, result *runs.Result, steps []runs.Step, inputs json.RawMessage) {
	if result.Error != nil {
		p.Error(out, result)
		fmt.Fprintln(out)
	}
	p.header(out, result)
	p.Inputs(out, inputs)
	if len(steps) > 0 {
		fmt.Fprintln(out)
		p.steps(out, steps)
	}
	if len(result.Outputs) > 0 {
		fmt.Fprintln(out)
		p.Outputs(out, result.Outputs)
	}
	if len(result.Deliveries) > 0 {
		fmt.Fprintln(out)
		p.Deliveries(out, result.Deliveries)
	}
}

func (p Page) header(out io.Writer, result *runs.Result) {
	run := result.Run
	line := func(name, value string) { p.fact(out, 9, name, value) }
	line("run", run.ID)
	line("workflow", term.Clean(run.Workflow))
	line("status", paintRun(p.Style, run.Status, runStatusText(run)))
	if run.Undriven {
		line("driver", "none: its process has ended ("+p.Command("runs", "resume", run.ID)+" goes on)")
	}
	if run.StateOf() == runs.SlotQueued {
		line("waits", fmt.Sprintf("for a place under concurrency key %s (limit %d)", term.Clean(run.Slot.Key), run.Slot.Limit))
	}
	line("trigger", term.Clean(run.Trigger))
	line("rerun of", rerunText(run))
	if run.Parent != nil {
		line("part of", "step "+term.Clean(run.Parent.Step)+" of run "+run.Parent.Run)
	}
	line("labels", labelText(run.Labels))
	line("started", p.Times.Full(run.StartedAt))
	if run.FinishedAt != nil {
		line("finished", p.Times.Full(*run.FinishedAt))
		line("took", duration.Brief(time.Duration(run.DurationMS)*time.Millisecond))
	}
	if run.Attempt > 1 {
		line("resumed", diag.Count(run.Attempt-1, "time"))
	}
}

// rerunText names the run that this one is a rerun of, and in what it differs.
func rerunText(run runs.Run) string {
	text := run.RerunOf
	if run.RerunFrom != "" {
		text += ", from " + term.Clean(run.RerunFrom)
	}
	if len(run.Edited) > 0 {
		text += ", with another " + term.Clean(strings.Join(run.Edited, ", "))
	}
	return text
}

func labelText(labels map[string]string) string {
	var parts []string
	for name, value := range labels {
		parts = append(parts, term.Clean(name+"="+value))
	}
	slices.Sort(parts)
	return strings.Join(parts, ", ")
}

// itemStepRows is how many steps of items the table of steps shows: those that
// failed before others.
const itemStepRows = 200

func (p Page) steps(out io.Writer, steps []runs.Step) {
	table := Table{Head: []string{"", "STEP", "STATUS", "ATTEMPTS", "TOOK", "DETAILS"}}
	bad := 0
	for _, step := range steps {
		if !isTop(step.Path) && isBad(step.Status) {
			bad++
		}
	}
	badRoom := min(bad, itemStepRows)
	room := itemStepRows - badRoom
	left := map[runs.StepStatus]int{}
	for _, step := range steps {
		if !isTop(step.Path) {
			rest := &room
			if isBad(step.Status) {
				rest = &badRoom
			}
			if *rest == 0 {
				left[step.Status]++
				continue
			}
			*rest--
		}
		table.Rows = append(table.Rows, p.stepRow(step))
	}
	p.fitDetails(&table)
	p.fitted(out, &table, table.width())
	if len(left) > 0 {
		fmt.Fprintf(out, "… more steps of items: %s; -o json has all\n", statusCounts(left))
	}
}

// isBad reports whether somebody should look at a step.
func isBad(status runs.StepStatus) bool {
	return status == runs.StepFailed || status == runs.StepUnknown
}

// statusCounts counts steps by their status, the most important first.
func statusCounts(counts map[runs.StepStatus]int) string {
	var parts []string
	for _, status := range []runs.StepStatus{
		runs.StepFailed, runs.StepUnknown, runs.StepRetrying, runs.StepRunning, runs.StepWaiting, runs.StepCanceled, runs.StepBlocked,
		runs.StepPending, runs.StepSkipped, runs.StepSucceeded,
	} {
		if counts[status] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", counts[status], status))
		}
	}
	return strings.Join(parts, ", ")
}

func (p Page) stepRow(step runs.Step) []string {
	attempts := ""
	if step.Attempts > 0 {
		attempts = fmt.Sprint(step.Attempts)
	}
	shown := &row{step: step}
	shown.step.StartedAt, shown.step.Attempts = nil, 0 // columns of their own
	return []string{
		paintStep(p.Style, step.Status, symbolOf(step.Status)), stepName(&step), paintStep(p.Style, step.Status, string(step.Status)), attempts,
		elapsed(step, time.Time{}), term.Truncate(shown.details(p.Times, time.Time{}), 100),
	}
}

// Step prints one step of a run: its state, its error and its outputs.
func (p Page) Step(out io.Writer, run string, step runs.Step, calls StepCalls, logs []runs.Log) {
	if step.Error != nil {
		p.errorBox(out, "the step", step.Error)
		fmt.Fprintln(out)
	}
	line := func(name, value string) { p.fact(out, 8, name, value) }
	line("step", term.Clean(step.Path))
	line("run", run)
	line("status", paintStep(p.Style, step.Status, string(step.Status)))
	line("action", step.Uses)
	if step.Attempts > 0 {
		line("attempts", fmt.Sprint(step.Attempts))
	}
	line("took", elapsed(step, time.Time{}))
	if waited := time.Duration(step.WaitedMS) * time.Millisecond; waited > 0 {
		line("waited", duration.Brief(waited)+" of it, for the rate limit")
	}
	if step.TakenFrom != "" {
		line("result", "taken over from run "+step.TakenFrom)
	}
	line("its run", step.Run)
	line("message", term.Clean(step.Message))
	if step.Decision != nil {
		line("decision", p.decision(step))
	} else {
		p.form(out, run, step)
	}
	p.calls(out, calls)
	if len(step.Outputs) > 0 {
		fmt.Fprintf(out, "\n%s\n%s\n", p.Style.Bold("outputs:"), indentJSON(step.Outputs))
	}
	if len(logs) > 0 {
		fmt.Fprintln(out)
		p.Logs(out, logs)
	}
}

// fact prints a value behind its name, unless it is empty.
func (p Page) fact(out io.Writer, width int, name, value string) {
	if value != "" {
		fmt.Fprintf(out, "%s %s\n", p.Style.Dim(term.Pad(name, width)), value)
	}
}

// decision says who answered what a step asked.
func (p Page) decision(step runs.Step) string {
	decision, text := step.Decision, step.Answer()
	if decision.By != "" {
		text += " by " + term.Clean(decision.By)
	}
	text += ", " + p.Times.Full(decision.At)
	if decision.Comment != "" {
		text += ": " + term.Clean(decision.Comment)
	}
	if decision.Held {
		text += " (it takes effect when the run is resumed)"
	}
	return text
}

// Logs prints log lines.
func (p Page) Logs(out io.Writer, logs []runs.Log) {
	for i := range logs {
		fmt.Fprintln(out, logLine(&logs[i], p.Times, p.Style))
	}
}

// Error prints the box of a run's failure: where, what, and what to do.
func (p Page) Error(out io.Writer, result *runs.Result) { p.errorBox(out, "the run", result.Error) }

// errorBox prints an error; where says what it is an error of when it is no
// step's.
func (p Page) errorBox(out io.Writer, where string, err *runs.Error) {
	if err.Step != "" {
		where = "step " + term.Clean(err.Step)
	}
	if err.Action != "" {
		where += " (" + term.Clean(err.Action)
		if err.Attempt > 1 {
			where += fmt.Sprintf(", attempt %d", err.Attempt)
		}
		where += ")"
	}
	fmt.Fprintf(out, "%s %s\n", p.Style.Red("✗ error in"), p.Style.Bold(where))
	for line := range strings.SplitSeq(term.CleanText(errorLine(err)), "\n") {
		fmt.Fprintf(out, "  %s\n", line)
	}
	p.LastWords(out, lastwords.Of(err.Details))
	p.belowError(out, err)
}

// LastWords prints what a dead plugin wrote last.
func (p Page) LastWords(out io.Writer, lines []string) {
	for _, line := range lines {
		fmt.Fprintf(out, "  %s %s\n", p.Style.Dim("|"), term.Clean(line))
	}
}

// belowError prints what is known of an error besides its message, and what to do.
func (p Page) belowError(out io.Writer, err *runs.Error) {
	if facts := errorFacts(err); facts != "" {
		fmt.Fprintf(out, "  %s\n", p.Style.Dim(facts))
	}
	if err.Hint.Text != "" {
		fmt.Fprintf(out, "  %s %s\n", p.Style.Cyan("help:"), term.Clean(err.Hint.Text))
	}
}

func errorFacts(err *runs.Error) string {
	var facts []string
	add := func(name, value string) {
		if value != "" {
			facts = append(facts, name+" "+term.Clean(value))
		}
	}
	add("reason", err.Reason)
	if err.HTTPStatus != 0 {
		add("HTTP", fmt.Sprint(err.HTTPStatus))
	}
	if fact := err.AppliedWords(); fact != "" {
		facts = append(facts, fact)
	}
	add("at", err.Pointer)
	if err.RetryAfterS > 0 {
		add("again after", duration.Brief(time.Duration(err.RetryAfterS*float64(time.Second))))
	}
	return strings.Join(facts, " · ")
}

// How much of an output people are shown: a value's width in cells, and the
// items of a longer list.
const (
	outputWidth  = 120
	outputItems  = 3
	outputHeight = 40 // of a text on a terminal, in lines
	// outputIndent is kept free of a terminal's width, for what stands before.
	outputIndent = 3
)

// Outputs prints the outputs of a run for people: texts as they are, other
// values as JSON, long ones cut with a word on how to get all.
func (p Page) Outputs(out io.Writer, outputs map[string]json.RawMessage) {
	cut := false
	for _, name := range slices.Sorted(maps.Keys(outputs)) {
		text, short := outputText(outputs[name], p.outputRoom(), p.outputLines())
		cut = cut || short
		fmt.Fprintf(out, "%s %s\n", p.Style.Bold(term.Clean(name)+":"), text)
	}
	if cut {
		fmt.Fprintln(out, p.Style.Dim("(cut; -o json or --out NAME=FILE has all)"))
	}
}

// outputText returns a value for people and whether something was left out.
func outputText(raw json.RawMessage, width, height int) (text string, cut bool) {
	text = term.CleanText(strings.TrimRight(rawText(raw), "\n"))
	isText := len(raw) > 0 && raw[0] == '"'
	switch {
	case strings.Contains(text, "\n"):
		text, cut = firstLines(text, height)
		return "\n" + indent(text), cut
	case isText || term.Width(text) <= width:
		return text, false
	}
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		return term.Truncate(text, width), true
	}
	lines := []string{diag.Count(len(list), "item")}
	for _, item := range list[:min(outputItems, len(list))] {
		lines = append(lines, term.Truncate(term.Clean(string(item)), width))
	}
	if more := len(list) - outputItems; more > 0 {
		lines = append(lines, fmt.Sprintf("… %d more", more))
	}
	return strings.Join(lines, "\n  "), true
}

// firstLines cuts a text that has more than height lines; 0 = no limit.
func firstLines(text string, height int) (string, bool) {
	lines := strings.Split(text, "\n")
	if height <= 0 || len(lines) <= height {
		return text, false
	}
	shown := height / 2
	return strings.Join(append(lines[:shown:shown], fmt.Sprintf("… %d more lines", len(lines)-shown)), "\n"), true
}

// indent moves every line to the right; empty ones stay empty.
func indent(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if line != "" {
			lines[i] = "  " + line
		}
	}
	return strings.Join(lines, "\n")
}

func indentJSON(raw json.RawMessage) string {
	return term.CleanText(workspace.ReadableJSON(raw))
}

// Data prints a JSON value for people.
func (p Page) Data(out io.Writer, raw json.RawMessage) { fmt.Fprintln(out, indentJSON(raw)) }

// FailureOf prints an error that is no run's own, such as a call's, which where
// names.
func (p Page) FailureOf(out io.Writer, where string, err *runs.Error) {
	shown := *err
	if shown.Step == "call" {
		shown.Step = "" // the engine's name for what is no step of a workflow
	}
	p.errorBox(out, where, &shown)
}

// Next prints the one command that is suggested last.
func (p Page) Next(out io.Writer, why string, args ...string) {
	fmt.Fprintf(out, "%s %s\n", p.Style.Dim(why), p.Style.Cyan(p.Command(args...)))
}
