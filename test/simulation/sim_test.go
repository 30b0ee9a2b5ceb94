package simulation

import (
	"fmt"
	"strings"
	"time"

	"github.com/flowrun/flowrun/engine/drive"
	"github.com/flowrun/flowrun/engine/interp"
	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
)

// faults break the simulated driver on purpose: the negative controls.
type faults struct {
	effectsAtOnce bool // an effect is sent before its record is durable
	dropRecord    bool // a replay passes over a record
	repeatOnce    bool // a once call in flight at a crash is sent again
}

// sim drives one run by a schedule: which answer comes when, which crash, which
// word of a person. It is engine/local's driver in small: single-threaded, with a
// journal in memory and a clock that only it moves.
type sim struct {
	c      *compiled
	world  *world
	r      *rng
	faults faults
	limit  int // events

	m       *interp.Machine
	shadow  *interp.Machine // is given what the journal gives back, record by record
	journal memoryJournal
	batches []*batch // by record; nil where they were replayed
	watch   *watch

	clock   time.Time     // monotonic
	jumped  time.Duration // how far the wall clock is from it
	agenda  drive.Agenda[happening]
	life    int // the engine's incarnation: what an earlier one waits for never comes
	up      bool
	goingOn bool // an event follows at once: nobody lets go meanwhile
	open    map[string]*flight
	events  int
	era     int
	careful int             // answers to take until reads leave before their records are durable
	dropped map[string]bool // calls that were canceled before they were sent

	crashes, jumps int // that are still to come
	lostCalls      int // crashes so far
	speed          time.Duration
	flushing       bool
	service        *services
	people         *people
	trace          *strings.Builder
}

// batch is one applied event with what follows from it.
type batch struct {
	effects []journal.Command
	urgent  bool
}

// flight is a call, a timer or a child that the driver waits for.
type flight struct {
	command  journal.Command
	canceled bool
	deaf     bool // a cancel does not end it
	reached  bool // the service has got it
	life     int
}

type happening struct {
	life int // 0 = whatever becomes of the engine
	do   func()
}

const runID = "01jzs1mu1ated000000000000a"

func begin() time.Time { return time.Date(2026, time.March, 2, 9, 30, 0, 0, time.UTC) }

func newSim(c *compiled, w *world, schedule uint64, verbose bool) *sim {
	s := &sim{
		c: c, world: w, r: newRNG(w.seed, fmt.Sprintf("schedule %d", schedule)), limit: 4000,
		clock: begin(), life: 1, up: true, open: map[string]*flight{}, dropped: map[string]bool{},
	}
	if verbose {
		s.trace = &strings.Builder{}
	}
	s.speed = pick(s.r, 0, time.Millisecond, 100*time.Millisecond, 2*time.Second)
	s.service = &services{sim: s, sent: map[string]int{}, log: map[string]*sendings{}}
	s.people = &people{sim: s, asked: map[string]bool{}}
	s.watch = newWatch(s)
	s.m, s.shadow = c.program.NewMachine(), c.program.NewMachine()
	return s
}

func (s *sim) wall() time.Time { return s.clock.Add(s.jumped) }

func (s *sim) note(format string, args ...any) {
	if s.trace == nil {
		return
	}
	fmt.Fprintf(s.trace, "%s %s\n", s.wall().Format("Jan 2 15:04:05.000"), fmt.Sprintf(format, args...))
}

// in puts something on the agenda of this incarnation of the engine.
func (s *sim) in(d time.Duration, do func()) { s.schedule(d, s.life, do) }

// outside puts something on the agenda that a crash does not stop.
func (s *sim) outside(d time.Duration, do func()) { s.schedule(d, 0, do) }

func (s *sim) schedule(d time.Duration, life int, do func()) {
	s.agenda.Put(s.clock.Add(max(0, d)), s.r.IntN(1<<30), happening{life, do})
}

// delay draws how long something takes.
func (s *sim) delay() time.Duration {
	if s.speed == 0 || s.r.one(4) {
		return 0
	}
	return time.Duration(s.r.Int64N(int64(s.speed)))
}

// run drives the run to its end, or to where nobody goes on with it.
func (s *sim) run() {
	start := &journal.Start{
		RunID: runID, Inputs: fmt.Appendf(nil, `{"n":%d}`, s.c.flow.n), Trigger: "manual", ScheduledAt: begin(), Interpreter: interp.Version,
	}
	if s.c.flow.state {
		start.State, start.StateVersions = stored(), map[string]uint64{"total": 4}
	}
	s.take(journal.Event{Kind: journal.Started, Start: start}, nil)
	s.commitAll() // CreateRun returns after the commit
	for {
		at, next, more := s.agenda.Next()
		if !more {
			break
		}
		if next.life != 0 && next.life != s.life {
			continue
		}
		if at.After(s.clock) {
			s.clock = at
		}
		next.do()
		s.misfortune()
		if s.events > s.limit {
			violated("the run did not end within %d events", s.limit)
		}
	}
	s.watch.finished()
}

// misfortune crashes the engine and moves the clock, now and then.
func (s *sim) misfortune() {
	if s.jumps > 0 && s.r.one(15) {
		s.jumps--
		s.jump(pick(s.r, time.Hour, -time.Hour, 400*24*time.Hour, -400*24*time.Hour, 90*time.Second))
	}
	if s.crashes > 0 && s.r.one(12) {
		s.crashes--
		s.crash()
	}
}

func (s *sim) jump(by time.Duration) {
	s.note("the clock jumps by %s", by)
	s.jumped += by
	for _, f := range s.open {
		if f.command.Kind == journal.CommandTimer {
			s.arm(f) // the wall clock is asked again now and then
		}
	}
}

// stopped reports whether a driver would let the run go.
func (s *sim) stopped() bool {
	status, _ := s.m.Status()
	return s.m.Done() || status == runs.RunPaused
}

// take applies an event, and dispatches what needs no durable intent.
func (s *sim) take(ev journal.Event, answered *flight) {
	if ev.At.IsZero() {
		ev.At = s.wall()
	}
	s.events++
	if answered != nil && answered.command.Call != nil && s.careful > 0 {
		s.careful--
	}
	record, writes := s.apply(ev)
	if writes {
		if s.c.flow.calm || !s.people.moves() {
			s.commitAll()
			s.dispatch(record.Commands)
			s.afterwards()
			return
		}
		s.moved(ev, answered)
		return
	}
	b := s.batches[len(s.batches)-1]
	for _, command := range record.Commands {
		switch {
		case s.waitsForIntent(command) && !s.faults.effectsAtOnce:
			b.effects = append(b.effects, command)
		default:
			s.dispatch([]journal.Command{command})
		}
	}
	b.urgent = b.urgent || len(b.effects) > 0 || answered != nil && answered.command.Call != nil && answered.command.Call.Effect.Writes() ||
		ev.Kind != journal.Completed && ev.Kind != journal.Pending && ev.Kind != journal.Failed && ev.Kind != journal.TimerFired
	s.store()
	s.afterwards()
}

// waitsForIntent reports whether a command is sent after its record is durable.
// Reads are not, but in a run that was interrupted by a crash: then the journal
// shall know each call that the next crash interrupts.
func (s *sim) waitsForIntent(command journal.Command) bool {
	return command.Kind == journal.CommandChild || command.Kind == journal.CommandCall && (command.Call.Effect.Writes() || s.careful > 0)
}

// apply folds an event into the Machine as the journal will give it back, and
// tells the shadow.
func (s *sim) apply(ev journal.Event) (record *journal.Record, writes bool) {
	stored := recoded(ev)
	before, _ := s.m.Status()
	commands, err := s.m.Apply(stored)
	if err != nil {
		violated("apply %s %s: %v", ev.Kind, ev.Path, err)
	}
	record = &journal.Record{Seq: uint64(len(s.journal.records) + 1), Event: stored, Commands: commands}
	s.noteRecord(record)
	data := s.journal.append(record)
	changes := s.m.Changes()
	replay(s.shadow, data)
	again := s.shadow.Changes()
	if live, again := encoded(changes), encoded(again); len(changes) > 0 && string(live) != string(again) {
		violated("after record %d a replay shows other steps:\n live   %s\n replay %s", record.Seq, live, again)
	}
	b := &batch{}
	if after, _ := s.m.Status(); after != before {
		b.urgent = true
	}
	s.batches = append(s.batches, b)
	s.watch.applied(record, changes)
	for i := range commands {
		writes = writes || commands[i].Finish != nil && commands[i].Finish.Writes()
	}
	if ev.Kind == journal.Resumed {
		s.era++
	}
	return record, writes
}

// store hands what was applied to the journal: at once when something waits for
// it, else with what comes soon.
func (s *sim) store() {
	urgent := s.calls() == 0
	for _, b := range s.batches[s.journal.handed:] {
		urgent = urgent || b.urgent
	}
	if urgent || len(s.journal.records)-s.journal.handed >= 64 {
		s.hand()
		return
	}
	if !s.flushing {
		s.flushing = true
		s.in(10*time.Millisecond, func() {
			s.flushing = false
			s.hand()
		})
	}
}

func (s *sim) calls() int {
	n := 0
	for _, f := range s.open {
		if f.command.Kind == journal.CommandCall {
			n++
		}
	}
	return n
}

func (s *sim) hand() {
	if s.journal.handed == len(s.journal.records) {
		return
	}
	upTo := s.journal.hand()
	s.in(min(s.delay(), 200*time.Millisecond), func() { s.committed(upTo) })
}

// committed sends the effects whose intents have become durable.
func (s *sim) committed(upTo int) {
	from := s.journal.durable
	s.journal.commit(upTo)
	for i := from; i < s.journal.durable; i++ {
		s.watch.durable(s.journal.records[i])
	}
	for i := from; i < s.journal.durable; i++ {
		if b := s.batches[i]; b != nil && s.up {
			effects := b.effects
			b.effects = nil
			s.dispatch(effects)
		}
	}
	s.letGo()
}

// commitAll waits for the store, as at the start and at a success with writes.
func (s *sim) commitAll() {
	s.hand()
	s.committed(len(s.journal.records))
}

// letGo ends the worker of a run that is closed or paused, once all is durable.
func (s *sim) letGo() {
	if !s.up || s.goingOn || !s.stopped() || s.journal.durable < len(s.journal.records) {
		return
	}
	s.up = false
	s.life++
	s.open, s.flushing = map[string]*flight{}, false
	status, paused := s.m.Status()
	s.note("nobody drives the run: it is %s %s", status, paused)
	s.people.runStopped()
}

// afterwards looks at the run as it is after an event.
func (s *sim) afterwards() {
	s.watch.now()
	s.people.look()
	s.letGo()
}

// moved is what follows when the store refuses the writes of a success: the
// Machine goes back to where the journal ends, and is told why.
func (s *sim) moved(ev journal.Event, answered *flight) {
	s.note("the store refuses the writes")
	s.goingOn = true // the same worker takes what follows, whatever it goes back to
	last := len(s.journal.records) - 1
	s.journal.records, s.batches = s.journal.records[:last], s.batches[:last]
	s.rebuild()
	s.watch.forget(last)
	s.commitAll()
	s.take(journal.Event{Kind: journal.Moved, At: ev.At, Failed: &runs.Error{Kind: plan.KindConflict, Reason: "moved", Message: "moved"}}, nil)
	s.goingOn = false
	s.take(ev, answered)
}
