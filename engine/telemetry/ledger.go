package telemetry

import (
	"strings"
	"sync"
	"time"

	"github.com/flowrun/flowrun/engine/runs"
)

// ledger knows how far each run is that is not closed, so that a change is
// counted once however often its row is told. Safe for concurrent use.
type ledger struct {
	since time.Time // what was accepted before is not counted as accepted

	mu   sync.Mutex
	open map[string]*entry // by run id
}

// entry is one run.
type entry struct {
	attempt       int
	begun, paused bool
	ended         map[string]bool // paths of its ended steps
}

// news is what a row says that was not known before.
type news struct {
	accepted, began, paused, closed bool
	acceptedAt                      time.Time
}

func newLedger(since time.Time) *ledger {
	// Ids count milliseconds: one that is made at once must not seem older.
	return &ledger{since: since.Truncate(time.Millisecond), open: map[string]*entry{}}
}

// run takes a row and tells what is new.
func (l *ledger) run(run *runs.Run) (n news) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.open[run.ID]
	if e == nil {
		e = &entry{attempt: run.Attempt, begun: true}
		l.open[run.ID] = e
		if at, ok := runs.IDTime(run.ID); ok && run.Attempt <= 1 && !at.Before(l.since) {
			n.accepted, n.acceptedAt, e.begun = true, at, false
		}
	}
	if !e.begun && run.Status != runs.RunQueued {
		e.begun, n.began = true, true
		n.acceptedAt, _ = runs.IDTime(run.ID)
	}
	paused := run.Status == runs.RunPaused
	n.paused = paused && !e.paused
	e.paused, e.attempt = paused, run.Attempt
	if run.Closed {
		n.closed = true
		delete(l.open, run.ID)
	}
	return n
}

// stepEnded reports whether a step has ended since it was told of last.
func (l *ledger) stepEnded(runID string, step *runs.Step) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.open[runID]
	if e == nil {
		// Its row comes in the same message, before or after.
		return step.Status.Ended() && step.FinishedAt != nil
	}
	if !step.Status.Ended() {
		delete(e.ended, step.Path)
		return false
	}
	if e.ended[step.Path] {
		return false
	}
	if e.ended == nil {
		e.ended = map[string]bool{}
	}
	e.ended[step.Path] = true
	return true
}

// maxNames is how many names of workflows, triggers and actions stand in labels.
// What comes later is counted under otherName: a page must not grow for good.
const (
	maxNames  = 2000
	maxName   = 128 // bytes
	otherName = "other"
)

// names bounds the values of labels that users choose. Safe for concurrent use.
type names struct {
	mu    sync.Mutex
	known map[string]struct{}
}

func newNames() *names { return &names{known: map[string]struct{}{}} }

func (n *names) of(name string) string {
	if len(name) > maxName {
		name = name[:maxName]
	}
	name = strings.ToValidUTF8(name, "")
	n.mu.Lock()
	defer n.mu.Unlock()
	if _, ok := n.known[name]; ok {
		return name
	}
	if len(n.known) >= maxNames {
		return otherName
	}
	n.known[name] = struct{}{}
	return name
}
