//go:build linux

package triggers

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/trigger"
	"github.com/flowrun/flowrun/engine/workspace"
)

// role is what a server is to do: it takes the events, until it is killed or each
// event, item and end has its run.
type role struct {
	Dir     string   `json:"dir"`
	Events  []string `json:"events"`
	Keyless bool     `json:"keyless,omitempty"` // the control: the events do not say which they are
	Items   int      `json:"items"`             // runs of the poll at least
	Looks   int      `json:"looks,omitempty"`   // polls at least
	DieAt   int      `json:"die_at,omitempty"`  // the commit stage, from 1, at which it kills itself; 0 = none
	Hold    bool     `json:"hold,omitempty"`    // it does not end by itself: it is killed from outside
}

// patience is how long a server works on what it is to do.
const patience = 2 * time.Minute

const token = "a-secret-of-the-sender"

func config(dir string) workspace.Config {
	return workspace.Config{
		StateDir: filepath.Join(dir, "state"), Dir: dir, ProjectFile: filepath.Join(dir, "flowrun.yaml"),
		Executable: program(), Bundled: []string{"feed"}, Version: "test", Now: time.Now, Entropy: rand.Reader,
		Log: slog.New(slog.DiscardHandler), Environ: append(os.Environ(), "FLOWRUN_SECRET_HOOK="+token),
	}
}

// open opens the engine of a project.
func open(ctx context.Context, c workspace.Config) (*engine.Engine, error) {
	project, err := engine.LoadProject(ctx, c)
	if err != nil {
		return nil, err
	}
	e, err := engine.Open(ctx, project)
	if err != nil {
		project.Close()
	}
	return e, err
}

func (r role) serve() error {
	var stages atomic.Int64
	c := config(r.Dir)
	c.OnCommit = func(string) {
		if stages.Add(1) == int64(r.DieAt) {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	e, err := open(ctx, c)
	if err != nil {
		return err
	}
	fmt.Println("open")
	if err := e.AlwaysOn(ctx); err != nil {
		return err
	}
	if err := r.send(ctx, e); err != nil {
		return err
	}
	for r.Hold || !r.done(ctx, e) {
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return errors.New("not everything has its run in time")
		}
	}
	if err := e.Close(ctx); err != nil {
		return err
	}
	fmt.Println("stages", stages.Load())
	return nil
}

// send sends the events, each until it is answered.
func (r role) send(ctx context.Context, e *engine.Engine) error {
	var senders sync.WaitGroup
	failed := make([]error, len(r.Events))
	for i, event := range r.Events {
		senders.Go(func() {
			header := http.Header{"Authorization": {"Bearer " + token}, "Content-Type": {"application/json"}}
			if !r.Keyless {
				header.Set("X-Event", event)
			}
			body, err := json.Marshal(map[string]string{"event": event})
			if err == nil {
				_, err = e.Hook(ctx, "hooked", "in", trigger.HookRequest{Method: "POST", Header: header, Body: body})
			}
			failed[i] = err
		})
	}
	senders.Wait()
	return errors.Join(failed...)
}

// done reports whether everything has a run that has ended.
func (r role) done(ctx context.Context, e *engine.Engine) bool {
	looks, _ := os.ReadFile(filepath.Join(r.Dir, lookFile)) // not there before the first
	if len(looks) < r.Looks {
		return false
	}
	hooked, next, polled := r.count(ctx, e, "hooked"), r.count(ctx, e, "next"), r.count(ctx, e, "watch")
	return hooked >= len(r.Events) && next >= hooked && polled >= r.Items
}

// count counts the runs of a workflow that have ended; -1 while one has not.
func (r role) count(ctx context.Context, e *engine.Engine, workflow string) int {
	rows, _, err := e.List(ctx, runs.Filter{Workflow: workflow, Limit: 10_000})
	if err != nil {
		return -1
	}
	for _, run := range rows {
		if !run.Closed || run.Status != runs.RunSucceeded {
			return -1
		}
	}
	return len(rows)
}
