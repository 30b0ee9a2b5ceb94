package bench_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// counted is what the host takes for a unit of work: allocations, and their bytes. The
// plugin's process is another.
type counted struct{ allocations, bytes float64 }

// count runs body once to warm up and then times times, and counts what one of units
// units of work takes.
func count(times, units int, body func()) counted {
	body()
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for range times {
		body()
	}
	runtime.ReadMemStats(&after)
	total := float64(times * units)
	return counted{float64(after.Mallocs-before.Mallocs) / total, float64(after.TotalAlloc-before.TotalAlloc) / total}
}

// What a step and a run take of the host, over a plugin's process: counts, which wobble
// with how many results share a commit. The bounds lie a tenth above what was counted,
// those of bytes a sixth: a slow machine looks at the plugin's processes more often while
// it makes a step (docs/adr/0085-memory-of-a-commit.md).
func TestAllocationsOfAStep(t *testing.T) {
	e := open(t)
	run(t, e, sequence(1, "read"))
	for _, c := range []struct {
		name  string
		units int
		body  func()
		most  counted
	}{
		{"S2, a step with an effect", 300, func() { run(t, e, sequence(300, "write")) }, counted{225, 34_000}},
		{"S2r, a reading step", 300, func() { run(t, e, sequence(300, "read")) }, counted{135, 14_000}},
		{"S3, a step of many at once", 300, func() { run(t, e, fan(300, "read")) }, counted{130, 15_500}},
		{"S4, a run of three steps", 128, func() { atOnce(t, e, sequence(3, "write"), 128, 64) }, counted{600, 72_000}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := count(2, c.units, c.body)
			t.Logf("%.0f allocations, %.0f bytes", got.allocations, got.bytes)
			if got.allocations > c.most.allocations || got.bytes > c.most.bytes {
				t.Errorf("%.0f allocations and %.0f bytes, at most %.0f and %.0f are due", got.allocations, got.bytes, c.most.allocations, c.most.bytes)
			}
		})
	}
}

// The first run of a file takes its parse, its check and its plan besides, and no question
// to a plugin whose schemas decide: a question costs 130 allocations a step.
func TestAllocationsOfTheFirstRunOfAFile(t *testing.T) {
	e := open(t)
	run(t, e, sequence(1, "read"))
	files := 0
	fresh := func(source string) string {
		files++ // inputs that no file before had: answers of plugins are kept
		return strings.ReplaceAll(source, "{n: ", fmt.Sprintf("{n: %d", 100+files))
	}
	for _, c := range []struct {
		name string
		body func()
		most counted
	}{
		{"S2, a step with an effect", func() { run(t, e, fresh(sequence(300, "write"))) }, counted{360, 51_000}},
		{"S2r, a reading step", func() { run(t, e, fresh(sequence(300, "read"))) }, counted{255, 32_000}},
		{"S3, a step of many at once", func() { run(t, e, fresh(fan(300, "read"))) }, counted{250, 33_000}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := count(2, 300, c.body)
			t.Logf("%.0f allocations, %.0f bytes", got.allocations, got.bytes)
			if got.allocations > c.most.allocations || got.bytes > c.most.bytes {
				t.Errorf("%.0f allocations and %.0f bytes, at most %.0f and %.0f are due", got.allocations, got.bytes, c.most.allocations, c.most.bytes)
			}
		})
	}
}

// 1,000 steps take at most 10.5 times what 100 take.
func TestAllocationsAreLinear(t *testing.T) {
	e := open(t)
	for name, source := range map[string]func(n int) string{
		"in sequence": func(n int) string { return sequence(n, "read") },
		"at once":     func(n int) string { return fan(n, "read") },
	} {
		few := count(3, 1, func() { run(t, e, source(100)) })
		many := count(1, 1, func() { run(t, e, source(1000)) })
		for range 2 { // a machine that does other things beside it makes smaller commits, and more of them
			again := count(1, 1, func() { run(t, e, source(1000)) })
			many = counted{min(many.allocations, again.allocations), min(many.bytes, again.bytes)}
		}
		if many.allocations > 10.5*few.allocations || many.bytes > 10.5*few.bytes {
			t.Errorf("%s: 1,000 steps take %.0f allocations and %.0f bytes, 100 take %.0f and %.0f", name, many.allocations, many.bytes, few.allocations, few.bytes)
		}
	}
}

// Who starts a run, waits for it and gets what it gave reads no record of its journal.
func TestNoRecordIsReadForARun(t *testing.T) {
	e := open(t)
	before := e.StoreStats().Records
	run(t, e, sequence(5, "write"))
	atOnce(t, e, sequence(3, "read"), 32, 8)
	if read := e.StoreStats().Records - before; read != 0 {
		t.Errorf("%d records were read while runs were started and waited for", read)
	}
}
