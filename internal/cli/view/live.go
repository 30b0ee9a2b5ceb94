package view

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/internal/cli/term"
)

// Live draws one line per top-level step at the bottom of a terminal, again and
// again in place, with log lines above it.
type Live struct {
	block *term.Block
	size  func() (width, height int)
	style term.Style
	times Times
	model *model
	above []string // log lines and notes that wait for the next drawing
	now   time.Time

	printed []*runs.Prompt // above the block, for want of room in it
}

// NewLive returns a live view on a terminal; size tells its width and height.
func NewLive(out io.Writer, size func() (width, height int), style term.Style, times Times) *Live {
	return &Live{block: term.NewBlock(out), size: size, style: style, times: times, model: newModel()}
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

// Tick draws. A terminal that is gone is no reason to stop the run, so that its
// errors are not looked at.
func (l *Live) Tick(now time.Time) {
	l.now = now
	lines := l.lines()
	_ = l.block.Print(l.above...)
	l.above = nil
	_ = l.block.Draw(lines)
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
	width, height := l.size()
	width = max(width-1, 20) // some terminals wrap at the last cell
	boxes := l.boxes(width, height)
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

// boxes returns the prompts of the steps. One that does not fit into the
// terminal can't be drawn in place: it is printed above the block, once.
func (l *Live) boxes(width, height int) []string {
	var boxes []string
	for _, prompt := range l.model.prompts() {
		box := promptBox(prompt, l.now, "", width, l.style, l.times)
		if len(boxes)+len(box)+liveRoom <= height {
			boxes = append(boxes, box...)
		} else if !seen(l.printed, prompt) {
			l.printed = append(l.printed, prompt)
			l.above = append(l.above, promptBox(prompt, time.Time{}, "", width, l.style, l.times)...)
		}
	}
	return boxes
}

func (l *Live) header(width int) string {
	run := l.model.run
	text := fmt.Sprintf("%s  %s", term.Clean(run.Workflow), run.ID)
	status := runStatusText(run)
	if so := l.now.Sub(run.StartedAt); !run.Status.Ended() && !run.StartedAt.IsZero() && so >= time.Second {
		status += " " + Duration(so.Truncate(time.Second))
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
	drop := len(rows) - room + 1
	gone := map[*row]bool{}
	for _, r := range rows {
		if drop > 0 && (r.step.Status == runs.StepSucceeded || r.step.Status == runs.StepSkipped) {
			gone[r] = true
			drop--
		}
	}
	for i := len(rows) - 1; i >= 0 && drop > 0; i-- {
		if !gone[rows[i]] && rows[i].step.Status == runs.StepPending {
			gone[rows[i]] = true
			drop--
		}
	}
	for i := len(rows) - 1; i >= 0 && drop > 0; i-- {
		if !gone[rows[i]] {
			gone[rows[i]] = true
			drop--
		}
	}
	for _, r := range rows {
		if !gone[r] {
			shown = append(shown, r)
		}
	}
	return shown, len(gone)
}

// runStatusText is a run's status with the reason of a pause.
func runStatusText(run runs.Run) string {
	if run.Status == runs.RunPaused && run.Paused != "" {
		return "paused (" + run.Paused + ")"
	}
	switch {
	case run.Undriven && run.Status == runs.RunWaiting:
		return "waiting (not driven)"
	case run.Undriven:
		return string(run.Status) + " (interrupted)"
	}
	return string(run.Status)
}
