package local_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"runtime"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/boltstore"
	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/local"
	"github.com/flowrun/flowrun/engine/runs"
)

// encodedJournal is a store that looks whether the records it is handed are encoded.
type encodedJournal struct {
	*boltstore.Store
	records, bare atomic.Int64
}

func (s *encodedJournal) Append(runID string, records []*journal.Record, run *runs.Run, logs []runs.Log, done func(error)) {
	for _, record := range records {
		one, err := journal.Encode(record)
		again, also := journal.Encode(record)
		s.records.Add(1)
		if err != nil || also != nil || &one[0] != &again[0] {
			s.bare.Add(1)
		}
	}
	s.Store.Append(runID, records, run, logs, done)
}

// encoded puts such a store under the driver of a bench.
func (b *bench) encoded() *encodedJournal {
	b.t.Helper()
	s := &encodedJournal{Store: b.store}
	if err := b.driver.Close(context.Background()); err != nil {
		b.t.Fatal(err)
	}
	b.driver = local.New(local.Options{Journal: s, Caller: b.service, Limiter: noLimit{}, Now: time.Now, Log: slog.New(slog.DiscardHandler)})
	return s
}

// A record is encoded when its event is applied: the store writes those bytes (ADR 78).
func TestIssue17_TheStoreIsHandedWhatWasEncoded(t *testing.T) {
	b := newBench(t)
	s := b.encoded()
	b.service.script["c"] = func(context.Context, runs.Request) runs.Answer {
		return runs.Answer{Failed: &runs.Error{Kind: "invalid_input", Message: "no"}}
	}
	for range 2 {
		b.wait(b.start(workflow("a read", "b keyed", "c once")))
	}
	if s.records.Load() < 6 || s.bare.Load() > 0 {
		t.Errorf("%d of %d records are encoded by the store", s.bare.Load(), s.records.Load())
	}
}

// appliedOnce is how many bytes a driver takes for each byte of a step's output: the
// record, the values that expressions read, and the page of the store. One encoding more
// takes one more at least.
const appliedOnce = 2.5

// An event is encoded once from the answer to the disk: what a longer output takes is
// counted, since all that is encoded is made somewhere (ADR 78). It is no parallel test.
func TestIssue17_AnEventIsEncodedOnce(t *testing.T) {
	b := newBench(t)
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	taken := func(size int) uint64 {
		output := json.RawMessage(`{"text":"` + strings.Repeat("x", size) + `"}`)
		b.service.script["a"] = func(context.Context, runs.Request) runs.Answer {
			return runs.Answer{Completed: &runs.Completed{Output: output}}
		}
		var least uint64
		for range 5 { // what shares a page with it differs
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			b.wait(b.start(workflow("a read")))
			runtime.ReadMemStats(&after)
			if n := after.TotalAlloc - before.TotalAlloc; least == 0 || n < least {
				least = n
			}
		}
		runtime.GC()
		return least
	}
	const short, long = 256 << 10, 768 << 10
	taken(short) // makes what is made once
	each := float64(taken(long)-taken(short)) / (long - short)
	t.Logf("%.2f bytes are made for a byte of an output", each)
	if each > appliedOnce {
		t.Errorf("%.2f bytes are made for a byte of an output, at most %.1f: it is encoded more than once", each, appliedOnce)
	}
}
