package simulation

import (
	"slices"
	"strings"
	"time"

	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
)

// watch holds the promises that are looked at after every event.
type watch struct {
	sim     *sim
	nodes   map[string]*node
	signals []string
	views   map[string]runs.Step

	intents  map[string]int // attempts of calls with an effect whose command is durable, by path
	children map[string]string
	inputs   map[string]string // of calls with an effect: the same for one key
	license  map[string]bool   // once calls that may be sent (again)
	crashes  map[string]int    // of the engine while a call was in flight, by path
	timers   map[string]time.Time
	finishes []journal.Finish
	over     bool      // the run has its status
	canceled time.Time // when the run was canceled; zero = it is not
	timedOut bool
	moved    bool
	resumed  map[string]bool // steps that a resume lets change once more
	late     []journal.Event // that were answered once
	handlers []string        // that began, since the last finish
}

func newWatch(s *sim) *watch {
	w := &watch{
		sim: s, nodes: map[string]*node{}, views: map[string]runs.Step{}, intents: map[string]int{}, children: map[string]string{},
		inputs: map[string]string{}, license: map[string]bool{}, timers: map[string]time.Time{}, crashes: map[string]int{}, resumed: map[string]bool{}, signals: []string{"nobody"},
	}
	s.c.flow.each(func(n *node) {
		w.nodes[n.id] = n
		if n.kind == nodeWait {
			w.signals = append(w.signals, strings.ReplaceAll(n.signal, "${{ index }}", "0"))
		}
	})
	return w
}

// applied looks at an event, its commands and the steps that it changed.
func (w *watch) applied(record *journal.Record, changes []runs.Step) {
	ev := record.Event
	w.ended(ev, changes)
	switch ev.Kind {
	case journal.Completed, journal.Pending, journal.Failed, journal.Reconciled:
		delete(w.crashes, ev.Path)
	}
	if ev.Kind == journal.Resumed && (!w.over || w.last().Status != runs.RunSucceeded) {
		w.over, w.canceled = false, time.Time{}
		for path, view := range w.views {
			w.resumed[path] = view.Status != runs.StepSucceeded
		}
	}
	for i := range record.Commands {
		w.command(ev, &record.Commands[i])
	}
	switch ev.Kind {
	case journal.CancelRun:
		for i := range record.Commands {
			if timer := record.Commands[i].Timer; timer != nil && timer.Reason == "grace" {
				w.canceled = w.sim.clock // after a crash: from then on
			}
		}
	case journal.Resumed:
		clear(w.crashes)
		w.canceled, w.timedOut, w.moved = time.Time{}, false, false
		if len(record.Commands) > 0 || len(changes) > 0 {
			clear(w.license) // a person's word: what failed may be tried again
			for path := range w.intents {
				w.license[path] = w.views[pathOfStep(path)].Status != runs.StepUnknown
			}
		}
	case journal.Stopped:
		for path := range w.license {
			n := w.nodes[template(pathOfStep(path))]
			w.license[path] = w.license[path] || slices.Contains(ev.Unsent, path) || n != nil && n.unknown == "retry"
		}
	case journal.Driven:
		w.driven(ev)
	case journal.Reconciled:
		path := strings.TrimSuffix(ev.Path, "#reconcile")
		w.license[path] = ev.Outcome.Applied == runs.NotApplied || w.nodes[template(path)].unknown == "retry" && ev.Outcome.Applied != runs.AppliedPartly
	case journal.Resolved:
		w.license[ev.Path] = ev.Resolution.Outcome == "did_not"
	case journal.Moved:
		w.moved = true
	case journal.TimerFired:
		w.timedOut = w.timedOut || strings.HasPrefix(ev.Path, "!run")
	case journal.Failed:
		w.failedOnce(ev)
	case journal.Pending:
		w.license[ev.Path] = true
	case journal.Completed:
		n := w.nodes[template(pathOfStep(ev.Path))]
		w.license[ev.Path] = n != nil && n.unknown == "retry" // where the answer could not be read
	}
}

// driven counts the crashes of calls: after the fifth the step is parked.
func (w *watch) driven(ev journal.Event) {
	for _, path := range ev.Interrupted {
		w.crashes[path]++
		n := w.nodes[template(pathOfStep(path))]
		if n != nil && n.effect() == "once" && !strings.HasSuffix(path, "#reconcile") {
			w.license[path] = n.unknown == "retry"
		}
	}
}

func pathOfStep(operation string) string {
	step, _, _ := strings.Cut(operation, "#")
	return step
}

// ended: an ended step changes by a person's word alone.
func (w *watch) ended(ev journal.Event, changes []runs.Step) {
	for _, view := range changes {
		before, seen := w.views[view.Path]
		w.views[view.Path] = view
		if !seen || !before.Status.Ended() || before.Wait != "" {
			continue
		}
		byWord := ev.Kind == journal.Resumed || ev.Kind == journal.Resolved || ev.Kind == journal.Driven
		if byWord || w.resumed[view.Path] {
			w.resumed[view.Path] = false // an item shows it when its turn comes
			continue
		}
		if before.Status != view.Status || string(before.Outputs) != string(view.Outputs) {
			violated("step %s had ended as %s and is %s by %s %s", view.Path, before.Status, view.Status, ev.Kind, ev.Path)
		}
	}
}

func (w *watch) command(ev journal.Event, command *journal.Command) {
	switch command.Kind {
	case journal.CommandTimer:
		if !command.Timer.At.After(ev.At.Add(-time.Second)) {
			violated("timer %s is due before it was set: %s at %s", command.Path, command.Timer.At, ev.At)
		}
	case journal.CommandFinish:
		w.finish(ev, command.Finish)
	case journal.CommandCall:
		w.begins(command.Call.Step)
		w.key(command)
	case journal.CommandChild:
		w.begins(command.Child.Step)
		if id, known := w.children[command.Path]; known && id != command.Child.RunID {
			violated("the sub-workflow of %s is run %s, was %s", command.Path, command.Child.RunID, id)
		}
		w.children[command.Path] = command.Child.RunID
	}
}

// key: whatever has the same idempotency key asks for the same.
func (w *watch) key(command *journal.Command) {
	if !command.Call.Effect.Writes() {
		return
	}
	input := string(command.Call.Input)
	if before, known := w.inputs[command.Path]; known && before != input {
		violated("%s asks for %s with the key that it asked for %s with", command.Path, input, before)
	}
	w.inputs[command.Path] = input
}

// begins notes which handler a step belongs to.
func (w *watch) begins(step string) {
	name, _, found := strings.Cut(step, ":")
	if !found || !isHandler(step) {
		if w.over {
			violated("step %s began after the run had ended", step)
		}
		return
	}
	if !w.over {
		violated("handler step %s began before the run had ended", step)
	}
	name, _, _ = strings.Cut(name, "@")
	if n := len(w.handlers); n == 0 || w.handlers[n-1] != name {
		w.handlers = append(w.handlers, name)
	}
	w.checkHandlers()
}

func (w *watch) last() *journal.Finish { return &w.finishes[len(w.finishes)-1] }

// checkHandlers is rule 25: which handlers follow which status, and in which
// order.
func (w *watch) checkHandlers() {
	allowed := [][]string{{"finally"}, {}}
	switch w.last().Status {
	case runs.RunSucceeded:
		allowed = [][]string{{"on_success", "finally"}, {"on_success"}, {"finally"}}
	case runs.RunFailed, runs.RunTimedOut:
		allowed = [][]string{{"on_failure", "finally"}, {"on_failure"}, {"finally"}}
	}
	if !slices.ContainsFunc(allowed, func(names []string) bool { return slices.Equal(names, w.handlers) }) {
		violated("after a run that %s the handlers %v ran", w.last().Status, w.handlers)
	}
}

func (w *watch) finish(ev journal.Event, f *journal.Finish) {
	w.finishes, w.handlers = append(w.finishes, *f), nil
	if w.over {
		violated("the run ended twice: %s", f.Status)
	}
	w.over = f.Status.Ended()
	if f.Status != runs.RunSucceeded && len(f.State)+len(f.Cursors)+len(f.Outputs) > 0 {
		violated("a run that %s writes state, cursors or outputs", f.Status)
	}
	if f.Status == runs.RunCanceled && w.canceled.IsZero() && ev.Kind != journal.CancelRun {
		violated("the run is canceled, and nobody canceled it")
	}
	if !w.canceled.IsZero() && f.Status.Ended() {
		if took := w.sim.clock.Sub(w.canceled); took > 15*time.Second && w.sim.jumped == 0 {
			violated("the cancel took %s", took)
		}
	}
}

// failedOnce is rule 11: after which failures a once call may be sent again.
func (w *watch) failedOnce(ev journal.Event) {
	n := w.nodes[template(pathOfStep(ev.Path))]
	if n == nil || n.effect() != "once" {
		return
	}
	f := ev.Failed
	explicit := n.retry != nil && (f.Kind == plan.KindRateLimited || f.Kind == plan.KindUnavailable && f.HTTPStatus == 503)
	refused := slices.Contains([]plan.ErrorKind{
		plan.KindInvalid, plan.KindUnauthorized, plan.KindAuthRequired, plan.KindForbidden, plan.KindNotFound,
	}, f.Kind)
	applied := f.Applied == runs.AppliedFully || f.Applied == runs.AppliedPartly
	w.license[ev.Path] = !applied && (explicit || f.Kind != plan.KindRateLimited && (f.Applied == runs.NotApplied || refused || n.unknown == "retry"))
	if n.unknown == "retry" && f.Kind != plan.KindRateLimited && !applied && !refused {
		w.license[ev.Path] = true
	}
}

// sends looks at a call or a child's start that leaves the engine.
func (w *watch) sends(command journal.Command) {
	if w.crashes[command.Path] >= 5 {
		violated("%s is sent again after %d crashes", command.Path, w.crashes[command.Path])
	}
	if command.Kind == journal.CommandChild {
		if w.sim.watch.childIntent(command) {
			return
		}
		violated("the start of %s left before its record was durable", command.Path)
	}
	if !command.Call.Effect.Writes() {
		return
	}
	if attempt, durable := w.intents[command.Path]; !durable || attempt != command.Call.Attempt {
		violated("%s attempt %d left before its record was durable", command.Path, command.Call.Attempt)
	}
	if command.Call.Effect != plan.EffectOnce {
		return
	}
	if may, known := w.license[command.Path]; known && !may {
		violated("the once call %s is sent again without a decision", command.Path)
	}
	w.license[command.Path] = false
}

func (w *watch) childIntent(command journal.Command) bool {
	_, durable := w.intents[command.Path]
	return durable
}

// durable notes the intents of a record.
func (w *watch) durable(data []byte) {
	if !strings.Contains(string(data), `"kind":"call"`) && !strings.Contains(string(data), `"kind":"child"`) {
		return
	}
	for _, command := range decode(data).Commands {
		switch {
		case command.Kind == journal.CommandChild:
			w.intents[command.Path] = 1
		case command.Kind == journal.CommandCall && command.Call.Effect.Writes():
			w.intents[command.Path] = command.Call.Attempt
		}
	}
}

// answered keeps some answers, to send them again when nobody waits for them.
func (w *watch) answered(ev journal.Event) {
	if len(w.late) < 8 {
		w.late = append(w.late, ev)
	}
}

// fires: a timer fires once, at or after its time.
func (w *watch) fires(command journal.Command, at time.Time) {
	if at.Before(command.Timer.At) {
		violated("timer %s fires at %s, before it is due at %s", command.Path, at, command.Timer.At)
	}
	if before, fired := w.timers[command.Path]; fired && before.Equal(command.Timer.At) {
		violated("timer %s fires again", command.Path)
	}
	w.timers[command.Path] = command.Timer.At
}

// waiting are the steps that wait for a person.
func (w *watch) waiting() []string {
	var paths []string
	for path, view := range w.views {
		switch view.Wait {
		case "approval", "signal", "resolve":
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	return paths
}

// now looks at the run after an event.
func (w *watch) now() {
	s := w.sim
	status, _ := s.m.Status()
	if s.up && !s.stopped() && !s.goesOn() {
		violated("the run is %s and nothing goes on in it", status)
	}
	if s.r.one(6) {
		w.disturb()
	}
	if s.r.one(12) {
		if live, again := snapshot(s.m), snapshot(s.shadow); string(live) != string(again) {
			violated("a replay leads to another state:\n live   %s\n replay %s", live, again)
		}
	}
	if n := len(s.m.InFlight()); n > 200 {
		violated("%d operations are in flight", n)
	}
}

// goesOn reports whether something will happen in the run: a call, a timer, or a
// person whom it waits for.
func (s *sim) goesOn() bool {
	if len(s.open) > 0 || s.journal.durable < len(s.journal.records) {
		return true
	}
	for _, view := range s.watch.views {
		if view.Wait == "approval" || view.Wait == "signal" {
			return true
		}
	}
	return false
}

// crashed forgets what the crash lost: it is looked at anew from the journal.
func (w *watch) crashed(records int) { w.forget(records) }

func (w *watch) forget(records int) {
	s := w.sim
	late := w.late
	*w = *newWatch(s)
	w.late = late
	m := s.c.program.NewMachine()
	for _, data := range s.journal.records[:records] {
		record := decode(data)
		if _, err := m.Apply(record.Event); err != nil {
			violated("replay record %d: %v", record.Seq, err)
		}
		w.durable(data)
		w.applied(record, m.Changes())
		for i := range record.Commands {
			if call := record.Commands[i].Call; call != nil && call.Effect == plan.EffectOnce {
				w.license[record.Commands[i].Path] = false // it may have been sent
			}
		}
	}
}
