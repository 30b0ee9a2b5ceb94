package simulation

import (
	"encoding/json"

	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
)

// disturb sends what nobody waits for: late answers, events twice, words on steps
// that ask for none. Nothing follows from it.
func (w *watch) disturb() {
	s := w.sim
	events := []journal.Event{
		{Kind: journal.TimerFired, Path: "nobody!retry2"},
		{Kind: journal.Completed, Path: "nobody", Completed: &runs.Completed{Output: json.RawMessage("1")}},
		{Kind: journal.Resolved, Path: "nobody", Resolution: &journal.Resolution{Outcome: "skip"}},
		{Kind: journal.Signaled, Path: "nobody", Signal: &journal.Signal{Rejected: true}},
		{Kind: journal.ChildEnded, Path: "nobody", Child: &journal.Child{RunID: "x"}},
		{Kind: journal.Started, Start: &journal.Start{RunID: runID}},
		{Kind: journal.Queued, Start: &journal.Start{RunID: runID}},
		{Kind: journal.Refused, Failed: &runs.Error{Kind: plan.KindConflict}},
	}
	status, _ := s.m.Status()
	if status == runs.RunSucceeded {
		events = append(events, journal.Event{Kind: journal.Resumed}, journal.Event{Kind: journal.CancelRun, Cancel: &journal.Cancel{}})
	}
	if s.m.Unstarted() {
		return // what it takes then is another list
	}
	if !s.m.Held() && len(s.m.NeverSent()) == 0 { // else the word that somebody drives the run is news
		events = append(events, journal.Event{Kind: journal.Driven})
	}
	events = append(events, w.late...)
	ev := pick(s.r, events...)
	for _, command := range s.m.InFlight() {
		if command.Path == ev.Path && ev.Path != "" {
			return
		}
	}
	if f := s.open[ev.Path]; ev.Path != "" && (f != nil || s.m.Ending()) {
		return // it may be waited for: canceled calls are not in flight any more
	}
	ev.At = s.wall()
	before := snapshot(s.m)
	commands, err := s.m.Apply(ev)
	if after := snapshot(s.m); err != nil || len(commands) > 0 || string(before) != string(after) {
		violated("a late %s for %q changed the run: commands %s, error %v\n before %s\n after  %s", ev.Kind, ev.Path, encoded(commands), err, before, after)
	}
}
