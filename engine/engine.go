package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/flowrun/flowrun/engine/access"
	"github.com/flowrun/flowrun/engine/boltstore"
	"github.com/flowrun/flowrun/engine/calls"
	"github.com/flowrun/flowrun/engine/connections"
	"github.com/flowrun/flowrun/engine/deliver"
	"github.com/flowrun/flowrun/engine/fault"
	"github.com/flowrun/flowrun/engine/inforce"
	"github.com/flowrun/flowrun/engine/local"
	"github.com/flowrun/flowrun/engine/memory"
	"github.com/flowrun/flowrun/engine/ports"
	"github.com/flowrun/flowrun/engine/quota"
	"github.com/flowrun/flowrun/engine/ratelimit"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/services"
	"github.com/flowrun/flowrun/engine/store"
	"github.com/flowrun/flowrun/engine/trigger"
	"github.com/flowrun/flowrun/engine/upkeep"
	"github.com/flowrun/flowrun/engine/vitals"
	"github.com/flowrun/flowrun/engine/workspace"
)

// lockTimeout is how long Open waits for the store's lock. Whoever finds it
// locked asks the owner's socket before trying again.
const lockTimeout = 100 * time.Millisecond

// ballast is a file beside the store that is given up when the disk is full: what
// is in flight then can still be stored (docs/reliability.md, P12).
const ballast = 16 << 20

// Engine runs workflows on the store of its project's state directory, which it
// owns until Close. Safe for concurrent use.
type Engine struct {
	*trigger.Triggers
	*upkeep.Upkeep
	*memory.Memory
	*access.Control
	*connections.Connections

	project    *workspace.Workspace
	config     workspace.Config // the project's
	store      store.Store
	driver     *local.Driver
	limiter    *ports.Limiter
	calls      *calls.Caller
	deliveries *deliver.Deliveries
	revisions  *inforce.Revisions
	feed       *runsFeed
	background *background
	failed     chan error // gets the store's first failure
	broken     atomic.Pointer[error]

	ids struct {
		sync.Mutex
		entropy io.Reader
	}
}

// Open takes the store of the project's state directory and makes it where it
// does not exist. It drives no run until it is asked to. The errors are
// *LockedError, *StoreError and *UnconfinedError.
func Open(ctx context.Context, p *workspace.Workspace) (*Engine, error) {
	// The state folder was checked when the project was loaded: who could not change it then can't
	// let others change it since.
	if err := p.CheckSandbox(); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(p.Config().StateDir, 0o700); err != nil {
		if path, ok := errors.AsType[*fs.PathError](err); ok {
			err = fmt.Errorf("the folder can't be made: %w", path.Err)
		}
		return nil, &fault.StoreError{Fault: fault.StoreIO, Path: p.Config().StateDir, Err: err}
	}
	if !p.Config().AllowNetworkFS {
		if err := upkeep.RefuseNetworkFS(p.Config().StateDir); err != nil {
			return nil, err
		}
	}
	e := &Engine{
		project: p, config: p.Config(), revisions: inforce.New(p), feed: newRunsFeed(p.Config().Now()), background: newBackground(),
		failed: make(chan error, 1),
	}
	path := filepath.Join(p.Config().StateDir, workspace.StoreFile)
	err := e.openStore(path)
	if err != nil {
		return nil, upkeep.StoreError(path, p.Config().StateDir, err)
	}
	e.ids.entropy = ulid.Monotonic(p.Config().Entropy, 0)
	if err := p.Services().Attach(e.store.KV()); err != nil {
		keyPath := filepath.Join(p.Config().StateDir, services.KeyFile)
		return nil, errors.Join(&fault.StoreError{Fault: services.KeyFault(err), Path: keyPath, Err: err}, e.store.Close())
	}
	p.Services().AttachBlobs(e.store)
	around := surroundingsOf(e.config)
	if e.limiter, err = ports.NewLimiter(p, ratelimit.New(p.Config().Now, time.After), e.store.KV(), around); err != nil {
		return nil, errors.Join(err, e.store.Close())
	}
	sent := workspace.NewMockedCaller(p, e.store)
	e.driver = local.New(local.Options{
		Journal:       e.store,
		Caller:        ports.NewObservedCaller(sent, p.Config().Observer),
		Observer:      p.Config().Observer,
		Reconciler:    sent,
		Children:      sent,
		Limiter:       e.limiter,
		Now:           p.Config().Now,
		Log:           p.Config().Log,
		MaxActiveRuns: p.Declared().Limits.MaxActiveRuns,
		JournalBytes:  p.Declared().Limits.Quotas.Of(quota.Journal),
		Memory:        e.store,
		Blobs:         e.store.Blobs(nil),
		Identifier:    p,
		Gate:          ports.NewSpaceGate(e.store.Pressure, p.Config().Now, time.After),
		Cache:         ports.NewAnswerCache(e.store.KV(), around),
	})
	if reaped, err := p.Host().ReapOrphans(ctx); err != nil {
		p.Config().Log.Warn("orphaned plugins not reaped", "error", err)
	} else if reaped > 0 {
		p.Config().Log.Info("orphaned plugins reaped", "count", reaped)
	}
	if warning := KernelWarning(); warning != "" {
		p.Config().Log.Warn(warning)
	}
	e.deliveries = deliver.New(deliver.Options{Project: p, Store: e.store, Runs: deliveredRuns{e}, Fault: e.Fault, After: time.After})
	if e.Triggers, err = trigger.New(trigger.Options{Project: p, Store: e.store, Revisions: e.revisions, Runs: triggerRuns{e}, Fault: e.Fault, Background: e.background, Wakes: e.feed.wakes, After: time.After, Deliver: e.deliveries.Take}); err != nil {
		return nil, errors.Join(err, e.store.Close())
	}
	e.Upkeep = upkeep.New(upkeep.Options{Project: p, Store: e.store, Files: filesOf(e.config), Runs: keptRuns{e}, After: time.After})
	e.calls = calls.New(calls.Options{Project: p, Limiter: e.limiter, NewID: e.newID, Forget: e.ForgetCall, Closed: ErrClosing})
	e.Connections = connections.New(p, e.calls, e.Fault)
	e.Control = access.New(e.store, e.config.Now, e.config.Entropy, e.config.Log, e.Fault)
	e.Memory = memory.New(p, e.store, e.Fault)
	return e, nil
}

// openStore opens the file, or the store that the config opens in its place.
func (e *Engine) openStore(path string) (err error) {
	if open := e.config.OpenStore; open != nil {
		e.store, err = open(e.storeOptions().Hooks)
	} else {
		e.store, err = boltstore.Open(path, e.storeOptions())
	}
	return err
}

// surroundingsOf are what the ports take of a config.
func surroundingsOf(config workspace.Config) ports.Surroundings {
	return ports.Surroundings{Now: config.Now, Log: config.Log, Observer: config.Observer, OnCommit: config.OnCommit}
}

func (e *Engine) storeOptions() boltstore.Options {
	config := e.config
	options := boltstore.Options{Timeout: lockTimeout, Hooks: store.Hooks{Now: config.Now, OnFail: e.fail}, Ballast: ballast, FreeSpace: config.FreeSpace, Marks: true, AcceptRollback: config.AcceptRollback}
	options.OnCommit, options.OnRuns = ports.CommitStages(surroundingsOf(config)), e.feed.changed
	options.OnOutbox = e.feed.wake
	return options
}

// Call makes one call of an action outside a workflow, with the checks, the limiter
// and the redaction of a step. Pending answers are followed. What the call says of
// itself comes in the result; err is a failure of the engine.
func (e *Engine) Call(ctx context.Context, request calls.Request, sink runs.Sink) (calls.Result, error) {
	return e.calls.Call(ctx, request, sink)
}

// Project returns the project that the engine serves.
func (e *Engine) Project() *workspace.Workspace { return e.project }

// Failed gets the store's failure: nothing can be acknowledged any more and the
// process must end.
func (e *Engine) Failed() <-chan error { return e.failed }

func (e *Engine) fail(err error) {
	cause := upkeep.StoreError(filepath.Join(e.config.StateDir, workspace.StoreFile), e.config.StateDir, err)
	e.broken.CompareAndSwap(nil, &cause)
	select {
	case e.failed <- cause:
	default:
	}
}

// Ready reports whether new work is taken: a *StoreError once the store has
// failed, or while there is no room for a run, ErrClosing when a stop has begun. It
// costs nothing to ask.
func (e *Engine) Ready() error {
	if cause := e.broken.Load(); cause != nil {
		return *cause
	}
	if e.driver.Draining() {
		return ErrClosing
	}
	if pressure := e.store.Pressure(); pressure.Level != store.None {
		return upkeep.PressureFault(e.config.StateDir, &store.PressureError{Reason: pressure.Reason})
	}
	return nil
}

// Close stops every run where it is, cancels calls in flight, ends the plugins
// that were started, at the latest when ctx ends, and gives the store back. The
// next engine goes on with `Resume`. Drain before it waits for calls in flight.
func (e *Engine) Close(ctx context.Context) error {
	err := errors.Join(e.Halt(ctx), e.driver.Close(ctx))
	e.background.wait()
	e.Triggers.Close()
	e.feed.close()
	e.Upkeep.Close()
	e.limiter.Close()
	e.project.Services().Detach()
	err = errors.Join(err, e.store.Close())
	e.project.Close() // what the plugins left was cleared away meanwhile
	return err
}

// StoreStats counts what the store has written since Open.
func (e *Engine) StoreStats() vitals.StoreStats {
	stats := e.store.Stats()
	return vitals.StoreStats{Commits: stats.Commits, Fsyncs: stats.Fsyncs, Bytes: stats.Bytes, FileSize: stats.FileSize, Records: stats.Records}
}

// Active returns how many runs are driven now.
func (e *Engine) Active() int { return e.driver.Active() }

// Busy returns how many of them do more than wait for people or signals. A
// backfill that has runs to start counts too.
func (e *Engine) Busy() int { return e.driver.Busy() + e.Triggers.Pending() }

// newID returns a new run id: a lower-case ULID, rising within a process.
func (e *Engine) newID(at time.Time) (string, error) {
	e.ids.Lock()
	defer e.ids.Unlock()
	id, err := ulid.New(ulid.Timestamp(at), e.ids.entropy)
	if err != nil {
		return "", fmt.Errorf("make a run id: %w", err)
	}
	return strings.ToLower(id.String()), nil
}

// Vitals looks at the engine. It reads index rows of the store, not the runs.
func (e *Engine) Vitals() (*vitals.Vitals, error) {
	census, err := e.store.Census()
	if err != nil {
		return nil, e.Fault(err)
	}
	states, err := e.store.TriggerStates()
	if err != nil {
		return nil, e.Fault(err)
	}
	states = slices.DeleteFunc(states, func(s runs.TriggerState) bool { return s.Trigger == runs.WholeWorkflow })
	large, err := e.store.BlobUsage()
	if err != nil {
		return nil, e.Fault(err)
	}
	usage := e.store.Usage()
	v := &vitals.Vitals{
		Active: e.Active(), Busy: e.Busy(), InFlight: e.InFlight(),
		Runs: census.Runs, Store: e.StoreStats(), Writes: e.store.Stats().Ops,
		Usage:    vitals.StoreUsage{File: usage.FileBytes, Free: usage.FreeBytes, Max: usage.MaxBytes, DiskFree: usage.DiskFree, DiskTotal: usage.DiskTotal, Large: large.Bytes + large.Staged},
		Pressure: int(e.store.Pressure().Level), Triggers: states,
	}
	if backup := e.LastBackup(); backup != nil {
		v.Backup = backup.At
	}
	for _, name := range e.project.PluginNames() {
		status := e.project.Host().Status(name)
		v.Plugins = append(v.Plugins, vitals.Plugin{
			Name: name, PID: status.PID, State: string(status.State), InFlight: status.InFlight, Starts: status.Starts, Crashes: status.AllCrashes,
		})
	}
	return v, nil
}

// Row returns the row of a run. ErrRunNotFound.
func (e *Engine) Row(id string) (*runs.Run, error) {
	row, err := e.store.Run(id)
	return row, e.Fault(err)
}

// TZData says which time zone rules slots are worked out by: their version, "" where
// it can't be told, and where they lie.
func (e *Engine) TZData() (version, source string) { return e.project.TZData() }
