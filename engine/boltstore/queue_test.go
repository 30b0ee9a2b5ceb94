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

// TestACommitTakesWhatIsAboutToBeQueued: writers that can run while a commit begins are
// part of it; nobody is waited for who cannot.
func TestACommitTakesWhatIsAboutToBeQueued(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // so that they are known to be ready, and not running
	var q queue
	q.init()
	const writers = 40
	var all sync.WaitGroup
	for range writers {
		all.Go(func() {
			if err := q.put(&op{size: 1}); err != nil {
				t.Error(err)
			}
		})
	}
	if err := q.put(&op{size: 1}); err != nil {
		t.Fatal(err)
	}
	if group := q.take(); len(group) != writers+1 {
		t.Errorf("a commit took %d of %d ops", len(group), writers+1)
	}
	all.Wait()
	if err := q.put(&op{size: 1}); err != nil {
		t.Fatal(err)
	}
	if group := q.take(); len(group) != 1 {
		t.Errorf("a commit of one op took %d", len(group))
	}
}
