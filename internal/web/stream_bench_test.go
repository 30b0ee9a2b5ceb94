package web

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/runs"
)

// sharedFeed gives each watcher the same updates, as the feed of a run does.
type sharedFeed struct {
	fakeRuns
	mu       sync.Mutex
	watchers []chan engine.Updates
}

func (f *sharedFeed) WatchTogether(context.Context, string, uint64) (<-chan engine.Updates, error) {
	updates := make(chan engine.Updates, 16)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.watchers = append(f.watchers, updates)
	return updates, nil
}

func (f *sharedFeed) joined() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.watchers)
}

func (f *sharedFeed) send(updates ...engine.Update) {
	f.mu.Lock()
	defer f.mu.Unlock()
	together := engine.Together(updates...)
	for _, w := range f.watchers {
		w <- together
	}
}

func (f *sharedFeed) close() {
	for _, w := range f.watchers {
		close(w)
	}
}

// taken is an answer of which nothing but its length is kept.
type taken struct {
	header http.Header
	bytes  int
}

func (d *taken) Header() http.Header { return d.header }
func (d *taken) WriteHeader(int)     {}
func (d *taken) Flush()              {}

func (d *taken) Write(text []byte) (int, error) {
	d.bytes += len(text)
	return len(text), nil
}

// BenchmarkStream sends a record and a changed step, 2 KB each, to all who follow a
// run: what two updates cost with so many of them.
func BenchmarkStream(b *testing.B) {
	step := runs.Step{
		Path: "all[12].get", Status: runs.StepSucceeded, Attempts: 1, Uses: "tasks.list",
		Outputs: json.RawMessage(`{"text":"` + strings.Repeat("x", 2000) + `"}`),
	}
	record := json.RawMessage(`{"seq":1,"event":{"kind":"completed","output":"` + strings.Repeat("y", 2000) + `"}}`)
	for _, watchers := range []int{1, 50, 100} {
		b.Run(fmt.Sprintf("watchers=%d", watchers), func(b *testing.B) {
			runs := &sharedFeed{}
			handler := NewSocketHandler(Options{Gate: NewGate(), Runs: runs})
			var reading sync.WaitGroup
			answers := make([]*taken, watchers)
			for i := range answers {
				answers[i] = &taken{header: http.Header{}}
				request, err := http.NewRequest(http.MethodGet, Prefix+"/stream?topics=run:"+knownRun, nil)
				if err != nil {
					b.Fatal(err)
				}
				request.Host = "flowrun"
				reading.Go(func() { handler.ServeHTTP(answers[i], request) })
			}
			for runs.joined() < watchers {
				continue
			}
			b.ReportAllocs()
			b.ResetTimer()
			for i := range b.N {
				runs.send(engine.Update{Kind: engine.UpdateRecord, RunID: knownRun, Seq: uint64(i + 1), Record: record})
				runs.send(engine.Update{Kind: engine.UpdateStep, RunID: knownRun, Seq: uint64(i + 1), Step: &step})
			}
			runs.close()
			reading.Wait()
			b.StopTimer()
			for _, answer := range answers {
				if answer.bytes < b.N*4000 {
					b.Fatalf("a watcher got %d bytes", answer.bytes)
				}
			}
		})
	}
}
