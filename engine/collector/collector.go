// Package collector sets Go's garbage collector for a process that runs workflows:
// many small objects that live for a step, and a heap of a few MiB, which is collected
// all the time where it may only double (docs/adr/0078-processor-time-of-a-step.md).
//
// What it sets holds for a whole process, so that the engine never does it by itself: a
// program decides, at its start. That of flowrun has both, and one that embeds the engine
// to run many workflows at once saves a fifth of its processor time by Bound.
package collector

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"strings"
)

// firstCollection is how far the heap of a command may grow before the garbage
// collector runs for the first time, in percent of its 4 MiB. A short run ends
// before, which saves it a seventh of its time (docs/adr/0012-what-watching-costs.md).
const firstCollection = 400

// DelayFirst lets the first collection of a process that is expected to end soon come at
// 16 MiB of heap; all others come as they always do. A GOGC in environ is left as it is.
// Call it once, before Bound.
func DelayFirst(environ []string) {
	if hasPercent(environ) {
		return
	}
	usual := debug.SetGCPercent(firstCollection)
	afterCollection(func() { debug.SetGCPercent(usual) })
}

// hasPercent reports whether an environment sets the percent of garbage by hand.
func hasPercent(environ []string) bool {
	return slices.ContainsFunc(environ, func(entry string) bool {
		value, found := strings.CutPrefix(entry, "GOGC=")
		return found && value != ""
	})
}

// afterCollection calls do once, after the next collection.
func afterCollection(do func()) {
	mark := &struct{ self any }{}
	mark.self = &mark // with a pointer, so that it is an object of its own
	runtime.AddCleanup(mark, func(do func()) { do() }, do)
}

// The bounds of garbage: what is in use may be as much again, but for large heaps,
// such as while pages of a long reading come in (docs/adr/0071-long-lists.md), and for
// small ones that are collected all the time, such as while many runs go at once
// (docs/adr/0078-processor-time-of-a-step.md).
const (
	mostGarbage  = 24 << 20
	busyGarbage  = 12 << 20 // of a small heap: with what is in use below what an idle engine may have
	leastPercent = 20
	mostPercent  = 400

	busyShare = 0.02  // of all processor time, that collections take: more garbage is worth its memory
	calmShare = 0.002 // below it no more
	smallSize = 1 << 10
)

// Bound keeps the garbage of the process to 24 MiB, or a fifth of what is in use where
// that is more. A small heap may have 12 MiB while its collections take 2 % of the
// processors: what is in use may be as much again otherwise. It looks at the end of each
// collection, for as long as the process lives. A GOGC in environ is left as it is; a
// GOMEMLIMIT holds in any case. Call it once.
func Bound(environ []string) {
	if hasPercent(environ) {
		return
	}
	var before collections
	var adjust func()
	adjust = func() {
		now := readCollections()
		if wanted := percentFor(now.live, now.since(before), now.percent); wanted != now.percent {
			debug.SetGCPercent(wanted)
		}
		before = now
		afterCollection(adjust)
	}
	afterCollection(adjust)
}

// collections is what the runtime counts of its collections. Seconds are of processor time.
type collections struct {
	live           int64   // bytes in use at the end of the last one
	percent        int     // by how many the heap may grow until the next
	spent, all     float64 // seconds: of collections, and that the process could have had
	bytes, objects uint64  // that were allocated
}

func readCollections() collections {
	samples := []metrics.Sample{
		{Name: "/gc/heap/live:bytes"}, {Name: "/gc/gogc:percent"}, {Name: "/cpu/classes/gc/total:cpu-seconds"}, {Name: "/cpu/classes/total:cpu-seconds"},
		{Name: "/gc/heap/allocs:bytes"}, {Name: "/gc/heap/allocs:objects"},
	}
	metrics.Read(samples)
	return collections{
		live:    int64(samples[0].Value.Uint64()), //nolint:gosec // of this process
		percent: int(samples[1].Value.Uint64()),   //nolint:gosec // as above
		spent:   samples[2].Value.Float64(), all: samples[3].Value.Float64(),
		bytes: samples[4].Value.Uint64(), objects: samples[5].Value.Uint64(),
	}
}

// load is what the process did between two collections.
type load struct {
	share float64 // of all processor time, that collections took
	size  uint64  // of an object, on average
}

func (c collections) since(before collections) load {
	l := load{size: (c.bytes - before.bytes) / max(1, c.objects-before.objects)}
	if all := c.all - before.all; all > 0 {
		l.share = (c.spent - before.spent) / all
	}
	return l
}

// percentFor is by how many percent a heap of so many bytes in use may grow: in steps,
// so that it is seldom changed. A small heap grows by more than what is in use while the
// collection of many small objects takes a part of the processor that counts: large values
// that are handed through are worth no memory. now is what holds now.
func percentFor(live int64, l load, now int) int {
	least := busyShare
	if now > 100 {
		least = calmShare // more garbage makes its share small
	}
	switch {
	case live >= mostGarbage:
		return max(leastPercent, int(mostGarbage*100/live)/10*10)
	case l.share < least || l.size > smallSize:
		return 100
	}
	return min(mostPercent, max(100, int(busyGarbage*100/max(1, live))/50*50))
}
