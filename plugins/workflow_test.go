package plugins

import (
	"net/http/httptest"
	"os"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/spec"
	"github.com/flowrun/flowrun/plugins/netinfo"
	"github.com/flowrun/flowrun/plugins/netinfo/netinfosim"
	"github.com/flowrun/flowrun/sdk/sdktest"
)

// watched returns the names that domain-expiry-watch looks up by default.
func watched(t *testing.T) []string {
	t.Helper()
	const file = "../workflows/domain-expiry-watch.yaml"
	source, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	tree, problems := spec.Parse(file, source)
	if problems.HasErrors() {
		t.Fatalf("%v", problems)
	}
	var names []string
	for _, n := range tree.Inputs.Get("domains").Get("default").Items {
		names = append(names, n.Text)
	}
	return names
}

// TestSimulatorMakesTheWatchWorthShowing looks up every default name of the
// shipped workflow: some are lost, some end soon, most are fine, in any week.
func TestSimulatorMakesTheWatchWorthShowing(t *testing.T) {
	names := watched(t)
	seen := map[string]bool{}
	for _, name := range names {
		seen[name] = true
	}
	if len(names) != 80 || len(seen) != 80 {
		t.Fatalf("%d names, %d different, want 80", len(names), len(seen))
	}
	for _, now := range []time.Time{time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2027, 7, 18, 23, 59, 0, 0, time.UTC)} {
		clock := func() time.Time { return now }
		srv := httptest.NewServer(netinfosim.New(netinfosim.Options{Requests: -1, Now: clock}))
		p := sdktest.Open(t, netinfo.NewWith(netinfo.Options{Now: clock}), map[string]any{"base_url": srv.URL})
		missing, soon := 0, 0
		for _, name := range names {
			var out struct {
				Found bool `json:"found"`
				Days  *int `json:"days_to_expiry"`
			}
			p.Call("whois", map[string]any{"domain": name, "missing_ok": true}).Decode(t, &out)
			switch {
			case !out.Found:
				missing++
			case out.Days == nil:
				t.Errorf("%s has no days_to_expiry", name)
			case *out.Days < 30:
				soon++
			}
		}
		srv.Close()
		t.Logf("%s: %d lost, %d end soon", now.Format(time.DateOnly), missing, soon)
		if missing != 3 || soon < 3 || soon > 20 {
			t.Errorf("%s: %d lost, %d end soon", now.Format(time.DateOnly), missing, soon)
		}
	}
}
