package local

import (
	"time"

	"github.com/flowrun/flowrun/engine/drive"
	"github.com/flowrun/flowrun/engine/journal"
)

// storeWhenDue hands what was applied to the journal, at once when something
// waits for it, else with what comes soon.
func (r *run) storeWhenDue() {
	if len(r.unstored) == 0 && len(r.logs) == 0 {
		r.flushNow = false
		return
	}
	if r.due() {
		r.store()
		return
	}
	if !r.flushing {
		r.flushing = true
		time.AfterFunc(drive.FlushDelay, func() { r.mail.put(message{flush: true}) })
	}
}

// due reports whether what was applied must be durable now.
func (r *run) due() bool {
	if r.stopping || r.flushNow || r.OpenCalls() == 0 || len(r.inspectors) > 0 || len(r.unstored) >= drive.FlushRecords {
		return true
	}
	for _, applied := range r.unstored {
		if applied.urgent() {
			return true
		}
	}
	return false
}

// urgent reports whether the batch is more than the answer to a read: it holds
// an intent, the result of an effect, a change of the run's status, or what a
// person did.
func (b *batch) urgent() bool {
	if b.effect || b.row != nil || b.record == nil || len(b.effects) > 0 {
		return true
	}
	switch b.record.Event.Kind {
	case journal.Completed, journal.Pending, journal.Failed, journal.TimerFired:
		return false
	}
	return true
}
