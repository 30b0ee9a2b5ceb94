package boltstore

import (
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
)

// TestIssue13_08WritersWaitWhileTooMuchIsQueued: a flood waits at its writers, it
// does not grow in memory.
func TestIssue13_08WritersWaitWhileTooMuchIsQueued(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var q queue
		q.init()
		const part = 8 << 20
		queued, ended := 0, make(chan struct{})
		go func() {
			defer close(ended)
			for range 100 {
				if err := q.put(&op{size: part}); err != nil {
					return
				}
				queued++
			}
		}()
		synctest.Wait()
		if queued*part <= maxQueuedBytes || queued*part > maxQueuedBytes+2*part {
			t.Errorf("%d MiB are queued before a writer waits", queued*part>>20)
		}
		before := queued
		q.take()
		synctest.Wait()
		if queued != before+1 {
			t.Errorf("after a commit %d more were taken", queued-before)
		}
		q.close()
		<-ended
		if err := q.put(&op{}); err == nil {
			t.Error("a closed queue takes more")
		}
	})
}

// TestACommitTakesWhatIsAboutToBeQueued: where several write, those that can run while a
// commit begins are part of it. A single op after a single one is not kept.
func TestACommitTakesWhatIsAboutToBeQueued(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // so that the writers are known to be ready, and not running
	var q queue
	q.init()
	const writers = 40
	for _, test := range []struct {
		waiting, taken int
	}{
		{1, 1}, {2, writers + 2}, {1, writers + 1}, {1, writers + 1},
	} {
		taken := early
		for taken == early {
			taken = q.takenOf(t, test.waiting, writers)
		}
		if taken != test.taken {
			t.Errorf("a commit took %d ops of %d that wait and %d that are about to be queued, want %d", taken, test.waiting, writers, test.taken)
		}
	}
}

// early says that the scheduler let writers run before the commit began, which tells nothing.
const early = -1

// takenOf says how many ops a commit takes while some wait and writers are about to queue
// one each, or early. It leaves the queue empty, and to the next commit what this one was.
func (q *queue) takenOf(t *testing.T, waiting, writers int) int {
	t.Helper()
	last := q.last
	var all sync.WaitGroup
	for range writers {
		all.Go(func() {
			if err := q.put(&op{size: 1}); err != nil {
				t.Error(err)
			}
		})
	}
	for range waiting {
		if err := q.put(&op{size: 1}); err != nil {
			t.Fatal(err)
		}
	}
	q.mu.Lock()
	queued := len(q.ops)
	q.mu.Unlock()
	taken := len(q.take())
	for left := waiting + writers - taken; left > 0; {
		left -= len(q.take())
	}
	all.Wait()
	if queued > waiting {
		q.last = last
		return early
	}
	q.last = taken
	return taken
}
