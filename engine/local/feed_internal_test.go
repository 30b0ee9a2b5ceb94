package local

import (
	"testing"

	"github.com/flowrun/flowrun/engine/runs"
)

// TestIssue12_24WatchersShareTheTextOfAnUpdate: with one watcher alone there is
// nothing to share.
func TestIssue12_24WatchersShareTheTextOfAnUpdate(t *testing.T) {
	for _, watchers := range []int{1, 3} {
		f, all := newFeed(), []*watcher{}
		for range watchers {
			w := newWatcher()
			f.add(w)
			all = append(all, w)
		}
		f.send(Update{Kind: UpdateWait, Path: "a"})
		f.send(Update{Kind: UpdateWait, Path: "b"})
		written := 0
		for _, w := range all {
			for i, update := range w.queue {
				text, err := update.Text(func(u Update) ([]byte, error) {
					written++
					return []byte(u.Path), nil
				})
				if want := string("ab"[i]); string(text) != want || err != nil || update.Path != want {
					t.Errorf("%s, %v, want %s", text, err, want)
				}
			}
		}
		if written != 2 {
			t.Errorf("%d watchers: written %d times", watchers, written)
		}
	}
}

// TestAWatcherThatDoesNotReadIsCutOff after 100,000 updates: it would keep the rest
// in memory for as long as the run goes on. Others go on, and nobody hears of what
// it had before twice.
func TestAWatcherThatDoesNotReadIsCutOff(t *testing.T) {
	const most = 100_000
	f, deaf, reads := newFeed(), newWatcher(), newWatcher()
	f.add(deaf)
	f.add(reads)
	for n := range most + 10 {
		f.send(Update{Kind: UpdateWait, Seq: uint64(n)})
		reads.queue = reads.queue[:0]
		if cut := n >= most; deaf.closed != cut {
			t.Fatalf("after %d updates it is cut off: %v", n+1, deaf.closed)
		}
	}
	if len(deaf.queue) != most+1 || len(f.watchers) != 1 || reads.closed {
		t.Errorf("it keeps %d updates, %d follow, the other one is cut off: %v", len(deaf.queue), len(f.watchers), reads.closed)
	}
}

// TestAWatcherThatDoesNotReadIsCutOffBySize: few updates may be large ones. What it
// may keep is 64 MiB, of records, outputs and lines of the log alike.
func TestAWatcherThatDoesNotReadIsCutOffBySize(t *testing.T) {
	const most, piece = 64 << 20, 1 << 20
	text := make([]byte, piece)
	for name, update := range map[string]Update{
		"records": {Kind: UpdateRecord, Record: text},
		"outputs": {Kind: UpdateStep, Step: &runs.Step{Outputs: text}},
		"lines":   {Kind: UpdateLog, Log: &runs.Log{Message: string(text)}},
		"fields":  {Kind: UpdateLog, Log: &runs.Log{Fields: text}},
	} {
		f, deaf := newFeed(), newWatcher()
		f.add(deaf)
		for range most / piece {
			f.send(update)
		}
		if deaf.closed {
			t.Errorf("%s: cut off at %d bytes", name, most)
		}
		f.send(update)
		if !deaf.closed || len(f.watchers) != 0 {
			t.Errorf("%s: it goes on above %d bytes", name, most)
		}
	}
}
