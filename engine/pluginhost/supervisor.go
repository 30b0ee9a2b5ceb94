package pluginhost

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/pluginlog"
)

// State is what a plugin's process is doing.
type State string

// The states of a plugin.
const (
	Stopped  State = "stopped"  // no process; the next call starts one
	Starting State = "starting" // until the first RPC can be sent
	Ready    State = "ready"
	Crashed  State = "crashed" // no process; the next call starts one, unless Until lies ahead
	Backoff  State = "backoff" // no process, and none is started before Until
)

// The rules of the supervisor: the first crash restarts at once, then the wait
// doubles; crashLimit crashes within crashWindow open the circuit.
const (
	crashWindow  = 10 * time.Minute
	crashLimit   = 5
	firstBackoff = time.Second
	maxBackoff   = 2 * time.Minute
)

// Status tells of one plugin for lists.
type Status struct {
	State    State
	PID      int       // 0 when no process runs
	InFlight int       // calls
	Crashes  int       // within the last ten minutes
	Until    time.Time // of backoff, and of an open circuit
	Last     string    // how the last crash ended; "" = none

	Starts, AllCrashes uint64 // since the host began
}

// unit supervises the process of one revision of a plugin. All calls of it share the
// process; it starts at the first need.
type unit struct {
	host   *Host
	plugin *plugin // whose revision it is
	source Source
	exe    executable // of the revision: what runs has its digest

	describing sync.Mutex   // one describe at a time
	base       *Description // without settings; nil = it was not asked for. Guarded by describing

	mu       sync.Mutex
	contract *contract         // nil = it was not described yet
	dropped  bool              // nobody needs it any more
	process  *process          // takes new calls; nil = none
	old      map[*process]bool // retired, with calls in flight
	starting chan struct{}     // closed when the running start ends; nil = none runs
	startErr *PluginError      // of the start that ended last
	early    bool              // nobody has waited for that start yet (prestart)
	crashes  []time.Time       // within the window, oldest first
	streak   int               // crashes without ten quiet minutes in between
	until    time.Time         // end of the backoff
	last     string
	idle     *time.Timer

	starts, allCrashes uint64
}

// acquire returns the plugin's process, started if need be, and counts one call
// in flight until release. Callers share one start. It fails with *PluginError,
// or with the context's error.
func (u *unit) acquire(ctx context.Context, runID string) (*process, error) {
	for {
		u.mu.Lock()
		if u.dropped {
			u.mu.Unlock()
			return nil, u.plugin.executableError(&goneRevision{digest: u.exe.revision()})
		}
		if p := u.process; p != nil && !p.ended() {
			u.take(p, runID)
			u.mu.Unlock()
			return p, nil
		} else if p != nil {
			u.mu.Unlock()
			// Its crash is being counted at this moment.
			select {
			case <-p.gone:
				continue
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
		if failure := u.earlyFailure(); failure != nil {
			u.mu.Unlock()
			return nil, failure
		}
		wait, failure := u.mayStart()
		if failure != nil {
			u.mu.Unlock()
			return nil, failure
		}
		if wait > 0 {
			failure := u.backoffError()
			u.mu.Unlock()
			if err := pause(ctx, wait, failure); err != nil {
				return nil, err
			}
			continue
		}
		if u.starting == nil {
			if u.begin(); u.starting == nil {
				u.mu.Unlock()
				return nil, u.closedError()
			}
		}
		started := u.starting
		u.mu.Unlock()
		select {
		case <-started:
			if err := u.outcome(); err != nil {
				return nil, err
			}
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// earlyFailure returns, once, the error of a start that nobody has waited for. u.mu is held.
func (u *unit) earlyFailure() *PluginError {
	if !u.early || u.starting != nil {
		return nil
	}
	u.early = false
	return u.startErr
}

// outcome returns the error of the start that has just ended.
func (u *unit) outcome() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.early = false
	if u.process == nil && u.startErr != nil {
		return u.startErr
	}
	return nil
}

// mayStart says how long to wait before a start, or why there is none. u.mu is held.
func (u *unit) mayStart() (time.Duration, *PluginError) {
	if u.host.isClosed() {
		return 0, u.closedError()
	}
	now := u.host.options.Now()
	u.forget(now)
	if len(u.crashes) >= crashLimit {
		until := u.crashes[len(u.crashes)-crashLimit].Add(crashWindow)
		return 0, &PluginError{
			Plugin: u.source.Name, Reason: ReasonCircuitOpen, Until: until,
			Message: fmt.Sprintf("it crashed %d times in %s and is not started again before %s; the last time: %s",
				len(u.crashes), "10 minutes", until.UTC().Format(time.RFC3339), u.last),
		}
	}
	if u.starting != nil {
		return 0, nil
	}
	return u.until.Sub(now), nil
}

func (u *unit) backoffError() *PluginError {
	return &PluginError{
		Plugin: u.source.Name, Reason: ReasonBackoff, Until: u.until,
		Message: fmt.Sprintf("it crashed and is started again at %s; the last time: %s", u.until.UTC().Format(time.RFC3339), u.last),
	}
}

func (u *unit) closedError() *PluginError {
	return &PluginError{Plugin: u.source.Name, Reason: ReasonClosed, Message: errClosed.Error()}
}

// pause waits, unless ctx would end before: then it fails at once.
func pause(ctx context.Context, wait time.Duration, failure *PluginError) error {
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < wait {
		return failure
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// start launches the process for all that wait. It does not end with a caller.
func (u *unit) start() {
	var p *process
	var failure *PluginError
	if u.host.options.Sandbox != SandboxOff {
		u.host.begin(func() { u.host.Confinement() }) // what the kernel holds is learned beside what follows
	}
	if u.isAttached() {
		p, failure = u.attach()
	} else if c, err := u.open(); err != nil {
		failure = err
	} else if p, failure = u.launch(u.exe, c); failure != nil {
		if u.host.isClosed() {
			failure = u.closedError()
		} else {
			u.crashed(failure.Message)
		}
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.startErr = failure
	if p != nil {
		u.starts++
		if !p.dead { // it may have died meanwhile
			u.process = p
			u.startIdle(p)
		}
	}
	close(u.starting)
	u.starting = nil
}

// open opens the revision's file and holds it against its digest.
func (u *unit) open() (*code, *PluginError) {
	if failure := u.host.lacksSandbox(u.source.Name); failure != nil {
		return nil, failure
	}
	c, err := u.host.library.open(u.source, u.exe)
	if err != nil {
		return nil, u.plugin.executableError(err)
	}
	return c, nil
}

func (p *plugin) executableError(err error) *PluginError {
	failure := &PluginError{Plugin: p.source.Name, Reason: ReasonExecutable, Message: err.Error(), Hint: diag.Say("look at `plugins` in flowrun.yaml")}
	if _, ok := errors.AsType[*goneRevision](err); ok {
		failure.Reason, failure.Hint = ReasonGone, diag.Sayf("put the file back as it was, or let the run go on by the plugin in force: %s", diag.Command{"runs", "resume", "RUN", "--with-latest"})
	}
	if _, ok := errors.AsType[*foreignCode](err); ok {
		failure.Hint = diag.Sayf("somebody writes into the folder of flowrun's private copies: see who may (%s), and start again", diag.Command{"doctor"})
	}
	if _, ok := errors.AsType[errUnattached](err); ok {
		failure.Reason, failure.Hint = ReasonGone, diag.Sayf("attach the plugin again with --attach, or let the run go on by the plugin in force: %s", diag.Command{"runs", "resume", "RUN", "--with-latest"})
	}
	if refused, ok := errors.AsType[*Refusal](err); ok {
		failure.Hint = refused.Hint
	}
	return failure
}

// take counts a call. u.mu is held.
func (u *unit) take(p *process, runID string) {
	p.inFlight++
	if runID != "" {
		p.runs[runID]++
	}
	if u.idle != nil {
		u.idle.Stop()
		u.idle = nil
	}
}

// release ends a call that acquire counted.
func (u *unit) release(p *process, runID string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if p.inFlight--; p.runs[runID] > 1 {
		p.runs[runID]--
	} else {
		delete(p.runs, runID)
	}
	if p.inFlight > 0 {
		return
	}
	if u.old[p] {
		u.end(p)
		return
	}
	if u.process == p {
		u.startIdle(p)
	}
}

// startIdle ends the process when no call comes for a while. u.mu is held.
func (u *unit) startIdle(p *process) {
	after := u.host.options.Limits.IdleStop
	if p.attached != nil || after < 0 || p.inFlight > 0 {
		return
	}
	if u.idle = p.idle; u.idle != nil {
		u.idle.Reset(after)
		return
	}
	p.idle = time.AfterFunc(after, func() {
		u.mu.Lock()
		defer u.mu.Unlock()
		if u.process == p && p.inFlight == 0 {
			u.retire(p)
		}
	})
	u.idle = p.idle
}

// retire takes the process away from new calls; it ends with its last call.
// u.mu is held.
func (u *unit) retire(p *process) {
	if u.process == p {
		u.process = nil
	}
	if u.old[p] || p.dead {
		return
	}
	u.old[p] = true
	if p.inFlight == 0 {
		u.end(p)
	}
}

// end stops a retired process in the background. u.mu is held.
func (u *unit) end(p *process) {
	grace := u.host.options.Limits.Grace
	if p.suspect {
		grace = min(grace, time.Second) // it had its grace already
	}
	u.host.begin(func() { p.stop(u.host.life, grace) })
}

// abandon is told that a call was given up without an answer. gRPC does not
// tell whether the plugin stopped its work, so after the grace the process gets
// no new calls and is killed as soon as the others in flight have ended.
func (u *unit) abandon(p *process) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if p.suspect || p.attached != nil { // somebody may look at it in a debugger
		return
	}
	p.suspect = true
	u.host.begin(func() {
		timer := time.NewTimer(u.host.options.Limits.Grace)
		defer timer.Stop()
		select {
		case <-timer.C:
			u.mu.Lock()
			u.retire(p)
			u.mu.Unlock()
		case <-p.runner.exited:
		case <-u.host.life.Done():
		}
	})
}

// exited is told of every end of a launched process.
func (u *unit) exited(p *process) {
	if !p.stopping.Load() {
		reason := p.runner.ending()
		if words := lastWords(p.output.last()); words != "" {
			reason += ": " + words
		}
		p.output.retain(pluginlog.Host, "its process died: "+p.runner.ending())
		if p.attached == nil { // a person starts it anew, when they like
			u.crashed(reason)
		}
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	p.dead = true
	if u.process == p {
		u.process = nil
	}
	delete(u.old, p)
}

// crashed counts a crash and sets the backoff.
func (u *unit) crashed(reason string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	now := u.host.options.Now()
	u.forget(now)
	u.crashes = append(u.crashes, now)
	u.last = reason
	u.streak++
	u.allCrashes++
	u.until = now.Add(backoff(u.streak))
	u.host.options.Log.Warn("plugin crashed", "plugin", u.source.Name, "crashes", len(u.crashes), "reason", reason)
}

// backoff is the wait after the nth crash in a row.
func backoff(n int) time.Duration {
	if n <= 1 {
		return 0
	}
	wait := firstBackoff
	for i := 2; i < n && wait < maxBackoff; i++ {
		wait *= 2
	}
	return min(wait, maxBackoff)
}

// forget drops the crashes that lie outside of the window. u.mu is held.
func (u *unit) forget(now time.Time) {
	u.crashes = slices.DeleteFunc(u.crashes, func(at time.Time) bool { return now.Sub(at) >= crashWindow })
	if len(u.crashes) == 0 {
		u.streak = 0
	}
}

// status tells of the unit.
func (u *unit) status() Status {
	u.mu.Lock()
	defer u.mu.Unlock()
	now := u.host.options.Now()
	u.forget(now)
	s := Status{State: Stopped, Crashes: len(u.crashes), Last: u.last, Starts: u.starts, AllCrashes: u.allCrashes}
	for p := range u.old {
		s.InFlight += p.inFlight
	}
	switch {
	case u.process != nil:
		s.State, s.PID = Ready, u.process.pid()
		s.InFlight += u.process.inFlight
	case u.starting != nil:
		s.State = Starting
	case len(u.crashes) >= crashLimit:
		s.State, s.Until = Crashed, u.crashes[len(u.crashes)-crashLimit].Add(crashWindow)
	case u.until.After(now):
		s.State, s.Until = Backoff, u.until
	case len(u.crashes) > 0:
		s.State = Crashed
	}
	return s
}
