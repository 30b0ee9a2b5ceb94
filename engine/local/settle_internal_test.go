package local

import (
	"testing"

	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/runs"
)

// TestP9AnOldTimerEndsNoOther: a timer that was stopped may have put its word into
// the mailbox before. It ends neither what waits under the same name now, nor
// anything when nothing does.
func TestP9AnOldTimerEndsNoOther(t *testing.T) {
	command := func() journal.Command {
		return journal.Command{Kind: journal.CommandTimer, Path: "a!retry", Timer: &journal.Timer{}}
	}
	old, now := command(), command()
	fired := &journal.Event{Kind: journal.TimerFired, Path: "a!retry"}
	r := &run{timers: map[string]*timer{"a!retry": {command: now}}}
	if r.settle(old, fired) || r.timers["a!retry"] == nil {
		t.Error("the word of an older timer ends the one that runs")
	}
	if !r.settle(now, fired) || len(r.timers) != 0 {
		t.Error("its own word does not end it")
	}
	if r.settle(now, fired) {
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
		"a read, and nothing is open":     {read, func(r *run) { r.calls = nil }, true},
		"as many reads as make one group": {slicesOf(read[0], 64), nil, true},
		"nearly as many":                  {slicesOf(read[0], 63), nil, false},
	} {
		r := &run{calls: map[string]*call{"other": {}}, unstored: test.unstored}
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
