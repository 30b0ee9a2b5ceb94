package simulation

import (
	"slices"

	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
)

// crash ends the engine without a word. It comes up again later.
func (s *sim) crash() {
	if !s.up {
		return
	}
	whole := snapshot(s.m)
	lost := s.journal.crash(s.r)
	s.lostCalls++
	s.note("CRASH: %d records are lost", lost)
	s.batches = s.batches[:len(s.journal.records)]
	s.watch.crashed(len(s.journal.records))
	s.up, s.flushing = false, false
	s.life++
	s.open, s.dropped, s.careful = map[string]*flight{}, map[string]bool{}, 0
	s.people.crashed()
	s.rebuild()
	if lost == 0 && string(whole) != string(snapshot(s.m)) {
		violated("the replayed run differs:\n before %s\n after  %s", whole, snapshot(s.m))
	}
	if s.stopped() {
		s.people.runStopped()
		return
	}
	s.outside(s.delay()+s.delay(), func() { s.load(nil) })
}

// rebuild makes the Machine anew from the durable journal.
func (s *sim) rebuild() {
	s.m, s.shadow, s.era = s.c.program.NewMachine(), s.c.program.NewMachine(), 0
	for i, data := range s.journal.records {
		if s.faults.dropRecord && i > 0 && i == len(s.journal.records)/2 {
			continue
		}
		record := replay(s.m, data)
		replay(s.shadow, data)
		if record.Event.Kind == journal.Resumed {
			s.era++
		}
	}
	s.m.Changes()
	s.shadow.Changes()
}

// load drives the stored run again, as engine/local does.
func (s *sim) load(ev *journal.Event) {
	if s.up {
		if ev != nil {
			s.take(*ev, nil)
		}
		return
	}
	s.rebuild()
	s.up = true
	s.note("the engine goes on")
	if ev != nil && ev.Kind == journal.CancelRun {
		s.recoverCanceled(*ev)
		return
	}
	s.sendAgain()
	if s.m.Held() && (ev == nil || ev.Kind != journal.Resumed) {
		s.take(journal.Event{Kind: journal.Driven}, nil)
	}
	if ev != nil {
		s.take(*ev, nil)
	}
	s.hand()
	s.people.look()
	s.letGo()
}

// sendAgain sends what was in flight, once it is durable that a process drives the
// run again.
func (s *sim) sendAgain() {
	before := s.m.InFlight()
	var driven *batch
	if slices.ContainsFunc(before, isCall) {
		ev := journal.Event{Kind: journal.Driven, At: s.wall(), Interrupted: s.m.Interrupted()}
		if len(ev.Interrupted) > 0 {
			s.careful = 128
		}
		for _, path := range ev.Interrupted {
			s.service.of(path, "").lost++
		}
		record, _ := s.apply(ev)
		driven = s.batches[len(s.batches)-1]
		driven.urgent = true
		for _, command := range record.Commands {
			if s.waitsForIntent(command) {
				driven.effects = append(driven.effects, command)
			} else {
				defer s.dispatch([]journal.Command{command})
			}
		}
	}
	open := map[string]*journal.Call{}
	for _, command := range s.m.InFlight() {
		open[command.Path] = command.Call
	}
	for _, command := range before {
		call, still := open[command.Path]
		repeat := s.faults.repeatOnce && isCall(command) && command.Call.Effect == plan.EffectOnce
		switch {
		case !repeat && (!still || call != command.Call):
		case isCall(command):
			driven.effects = append(driven.effects, command)
		default:
			s.dispatch([]journal.Command{command})
			if command.Kind == journal.CommandChild && s.m.Ending() {
				s.cancel(command.Path)
			}
		}
	}
	s.hand()
}

func isCall(command journal.Command) bool { return command.Kind == journal.CommandCall }

// close ends the engine in good order, and starts it again.
func (s *sim) close() {
	if !s.up || s.stopped() {
		return
	}
	s.note("the engine is closed and started again")
	ev := journal.Event{Kind: journal.Stopped, At: s.wall()}
	for _, command := range s.m.InFlight() {
		if f := s.open[command.Path]; isCall(command) && (f == nil || !f.reached) {
			ev.Unsent = append(ev.Unsent, command.Path)
		}
	}
	s.up = false // what becomes durable now is not sent
	s.apply(ev)
	s.commitAll()
	s.up = true
	s.crash()
}

// recoverCanceled ends a run that is canceled before it goes on.
func (s *sim) recoverCanceled(ev journal.Event) {
	inFlight, unsent := s.m.InFlight(), s.m.NeverSent()
	for _, command := range inFlight {
		if command.Kind == journal.CommandCall {
			s.fly(command)
			continue
		}
		s.dispatch([]journal.Command{command})
	}
	s.take(ev, nil)
	for _, command := range inFlight {
		if f := s.open[command.Path]; command.Kind == journal.CommandCall && f != nil && s.land(f) {
			s.service.lost(command)
			lost := &runs.Error{Kind: plan.KindCanceled, Applied: runs.AppliedUnknown, Message: "the engine stopped"}
			if slices.Contains(unsent, command.Path) {
				lost.Applied = runs.NotApplied
			}
			s.take(failed(command.Path, lost), f)
		}
	}
	s.hand()
	s.letGo()
}
