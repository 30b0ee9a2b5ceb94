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
	model *model
	now   time.Time
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
}

// Note shows a line above the block.
func (l *Live) Note(text string) { l.above = append(l.above, text) }

// Tick draws.
func (l *Live) Tick(now time.Time) {
	l.now = now
	l.draw(l.lines())
}

// Close draws the last state and leaves it on the screen.
func (l *Live) Close() {
	l.Tick(l.now)
	l.block.Leave()
}

// lines returns the block: the header, the steps that fit, and prompts.
func (l *Live) lines() []string {
	if l.model.run.ID == "" {
		return nil
	}
	width, height := l.room()
	var boxes []string
	for _, prompt := range l.model.prompts() {
		boxes = append(boxes, l.box(prompt, l.now, "", height-liveRoom-len(boxes))...)
	}
	lines := []string{l.header(width)}
	names := 0
	for _, r := range l.model.rows {
		names = max(names, term.Width(term.Clean(r.step.Path)))
	}
	names = min(names, 24, width/2)
	shown, left := fit(l.model.rows, max(height-3-len(boxes), 3))
	for _, r := range shown {
		lines = append(lines, l.rowLine(r, names, width))
	}
	if left > 0 {
		lines = append(lines, l.style.Dim(fmt.Sprintf("  … %d more steps", left)))
	}
	return append(lines, boxes...)
}

// liveRoom is what is kept of a terminal's height for the header and steps.
const liveRoom = 6

func (l *Live) header(width int) string {
	run := l.model.run
	text := fmt.Sprintf("%s  %s", term.Clean(run.Workflow), run.ID)
	status := runStatusText(run)
	if so := l.now.Sub(run.StartedAt); !run.Status.Ended() && !run.StartedAt.IsZero() && so >= time.Second {
		status += " " + duration.Brief(so.Truncate(time.Second))
	}
	text = term.Truncate(text, max(width-term.Width(status)-2, 10))
	return l.style.Bold(text) + "  " + paintRun(l.style, run.Status, status)
}

func (l *Live) rowLine(r *row, names, width int) string {
	status := r.shownStatus()
	name := term.Pad(term.Truncate(term.Clean(r.step.Path), names), names)
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
// bottom.
func fit(rows []*row, room int) (shown []*row, left int) {
	if len(rows) <= room {
		return rows, 0
	}
	left = len(rows) - room + 1
	gone := map[*row]bool{}
	drop := func(rows iter.Seq2[int, *row], which func(runs.StepStatus) bool) {
		for _, r := range rows {
			if len(gone) < left && which(r.step.Status) {
				gone[r] = true
			}
		}
	}
	drop(slices.All(rows), func(status runs.StepStatus) bool { return status == runs.StepSucceeded || status == runs.StepSkipped })
	drop(slices.Backward(rows), func(status runs.StepStatus) bool { return status == runs.StepPending })
	drop(slices.Backward(rows), func(runs.StepStatus) bool { return true })
	return slices.DeleteFunc(slices.Clone(rows), func(r *row) bool { return gone[r] }), left
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
