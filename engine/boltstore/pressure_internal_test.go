package boltstore

import "testing"

// TestP12AFullFileHoldsBack: above 90 % of its limit it takes no runs, above 98 %
// nothing begins, unless there is room inside it.
func TestP12AFullFileHoldsBack(t *testing.T) {
	for _, test := range []struct {
		full, free int64 // percent of the limit
		want       Level
	}{
		{50, 0, None}, {90, 0, None}, {91, 0, StopAdmission}, {98, 0, StopAdmission}, {99, 0, PauseDispatch}, {100, 0, PauseDispatch},
		{91, 19, StopAdmission}, {91, 20, None}, {99, 4, PauseDispatch}, {99, 5, StopAdmission}, {100, 19, StopAdmission}, {100, 20, None},
	} {
		const percent = 1 << 20
		got := Usage{FileBytes: test.full * percent, FreeBytes: test.free * percent, MaxBytes: 100 * percent}.pressure("x")
		if got.Level != test.want || (got.Reason == "") != (test.want == None) {
			t.Errorf("%d %% full, %d %% free: level %d (%s), want %d", test.full, test.free, got.Level, got.Reason, test.want)
		}
	}
}
