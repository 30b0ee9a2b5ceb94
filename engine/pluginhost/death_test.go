package pluginhost

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"google.golang.org/grpc/connectivity"

	"github.com/flowrun/flowrun/engine/runs"
)

// A failure says how the process died, however long it takes to clean up after it, and
// whether the call hears of the death or of the connection that the host has closed. The
// lock of the record of processes, which the clean-up takes last, holds it up.
func TestACrashIsToldBeforeItIsCleanedUp(t *testing.T) {
	eachForm(t, func(t *testing.T, form string) {
		w := newWorld(t, form+"good", nil)
		w.ok("echo", `{}`)
		p := w.host.plugins["evil"].inForce.process
		lock, err := os.OpenFile(filepath.Join(w.host.options.StateDir, "plugins", "pids.json.lock"), os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		defer lock.Close() // and unlocks it, before the host is closed
		if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
			t.Fatal(err)
		}
		told := func(failure *runs.Error) {
			t.Helper()
			if failure == nil || !strings.Contains(failure.Message, "died in the middle of the call (exit status 2): panic: my heart") {
				t.Errorf("%+v", failure)
			}
		}
		conn := Connection{Name: "main", Config: json.RawMessage(`{"api_key":{"$secret":"KEY"}}`)}
		told(w.host.Call(t.Context(), runs.Request{Action: "evil.crash"}, conn, nil).Failed)
		for state := p.conn.GetState(); state != connectivity.Shutdown; state = p.conn.GetState() {
			p.conn.WaitForStateChange(context.Background(), state)
		}
		_, failure := p.checkConnection(t.Context(), "main") // finds the connection closed
		told(failure)
	})
}
