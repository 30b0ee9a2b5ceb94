package boltstore

import (
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
