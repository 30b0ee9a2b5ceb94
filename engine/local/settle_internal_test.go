package local

import (
	"testing"

	"github.com/flowrun/flowrun/engine/drive"
	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/runs"
)

// TestP9AnOldTimerEndsNoOther: a timer that was stopped may have put its word into
// the mailbox before. It ends neither what waits under the same name now, nor
// anything when nothing does.
func TestP9AnOldTimerEndsNoOther(t *testing.T) {
	r := &run{Run: drive.New(nil)}
	var timers []*drive.Operation
	begin := func() {
		r.Do([]journal.Command{{Kind: journal.CommandTimer, Path: "a!retry", Timer: &journal.Timer{}}}, func(op *drive.Operation) { timers = append(timers, op) })
	}
	begin()
	r.Do([]journal.Command{{Kind: journal.CommandCancel, Path: "a!retry"}}, nil)
	begin()
	old, now := timers[0], timers[1]
	if r.settle(old) || r.At("a!retry") != now {
		t.Error("the word of an older timer ends the one that runs")
	}
	if !r.settle(now) || r.At("a!retry") != nil {
		t.Error("its own word does not end it")
	}
	if r.settle(now) {
		t.Error("it fires twice")
	}
}

// TestS9WhatIsStoredAtOnce: the results of reads wait for company while other calls
// are in flight. What can't be had again does not, and nothing does when somebody
// looks, when the run stops, or when much has come together.
func TestS9WhatIsStoredAtOnce(t *testing.T) {
	batchOf := func(kind journal.EventKind, change func(*batch)) []*batch {
		b := &batch{record: &journal.Record{Event: journal.Event{Kind: kind}}}
		if change != nil {
			change(b)
		}
		return []*batch{b}
	}
	read := batchOf(journal.Completed, nil)
	for name, test := range map[string]struct {
		unstored []*batch
		change   func(*run)
		want     bool
	}{
		"the result of a read":            {read, nil, false},
		"the failure of a read":           {batchOf(journal.Failed, nil), nil, false},
		"a read that is pending":          {batchOf(journal.Pending, nil), nil, false},
		"a timer":                         {batchOf(journal.TimerFired, nil), nil, false},
		"the result of an effect":         {batchOf(journal.Completed, func(b *batch) { b.effect = true }), nil, true},
		"the failure of an effect":        {batchOf(journal.Failed, func(b *batch) { b.effect = true }), nil, true},
		"an intent":                       {batchOf(journal.Completed, func(b *batch) { b.effects = make([]journal.Command, 1) }), nil, true},
		"a status of the run":             {batchOf(journal.Completed, func(b *batch) { b.row = &runs.Run{} }), nil, true},
		"what a person decided":           {batchOf(journal.Signaled, nil), nil, true},
		"a cancel":                        {batchOf(journal.CancelRun, nil), nil, true},
		"a read, and somebody looks":      {read, func(r *run) { r.inspectors = make([]func(*run), 1) }, true},
		"a read, and the run stops":       {read, func(r *run) { r.stopping = true }, true},
		"a read that has waited":          {read, func(r *run) { r.flushNow = true }, true},
		"a read, and nothing is open":     {read, func(r *run) { r.Run = drive.New(nil) }, true},
		"as many reads as make one group": {slicesOf(read[0], 64), nil, true},
		"nearly as many":                  {slicesOf(read[0], 63), nil, false},
	} {
		r := &run{Run: drive.New(nil), unstored: test.unstored}
		r.Do([]journal.Command{{Kind: journal.CommandCall, Path: "other", Call: &journal.Call{}}}, func(*drive.Operation) {})
		if test.change != nil {
			test.change(r)
		}
		if got := r.due(); got != test.want {
			t.Errorf("%s: stored at once: %v", name, got)
		}
	}
}

func slicesOf(b *batch, n int) (all []*batch) {
	for range n {
		all = append(all, b)
	}
	return all
}
