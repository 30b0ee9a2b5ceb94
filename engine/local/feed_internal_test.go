package local

import (
	"fmt"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"github.com/flowrun/flowrun/engine/runs"
)

// follower returns a watcher of a feed.
func follower(f *feed) *watcher {
	w := newWatcher()
	f.add(w)
	return w
}

// TestIssue12_24WatchersShareTheTextOfAnUpdate: with one watcher alone there is
// nothing to share.
func TestIssue12_24WatchersShareTheTextOfAnUpdate(t *testing.T) {
	for _, watchers := range []int{1, 3} {
		f, all := newFeed(), []*watcher{}
		for range watchers {
			all = append(all, follower(f))
		}
		f.send(Update{Kind: UpdateWait, Path: "a"})
		f.send(Update{Kind: UpdateWait, Path: "b"})
		written := 0
		for _, w := range all {
			updates, open := w.take(t.Context())
			if len(updates.List) != 2 || !open {
				t.Fatalf("%d updates, goes on: %v", len(updates.List), open)
			}
			for i, update := range updates.List {
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

// TestIssue17_WhatIsMadeOfABlockIsMadeOnce for all who follow, whenever they read and
// however many blocks there are by then; each gets all updates in their order.
func TestIssue17_WhatIsMadeOfABlockIsMadeOnce(t *testing.T) {
	const watchers, updates = 50, 3000
	f, all := newFeed(), []*watcher{}
	for range watchers {
		all = append(all, follower(f))
	}
	made := 0
	write := func(list []Update) any {
		made += len(list)
		text := ""
		for _, u := range list {
			text += u.Path + " "
		}
		return text
	}
	got, blocks := make([]string, watchers), 0
	read := func(i int) {
		for {
			u, _, wait := all[i].look()
			if wait {
				return
			}
			text, _ := u.Made(write).(string)
			got[i], blocks = got[i]+text, blocks+1
		}
	}
	want := ""
	for n := range updates {
		path := fmt.Sprint(n)
		want += path + " "
		kind := UpdateStep
		if n%100 == 99 || n == updates-1 {
			kind = UpdateRun
		}
		f.send(Update{Kind: kind, Path: path})
		read(n % (watchers - 1)) // the last one reads nothing until the end
	}
	for i := range all {
		read(i)
		if got[i] != want {
			t.Fatalf("watcher %d got %d bytes of %d, or others", i, len(got[i]), len(want))
		}
	}
	if made != updates {
		t.Errorf("%d updates were written %d times for %d watchers", updates, made, watchers)
	}
	if most := updates / 50 * watchers; blocks > most {
		t.Errorf("they got them in %d pieces, more than %d", blocks, most)
	}
}

// TestAWatcherThatDoesNotReadIsCutOff after 100,000 updates: it would keep the rest
// in memory for as long as the run goes on. Others go on, and nobody hears of what
// it had before twice.
func TestAWatcherThatDoesNotReadIsCutOff(t *testing.T) {
	const most = 100_000
	f := newFeed()
	deaf, reads := follower(f), follower(f)
	for n := range most + 10 {
		f.send(Update{Kind: UpdateRun, Seq: uint64(n)})
		if u, open := reads.take(t.Context()); len(u.List) != 1 || u.List[0].Seq != uint64(n) || !open {
			t.Fatalf("the other one got %v after %d updates, goes on: %v", u.List, n+1, open)
		}
		if cut := n >= most; (deaf.until != nil) != cut {
			t.Fatalf("after %d updates it is cut off: %v", n+1, deaf.until != nil)
		}
	}
	kept := uint64(0)
	for open := true; open; {
		var u Updates
		u, open = deaf.take(t.Context())
		for _, update := range u.List {
			if update.Seq != kept {
				t.Fatalf("it got %d as the %dth", update.Seq, kept)
			}
			kept++
		}
	}
	if kept != most+1 || len(f.watchers) != 1 || reads.until != nil {
		t.Errorf("it kept %d updates, %d follow, the other one is cut off: %v", kept, len(f.watchers), reads.until != nil)
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
		f := newFeed()
		deaf := follower(f)
		for range most / piece {
			f.send(update)
		}
		if deaf.until != nil {
			t.Errorf("%s: cut off at %d bytes", name, most)
		}
		f.send(update)
		if deaf.until == nil || len(f.watchers) != 0 {
			t.Errorf("%s: it goes on above %d bytes", name, most)
		}
	}
}

// TestIssue17_ManyWatchersGetFewMessages: with 50 who watch, an update waits for others four
// times as long as with one, and no longer than that; the messages are bounded by the updates
// and the time.
func TestIssue17_ManyWatchersGetFewMessages(t *testing.T) {
	for _, test := range []struct {
		watchers, messages int // of each
		latest             time.Duration
	}{{1, 16, 25 * time.Millisecond}, {50, 8, 100 * time.Millisecond}} {
		synctest.Test(t, func(t *testing.T) {
			const updates, every = 4000, 75 * time.Microsecond // as a run of 1,000 items: 300 ms
			f := newFeed()
			var watching sync.WaitGroup
			for range test.watchers {
				w := follower(f)
				watching.Go(func() {
					messages, got := 0, uint64(0)
					w.pump(t.Context(), func(u Updates) bool {
						messages++
						for _, update := range u.List {
							if got++; update.Seq != got {
								t.Fatalf("update %d came as the %dth", update.Seq, got)
							}
							if late := time.Since(update.Until); late > test.latest {
								t.Fatalf("with %d watchers update %d came after %s", test.watchers, got, late)
							}
						}
						return true
					})
					if got != updates || messages > test.messages {
						t.Errorf("with %d watchers one got %d updates in %d messages, at most %d are due", test.watchers, got, messages, test.messages)
					}
				})
			}
			for n := range updates {
				f.send(Update{Kind: UpdateStep, Seq: uint64(n + 1), Until: time.Now()}) // Until is when it was sent
				time.Sleep(every)
			}
			f.close()
			watching.Wait()
		})
	}
}

// TestIssue17_WhoIsThereGetsWhatCameBeforeANewcomer at once, and the newcomer none of it.
func TestIssue17_WhoIsThereGetsWhatCameBeforeANewcomer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFeed()
		first := follower(f)
		f.send(Update{Kind: UpdateStep, Seq: 1})
		first.take(t.Context())
		f.send(Update{Kind: UpdateStep, Seq: 2}) // it waits for company
		got := make(chan Updates, 1)
		go func() {
			u, _ := first.take(t.Context())
			got <- u
		}()
		synctest.Wait()
		begun := time.Now()
		second := follower(f)
		if u := <-got; len(u.List) != 1 || u.List[0].Seq != 2 || time.Since(begun) > 0 {
			t.Errorf("it got %d updates after %s", len(u.List), time.Since(begun))
		}
		if _, _, wait := second.look(); !wait {
			t.Error("the newcomer got what was before it")
		}
	})
}

// TestIssue17_ManyStepsAtOnceAreUpdatesWhenTheyAreTaken: each in its order between what was
// sent before and after, once for all; none that nobody has taken is made.
func TestIssue17_ManyStepsAtOnceAreUpdatesWhenTheyAreTaken(t *testing.T) {
	const steps = 2500
	f := newFeed()
	first, second := follower(f), follower(f)
	f.send(Update{Kind: UpdateRecord, Seq: 1})
	many := manySteps{runID: "r", seq: 1, steps: make([]runs.Step, steps)}
	for i := range many.steps {
		many.steps[i].Path = fmt.Sprint(i)
	}
	f.sendSteps(many)
	f.send(Update{Kind: UpdateRun, Seq: 1})
	read := func(w *watcher) (list []Update) {
		for {
			u, _, wait := w.look()
			if wait {
				return list
			}
			list = append(list, u.List...)
		}
	}
	for b := first.at; b != nil; b = b.next {
		if b.size.updates > 1 && len(b.list) > 0 || b.size.updates > blockUpdates {
			t.Fatalf("a block of %d updates has made %d before it is taken", b.size.updates, len(b.list))
		}
	}
	all, others := read(first), read(second)
	if len(all) != steps+2 || len(others) != len(all) || all[0].Kind != UpdateRecord || all[steps+1].Kind != UpdateRun {
		t.Fatalf("%d and %d updates", len(all), len(others))
	}
	for i, u := range all[1 : steps+1] {
		if u.Kind != UpdateStep || u.RunID != "r" || u.Seq != 1 || u.Step.Path != fmt.Sprint(i) || u.Shared == nil || u.Shared != others[i+1].Shared {
			t.Fatalf("update %d is %+v", i, u)
		}
	}
}

// TestIssue17_AnUpdateForManyTakesAPlaceAndNoMore: the run waits while its updates are sent,
// so none of them allocates for itself, and blocks that get full are not grown by doubling.
func TestIssue17_AnUpdateForManyTakesAPlaceAndNoMore(t *testing.T) {
	const watchers, updates = 50, 4000
	f, all := newFeed(), []*watcher{}
	for range watchers {
		all = append(all, follower(f))
	}
	step := &runs.Step{Path: "a"}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for n := range updates {
		f.send(Update{Kind: UpdateStep, Seq: uint64(n + 1), Step: step})
		if n%500 == 0 {
			for _, w := range all {
				_, _, _ = w.look()
			}
		}
	}
	runtime.ReadMemStats(&after)
	times := float64(after.Mallocs-before.Mallocs) / updates
	size := float64(after.TotalAlloc-before.TotalAlloc) / updates
	place := float64(unsafe.Sizeof(Update{}) + unsafe.Sizeof(runs.Shared{}))
	t.Logf("%.3f allocations and %.0f bytes an update, whose place is of %.0f", times, size, place)
	if times > 0.02 || size > 1.3*place {
		t.Errorf("an update takes %.3f allocations and %.0f bytes, its place is of %.0f", times, size, place)
	}
}
