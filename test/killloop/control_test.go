package killloop

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/boltstore"
	"github.com/flowrun/flowrun/engine/interp"
	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/local"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/pluginhost"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/store"
	"github.com/flowrun/flowrun/engine/workspace"
)

// lieLasts is how long the control's journal says "durable" before it is true.
const lieLasts = 15 * time.Millisecond

// lyingJournal is the negative control: it answers at once and writes later, so
// that effects are sent before their intent is durable.
type lyingJournal struct {
	*boltstore.Store
	late chan func()
}

func newLyingJournal(file *boltstore.Store) *lyingJournal {
	j := &lyingJournal{Store: file, late: make(chan func(), 10_000)}
	go func() {
		for write := range j.late {
			write()
		}
	}()
	return j
}

func (j *lyingJournal) Append(runID string, records []*journal.Record, run *runs.Run, logs []runs.Log, done func(error)) {
	due := time.Now().Add(lieLasts)
	j.late <- func() {
		time.Sleep(time.Until(due))
		j.Store.Append(runID, records, run, logs, nil)
	}
	if done != nil {
		done(nil)
	}
}

// lyingDriver is the driver over that journal, put together as the engine does
// it, with plans that the engine has made.
type lyingDriver struct {
	*local.Driver
	store *boltstore.Store
	host  *pluginhost.Host
	dir   string
}

func openLying(r role, reached func()) (*lyingDriver, error) {
	state := filepath.Join(r.Dir, "state")
	if err := os.MkdirAll(state, 0o700); err != nil {
		return nil, err
	}
	file, err := boltstore.Open(filepath.Join(state, workspace.StoreFile), boltstore.Options{Hooks: store.Hooks{OnCommit: func(store.CommitStage) { reached() }}})
	if err != nil {
		return nil, err
	}
	config, err := json.Marshal(map[string]string{"base_url": r.URL})
	if err != nil {
		return nil, err
	}
	d := &lyingDriver{store: file, dir: r.Dir, host: pluginhost.New(pluginhost.Options{
		StateDir: state, Environ: os.Environ(), Now: time.Now, Entropy: rand.Reader, Version: "test",
		Sources: []pluginhost.Source{{Name: "counter", Bundled: true, Command: []string{program(), "plugins", "serve", "counter"}}},
	})}
	d.Driver = local.New(local.Options{
		Journal: newLyingJournal(file), Limiter: unlimited{}, Now: time.Now, Log: slog.New(slog.DiscardHandler),
		Caller: &hostCaller{host: d.host, connection: pluginhost.Connection{Name: "counter", Plugin: "counter", Config: config}},
	})
	return d, nil
}

type unlimited struct{}

func (unlimited) Acquire(context.Context, *plan.Action, string, func(time.Time)) (func(runs.Answer), error) {
	return func(runs.Answer) {}, nil
}

type hostCaller struct {
	host       *pluginhost.Host
	connection pluginhost.Connection
}

func (c *hostCaller) Call(ctx context.Context, request runs.Request, sink runs.Sink) runs.Answer {
	return c.host.Call(ctx, request, c.connection, sink)
}

func (d *lyingDriver) open(context.Context) ([]runs.Run, error) {
	rows, _, err := d.store.Runs(runs.Filter{Limit: 10_000})
	var open []runs.Run
	for _, row := range rows {
		if !row.Closed {
			open = append(open, row)
		}
	}
	return open, err
}

func (d *lyingDriver) start(ctx context.Context, r request) (string, error) {
	encoded, err := os.ReadFile(planPath(d.dir, r.Flow))
	if err != nil {
		return "", err
	}
	workflow, err := plan.Decode(encoded)
	if err != nil {
		return "", err
	}
	inputs, err := json.Marshal(map[string]string{"tag": r.ID})
	if err != nil {
		return "", err
	}
	now := time.Now().UTC().Round(0)
	id := strings.ToLower(ulid.Make().String())
	hash := hashOf(encoded)
	row, existing, err := d.Start(ctx, local.StartRequest{
		Workflow: workflow, PlanBytes: encoded, RequestID: r.ID,
		Row: runs.Run{ID: id, Workflow: workflow.Name, Status: runs.RunRunning, Attempt: 1, Trigger: "manual", ScheduledAt: now, StartedAt: now, PlanHash: hash},
		Start: journal.Start{
			RunID: id, Inputs: inputs, Trigger: "manual", ScheduledAt: now, Interpreter: interp.Version, PlanHash: hash,
		},
	})
	if err == nil && row != nil {
		existing = row.ID
	}
	return existing, err
}

// planPath is where the test has put the plan of a flow.
func planPath(dir, flow string) string { return filepath.Join(dir, flow+".plan") }

func (d *lyingDriver) watch(ctx context.Context, id string) (<-chan local.Update, error) {
	return d.Watch(ctx, id, 0)
}

func (d *lyingDriver) get(ctx context.Context, id string) (*runs.Result, error) {
	time.Sleep(2 * lieLasts) // a run that has ended is read from the store
	return d.Snapshot(ctx, id)
}

func (d *lyingDriver) resume(_ context.Context, id string, _ bool) error {
	row, err := d.store.Run(id)
	if err != nil || d.Driven(id) {
		return err
	}
	if row.Status == runs.RunPaused {
		return d.Load(id, &journal.Event{Kind: journal.Resumed, By: "test"})
	}
	return d.Load(id, nil)
}

func (d *lyingDriver) decide(ctx context.Context, id, step string, act engine.Act, request engine.DecideRequest) error {
	if act != engine.ActResolve {
		return fmt.Errorf("the control knows no %s", act)
	}
	_, err := d.Decide(ctx, id, false, func(*interp.Machine, bool) (*journal.Event, error) {
		return &journal.Event{
			Kind: journal.Resolved, Path: step, By: request.By, Resolution: &journal.Resolution{Outcome: request.Outcome, Output: request.Payload},
		}, nil
	})
	return err
}

func (d *lyingDriver) backup(context.Context, string) (string, error) {
	return "", errors.New("the control makes no backups")
}

func (d *lyingDriver) close(ctx context.Context) error {
	time.Sleep(2 * lieLasts) // what was promised is written by then
	return errors.Join(d.Driver.Close(ctx), d.host.Close(ctx), d.store.Close())
}
