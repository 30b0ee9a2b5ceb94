package engine

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/store"
)

// LogLevels returns the levels of log lines, the least first.
func LogLevels() []string { return []string{"debug", "info", "warn", "error"} }

// LogFilter selects lines of a run's log. The zero value takes all.
type LogFilter struct {
	Step  string    // the path of a step
	Level string    // this level and above
	Since time.Time // written then or later
	Text  string    // what message, step or fields hold, in letters of either case
}

// LogQuery asks for a part of a run's log.
type LogQuery struct {
	LogFilter
	From  uint64 // LogPage.Next of the part before; 0 = the log's begin, or its end
	Back  bool   // the newest lines, still in the order in which they were written
	Limit int    // at most so many lines
}

// LogPage is a part of a run's log.
type LogPage = store.LogPage

// LogPage returns the lines of a run that the query selects, and reads no more of
// its log than it must. *RunNotFoundError.
func (e *Engine) LogPage(_ context.Context, id string, q LogQuery) (*LogPage, error) {
	page, err := e.store.LogPage(id, store.LogQuery{From: q.From, Back: q.Back, Limit: q.Limit, Match: q.matcher()})
	return page, e.RunFault(id, err)
}

// LogSteps returns the paths of the steps of a run that have written lines, at
// most so many of them; "" is the run itself.
func (e *Engine) LogSteps(_ context.Context, id string, most int) ([]string, error) {
	steps, err := e.store.LogSteps(id, most)
	return steps, e.RunFault(id, err)
}

// Selects reports whether the filter takes a line.
func (f LogFilter) Selects(line *runs.Log) bool {
	match := f.matcher()
	return match == nil || match(line)
}

// matcher is the filter as a function; nil where it takes all.
func (f LogFilter) matcher() func(*runs.Log) bool {
	if f == (LogFilter{}) {
		return nil
	}
	text, least := strings.ToLower(f.Text), logRank(f.Level)
	return func(line *runs.Log) bool {
		switch {
		case f.Step != "" && line.Step != f.Step:
		case f.Level != "" && logRank(line.Level) < least:
		case line.At.Before(f.Since):
		case text != "" && !holds(text, line.Message, line.Step, string(line.Fields)):
		default:
			return true
		}
		return false
	}
}

// logRank orders levels; one that is not known is that of info.
func logRank(level string) int {
	if at := slices.Index(LogLevels(), level); at >= 0 {
		return at
	}
	return 1
}

// holds reports whether one of the texts has a part, which is in lower case.
func holds(part string, texts ...string) bool {
	return slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(strings.ToLower(text), part) })
}

// Logs returns all log lines of a run, or of one of its steps: LogPage is for logs
// that may be long.
func (e *Engine) Logs(_ context.Context, id, step string) ([]runs.Log, error) {
	lines, _, err := e.store.Logs(id, step, 0, 0)
	return lines, e.RunFault(id, err)
}
