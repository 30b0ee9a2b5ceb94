package engine

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flowrun/flowrun/engine/runs"
)

func feedRow(n int) runs.Run { return runs.Run{ID: fmt.Sprint(n), Status: runs.RunRunning} }

func TestAFeedGivesWhatFollowsASequenceNumber(t *testing.T) {
	begin := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	f := newRunsFeed(begin)
	first := uint64(begin.UnixMicro())
	for n := range feedRows + 10 {
		f.changed([]runs.Run{feedRow(n)})
	}
	for name, test := range map[string]struct {
		from   uint64
		missed bool
		count  int
		first  string
	}{
		"a reader who begins":               {0, true, 0, ""},
		"a number of an older process":      {first - 1000, true, 0, ""},
		"the first, which is forgotten":     {first, true, 0, ""},
		"the last that is forgotten":        {first + 8, true, 0, ""},
		"the one before the oldest":         {first + 9, false, feedRows, "10"},
		"a reader who lags behind a little": {first + feedRows + 6, false, 3, fmt.Sprint(feedRows + 7)},
		"a reader who has read all":         {first + feedRows + 9, false, 0, ""},
		"a number that was never given":     {first + feedRows + 10, true, 0, ""},
	} {
		updates, missed, newest, _, closed := f.after(test.from)
		if missed != test.missed || len(updates) != test.count || newest != first+feedRows+9 || closed {
			t.Errorf("%s: %d updates, missed %v, newest %d", name, len(updates), missed, newest-first)
			continue
		}
		if len(updates) > 0 && (updates[0].Run.ID != test.first || updates[0].Seq != test.from+1) {
			t.Errorf("%s: the first is %+v", name, updates[0])
		}
	}
}

func TestAReaderOfAllRunsHearsOfEachChangeInOrder(t *testing.T) {
	e := stateProject(t, time.Now, nil)
	updates, err := e.WatchRuns(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	reset := <-updates
	if !reset.Reset || reset.Run != nil {
		t.Fatalf("first comes %+v", reset)
	}
	id := runHello(t, e)
	seq := reset.Seq
	for {
		update := <-updates
		if update.Seq != seq+1 || update.Run.ID != id || update.Run.Undriven {
			t.Fatalf("after %d comes %+v", seq, update)
		}
		if seq = update.Seq; update.Run.Closed {
			break
		}
	}
	again, err := e.WatchRuns(t.Context(), reset.Seq)
	if err != nil {
		t.Fatal(err)
	}
	if update := <-again; update.Reset || update.Seq != reset.Seq+1 {
		t.Errorf("a reader who comes back gets %+v", update)
	}
}

func TestAReaderOfAllRunsEndsWithTheEngineOrItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &Engine{feed: newRunsFeed(time.Now())}
		ctx, cancel := context.WithCancel(t.Context())
		bounded, err := e.WatchRuns(ctx, 0)
		if err != nil {
			t.Fatal(err)
		}
		whole, err := e.WatchRuns(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, updates := range []<-chan RunsUpdate{bounded, whole} {
			if update := <-updates; !update.Reset {
				t.Errorf("first comes %+v", update)
			}
		}
		cancel()
		if update, ok := <-bounded; ok {
			t.Errorf("after its context: %+v", update)
		}
		synctest.Wait()
		e.feed.close()
		if update, ok := <-whole; ok {
			t.Errorf("after the engine: %+v", update)
		}
	})
}

// TestIssue12_24ReadersOfAllRunsShareTheTextOfAChange, but not where one of them saw
// the run driven and another did not.
func TestIssue12_24ReadersOfAllRunsShareTheTextOfAChange(t *testing.T) {
	f := newRunsFeed(time.Unix(1, 0))
	f.changed([]runs.Run{feedRow(1)})
	f.join(2)
	f.changed([]runs.Run{feedRow(2)})
	written := 0
	write := func(u RunsUpdate) ([]byte, error) {
		written++
		return fmt.Appendf(nil, "%s %v", u.Run.ID, u.Run.Undriven), nil
	}
	for reader, undriven := range []bool{false, true, false, true} {
		updates, _, _, _, _ := f.after(f.first - 1)
		for n, update := range updates {
			update.Run.Undriven = undriven
			update.Shared = update.texts.of(update.Run)
			if text, err := update.Text(write); string(text) != fmt.Sprintf("%d %v", n+1, undriven) || err != nil {
				t.Errorf("reader %d gets %s, %v", reader, text, err)
			}
		}
	}
	if written != 4+2 { // nobody shares what came before there were two
		t.Errorf("written %d times", written)
	}
}
