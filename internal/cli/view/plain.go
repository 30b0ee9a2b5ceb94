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

// How often a plain view speaks without a change of state.
const (
	loopEvery = 3 * time.Second  // how far a loop is
	beatEvery = 30 * time.Second // that the run is still there
)

// Plain prints one line per change of state, for what is no terminal.
type Plain struct {
	out          io.Writer
	style        term.Style
	times        Times
	model        *model
	now          time.Time
	lastLine     time.Time // the last line
	lastLook     time.Time // the last look at loops
	shown        map[string]string
	loops        map[string]string
	prompts      []*runs.Prompt // that were printed
	polling      map[string]int // attempts of the steps that were said to poll
	waitTold     bool           // the run was said to wait for a poll
	fails        itemFails
	retryHidden  bool       // the run was not said to wait, since it waits for the next attempt
	waiting      []heldLine // log lines in their order, the first of which waits for its step's own line
	waitingSince time.Time
}

// NewPlain returns a plain view on out.
func NewPlain(out io.Writer, style term.Style, times Times) *Plain {
	return &Plain{
		out: out, style: style, times: times, model: newModel(),
		shown: map[string]string{}, loops: map[string]string{}, polling: map[string]int{},
	}
}

// heldLine is a log line that waits, and the top-level step that it is of.
type heldLine struct{ top, text string }

// Apply prints what changed.
func (p *Plain) Apply(update engine.Update) {
	before := p.model.run
	p.model.apply(update)
	switch update.Kind {
	case engine.UpdateRun:
		if text := runStatusText(p.model.run); text != runStatusText(before) && !p.onlyPolls(before.Status) && !p.onlyRetries(before.Status) {
			if p.model.run.Status.Ended() {
				p.releaseAll()
			}
			p.runLine(text)
		}
	case engine.UpdateStep:
		p.step(update.Step)
		p.release()
	case engine.UpdateWait:
		r := p.model.row(update.Path)
		if isTop(update.Path) {
			p.rowLine(r)
		}
	case engine.UpdateLog:
		if update.Log.Level != "debug" {
			p.log(update.Log)
		}
	}
}

// holdFor is how long a log line waits for the line of its step at most.
const holdFor = time.Second

// log prints a log line. A line that comes before any news of its step waits for that, and
// those behind it wait too: a reader sees what speaks before what it says, and all lines in
// their order.
func (p *Plain) log(log *runs.Log) {
	p.waiting = append(p.waiting, heldLine{topOf(log.Step), logLine(log, p.times, p.style)})
	p.release()
}

// release prints the lines that wait for nothing any more.
func (p *Plain) release() {
	for len(p.waiting) > 0 && p.isKnown(p.waiting[0].top) {
		p.line(p.waiting[0].text)
		p.waiting = p.waiting[1:]
	}
}

// isKnown reports whether there was news of a top-level step; "" is the run.
func (p *Plain) isKnown(top string) bool {
	step := p.model.index[top]
	return top == "" || step != nil && step.shownStatus() != runs.StepPending
}

// releaseAll prints what has waited.
func (p *Plain) releaseAll() {
	for _, held := range p.waiting {
		p.line(held.text)
	}
	p.waiting, p.waitingSince = nil, time.Time{}
}

// releaseLate prints what has waited too long.
func (p *Plain) releaseLate(now time.Time) {
	switch {
	case len(p.waiting) == 0:
		p.waitingSince = time.Time{}
	case p.waitingSince.IsZero():
		p.waitingSince = now
	case now.Sub(p.waitingSince) >= holdFor:
		p.releaseAll()
	}
}

func (p *Plain) runLine(status string) {
	run := p.model.run
	p.say(fmt.Sprintf("run %s %s: %s", run.ID, term.Clean(run.Workflow), paintRun(p.style, run.Status, status)))
}

// step prints a top-level step's new status, and of items what failed.
func (p *Plain) step(step *runs.Step) {
	if step.Prompt != nil && !step.Status.Ended() {
		p.prompt(step.Prompt)
	}
	if isTop(step.Path) {
		p.rowLine(p.model.row(step.Path))
		return
	}
	if text, said := p.fails.line(step, func() string { return p.stepText(step.Path, step.Status, &row{step: *step}) }); said {
		p.say(text)
	}
}

// rowLine prints the row when its status, attempt or what it waits for is new.
func (p *Plain) rowLine(r *row) {
	status := r.shownStatus()
	if status == runs.StepPending {
		return
	}
	wait, _ := r.nextWait()
	mark := fmt.Sprintf("%s %d %s %s", status, r.step.Attempts, r.step.Wait, wait.reason)
	if r.step.Items > 0 && !status.Ended() {
		mark = "loop" // how far it is comes with Tick
	}
	if p.shown[r.step.Path] == mark {
		return
	}
	if p.pollsOn(r, status) {
		return
	}
	retried := status == runs.StepRunning && strings.HasPrefix(p.shown[r.step.Path], string(runs.StepRetrying)+" ")
	p.shown[r.step.Path] = mark
	if retried { // when it would be, was said
		return
	}
	p.say(p.stepText(r.step.Path, status, r))
}

// onlyRetries reports whether the run waits for the next attempt of a step alone, which was
// said of the step, or goes on after such a wait.
func (p *Plain) onlyRetries(before runs.Status) bool {
	switch after := p.model.run.Status; {
	case after == runs.RunWaiting && before == runs.RunRunning:
		p.retryHidden = p.model.retries()
		return p.retryHidden
	case after == runs.RunRunning && before == runs.RunWaiting && p.retryHidden:
		p.retryHidden = false
		return true
	}
	return false
}

// pollsOn reports whether a step does what it has done since its first poll: a
// login takes minutes, with a poll every few seconds.
func (p *Plain) pollsOn(r *row, status runs.StepStatus) bool {
	path, polls := r.step.Path, status == runs.StepWaiting && r.step.Waits().Kind == runs.WaitPoll
	switch {
	case polls && p.polling[path] == r.step.Attempts, status == runs.StepRunning && p.polling[path] > 0 && p.polling[path] == r.step.Attempts:
		return true
	case polls:
		p.polling[path] = r.step.Attempts
	default:
		delete(p.polling, path)
	}
	return false
}

// onlyPolls reports whether the run's status changes with a poll, and was told
// to wait before.
func (p *Plain) onlyPolls(before runs.Status) bool {
	after := p.model.run.Status
	if len(p.polling) == 0 || after != runs.RunRunning && after != runs.RunWaiting || before != runs.RunRunning && before != runs.RunWaiting {
		return false
	}
	earlier := p.waitTold
	p.waitTold = true
	return earlier
}

func (p *Plain) stepText(path string, status runs.StepStatus, r *row) string {
	name, details := stepName(&r.step), r.details(p.times, time.Time{})
	if status == runs.StepWaiting && strings.HasPrefix(details, "waiting (") {
		return name + " " + paintStep(p.style, status, details) // it says the status itself
	}
	text := fmt.Sprintf("%s %s", name, paintStep(p.style, status, string(status)))
	if details != "" {
		text += p.style.Dim(" · ") + details
	}
	return text
}

func (p *Plain) prompt(prompt *runs.Prompt) {
	if !seen(p.prompts, prompt) {
		p.prompts = append(p.prompts, prompt)
		p.say(promptLine(prompt, p.times))
	}
}

// Tick prints how far loops are, and that the run is still there.
func (p *Plain) Tick(now time.Time) {
	p.now = now
	p.releaseLate(now)
	if p.lastLine.IsZero() {
		p.lastLine, p.lastLook = now, now
	}
	if now.Sub(p.lastLook) >= loopEvery {
		p.lastLook = now
		p.lookAtLoops()
	}
	if now.Sub(p.lastLine) >= beatEvery && p.model.run.ID != "" && !p.model.run.Status.Ended() {
		p.say("still " + runStatusText(p.model.run) + p.openSteps())
	}
}

func (p *Plain) lookAtLoops() {
	for _, r := range p.model.rows {
		if r.step.Items == 0 || r.step.Status.Ended() {
			continue
		}
		if text := p.stepText(r.step.Path, r.shownStatus(), r); p.loops[r.step.Path] != text {
			p.loops[r.step.Path] = text
			p.say(text)
		}
	}
}

// openSteps lists what has not ended.
func (p *Plain) openSteps() string {
	var open []string
	for _, r := range p.model.rows {
		if status := r.shownStatus(); !status.Ended() && status != runs.StepPending {
			open = append(open, p.stepText(r.step.Path, status, r))
		}
	}
	if len(open) == 0 {
		return ""
	}
	return ": " + strings.Join(open, ", ")
}

// Note prints a line of the command itself.
func (p *Plain) Note(text string) { p.line(text) }

// Close prints the log lines that still wait; every change was printed when it
// came.
func (p *Plain) Close() { p.releaseAll() }

func (p *Plain) say(text string) {
	clock := ""
	if !p.now.IsZero() {
		clock = p.style.Dim(p.times.Clock(p.now)) + " "
	}
	p.line(clock + text)
}

func (p *Plain) line(text string) {
	p.lastLine = p.now
	fmt.Fprintln(p.out, text)
}
