package cli

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"syscall"
	"time"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/internal/cli/term"
	"github.com/flowrun/flowrun/internal/cli/view"
	"github.com/flowrun/flowrun/internal/web"
	"github.com/flowrun/flowrun/internal/web/wire"
)

// redraw is how often a follower is told the time: it draws at most so often.
const redraw = 100 * time.Millisecond

// liveOnly asks a feed for no stored records: only for how things stand and
// what happens from now on.
const liveOnly = 1 << 62

// follower follows one run through a session until it ends, pauses, or cannot
// be followed any more.
type follower struct {
	app     *app
	session *session
	id      string
	view    view.Follower
	records bool // the view wants every stored record
	drive   bool // go on with the run when nobody drives it
	noWait  bool // leave as soon as it waits for a person
	leaves  bool // leave as soon as only people can let it go on
	// watching means that a signal ends the following, not the run.
	watching bool
	signals  <-chan os.Signal

	lastSeq  uint64 // of the records that the view has
	logs     map[logKey]bool
	canceled os.Signal // the first signal, which canceled the run
	run      runs.Run
	steps    map[string]runs.Step // steps that wait for a person
	others   map[string]bool      // steps that go on by themselves
	answers  answers
}

// logKey tells log lines apart.
type logKey struct {
	at            time.Time
	step, message string
}

// newFollower returns a follower; end must be called when it is no longer used.
func (s *session) newFollower(id string, shown view.Follower) (f *follower, end func()) {
	signals, stop := s.signals, s.stopSignals
	if signals == nil {
		signals, stop = s.app.signals()
	}
	f = &follower{
		app: s.app, session: s, id: id, view: shown, answers: s.app.newAnswers(shown), signals: signals, steps: map[string]runs.Step{}, others: map[string]bool{}, logs: map[logKey]bool{},
	}
	return f, stop
}

// newView returns what shows a run while it goes on: its records where -o asks for
// them, else a live view on a terminal or plain lines, on stderr.
func (a *app) newView() view.Follower {
	out := a.sys.Stderr
	if a.output == "jsonl" {
		return view.NewJSONL(a.sys.Stdout, a.noteText)
	}
	if a.hasLiveErr() {
		return view.NewLive(out, func() (int, int) { return term.Size(out) }, a.style, a.times)
	}
	return view.NewPlain(out, a.style, a.times)
}

// killedError ends the program at once.
type killedError struct{ signal os.Signal }

func (e *killedError) Error() string { return "ended by signal: " + e.signal.String() }

func (e *killedError) exitCode() int { return exitOfSignal(e.signal) }

// exitOfSignal is 128 and the signal's number.
func exitOfSignal(signal os.Signal) int {
	if number, ok := signal.(syscall.Signal); ok {
		return 128 + int(number)
	}
	return exitInterrupted
}

// follow shows the run until its feed is over and returns it as it stands.
func (f *follower) follow(ctx context.Context) (*runs.Result, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer f.view.Close()
	defer f.giveBack()
	if signal := f.session.pending; signal != nil {
		f.session.pending = nil
		if err := f.signaled(ctx, signal); err != nil {
			return nil, err
		}
	}
	for {
		ended, err := f.watch(ctx)
		if err != nil {
			return nil, err
		}
		if !ended {
			if err := f.session.again(ctx); err != nil {
				return nil, err
			}
			f.drive = f.drive || !f.app.isRemote() // the owner died under a command that followed the run: go on with it
			continue
		}
		result, again, err := f.result(ctx)
		if err != nil || !again {
			return result, err
		}
	}
}

// result returns the run at the end of its feed. Again is true when nobody
// drove it and it was resumed.
func (f *follower) result(ctx context.Context) (result *runs.Result, again bool, err error) {
	result, err = tryAnyway(ctx, f.session, func(c *web.Client) (*runs.Result, error) { return f.app.result(ctx, c, f.id) })
	if err != nil || f.left(result.Run) {
		return result, false, err
	}
	open := !result.Run.Closed && result.Run.Status != runs.RunPaused
	if !open || !f.drive {
		return result, false, nil
	}
	f.view.Note("the process that drove the run is gone; going on with it")
	_, err = tryAnyway(ctx, f.session, func(c *web.Client) (*runs.Run, error) {
		return c.Resume(ctx, f.id, engine.ResumeRequest{By: f.app.user()})
	})
	if problem, ok := errors.AsType[*web.Problem](err); ok && problem.Code == wire.CodeConflict {
		err = nil // another command was faster
	}
	return nil, true, err
}

// result asks for a run as it is shown: in text nobody sees what the steps gave, nor those
// that have ended.
func (a *app) result(ctx context.Context, c *web.Client, id string) (*runs.Result, error) {
	if a.output == "json" {
		return c.Result(ctx, id)
	}
	return c.ResultOpen(ctx, id)
}

// left reports whether the command leaves a run that waits for a person. Without
// a terminal and without a server it does so by itself, as soon as only approvals,
// signals and paused steps are left.
func (f *follower) left(run runs.Run) bool {
	if f.noWait && run.Status == runs.RunWaiting && len(f.steps) > 0 {
		return true
	}
	return f.leaves && f.session.owner != nil && (run.Status == runs.RunWaiting || run.Status == runs.RunRunning) && f.onlyPeople()
}

// onlyPeople reports whether nothing goes on without an approval or a signal.
func (f *follower) onlyPeople() bool {
	for _, step := range f.steps {
		if step.Prompt != nil && step.Waits().Kind != runs.WaitApproval {
			return false // it is polled on
		}
	}
	return len(f.steps) > 0 && len(f.others) == 0
}

// watch shows one feed. It reports false when the feed broke off before the
// run was over.
func (f *follower) watch(ctx context.Context) (ended bool, err error) {
	from := uint64(liveOnly)
	if f.records {
		from = f.lastSeq
	}
	stream, err := tryAnyway(ctx, f.session, func(c *web.Client) (*web.Stream, error) { return c.Watch(ctx, f.id, from) })
	if err != nil {
		return false, err
	}
	if err := f.showEarlierLogs(ctx); err != nil {
		return false, errors.Join(err, stream.Close())
	}
	updates := make(chan engine.Update, 64)
	broken := make(chan error, 1)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer func() { _ = stream.Close() }() // read to its end, or given up
	go readStream(ctx, stream, updates, broken)
	return f.consume(ctx, updates, broken)
}

// showEarlierLogs shows the lines that were stored before the feed was opened:
// the feed itself begins with how things stand.
func (f *follower) showEarlierLogs(ctx context.Context) error {
	if f.records {
		return nil
	}
	logs, err := f.session.client.Logs(ctx, f.id, "")
	if _, ok := errors.AsType[*web.GoneError](err); ok {
		return nil // the feed ends too, and is opened anew
	}
	if err != nil {
		return err
	}
	for i := range logs {
		f.apply(engine.Update{Kind: engine.UpdateLog, RunID: f.id, Log: &logs[i]})
	}
	return nil
}

// readStream copies a stream to updates until it ends.
func readStream(ctx context.Context, stream *web.Stream, updates chan<- engine.Update, broken chan<- error) {
	defer close(updates)
	for {
		update, err := stream.Next()
		if err != nil {
			broken <- err
			return
		}
		select {
		case updates <- update:
		case <-ctx.Done():
			return
		}
	}
}

func (f *follower) consume(ctx context.Context, updates <-chan engine.Update, broken <-chan error) (ended bool, err error) {
	ticker := time.NewTicker(redraw)
	defer ticker.Stop()
	failed, quiet := f.session.failed(), 0
	clear(f.answers.asked)
	f.tick()
	for {
		select {
		case update, open := <-updates:
			if !open {
				if err := <-broken; !errors.Is(err, io.EOF) {
					return false, err
				}
				return false, nil
			}
			if update.Kind == engine.UpdateEnd {
				f.settle()
				return true, nil
			}
			if f.apply(update); f.noWait && f.left(f.run) {
				return true, nil
			}
			if update.Kind == engine.UpdateStep {
				f.askSub(ctx, *update.Step)
			}
		case key := <-f.answers.keys:
			f.pressed(ctx, key)
		case show := <-f.answers.decided:
			show()
		case show := <-f.answers.subs:
			show()
		case show := <-f.answers.edited:
			show()
			f.tick()
		case <-ticker.C:
			f.askSubs(ctx)
			f.tick()
			if quiet++; !f.left(f.run) {
				quiet = 0
			}
			if quiet > 1 { // twice: the updates of one event come one by one
				return true, nil
			}
		case signal := <-f.signals:
			if err := f.signaled(ctx, signal); err != nil {
				return false, err
			}
		case err := <-failed:
			return false, err
		}
	}
}

func (f *follower) apply(update engine.Update) {
	if update.Kind == engine.UpdateLog {
		key := logKey{update.Log.At.UTC(), update.Log.Step, update.Log.Message}
		if f.logs[key] {
			return
		}
		f.logs[key] = true
	}
	f.view.Apply(update)
	switch update.Kind {
	case engine.UpdateRecord:
		f.lastSeq = max(f.lastSeq, update.Seq)
	case engine.UpdateRun:
		f.run = *update.Run
	case engine.UpdateStep:
		f.noteDecision(f.steps[update.Step.Path], *update.Step)
		delete(f.steps, update.Step.Path)
		delete(f.others, update.Step.Path)
		if update.Step.ForPerson() {
			f.steps[update.Step.Path] = *update.Step
		}
		if update.Step.GoesOn() {
			f.others[update.Step.Path] = true
		}
	}
}

// signaled cancels the run at the first Ctrl-C and kills at the second. A SIGTERM
// leaves the run alone; that of an owner does not come here.
func (f *follower) signaled(ctx context.Context, signal os.Signal) error {
	if f.answers.editing && signal == os.Interrupt { // it is the editor's
		return nil
	}
	if f.canceled != nil || f.watching {
		return &killedError{signal}
	}
	if signal == syscall.SIGTERM { // another process drives the run: only we end
		f.app.note("ended by SIGTERM; run %s goes on in the process that owns the store: %s", f.id, f.app.commandText("runs", "watch", f.id))
		return &killedError{signal}
	}
	f.canceled = signal
	f.view.Note("canceling the run; its finally steps still run (once more kills)")
	// The request must not keep the second signal from being seen.
	go func() {
		_, err := f.session.client.Cancel(ctx, f.id, f.app.user())
		if problem, ok := errors.AsType[*web.Problem](err); ok && problem.Code != wire.CodeConflict {
			f.app.note("not canceled: %s", problem.Detail)
		}
	}()
	return nil
}

// linger waits until the owner may leave; a signal leaves at once.
func (f *follower) linger() error {
	ctx, end := endedBy(context.Background(), f.signals)
	defer end()
	return f.session.close(ctx.Done())
}

// failed returns what tells that our own store failed; nil for a client.
func (s *session) failed() <-chan error {
	if s.owner == nil {
		return nil
	}
	return s.owner.engine.Failed()
}

// user names who acts, for the run's events.
func (a *app) user() string { return cmp.Or(a.env("USER"), a.sys.User, "unknown") }
