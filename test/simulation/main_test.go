package simulation

import (
	"os"
	"runtime/debug"
	"testing"
)

// TestMain collects less often: the tests make many small values, and the time would
// go into collecting them.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	os.Exit(m.Run())
}
