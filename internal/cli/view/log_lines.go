package view

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/runs"
)

// RetryMark is a line that tells of an attempt that failed and is followed by another one.
func (p Page) RetryMark(at time.Time, failed *runs.Error, next time.Time) runs.Log {
	text := "failed: " + errorLine(failed)
	if failed.Attempt > 0 {
		text = fmt.Sprintf("attempt %d %s", failed.Attempt, text)
	}
	return runs.Log{At: at, Level: "warn", Step: failed.Step, Message: text + ", next attempt at " + p.Times.Clock(next)}
}

// FailMark is a line that tells of a step that failed; false for any other one, and for a
// loop, of which the steps of its items tell.
func (p Page) FailMark(step *runs.Step) (mark runs.Log, ok bool) {
	if !isBad(step.Status) || step.Error == nil || step.FinishedAt == nil || step.Items > 0 {
		return mark, false
	}
	text := string(step.Status)
	if step.Attempts > 1 {
		text += fmt.Sprintf(" in attempt %d", step.Attempts)
	}
	return runs.Log{At: *step.FinishedAt, Level: "error", Step: step.Path, Message: text + ": " + errorLine(step.Error)}, true
}

// Marks tell of failed attempts and steps among the lines of a log. The zero value tells
// of none.
type Marks struct {
	page *Page
	told map[string]bool
	last []runs.Log // of what failed before
}

// Marks returns what tells of failures; earlier are those that are known.
func (p Page) Marks(earlier []runs.Log) Marks {
	m := Marks{page: &p, told: map[string]bool{}, last: earlier}
	for i := range earlier {
		m.told[markKey(&earlier[i])] = true
	}
	return m
}

// markKey tells marks apart: an attempt of a step fails once.
func markKey(mark *runs.Log) string {
	what, _, _ := strings.Cut(mark.Message, ":")
	return mark.Step + "\x00" + what
}

// of returns the mark of a step as it has become, once.
func (m Marks) of(step *runs.Step) (mark runs.Log, ok bool) {
	if m.page == nil {
		return mark, false
	}
	if step.Status == runs.StepRetrying && step.Error != nil && step.Until != nil {
		failed := *step.Error
		failed.Step = step.Path
		mark, ok = m.page.RetryMark(m.page.Now, &failed, *step.Until), true
	} else {
		mark, ok = m.page.FailMark(step)
	}
	if !ok || m.told[markKey(&mark)] {
		return mark, false
	}
	m.told[markKey(&mark)] = true
	return mark, true
}

// LogLines prints the lines of a log as they come.
type LogLines struct {
	Quiet
	marks   Marks
	takes   func(*runs.Log) bool
	tail    int        // of the lines that are there only the newest so many; 0 = all
	begun   bool       // they were printed
	earlier []runs.Log // that wait for it
	print   func([]runs.Log) error
}

// NewLogLines returns a follower that hands the lines that takes selects on to print, and
// notes to note.
func NewLogLines(marks Marks, takes func(*runs.Log) bool, tail int, print func([]runs.Log) error, note func(string)) *LogLines {
	return &LogLines{Quiet: Quiet{note}, marks: marks, takes: takes, tail: tail, earlier: slices.Clone(marks.last), print: print}
}

// Apply prints a line, or keeps it until all that are there are known.
func (l *LogLines) Apply(update engine.Update) {
	switch update.Kind {
	case engine.UpdateLog:
		l.line(*update.Log)
	case engine.UpdateStep:
		if mark, ok := l.marks.of(update.Step); ok {
			l.line(mark)
		}
	}
}

func (l *LogLines) line(line runs.Log) {
	switch {
	case !l.takes(&line):
	case !l.begun:
		l.earlier = append(l.earlier, line)
	default:
		_ = l.print([]runs.Log{line}) // a reader that is gone is no reason to end
	}
}

// Tick prints the lines that were there.
func (l *LogLines) Tick(now time.Time) {
	if l.marks.page != nil {
		l.marks.page.Now = now
	}
	if l.begun {
		return
	}
	l.begun = true
	slices.SortStableFunc(l.earlier, func(a, b runs.Log) int { return a.At.Compare(b.At) })
	if l.tail > 0 {
		l.earlier = l.earlier[max(len(l.earlier)-l.tail, 0):]
	}
	_ = l.print(l.earlier)
	l.earlier = nil
}

// Close prints what was there, where nothing came.
func (l *LogLines) Close() { l.Tick(time.Time{}) }
