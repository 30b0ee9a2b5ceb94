package cli

import (
	"context"
	"errors"
	"sync"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/internal/mcpserver"
	"github.com/flowrun/flowrun/internal/web"
)

// lender gives the tools of an assistant a client of the API, question by question:
// whoever asks little does not hold the store. Safe for concurrent use.
type lender struct {
	app *app

	mu           sync.Mutex // finding and taking the store; the app is not made for more at a time
	sandboxShown bool       // guarded by mu

	leaving sync.WaitGroup // sessions that stay until their runs have ended
	errs    []error        // guarded by mu: how they ended
	stop    chan struct{}  // closed when they are not waited for
	once    sync.Once
}

// lend implements mcpserver.Lend.
func (l *lender) lend(ctx context.Context, need mcpserver.Need, ask func(context.Context, *web.Client) error) error {
	if need == mcpserver.NeedFiles || need == mcpserver.NeedAny {
		if done, err := l.ofFiles(ctx, need, ask); done {
			return err
		}
	}
	if need == mcpserver.NeedStore {
		err := l.locked(func() error { return l.app.needStore(ctx) })
		if errors.Is(err, errNoStore) {
			return errors.New("nothing has run here yet")
		}
		if err != nil {
			return err
		}
	}
	role := roleLook
	if need == mcpserver.NeedWork {
		role = roleWork
	}
	return l.ofStore(ctx, role, ask)
}

func (l *lender) locked(do func() error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return do()
}

// ofFiles asks the owner of the store, where one answers, else the project's files; done
// says that the question was put. What asks for runs too looks into a store that is there.
func (l *lender) ofFiles(ctx context.Context, need mcpserver.Need, ask func(context.Context, *web.Client) error) (done bool, err error) {
	var at place
	if err := l.locked(func() (err error) { at, err = l.app.locate(); return err }); err != nil {
		return true, err
	}
	if client, _, err := web.Dial(ctx, at.stateDir); err == nil {
		defer client.Close()
		err := ask(ctx, client)
		if _, gone := errors.AsType[*web.GoneError](err); !gone || ctx.Err() != nil {
			return true, err
		}
	}
	if need == mcpserver.NeedAny && exists(storePath(at)) {
		return false, nil
	}
	var project engine.Offline
	err = l.locked(func() (err error) {
		project.Workspace, err = engine.LoadProject(ctx, l.app.engineConfig(at))
		return err
	})
	if err != nil {
		return true, err
	}
	defer project.Close()
	return true, ask(ctx, web.NewClient(web.InProcess(web.ProjectHandler(project))))
}

// ofStore asks the owner of the store, which this process is where there is none, and
// another one where that was going away.
func (l *lender) ofStore(ctx context.Context, role role, ask func(context.Context, *web.Client) error) error {
	for {
		var s *session
		err := l.locked(func() (err error) {
			if s, err = l.app.connect(ctx, role); err == nil && !l.sandboxShown {
				l.sandboxShown = true
				s.announceSandbox()
			}
			return err
		})
		if err != nil {
			return err
		}
		err = errors.Join(ask(ctx, s.client), l.leave(s))
		if _, gone := errors.AsType[*web.GoneError](err); !gone || s.owner != nil || ctx.Err() != nil {
			return err
		}
	}
}

// leave ends a session. One that worked and owns the store stays until the runs that it
// accepted have ended; nobody waits for that but end.
func (l *lender) leave(s *session) error {
	switch {
	case s.owner == nil:
		s.client.Close()
		return nil
	case s.role != roleWork:
		return s.close(nil)
	}
	l.leaving.Go(func() {
		if err := s.close(l.stop); err != nil {
			_ = l.locked(func() error { l.errs = append(l.errs, err); return nil })
		}
	})
	return nil
}

// end waits until the runs that were accepted here have ended; ctx leaves them to be
// resumed. The error tells of stores that were not given back in good order.
func (l *lender) end(ctx context.Context) error {
	defer context.AfterFunc(ctx, func() { l.once.Do(func() { close(l.stop) }) })()
	l.leaving.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	return errors.Join(l.errs...)
}
