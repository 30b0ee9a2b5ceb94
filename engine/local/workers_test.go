package local

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// What is done one after the other is done by one goroutine, and no more of them wait than
// are bounded, whatever was done at once, and none for long.
func TestWorkersAreUsedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorkers()
		for range 50 {
			w.Go(func() {})
			w.Wait()
			synctest.Wait() // it is spare
			if w.spare.Load() != 1 {
				t.Fatalf("%d goroutines are spare", w.spare.Load())
			}
		}
		var at atomic.Int64
		goOn := make(chan struct{})
		for range 3 * maxSpareWorkers {
			w.Go(func() {
				at.Add(1)
				<-goOn
			})
		}
		synctest.Wait()
		if at.Load() != 3*maxSpareWorkers {
			t.Errorf("%d of %d are done at once", at.Load(), 3*maxSpareWorkers)
		}
		close(goOn)
		w.Wait()
		synctest.Wait()
		if w.spare.Load() != maxSpareWorkers {
			t.Errorf("%d goroutines are spare", w.spare.Load())
		}
		time.Sleep(spareFor)
		synctest.Wait()
		if w.spare.Load() != 0 {
			t.Errorf("%d goroutines are spare after %s with nothing to do", w.spare.Load(), spareFor)
		}
		w.Go(func() {})
		w.Wait()
		w.close()
		w.close()
		done := false
		w.Go(func() { done = true })
		w.Wait() // and synctest finds who is left
		if !done {
			t.Error("nothing is done any more")
		}
	})
}
