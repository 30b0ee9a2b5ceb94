package view

import (
	"fmt"
	"strings"
	"time"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/duration"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/internal/cli/term"
)

// symbols stand beside the colours: a view without colours tells as much.
var symbols = map[runs.StepStatus]string{
	runs.StepPending: "○", runs.StepRunning: "●", runs.StepWaiting: "◔", runs.StepRetrying: "↻", runs.StepSucceeded: "✓",
	runs.StepFailed: "✗", runs.StepSkipped: "–", runs.StepBlocked: "⊘", runs.StepCanceled: "■", runs.StepUnknown: "?",
}

func symbolOf(status runs.StepStatus) string {
	if symbol, ok := symbols[status]; ok {
		return symbol
	}
	return "·"
}

// paintStep colours text by a step's status.
func paintStep(style term.Style, status runs.StepStatus, text string) string {
	switch status {
	case runs.StepSucceeded:
		return style.Green(text)
	case runs.StepFailed, runs.StepUnknown:
		return style.Red(text)
	case runs.StepWaiting, runs.StepRetrying:
		return style.Yellow(text)
	case runs.StepRunning:
		return style.Cyan(text)
	}
	return style.Dim(text)
}

// paintRun colours text by a run's status.
func paintRun(style term.Style, status runs.Status, text string) string {
	switch status {
	case runs.RunSucceeded:
		return style.Green(text)
	case runs.RunFailed, runs.RunTimedOut:
		return style.Red(text)
	case runs.RunPaused, runs.RunWaiting, runs.RunCanceled:
		return style.Yellow(text)
	}
	return style.Cyan(text)
}

// shownStatus is the row's status as a reader wants it: a step whose calls are
// all held back by a limiter waits.
func (r *row) shownStatus() runs.StepStatus {
	running, retrying := r.counts()
	if r.step.Status == runs.StepRunning && len(r.waits) > 0 && running == 0 && retrying == 0 {
		return runs.StepWaiting
	}
	return r.step.Status
}

// stepName is how a step is shown: its path, and of one that its author gave no id what it
// does.
func stepName(step *runs.Step) string {
	path, does := term.Clean(step.Path), step.Uses
	if does == "" && step.Items > 0 {
		does = "foreach"
	}
	if !isNumbered(runs.ParsePath(step.Path).Step) || does == "" {
		return path
	}
	return path + " (" + term.Clean(does) + ")"
}

// isNumbered reports whether an id was made of a step's place.
func isNumbered(id string) bool {
	number, ok := strings.CutPrefix(id, "_")
	return ok && number != "" && strings.Trim(number, "0123456789") == ""
}

// itemErrorLines is how many failed steps of items get a line of their own.
const itemErrorLines = 20

// itemFails tells of the steps of items that failed, each once, and of the first ones alone.
type itemFails struct {
	told map[string]bool
	n    int
}

// line is what there is to say of a step of an item.
func (f *itemFails) line(step *runs.Step, text func() string) (line string, said bool) {
	if !isBad(step.Status) || f.told[step.Path] {
		return "", false
	}
	if f.told == nil {
		f.told = map[string]bool{}
	}
	f.told[step.Path] = true
	f.n++
	if f.n <= itemErrorLines {
		return text(), true
	}
	return "more items fail; their steps are not printed one by one", f.n == itemErrorLines+1
}

// details returns what there is to say of a row besides its status, most
// telling first.
func (r *row) details(times Times, now time.Time) string {
	step := r.step
	var parts []string
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	if step.Items > 0 {
		add("%d/%d", step.Done, step.Items)
	}
	if step.ItemErrors > 0 {
		add("%s", diag.Count(step.ItemErrors, "error"))
	}
	if !step.Status.Ended() {
		parts = append(parts, r.waiting(times)...)
	}
	if step.Pages > 1 {
		add("%d pages", step.Pages)
	}
	if step.Attempts > 1 {
		add("attempt %d", step.Attempts)
	}
	if step.Cached {
		add("cached")
	}
	if step.TakenFrom != "" {
		add("taken over")
	}
	if step.Crashes > 0 {
		add("the engine died %s", diag.Count(step.Crashes, "time"))
	}
	if r.progress != nil && !step.Status.Ended() {
		add("%s", progressText(r.progress))
	}
	if step.Error != nil && step.Status != runs.StepSucceeded {
		add("%s", term.Clean(errorLine(step.Error)))
	} else if step.Message != "" {
		add("%s", term.Clean(step.Message))
	}
	if text := elapsed(step, now); text != "" {
		add("%s", text)
	}
	if waited := time.Duration(step.WaitedMS) * time.Millisecond; waited >= shownWait {
		add("of it %s waiting for the rate limit", duration.Brief(waited))
	}
	return strings.Join(parts, " · ")
}

// shownWait is the shortest wait that is worth a word.
const shownWait = 100 * time.Millisecond

// waiting says what the row waits for and until when.
func (r *row) waiting(times Times) []string {
	var parts []string
	running, retrying := r.counts()
	if running > 1 {
		parts = append(parts, fmt.Sprintf("%d running", running))
	}
	if wait, ok := r.nextWait(); ok {
		parts = append(parts, waitText(wait.reason, wait.until, times))
	}
	if r.step.Wait != "" && r.step.Status != runs.StepRunning {
		until := time.Time{}
		if r.step.Until != nil {
			until = *r.step.Until
		}
		parts = append(parts, waitText(r.step.Wait, until, times))
	} else if retrying > 0 {
		parts = append(parts, diag.Count(retrying, "item")+" to retry")
	}
	return parts
}

func waitText(reason string, until time.Time, times Times) string {
	if reason == "" {
		reason = string(runs.WaitRateLimit)
	}
	reason = term.Clean(reason)
	if until.IsZero() {
		return "waiting (" + reason + ")"
	}
	if runs.ParseWait(reason).Answered() { // nothing is tried again then: it ends
		return fmt.Sprintf("waiting (%s, until %s)", reason, times.Short(until))
	}
	return fmt.Sprintf("waiting (%s, next %s)", reason, times.Clock(until))
}

func progressText(p *runs.Progress) string {
	text := term.Clean(p.Message)
	if p.Fraction > 0 {
		text = strings.TrimSpace(fmt.Sprintf("%.0f %% %s", min(p.Fraction, 1)*100, text))
	}
	return text
}

func errorLine(err *runs.Error) string { return fmt.Sprintf("%s: %s", err.Kind, err.Message) }

// elapsed returns how long the step took, or takes so far; nothing for what is
// too short to tell.
func elapsed(step runs.Step, now time.Time) string {
	switch {
	case step.StartedAt == nil:
		return ""
	case step.FinishedAt != nil:
		if took := step.FinishedAt.Sub(*step.StartedAt); took >= time.Millisecond {
			return duration.Brief(took)
		}
		return ""
	case step.Status.Ended() || now.Sub(*step.StartedAt) < time.Second:
		return ""
	}
	return duration.Brief(now.Sub(*step.StartedAt).Truncate(time.Second))
}
