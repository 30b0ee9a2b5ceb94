package cli

import (
	"context"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/diag"
)

// exitLate is how long the command itself has to return after the store was given
// back: it may be stuck in something that no context ends.
const exitLate = 200 * time.Millisecond

// watchTermination lets a SIGTERM end this owner gracefully (docs/reliability.md, P17).
// Until the store is given back no other part of the command acts on one.
func (o *owner) watchTermination() {
	if o.app.sys.Terminate == nil {
		return
	}
	signals, stop := o.app.sys.Terminate()
	if o.serving != nil { // an interrupt is the ordinary end of a server
		stop()
		signals, stop = o.serving.signals, func() {}
	}
	o.app.owns.Add(1)
	go func() {
		defer stop()
		defer o.app.owns.Add(-1)
		select {
		case signal := <-signals:
			o.terminate(signal)
		case <-o.left:
		}
	}()
}

// terminate takes no more requests, waits for calls in flight, cancels the rest,
// kills the plugins and gives the store back. A second signal ends the process at
// once: the journal is made for that.
func (o *owner) terminate(by os.Signal) {
	a := o.app
	a.endedBy.Store(int32(o.exitBy(by)))
	a.ending.Store(true)
	if o.serving != nil {
		o.serving.ending()
	}
	again, stop := a.sys.Signals()
	if o.serving != nil {
		stop()
		again, stop = o.serving.signals, func() {}
	}
	defer stop()
	go func() {
		select {
		case signal := <-again:
			a.sys.Exit(exitOfSignal(signal))
		case <-a.ended:
		}
	}()
	o.gate.Close()
	limit := o.engine.DrainLimit()
	if calls := o.engine.InFlight(); calls > 0 {
		a.note("%s: waiting up to %s for %s in flight (once more ends at once)", signalName(by), limit, diag.Count(calls, "call"))
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	left, err := o.engine.DrainRuns(ctx)
	if err != nil {
		a.note("not all ended in good order: %v", err)
	}
	if err := o.shutWithin(engine.KillGrace); err != nil {
		a.note("the store was not closed in good order: %v", err)
	}
	if o.isDemo() {
		if err := o.serving.demo.remove(); err != nil {
			a.note("%v", err)
		}
	}
	a.note("ended by %s; %s", signalName(by), o.leftText(left))
	close(a.ended)
	time.Sleep(exitLate)
	a.sys.Exit(int(a.endedBy.Load())) // the command has returned before, unless it is stuck
}

// isDemo reports whether this owner ends with all that it has.
func (o *owner) isDemo() bool { return o.serving != nil && o.serving.demo != nil }

// exitBy is the exit code of an owner that a signal ends. Ctrl-C is how a demo ends.
func (o *owner) exitBy(signal os.Signal) int {
	if o.isDemo() && signal == os.Interrupt {
		return exitOK
	}
	return exitOfSignal(signal)
}

// signalName is how people name a signal.
func signalName(signal os.Signal) string {
	switch signal {
	case syscall.SIGTERM:
		return "SIGTERM"
	case os.Interrupt:
		return "Ctrl-C"
	}
	return signal.String()
}

// leftText says what became of the runs that were going on.
func (o *owner) leftText(left []string) string {
	a := o.app
	switch {
	case o.isDemo():
		return o.serving.demo.folder + " is removed"
	case len(left) == 0:
		return "no run is left open"
	case o.serving != nil:
		return diag.Count(len(left), "open run") + " left, which the next server takes up"
	case len(left) == 1:
		return "run " + left[0] + " is left to be resumed: " + a.commandText("runs", "resume", left[0])
	}
	return diag.Count(len(left), "run") + " are left to be resumed with " + a.commandText("runs", "resume") + ": " + strings.Join(left, " ")
}

// signals delivers interrupt and terminate until stop is called, but no terminate
// while this process owns the store: that drains it.
func (a *app) signals() (signals <-chan os.Signal, stop func()) {
	raw, stopRaw := a.sys.Signals()
	if a.sys.Terminate == nil {
		return raw, stopRaw
	}
	passed, done := make(chan os.Signal, 2), make(chan struct{})
	var once sync.Once
	go func() {
		for {
			select {
			case signal := <-raw:
				if signal == syscall.SIGTERM && a.owns.Load() > 0 {
					continue
				}
				select {
				case passed <- signal:
				case <-done:
					return
				}
			case <-done:
				return
			}
		}
	}()
	return passed, func() {
		once.Do(func() {
			stopRaw()
			close(done)
		})
	}
}
