package pluginhost

import (
	"context"
	"encoding/json"
	"math"
	"runtime"
	"testing"

	"github.com/flowrun/flowrun/engine/runs"
)

// A warm call costs the host a bounded number of allocations, whoever measures: those of
// gRPC, the gate, the schemas and the journal's values, and none that grows with the calls
// before it. Counted over a real process of a plugin, with an opaque store, masks and a vault.
func TestAWarmCallAllocatesLittle(t *testing.T) {
	most := map[string]float64{"": 178, streamMode: 88}
	if raced {
		most = map[string]float64{"": 205, streamMode: 115}
	}
	eachForm(t, func(t *testing.T, form string) {
		w := newWorld(t, form+"good", nil)
		call := func() {
			answer := w.host.Call(context.Background(), runs.Request{Action: "evil.echo", RunID: "run-1", Step: "a", Input: json.RawMessage(`{"text":"a"}`)}, Connection{Name: "main"}, nil)
			if answer.Failed != nil {
				t.Fatal(answer.Failed)
			}
		}
		if got := allocations(40, call); got > most[form] {
			t.Errorf("a call allocates %.0f times, at most %.0f are allowed", got, most[form])
		} else {
			t.Logf("a call allocates %.0f times", got)
		}
	})
}

// allocations is how often a call allocates, of all goroutines: the least of forty rounds,
// so that what else the host does from time to time - looking at its plugin, collecting -
// is in some of them and not in all, however long a call takes on a busy machine.
func allocations(calls int, call func()) float64 {
	least := math.Inf(1)
	for round := range 41 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range calls {
			call()
		}
		runtime.ReadMemStats(&after)
		if round > 0 { // the first one warms up
			least = min(least, float64(after.Mallocs-before.Mallocs)/float64(calls))
		}
	}
	return least
}
