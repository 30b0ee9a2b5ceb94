package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/fault"
	"github.com/flowrun/flowrun/internal/web"
)

// How long a command tries to become or to reach the owner of the store.
const (
	connectFor  = 2 * time.Second
	connectStep = 25 * time.Millisecond
)

// role is what a command wants of the store.
type role int

const (
	roleLook    role = iota // look and go: does not listen when it owns the store
	roleWork                // act on runs: listens, and stays until the runs it accepted are finished
	roleVisitor             // only through an owner that is there already
	roleServe               // own it until told otherwise
)

// session is a command's access to the store: through the owner's API, which
// this process itself is when it could take the lock. Not safe for concurrent
// use.
type session struct {
	app    *app
	at     place
	role   role
	client *web.Client
	owner  *owner // nil when another process owns the store

	ownerPID int           // of the other process
	silence  time.Duration // how long the other process may say nothing; 0 = as usual

	serving *serving // of roleServe
	watch   *watch   // of whoever owns the store, once it tried to

	request *engine.StartRequest // that it is for; nil = another one

	// What begin kept for the follower: where signals come from since before the
	// run was asked for, and the one that has come.
	signals     <-chan os.Signal
	stopSignals func()
	pending     os.Signal
}

// connect takes the store or reaches its owner. The error is a
// *engine.LockedError when neither comes true within two seconds.
func (a *app) connect(ctx context.Context, role role) (*session, error) {
	return a.connectToRun(ctx, role, nil)
}

// connectToRun is connect for a command that starts a run: an owner gets ready for it.
func (a *app) connectToRun(ctx context.Context, role role, request *engine.StartRequest) (*session, error) {
	at, err := a.workplace()
	if err != nil {
		return nil, err
	}
	s := &session{app: a, at: at, role: role, request: request}
	if err := s.connect(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

// errNoStore says that nothing has run here yet. What only looks makes no store.
var errNoStore = errors.New("there is no store yet")

// needStore returns errNoStore where no store is, unless the project file is
// wrong: that is told first, as with a store.
func (a *app) needStore(ctx context.Context) error {
	if a.isRemote() {
		return nil
	}
	at, err := a.locate()
	if err != nil {
		return err
	}
	if exists(storePath(at)) {
		return nil
	}
	project, err := a.loadProject(ctx)
	if err != nil {
		return err
	}
	project.Close()
	return errNoStore
}

// connectTo is connect for commands about one run, which it finds. They make no store
// either.
func (a *app) connectTo(ctx context.Context, run *runRef, role role) (*session, error) {
	if err := a.needStore(ctx); err != nil {
		return nil, a.noRunYet(run, err)
	}
	if err := a.pick(ctx, run); err != nil {
		return nil, err
	}
	session, err := a.connect(ctx, role)
	if err != nil {
		return nil, err
	}
	if _, err := tryAnyway(ctx, session, func(c *web.Client) (any, error) { return nil, a.findRun(ctx, c, run) }); err != nil {
		return nil, session.abandon(err)
	}
	return session, nil
}

// workplace is where a command works; of one that asks a server on another machine it is
// no place of this one.
func (a *app) workplace() (place, error) {
	if a.isRemote() {
		a.root = a.sys.Dir
		return place{root: a.sys.Dir}, nil
	}
	return a.locate()
}

func (s *session) connect(ctx context.Context) error {
	if s.app.isRemote() {
		return s.connectRemote(ctx)
	}
	deadline := time.NewTimer(connectFor)
	defer deadline.Stop()
	isNoted := false
	for {
		client, info, err := web.Dial(ctx, s.at.stateDir)
		if err == nil {
			s.client = client
			return s.greet(info)
		}
		if s.role == roleVisitor {
			return &codedError{code: exitNoServer, err: fmt.Errorf("no process owns the store in %s", s.at.stateDir), hint: "leave out --detach, or start a run in another terminal first"}
		}
		var gone *web.GoneError
		if !errors.As(err, &gone) {
			return err
		}
		if gone.Closing() { // it holds the lock until its calls in flight have ended
			deadline.Reset(connectFor)
			if !isNoted {
				isNoted = true
				s.app.note("the process that owns the store is ending; waiting for the store")
			}
		}
		owner, err := s.own(ctx)
		if err == nil {
			s.owner, s.client = owner, owner.client
			return nil
		}
		var locked *fault.LockedError
		if !errors.As(err, &locked) {
			return err
		}
		select {
		case <-deadline.C:
			return lockedError(locked)
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(connectStep):
		}
	}
}

// lockedError names the store and its owner, which holds the lock and does not
// answer.
func lockedError(locked *fault.LockedError) error {
	hint := "wait until it ends, or name another folder with --state"
	if locked.PID > 0 {
		hint = fmt.Sprintf("look at process %d; or name another folder with --state", locked.PID)
	}
	return &codedError{code: exitLocked, err: fmt.Errorf("%w, which does not answer", locked), hint: hint}
}

// greet tells a client whose settings hold.
func (s *session) greet(info *web.Owner) error {
	if err := s.joinSandbox(info); err != nil {
		s.client.Close()
		return err
	}
	s.ownerPID = info.PID
	if err := s.app.ownsAttached(info.PID); err != nil {
		s.client.Close()
		return err
	}
	if s.role != roleWork {
		return nil
	}
	if info.Config != s.at.projectFile {
		s.app.note("process %d owns the store: its project file (%s) and environment hold", info.PID, cmp.Or(info.Config, "none"))
	}
	return nil
}

// again connects anew after the owner went away. Whoever takes the lock then is
// the owner, perhaps this process.
func (s *session) again(ctx context.Context) error {
	if s.owner != nil {
		if s.app.ending.Load() {
			<-s.app.ended
			return &killedError{syscall.SIGTERM}
		}
		return errors.New("the store was given back too early") // our own API is only gone when we left
	}
	return s.connect(ctx)
}

// try puts a question, and again to a new owner when it was certainly not put.
func try[T any](ctx context.Context, s *session, question func(*web.Client) (T, error)) (T, error) {
	return put(ctx, s, question, func(gone *web.GoneError) bool { return gone.Unsent })
}

// tryAnyway is try for what may be asked twice.
func tryAnyway[T any](ctx context.Context, s *session, question func(*web.Client) (T, error)) (T, error) {
	return put(ctx, s, question, func(*web.GoneError) bool { return true })
}

// put puts a question, and again to a new owner where one is gone that may be asked
// anew.
func put[T any](ctx context.Context, s *session, question func(*web.Client) (T, error), anew func(*web.GoneError) bool) (answer T, err error) {
	for {
		err = s.noteSilence(ctx, func(c *web.Client) (err error) {
			answer, err = question(c)
			return err
		})
		if _, denied := errors.AsType[*web.DeniedError](err); denied {
			return answer, s.app.remoteError(err)
		}
		gone, ok := errors.AsType[*web.GoneError](err)
		if !ok || !anew(gone) || s.role == roleVisitor {
			return answer, err
		}
		if err := s.again(ctx); err != nil {
			return answer, err
		}
	}
}

// close ends the session. An owner that listened stays until the runs that it
// accepted are finished, or stop is closed.
func (s *session) close(stop <-chan struct{}) error {
	if s.owner == nil {
		return nil
	}
	return s.owner.leave(s.role == roleWork, stop)
}
