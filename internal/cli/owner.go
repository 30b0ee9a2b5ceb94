package cli

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/peer"
	"github.com/flowrun/flowrun/engine/workspace"
	"github.com/flowrun/flowrun/internal/sandbox"
	"github.com/flowrun/flowrun/internal/web"
)

// Times of an owner.
const (
	lingerStep  = 50 * time.Millisecond // between looks at what is left to do
	closeGrace  = 5 * time.Second       // for requests in flight when it leaves
	engineGrace = 30 * time.Second      // for the engine to close
	heartbeat   = 15 * time.Second      // of an idle stream
)

// owner is this process as the owner of the store.
type owner struct {
	app       *app
	engine    *engine.Engine
	gate      *web.Gate
	client    *web.Client
	socket    *web.Socket // nil when it does not listen
	serving   *serving    // nil when it is no `flowrun serve`
	sandbox   *sandbox.Sandbox
	watch     *watch
	lines     []string // that say what the sandbox is
	announced bool

	left    chan struct{} // closed when the store is given back
	leaving sync.Once
	release func() // ends the adoption of orphans; nil = there is none
	leftErr error
}

// own takes the store's lock and, unless the command only looks, serves the API
// on the socket.
func (s *session) own(ctx context.Context) (*owner, error) {
	o := &owner{app: s.app, gate: web.NewGate(), serving: s.serving, left: make(chan struct{})}
	if s.watch == nil {
		s.watch = s.app.startWatch(ctx, s.role)
	}
	o.watch = s.watch
	config := s.app.engineConfig(s.at)
	config.Observer, config.KeepPlugins = o.watch.observer, s.role == roleServe
	project, err := engine.LoadProject(ctx, config)
	if err != nil {
		return nil, err
	}
	if s.role != roleLook { // who looks runs nothing
		for _, name := range project.Unlocked() {
			s.app.noteUnlocked(name)
		}
		s.app.noteAttached()
	}
	if s.role != roleLook {
		o.adopt()
	}
	if err := o.startSandbox(ctx, s.role, project); err != nil {
		return nil, errors.Join(err, o.giveUp(project))
	}
	opened, err := engine.Open(ctx, project)
	if err != nil {
		return nil, errors.Join(err, o.giveUp(project))
	}
	o.engine = opened
	if r := s.request; r != nil {
		opened.Prestart(r.File, r.Source)
	}
	o.watch.begin(s.app, opened, project)
	if stored, beside, parked, ok := opened.RolledBack(); ok {
		s.app.note("the store as it was at %s is taken, in place of the one of %s: %s had not ended, and is paused", s.app.times.Full(stored), s.app.times.Full(beside), diag.Count(parked, "run"))
	}
	if from, copied := opened.Migrated(); from > 0 {
		s.app.note("the store was moved up from schema %d; the file from before is kept: %s", from, s.app.shown(copied))
	}
	if err := o.answer(ctx, s, project); err != nil {
		return nil, errors.Join(err, o.shut())
	}
	return o, nil
}

// adopt makes what a plugin started and left behind a child of this process, so that it
// is known as the plugin's own (ADR 30) and is found when the plugin ends, whatever else
// runs on the machine (ADR 76). It comes before the first plugin.
func (o *owner) adopt() {
	release, err := peer.Adopt()
	if o.release = release; err != nil {
		o.app.logger().Warn("processes that leave their plugin are not known as its own", "error", err)
	}
}

// giveUp ends what began before there was an engine.
func (o *owner) giveUp(project *workspace.Workspace) error {
	project.Close()
	err := o.closeSandbox()
	if o.release != nil {
		o.release()
	}
	return err
}

// answer makes the API: for this process itself, on the socket where it works,
// and over TCP where it serves.
func (o *owner) answer(ctx context.Context, s *session, project *workspace.Workspace) error {
	info := web.Owner{
		Sandbox: o.sandboxInfo(), PID: s.app.sys.PID, Host: s.app.sys.Host, Since: s.app.sys.Now().UTC(), Version: s.app.sys.Version, Config: s.at.projectFile,
	}
	if o.serving != nil {
		if err := o.serving.listen(ctx, &info); err != nil {
			return err
		}
	}
	api := web.Options{
		Runs: o.engine, Catalog: engine.Offline{Workspace: project}, Access: o.engine, Memory: o.engine, Upkeep: o.engine, Workflows: o.engine, Schedules: o.engine, Hooks: o.engine, Tokens: o.engine,
		Owner: info, Gate: o.gate, Heartbeat: heartbeat, Ready: o.engine.Ready, Now: s.app.sys.Now,
	}
	if o.serving != nil {
		api.LoginLink, api.TokenRemoved = o.serving.loginLink, o.serving.tokenRemoved
	}
	handler := web.NewSocketHandler(api)
	o.client = web.NewClient(web.InProcess(handler))
	if s.role == roleLook {
		return nil
	}
	if o.serving != nil {
		if err := o.serving.start(o, s, project, api); err != nil {
			return err
		}
	}
	socket, err := web.Listen(s.at.stateDir, info, web.RefuseDescendants(s.app.sys.PID, project.OwnCommand), handler)
	if err != nil {
		return err
	}
	o.socket = socket
	o.watchTermination()
	return nil
}

// leave gives the store back. An owner that listened first waits until nothing
// is left to do, or stop is closed.
func (o *owner) leave(wait bool, stop <-chan struct{}) error {
	if !wait {
		o.gate.Close()
		return o.shut()
	}
	ticker := time.NewTicker(lingerStep)
	defer ticker.Stop()
	for !o.gate.CloseWhenIdle(func() bool { return o.engine.Busy() > 0 }) {
		o.announce()
		select {
		case err := <-o.engine.Failed():
			o.gate.Close()
			return errors.Join(err, o.shut())
		case <-stop:
			o.gate.Close()
		case <-ticker.C:
		}
	}
	return o.shut()
}

// announce says once why the command does not end yet.
func (o *owner) announce() {
	if active := o.engine.Busy(); !o.announced && active > 0 {
		o.announced = true
		o.app.note("staying until %s of other commands ended (Ctrl-C leaves them to be resumed)", diag.Count(active, "run"))
	}
}

// shut closes everything, unless a SIGTERM does that: then it waits.
func (o *owner) shut() error {
	if o.app.ending.Load() {
		<-o.app.ended
		return nil
	}
	return o.shutWithin(engineGrace)
}

// shutWithin closes everything: runs and plugins first, while the socket still
// answers that we are ending; the lock last, so that the next owner finds no
// socket of ours.
func (o *owner) shutWithin(grace time.Duration) error {
	o.leaving.Do(func() {
		defer close(o.left)
		ctx, cancel := context.WithTimeout(context.Background(), grace)
		defer cancel()
		errs := []error{o.engine.Halt(ctx)}
		if o.serving != nil {
			errs = append(errs, o.serving.close(min(grace, closeGrace)))
		}
		if o.socket != nil {
			ctx, cancel := context.WithTimeout(context.Background(), min(grace, closeGrace))
			defer cancel()
			errs = append(errs, o.socket.Close(ctx))
		}
		errs = append(errs, o.engine.Close(ctx), o.closeSandbox())
		if o.release != nil {
			o.release()
		}
		o.watch.end()
		o.leftErr = errors.Join(errs...)
	})
	return o.leftErr
}

func (o *owner) closeSandbox() error {
	if o.sandbox == nil {
		return nil
	}
	return o.sandbox.Close()
}
