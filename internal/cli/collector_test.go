package cli

import "testing"

func TestGarbageIsBoundedWhereMuchIsInUse(t *testing.T) {
	const mib = 1 << 20
	for live, want := range map[int64]int{0: 100, 4 * mib: 100, 24 * mib: 100, 48 * mib: 50, 60 * mib: 40, 110 * mib: 20, 4096 * mib: 20} {
		if got := percentFor(live); got != want {
			t.Errorf("of %d MiB in use the heap grows by %d %%, want %d", live/mib, got, want)
		}
	}
}
