package local_test

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/boltstore"
	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/local"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
)

// slowReader is a store of which the first who reads the journal of a run to its end is held
// up then.
type slowReader struct {
	*boltstore.Store
	run     string
	readers atomic.Int32
	read    chan struct{} // closed when the first one has read
	goOn    chan struct{}
}

func (s *slowReader) EachRecord(id string, from uint64, each func(*journal.Record) error) error {
	err := s.Store.EachRecord(id, from, each)
	if id == s.run && s.readers.Add(1) == 1 {
		close(s.read)
		<-s.goOn
	}
	return err
}

func newSlowReader(b *bench, run string) *slowReader {
	return &slowReader{Store: b.store, run: run, read: make(chan struct{}), goOn: make(chan struct{})}
}

// TestARunIsDrivenAsItIsStored: who has read a run to drive it, and is slow then, must not
// go on with it as it was, when another one has driven it to its end meanwhile.
func TestARunIsDrivenAsItIsStored(t *testing.T) {
	for what, decided := range map[string]func(ctx context.Context, d *local.Driver, id string) error{
		"loaded and decided": func(ctx context.Context, d *local.Driver, id string) error {
			if err := d.Load(id, nil); err != nil {
				return err
			}
			_, err := d.Decide(ctx, id, false, approve(false))
			return err
		},
		"decided": func(ctx context.Context, d *local.Driver, id string) error {
			_, err := d.Decide(ctx, id, false, approve(false))
			return err
		},
	} {
		t.Run(what, func(t *testing.T) {
			b := newBench(t)
			id := b.start(asking())
			b.await("it waits", func() bool { row, err := b.store.Run(id); return err == nil && row.Status == runs.RunWaiting })
			if err := b.driver.Close(context.Background()); err != nil {
				t.Fatal(err)
			}
			slow := newSlowReader(b, id)
			b.driver = local.New(local.Options{Journal: slow, Caller: b.service, Limiter: noLimit{}, Now: time.Now, Log: slog.New(slog.DiscardHandler)})
			loaded := make(chan error, 1)
			go func() { loaded <- b.driver.Load(id, nil) }()
			<-slow.read
			ended := make(chan error, 1)
			go func() { ended <- decided(t.Context(), b.driver, id) }()
			select { // the other one waits for the slow one, or has driven the run to its end
			case err := <-ended:
				ended <- err
				_ = b.driver.AwaitEnd(t.Context(), id)
			case <-time.After(100 * time.Millisecond):
			}
			close(slow.goOn)
			if err := <-loaded; err != nil {
				t.Error(err)
			}
			if err := <-ended; err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			if err := b.driver.AwaitEnd(ctx, id); err != nil {
				t.Fatalf("it is driven as it was before the decision: %v", err)
			}
			if row, err := b.store.Run(id); err != nil || row.Status != runs.RunSucceeded {
				t.Errorf("it ends as %+v, %v", row, err)
			}
		})
	}
}

// TestAPlaceIsGivenToARunThatIsLoaded: it was read while it still waited for its place.
func TestAPlaceIsGivenToARunThatIsLoaded(t *testing.T) {
	b := newBench(t)
	w := asking()
	w.Concurrency = bounds("k", plan.OnFullQueue)
	first, second := b.start(w), b.start(w)
	b.await("the first one waits for a person", func() bool { row, err := b.store.Run(first); return err == nil && row.Status == runs.RunWaiting })
	if err := b.driver.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	slow := newSlowReader(b, second)
	b.driver = local.New(local.Options{Journal: slow, Memory: b.store, Caller: b.service, Limiter: noLimit{}, Now: time.Now, Log: slog.New(slog.DiscardHandler)})
	loaded := make(chan error, 1)
	go func() { loaded <- b.driver.Load(second, nil) }()
	<-slow.read
	if _, err := b.driver.Decide(t.Context(), first, false, approve(false)); err != nil {
		t.Fatal(err)
	}
	b.await("the second one has its place", func() bool {
		row, err := b.store.Run(second)
		return err == nil && row.StateOf() == runs.SlotHeld
	})
	close(slow.goOn)
	if err := <-loaded; err != nil {
		t.Fatal(err)
	}
	b.await("the second one goes on", func() bool { row, err := b.store.Run(second); return err == nil && row.Status == runs.RunWaiting })
}
