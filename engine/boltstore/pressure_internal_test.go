package boltstore

import (
	"testing"

	"github.com/flowrun/flowrun/engine/store"
)

// TestP12AFullFileHoldsBack: above 90 % of its limit it takes no runs, above 98 %
// nothing begins, unless there is room inside it.
func TestP12AFullFileHoldsBack(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		full, free int64 // percent of the limit
		want       store.Level
	}{
		{50, 0, store.None}, {90, 0, store.None}, {91, 0, store.StopAdmission}, {98, 0, store.StopAdmission}, {99, 0, store.PauseDispatch}, {100, 0, store.PauseDispatch},
		{91, 19, store.StopAdmission}, {91, 20, store.None}, {99, 4, store.PauseDispatch}, {99, 5, store.StopAdmission}, {100, 19, store.StopAdmission}, {100, 20, store.None},
	} {
		const percent = 1 << 20
		got := pressureOf(store.Usage{FileBytes: test.full * percent, FreeBytes: test.free * percent, MaxBytes: 100 * percent}, "x")
		if got.Level != test.want || (got.Reason == "") != (test.want == store.None) {
			t.Errorf("%d %% full, %d %% free: level %d (%s), want %d", test.full, test.free, got.Level, got.Reason, test.want)
		}
	}
}
