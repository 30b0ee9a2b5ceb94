package collector

import (
	"runtime"
	"testing"
	"time"
)

const mib = 1 << 20

func TestGarbageIsBoundedWhereMuchIsInUse(t *testing.T) {
	for live, want := range map[int64]int{0: 100, 4 * mib: 100, 24 * mib: 100, 48 * mib: 50, 60 * mib: 40, 110 * mib: 20, 4096 * mib: 20} {
		for _, busy := range []load{{}, {share: 0.5, size: 1 << 20}} {
			if got := percentFor(live, busy, 100); got != want {
				t.Errorf("of %d MiB in use the heap grows by %d %%, want %d", live/mib, got, want)
			}
		}
	}
}

// A small heap that is collected all the time may have more garbage than what is in use,
// and not more than 12 MiB.
func TestASmallHeapUnderLoadHasMoreGarbage(t *testing.T) {
	for _, c := range []struct {
		live  int64
		share float64
		now   int
		want  int
	}{
		{3 * mib, 0.1, 100, 400}, {5 * mib, 0.1, 100, 200}, {8 * mib, 0.1, 100, 150}, {11 * mib, 0.1, 100, 100}, {20 * mib, 0.1, 100, 100}, {48 * mib, 0.1, 400, 50},
		{5 * mib, 0.01, 100, 100}, {5 * mib, 0.01, 400, 200}, {5 * mib, 0.001, 400, 100},
	} {
		got := percentFor(c.live, load{share: c.share, size: 100}, c.now)
		if got != c.want {
			t.Errorf("%d MiB in use, %g of the time: the heap grows by %d %%, want %d", c.live/mib, c.share, got, c.want)
		}
		if garbage := c.live * int64(got) / 100; garbage > busyGarbage && got > 100 {
			t.Errorf("%d MiB in use have %d MiB of garbage", c.live/mib, garbage/mib)
		}
	}
}

// The counters are those of the runtime: a collection is seen, and what was allocated.
func TestCollectionsAreCounted(t *testing.T) {
	before := readCollections()
	kept := make([]byte, 8*mib)
	runtime.GC()
	now := readCollections()
	runtime.KeepAlive(kept)
	if l := now.since(before); now.live < 8*mib || now.percent <= 0 || now.bytes-before.bytes < 8*mib || l.size == 0 || l.share <= 0 {
		t.Errorf("%+v after %+v", now, before)
	}
}

// What a person has set stays.
func TestAPercentOfTheEnvironmentIsLeft(t *testing.T) {
	for entry, want := range map[string]bool{"GOGC=50": true, "GOGC=off": true, "GOGC=": false, "XGOGC=50": false} {
		if got := hasPercent([]string{"PATH=/bin", entry}); got != want {
			t.Errorf("%q sets the percent: %t", entry, got)
		}
	}
	before := readCollections().percent
	DelayFirst([]string{"GOGC=70"})
	if now := readCollections().percent; now != before {
		t.Errorf("the heap may grow by %d %% although GOGC is set: it was %d", now, before)
	}
	DelayFirst(nil)
	if now := readCollections().percent; now != firstCollection {
		t.Errorf("the heap may grow by %d %% until the first collection", now)
	}
	for range 100 { // the first collection brings back what was
		runtime.GC()
		if readCollections().percent == before {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Errorf("the heap may still grow by %d %% after collections", readCollections().percent)
}
