package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/boltstore"
	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/store"
)

// stored is a project with a store of many ended runs.
type stored struct {
	dir string
}

// storeOf returns a project whose store has so many ended runs; it is made once. Commands
// that use it add a few.
func (b *bench) storeOf(ctx context.Context, count int) (*stored, error) {
	if s := b.stores[storeName(b, count)]; s != nil {
		return s, nil
	}
	s := &stored{filepath.Join(b.dir, fmt.Sprintf("store%d", count))}
	err := writeFiles(s.dir, map[string]string{
		"flowrun.yaml": filesProject, "data/hello.txt": "hello\n", "let.yaml": stepOfLet, "plugin.yaml": stepOfPlugin,
		"workflows/items.yaml": items(b.size(10_000, 100), "let: {v: \"${{ x }}\"}"),
	})
	if err != nil {
		return nil, err
	}
	if count > 0 {
		if err := fill(ctx, s.dir, count, usual()); err != nil {
			return nil, fmt.Errorf("fill a store with %d runs: %w", count, err)
		}
	}
	if _, err := b.command(ctx, s.dir, b.flowrun, "run", "plugin.yaml", "--state", "state"); err != nil {
		return nil, err
	}
	b.stores[storeName(b, count)] = s
	return s, nil
}

// usual are workflows of a few steps; one in twenty fails.
func usual() []string {
	var sources []string
	for i := range 20 {
		source := fmt.Sprintf("flowrun: v1\nname: w%04d\nsteps:\n  - {id: one, let: {n: 1}}\n  - {id: two, let: {n: \"${{ steps.one.outputs.n + 1 }}\"}}\n"+
			"  - {id: say, uses: core.log, with: {text: \"n is ${{ steps.two.outputs.n }}\"}}\n", i)
		if i == 7 {
			source += "  - {id: stop, uses: core.fail, with: {message: no more today}}\n"
		}
		sources = append(sources, source)
	}
	return sources
}

// padding is the input of large that each copy of its run has a text of its own for.
const padding = "replaced in each copy"

// large are workflows whose runs take 54 KiB each, that are in no other run and that
// nothing can pack: an input, since values that are computed are not stored.
func large() []string {
	return []string{"flowrun: v1\nname: large\ninputs:\n  text: {type: string, default: \"" + padding + "\"}\nsteps:\n  - {id: one, let: {n: \"${{ len(inputs.text) }}\"}}\n"}
}

// padded is a text for a run of large.
func padded() (string, error) {
	text := make([]byte, 27<<10)
	_, err := rand.Read(text)
	return hex.EncodeToString(text), err
}

// template is an ended run, of which others are made.
type template struct {
	row     *runs.Run
	plan    []byte
	records []*journal.Record
	logs    []runs.Log
}

// fill stores as many ended runs: the engine runs each workflow once, and the store is
// given copies of what that left, by the methods that a driver uses. The copies are a
// second apart.
func fill(ctx context.Context, dir string, count int, sources []string) (err error) {
	var s store.Store
	e, err := openEngine(ctx, dir, func(hooks store.Hooks) (opened store.Store, err error) {
		s, err = boltstore.Open(filepath.Join(dir, "state", "flowrun.db"), boltstore.Options{Hooks: hooks, Marks: true})
		return s, err
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.Close(context.WithoutCancel(ctx))) }()
	var templates []template
	for _, source := range sources {
		t, err := templateOf(ctx, e, s, source)
		if err != nil {
			return err
		}
		templates = append(templates, t)
	}
	if err := copies(ctx, s, templates, count); err != nil {
		return err
	}
	entries, err := s.Outbox(0, store.MaxOutbox)
	if err != nil || len(entries) == 0 {
		return err
	}
	return s.DropOutbox(entries[len(entries)-1].Seq) // a server has told of them
}

// writers is how many runs are stored at a time.
const writers = 512

func copies(ctx context.Context, s store.Store, templates []template, count int) error {
	begin := time.Now().Add(-time.Duration(count+60) * time.Second)
	var next atomic.Int64
	errs := make([]error, writers)
	var workers sync.WaitGroup
	for i := range writers {
		workers.Go(func() {
			for errs[i] == nil {
				n := int(next.Add(1)) - 1
				if n >= count {
					return
				}
				errs[i] = templates[n%len(templates)].store(ctx, s, begin.Add(time.Duration(n)*time.Second))
			}
		})
	}
	workers.Wait()
	return errors.Join(errs...)
}

func templateOf(ctx context.Context, e *engine.Engine, s store.Store, source string) (template, error) {
	var t template
	row, problems, err := e.Start(ctx, engine.StartRequest{File: "w.yaml", Source: []byte(source)})
	if err != nil || row == nil {
		return t, fmt.Errorf("start: %w", errors.Join(err, problems))
	}
	if _, err := e.Wait(ctx, row.ID); err != nil {
		return t, err
	}
	for ctx.Err() == nil { // its row is closed a moment after those who wait have heard
		if t.row, err = s.Run(row.ID); err != nil {
			return t, err
		}
		if t.row.Closed {
			break
		}
		time.Sleep(time.Millisecond)
	}
	if t.plan, err = s.Plan(t.row.PlanHash); err != nil {
		return t, err
	}
	if t.records, err = s.Records(row.ID, 1, 0); err != nil {
		return t, err
	}
	t.logs, err = e.Logs(ctx, row.ID, "")
	return t, err
}

// store stores a copy of the run, as if it had begun at another time.
func (t template) store(ctx context.Context, s store.Store, at time.Time) error {
	id := strings.ToLower(ulid.MustNew(ulid.Timestamp(at), rand.Reader).String())
	records, err := renamed(t.records, t.row.ID, id)
	if err != nil {
		return err
	}
	ended := *t.row
	ended.ID, ended.ScheduledAt, ended.StartedAt = id, at.UTC(), at.UTC()
	finished := at.UTC().Add(time.Duration(ended.DurationMS) * time.Millisecond)
	ended.FinishedAt = &finished
	begun := ended
	begun.Status, begun.FinishedAt, begun.Closed, begun.DurationMS, begun.Error = runs.RunRunning, nil, false, 0, nil
	if _, err := s.CreateRun(ctx, &begun, t.plan, "", records[0]); err != nil {
		return err
	}
	done := make(chan error, 1)
	s.Append(id, records[1:], &ended, slices.Clone(t.logs), func(err error) { done <- err })
	return <-done
}

// renamed are the records with another run's id.
func renamed(records []*journal.Record, from, to string) ([]*journal.Record, error) {
	out := make([]*journal.Record, len(records))
	for i, r := range records {
		text, err := json.Marshal(r)
		if err != nil {
			return nil, err
		}
		changed := strings.ReplaceAll(string(text), from, to)
		if strings.Contains(changed, padding) {
			own, err := padded()
			if err != nil {
				return nil, err
			}
			changed = strings.ReplaceAll(changed, padding, own)
		}
		out[i] = new(journal.Record)
		if err := json.Unmarshal([]byte(changed), out[i]); err != nil {
			return nil, err
		}
	}
	return out, nil
}
