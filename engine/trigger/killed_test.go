package trigger_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/services"
	"github.com/flowrun/flowrun/engine/store"
	"github.com/flowrun/flowrun/engine/trigger"
	"github.com/flowrun/flowrun/engine/workspace"
)

// stateImages copies a state folder at each commit of its store: what a kill there
// would leave.
type stateImages struct {
	dir   string // of the store
	into  string
	mu    sync.Mutex
	taken []string
	err   error
}

func (s *stateImages) commit(stage string) {
	if stage != string(store.AfterCommit) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	image := filepath.Join(s.into, fmt.Sprintf("%03d", len(s.taken)))
	if err := os.MkdirAll(filepath.Join(image, "state"), 0o700); err != nil {
		s.err = err
		return
	}
	for _, name := range []string{workspace.StoreFile, services.KeyFile} {
		data, err := os.ReadFile(filepath.Join(s.dir, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(image, "state", name), data, 0o600)
		}
		if err != nil {
			s.err = err
			return
		}
	}
	s.taken = append(s.taken, image)
}

// chainFiles is a workflow that fails, which another follows, and a target that is
// told.
func chainFiles(h *hookServer) map[string]string {
	return map[string]string{
		"flowrun.yaml": fmt.Sprintf("workflows: [flows]\nnotify:\n  ops: {webhook: %q, on: [failed]}\n", h.URL),
		"flows/first.yaml": `flowrun: v1
name: first
steps:
  - {id: bad, uses: core.fail, with: {message: broken}}
`,
		"flows/second.yaml": `flowrun: v1
name: second
triggers:
  behind: {after: {workflow: first, status: failed}}
steps:
  - {id: say, uses: core.log, with: {text: "${{ trigger.name }}"}}
`,
	}
}

// countRuns counts the closed runs of a workflow; open is how many are not.
func countRuns(t *testing.T, e *engine.Engine, workflow string) (closed, open int) {
	t.Helper()
	rows, _, err := e.Store().Runs(runs.Filter{Workflow: workflow, Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	for i := range rows {
		if rows[i].Closed {
			closed++
		} else {
			open++
		}
	}
	return closed, open
}

// settled reports whether all that the outbox holds is handed on and has ended.
func settled(t *testing.T, e *engine.Engine) bool {
	t.Helper()
	newest, err := e.NewestEntry()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{trigger.ReaderOfTriggers, trigger.ReaderOfNotices + "ops"} {
		place, err := e.OutboxPlace(name)
		if err != nil {
			t.Fatal(err)
		}
		if newest > place {
			return false
		}
	}
	_, first := countRuns(t, e, "first")
	_, second := countRuns(t, e, "second")
	return first+second == 0
}

// killedWhileHandingOn runs a workflow that another follows, kills the server at
// each of its commits, goes on with what is left, and returns for each of them how
// many runs of the other one there are, and how many messages with keys of their
// own.
func killedWhileHandingOn(t *testing.T, begin func(e *engine.Engine) error) (followers, messages []int) {
	t.Helper()
	h := newHookServer(t)
	dir := t.TempDir()
	files := chainFiles(h)
	images := &stateImages{dir: filepath.Join(dir, "state"), into: t.TempDir()}
	serve := func(dir string, change func(*workspace.Config)) *engine.Engine {
		t.Helper()
		for name, text := range files {
			writePlain(t, dir, name, text)
		}
		e := inFolder(t, dir, func(c *workspace.Config) {
			if change != nil {
				change(c)
			}
		})
		if err := begin(e); err != nil {
			t.Fatal(err)
		}
		return e
	}
	e := serve(dir, func(c *workspace.Config) { c.OnCommit = images.commit })
	run, problems, err := e.StartNamed(t.Context(), "first", engine.NamedStart{})
	if err != nil || run == nil {
		t.Fatal(err, problems)
	}
	eventually(t, "the end is handed on", func() bool { return settled(t, e) })
	closeEngine(t, e)
	if images.err != nil {
		t.Fatal(images.err)
	}
	for _, image := range images.taken {
		h.mu.Lock()
		h.keys = nil
		h.mu.Unlock()
		e := serve(image, nil)
		closed, open := countRuns(t, e, "first")
		eventually(t, "the end is handed on after a kill", func() bool { return settled(t, e) })
		if closed+open > 0 {
			count, _ := countRuns(t, e, "second")
			followers = append(followers, count)
			h.mu.Lock()
			keys := map[string]bool{}
			for _, key := range h.keys {
				keys[key] = true
			}
			h.mu.Unlock()
			messages = append(messages, len(keys))
		}
		closeEngine(t, e)
	}
	return followers, messages
}

// hastily lets the readers of the outbox note their places at once.
func hastily(readers []*trigger.OutboxReader) {
	for _, r := range readers {
		r.SetAfter(func(time.Duration) <-chan time.Time { return time.After(time.Millisecond) })
	}
}

func TestP10WhatFollowsARunIsStartedOnceThoughTheServerIsKilledAtAnyCommit(t *testing.T) {
	followers, messages := killedWhileHandingOn(t, func(e *engine.Engine) error {
		e.ChangeReaders(hastily)
		return e.AlwaysOn(t.Context())
	})
	if len(followers) < 6 {
		t.Fatalf("%d commits only", len(followers))
	}
	for i := range followers {
		if followers[i] != 1 || messages[i] > 1 {
			t.Errorf("commit %d: %d runs follow, %d messages are sent", i+1, followers[i], messages[i])
		}
	}
	if messages[0] != 1 {
		t.Errorf("after the first commit %d messages are sent", messages[0])
	}
}

// The control: the runs that follow are started without the name of their cause.
func TestP10ControlOfFollowersWithoutARequestStartsSomeTwice(t *testing.T) {
	followers, _ := killedWhileHandingOn(t, func(e *engine.Engine) error {
		e.ChangeReaders(func(readers []*trigger.OutboxReader) {
			hastily(readers)
			readers[0].SetTake(func(ctx context.Context, entry runs.OutboxEntry, _ string) error {
				if entry.Kind != runs.OutboxClosed || entry.Run.Workflow != "first" {
					return nil
				}
				_, _, err := e.StartNamed(ctx, "second", engine.NamedStart{})
				return err
			})
		})
		return e.AlwaysOn(t.Context())
	})
	twice := 0
	for _, n := range followers {
		if n > 1 {
			twice++
		}
	}
	if twice == 0 {
		t.Errorf("runs that follow: %v: the suite above proves nothing", followers)
	}
}
