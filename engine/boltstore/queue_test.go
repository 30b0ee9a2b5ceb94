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
		var all sync.WaitGroup
		for range writers {
			all.Go(func() {
				if err := q.put(&op{size: 1}); err != nil {
					t.Error(err)
				}
			})
		}
		for range test.waiting {
			if err := q.put(&op{size: 1}); err != nil {
				t.Fatal(err)
			}
		}
		taken := len(q.take())
		if taken != test.taken {
			t.Errorf("a commit took %d ops of %d that wait and %d that are about to be queued, want %d", taken, test.waiting, writers, test.taken)
		}
		for all.Wait(); taken < test.waiting+writers; {
			taken += len(q.take())
		}
	}
}
