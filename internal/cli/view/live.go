package view

import (
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/duration"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/internal/cli/term"
)

// Live draws one line per top-level step at the bottom of a terminal, again and
// again in place, with log lines above it.
type Live struct {
	*screen
	model    *model
	now      time.Time
	answers  answering
	answered []string // questions that stand above the block, for want of room in it
	fails    itemFails
}

// NewLive returns a live view on a terminal; size tells its width and height.
func NewLive(out io.Writer, size func() (width, height int), style term.Style, times Times) *Live {
	return &Live{screen: newScreen(out, size, style, times), model: newModel()}
}

// Apply folds an update in; it is drawn with the next Tick.
func (l *Live) Apply(update engine.Update) {
	if update.Kind == engine.UpdateLog && update.Log.Level != "debug" {
		l.above = append(l.above, logLine(update.Log, l.times, l.style))
	}
	l.model.apply(update)
	if update.Kind == engine.UpdateStep && !isTop(update.Step.Path) {
		text, said := l.fails.line(update.Step, func() string { return l.failText(update.Step) })
		if said {
			l.above = append(l.above, text)
		}
	}
}

// failText tells of a step of an item that failed.
func (l *Live) failText(step *runs.Step) string {
	failed := &row{step: *step}
	return paintStep(l.style, step.Status, symbolOf(step.Status)) + " " + stepName(step) + "  " + paintStep(l.style, step.Status, string(step.Status)+" · "+failed.details(l.times, time.Time{}))
}

// Note shows a line above the block.
func (l *Live) Note(text string) { l.above = append(l.above, text) }

// Tick draws.
func (l *Live) Tick(now time.Time) {
	l.now = now
	l.draw(l.lines())
}

// Close leaves the last state on the screen, with all steps: what scrolls away is no longer
// drawn again.
func (l *Live) Close() {
	width, height := l.size()
	l.block.Fit(width)
	_ = l.block.End(append(l.above, l.linesIn(max(height, liveRoom+len(l.model.rows)*mostRows))...)...)
	l.above = nil
}

// mostRows is more than a step takes in the block.
const mostRows = 1000

// lines returns the block: the header, the steps that fit, and prompts.
func (l *Live) lines() []string {
	_, height := l.room()
	return l.linesIn(height)
}

// linesIn are the lines of the block in a terminal of a height.
func (l *Live) linesIn(height int) []string {
	if l.model.run.ID == "" {
		return nil
	}
	width, _ := l.room()
	var boxes []string
	for _, prompt := range l.model.prompts() {
		boxes = append(boxes, l.box(prompt, l.now, "", height-liveRoom-len(boxes))...)
	}
	boxes = append(boxes, l.asked(width, height-liveRoom-len(boxes))...)
	lines := l.header(width)
	names := 0
	for _, r := range l.model.rows {
		names = max(names, term.Width(stepName(&r.step)))
	}
	names = min(names, 24, width/2)
	room := max(height-2-len(lines)-len(boxes), 3)
	shown, left := fit(l.model.rows, room, func(r *row) int { return len(l.rowLines(r, names, width)) })
	for _, r := range shown {
		lines = append(lines, l.rowLines(r, names, width)...)
	}
	if left > 0 {
		lines = append(lines, l.style.Dim(fmt.Sprintf("  … %d more steps", left)))
	}
	return append(lines, boxes...)
}

// liveRoom is what is kept of a terminal's height for the header and steps.
const liveRoom = 6

// header is the workflow, the run's id and its status. The id is what one copies: it is
// never cut, and has a line of its own where there is no room beside it.
func (l *Live) header(width int) []string {
	run := l.model.run
	name := term.Clean(run.Workflow)
	status := runStatusText(run)
	if so := l.now.Sub(run.StartedAt); !run.Status.Ended() && !run.StartedAt.IsZero() && so >= time.Second {
		status += " " + duration.Brief(so.Truncate(time.Second))
	}
	if room := width - len(run.ID) - term.Width(status) - 4; room >= min(term.Width(name), leastName) {
		return []string{l.style.Bold(term.Truncate(name, room)+"  "+run.ID) + "  " + paintRun(l.style, run.Status, status)}
	}
	name = term.Truncate(name, max(width-term.Width(status)-2, leastName))
	return []string{l.style.Bold(name) + "  " + paintRun(l.style, run.Status, status), l.style.Bold(run.ID)}
}

// leastName is how much of a name is shown at least, where it is cut.
const leastName = 10

// rowLines is a step with what there is to say of it. Its path is what one copies: it is
// never cut. Where it leaves no room, the rest stands below it.
func (l *Live) rowLines(r *row, names, width int) []string {
	path := stepName(&r.step)
	if term.Width(path) <= names {
		return []string{l.rowLine(r, term.Pad(path, names), names, width)}
	}
	if room := term.Width(path); width-room-5 >= leastDetails {
		return []string{l.rowLine(r, path, room, width)}
	}
	var lines []string
	for i, part := range term.Wrap(path, max(width-2, 1)) {
		before := "  "
		if i == 0 {
			before = paintStep(l.style, r.shownStatus(), symbolOf(r.shownStatus())) + " "
		}
		lines = append(lines, before+part)
	}
	return append(lines, strings.Replace(l.rowLine(r, term.Pad("", 0), 0, width), symbolOf(r.shownStatus()), " ", 1))
}

// leastDetails is how much room there is for details at least beside a long path.
const leastDetails = 24

func (l *Live) rowLine(r *row, name string, names, width int) string {
	status := r.shownStatus()
	text := r.details(l.times, l.now)
	if text == "" || status.Ended() && status != runs.StepSucceeded {
		text = strings.TrimSuffix(string(status)+" · "+text, " · ")
	}
	text = term.Truncate(text, max(width-names-5, 1))
	return paintStep(l.style, status, symbolOf(status)) + " " + name + "  " + paintDetails(l.style, status, text)
}

func paintDetails(style term.Style, status runs.StepStatus, text string) string {
	if status == runs.StepSucceeded || status == runs.StepPending || status == runs.StepSkipped {
		return style.Dim(text)
	}
	return paintStep(style, status, text)
}

// fit returns the rows that have room, and how many do not: first those that
// ended well make room, from the top, then those that have not begun, from the
// bottom; those that failed come last.
func fit(rows []*row, room int, high func(*row) int) (shown []*row, left int) {
	all := 0
	for _, r := range rows {
		all += high(r)
	}
	if all <= room {
		return rows, 0
	}
	gone, over := map[*row]bool{}, all-room+1 // a line says how many are left out
	drop := func(rows iter.Seq2[int, *row], which func(runs.StepStatus) bool) {
		for _, r := range rows {
			if over > 0 && !gone[r] && which(r.step.Status) {
				gone[r], over = true, over-high(r)
			}
		}
	}
	drop(slices.All(rows), func(status runs.StepStatus) bool { return status == runs.StepSucceeded || status == runs.StepSkipped })
	drop(slices.Backward(rows), func(status runs.StepStatus) bool { return status == runs.StepPending })
	drop(slices.Backward(rows), func(status runs.StepStatus) bool { return !isBad(status) })
	drop(slices.Backward(rows), func(runs.StepStatus) bool { return true })
	return slices.DeleteFunc(slices.Clone(rows), func(r *row) bool { return gone[r] }), len(gone)
}

// runStatusText is a run's status with the reason of a pause.
func runStatusText(run runs.Run) string {
	switch {
	case run.Status == runs.RunPaused && run.Paused != "":
		return "paused (" + run.Paused + ")"
	case run.Undriven && run.Status == runs.RunWaiting:
		return "waiting (not driven)"
	case run.Undriven:
		return string(run.Status) + " (interrupted)"
	}
	return string(run.Status)
}
