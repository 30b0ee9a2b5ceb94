package cli

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"slices"
)

// firstCollection is how far the heap of a command may grow before the garbage
// collector runs for the first time, in percent of its 4 MiB. A short run ends
// before, which saves it a seventh of its time (docs/adr/0012-what-watching-costs.md).
const firstCollection = 400

// delayFirstCollection lets the first collection come later; all others come as
// they always do. A server and a plugin, which live long, are left as they are,
// and so is a GOGC that was set by hand.
func delayFirstCollection(args []string) {
	if os.Getenv("GOGC") != "" || slices.Contains(args, "serve") { //nolint:forbidigo // of the Go runtime, before anything else
		return
	}
	usual := debug.SetGCPercent(firstCollection)
	afterCollection(func() { debug.SetGCPercent(usual) })
}

// afterCollection calls do once, after the next collection.
func afterCollection(do func()) {
	mark := &struct{ self any }{}
	mark.self = &mark // with a pointer, so that it is an object of its own
	runtime.AddCleanup(mark, func(do func()) { do() }, do)
}

// The bounds of garbage: what is in use may be as much again, but for large heaps,
// such as while pages of a long reading come in (docs/adr/0071-long-lists.md).
const (
	mostGarbage  = 24 << 20
	leastPercent = 20
)

// boundGarbage keeps the garbage of a process with a large heap to mostGarbage, or a
// fifth of what is in use where that is more. A GOGC that was set by hand is left.
func boundGarbage() {
	if os.Getenv("GOGC") != "" { //nolint:forbidigo // of the Go runtime, before anything else
		return
	}
	percent := 100
	var adjust func()
	adjust = func() {
		sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		metrics.Read(sample)
		if wanted := percentFor(int64(sample[0].Value.Uint64())); wanted != percent { //nolint:gosec // of this process
			percent = wanted
			debug.SetGCPercent(wanted)
		}
		afterCollection(adjust)
	}
	afterCollection(adjust)
}

// percentFor is by how many percent a heap of so many bytes in use may grow: in steps,
// so that it is seldom changed.
func percentFor(live int64) int {
	if live <= mostGarbage {
		return 100
	}
	return max(leastPercent, int(mostGarbage*100/live)/10*10)
}
