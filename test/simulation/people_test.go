package simulation

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/runs"
)

// people are those outside who act on a run. In a calm world they tell the truth,
// answer what waits for them, and resume what stopped. In another one they do
// anything at any time.
type people struct {
	sim   *sim
	asked map[string]bool // steps that somebody has seen
	busy  bool            // somebody will come to the stopped run
	moved bool
}

// look lets somebody see what waits for people.
func (p *people) look() {
	if p.sim.m.Done() {
		return
	}
	for _, path := range p.sim.watch.waiting() {
		if p.asked[path] {
			continue
		}
		p.asked[path] = true
		p.sim.outside(p.pause(), func() { p.comes(path) })
	}
}

func (p *people) pause() time.Duration {
	return p.sim.delay() + time.Duration(p.sim.r.Int64N(int64(20*time.Second)))
}

func (p *people) crashed() {
	clear(p.asked)
	p.busy = false
}

// comes is somebody who looks at one step.
func (p *people) comes(path string) {
	delete(p.asked, path)
	s := p.sim
	view, waits := s.watch.views[path]
	if !waits {
		return
	}
	await, awaited := s.m.Awaiting(path)
	switch {
	case view.Wait == "resolve" && s.m.Resolvable(path):
		p.resolve(path, view)
	case awaited && !await.Held:
		p.answer(path, view, await.Signal)
	}
}

// tell gives the run an event. While nobody drives it, it may only be recorded.
func (p *people) tell(ev journal.Event) {
	s := p.sim
	if s.up {
		s.take(ev, nil)
		return
	}
	if held, may := hold(ev); may && s.r.one(2) {
		s.note("while nobody drives the run:")
		held.At = s.wall()
		s.apply(held)
		s.commitAll()
		s.watch.now()
		s.outside(p.pause(), func() { s.load(nil) })
		return
	}
	s.load(&ev)
}

// hold makes the event one that takes effect when a process drives the run.
func hold(ev journal.Event) (held journal.Event, may bool) {
	switch ev.Kind {
	case journal.Signaled:
		signal := *ev.Signal
		signal.Held = true
		ev.Signal = &signal
	case journal.Resolved:
		resolution := *ev.Resolution
		resolution.Held = true
		ev.Resolution = &resolution
	default:
		return ev, false
	}
	return ev, true
}

func (p *people) resolve(path string, view runs.Step) {
	s := p.sim
	log := s.service.of(path, "once")
	word := &journal.Resolution{Outcome: "skip"}
	happened := log.here && s.world.happened(log.last)
	byCrash := view.Error != nil && strings.Contains(view.Error.Message, "the engine ")
	switch {
	case !s.c.flow.calm && s.r.one(3):
		word.Outcome = pick(s.r, "happened", "did_not", "skip")
	case happened:
		word.Outcome, word.Output = "happened", encoded(map[string]any{"value": s.world.good(log.last).value})
	case byCrash:
		word.Outcome = "did_not"
	}
	p.tell(journal.Event{Kind: journal.Resolved, Path: path, By: "person", Resolution: word})
}

func (p *people) answer(path string, view runs.Step, signal string) {
	s := p.sim
	word := s.world.word(s.watch.nodes[template(path)], path, s.era)
	if !s.c.flow.calm && s.r.one(5) {
		word.nobody, word.reject = s.r.one(2), s.r.one(2)
	}
	if word.nobody {
		return
	}
	ev := journal.Event{Kind: journal.Signaled, Path: path, By: "person", Signal: &journal.Signal{Name: signal, Rejected: word.reject}}
	switch {
	case signal == "" && !word.reject:
		ev.Signal.Payload = encoded(map[string]any{"label": word.v})
	case signal != "":
		ev.Signal.Rejected = false
		ev.Signal.Payload = encoded(map[string]any{"v": word.v})
		if s.r.one(2) {
			ev.Path = "" // by its name
			if s.watch.nodes[template(path)].match && s.r.one(2) {
				other := ev // one that does not match stays for others
				other.Signal = &journal.Signal{Name: signal, Payload: json.RawMessage(`{"v":8}`)}
				p.tell(other)
			}
		}
	}
	p.tell(ev)
}

// runStopped lets somebody see a run that is paused or has ended.
func (p *people) runStopped() {
	s := p.sim
	if p.busy {
		return
	}
	p.busy = true
	s.outside(p.pause(), func() {
		p.busy = false
		if !s.stopped() || s.up {
			return
		}
		p.atStandstill()
	})
}

func (p *people) atStandstill() {
	s := p.sim
	status, _ := s.m.Status()
	if status == runs.RunSucceeded {
		return
	}
	if s.m.Held() {
		s.load(nil)
		return
	}
	unknown := slices.DeleteFunc(s.watch.waiting(), func(path string) bool { return !s.m.Resolvable(path) })
	if len(unknown) > 0 && (s.c.flow.calm || s.r.one(2)) {
		p.comes(unknown[0])
		if !s.up {
			p.runStopped()
		}
		return
	}
	if s.c.flow.calm {
		if status == runs.RunPaused && s.c.flow.resumable && s.era < lastEra || status == runs.RunFailed && s.world.wantsResume(s.era) {
			s.load(&journal.Event{Kind: journal.Resumed, By: "person"})
		}
		return
	}
	if s.era < 4 && !s.r.one(3) {
		s.load(&journal.Event{Kind: journal.Resumed, By: "person", Discard: s.r.one(6)})
	} else if status == runs.RunPaused {
		s.load(&journal.Event{Kind: journal.CancelRun, Cancel: &journal.Cancel{}, By: "person"})
	}
}

// moves says whether another run changed what this one writes.
func (p *people) moves() bool {
	if p.moved || !p.sim.r.one(4) {
		return false
	}
	p.moved = true
	return true
}

// wild lets people do what nobody asked them for.
func (p *people) wild() {
	s := p.sim
	for range s.r.IntN(4) {
		s.outside(time.Duration(s.r.ExpFloat64()*float64(pick(s.r, time.Second, time.Minute, time.Hour))), p.act)
	}
}

func (p *people) act() {
	s := p.sim
	switch s.r.IntN(5) {
	case 0:
		if s.stopped() {
			return
		}
		s.load(&journal.Event{Kind: journal.CancelRun, Cancel: &journal.Cancel{}, By: "person"})
	case 1:
		status, _ := s.m.Status()
		if s.m.Done() || status == runs.RunRunning || status == runs.RunWaiting || s.era > 4 || status == runs.RunSucceeded {
			return
		}
		s.load(&journal.Event{Kind: journal.Resumed, By: "person"})
	case 2, 3:
		if s.m.Done() {
			return
		}
		id := pick(s.r, s.watch.signals...)
		ev := journal.Event{Kind: journal.Signaled, By: "person", Signal: &journal.Signal{Name: id, Payload: encoded(map[string]any{"v": pick(s.r, 7, 7, 3)})}}
		p.tell(ev)
	case 4:
		s.close()
	}
}

// template is a step's path without the keys of loops' items, the handler and its
// number: the id.
func template(path string) string {
	if i := strings.LastIndexAny(path, ".:"); i >= 0 {
		path = path[i+1:]
	}
	return path
}
