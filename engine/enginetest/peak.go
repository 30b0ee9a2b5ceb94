package enginetest

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
	"time"
)

// peakStep is by how many percent the heap grows until it is collected while its
// peak is measured: the peak is right by that.
const peakStep = 10

// Peak returns by how much the live heap grew at most while work ran: what was
// garbage does not count. Nothing else may run meanwhile that holds much.
func Peak(work func()) int64 {
	defer debug.SetGCPercent(debug.SetGCPercent(peakStep))
	runtime.GC()
	runtime.GC() // what finalizers held
	before := live()
	var most atomic.Int64
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for {
			most.Store(max(most.Load(), live()))
			select {
			case <-tick.C:
			case <-stop:
				return
			}
		}
	}()
	work()
	runtime.GC()
	most.Store(max(most.Load(), live()))
	close(stop)
	<-done
	return most.Load() - before
}

// live is what the last collection found to be in use.
func live() int64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	return int64(sample[0].Value.Uint64())
}
