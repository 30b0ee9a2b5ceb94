package sandbox_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// change takes something out of a source file.
type change struct{ file, from, to string }

// mutant builds a flowrun in which something is taken out.
func mutant(t *testing.T, name string, changes ...change) string {
	t.Helper()
	replaced := map[string]string{}
	for i, c := range changes {
		path, err := filepath.Abs(filepath.Join("../..", c.file))
		if err != nil {
			t.Fatal(err)
		}
		source, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Count(string(source), c.from) != 1 {
			t.Fatalf("%s does not hold %q once: the control is out of date", c.file, c.from)
		}
		copied := filepath.Join(t.TempDir(), filepath.Base(path))
		if err := os.WriteFile(copied, []byte(strings.Replace(string(source), c.from, c.to, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, twice := replaced[path]; twice {
			t.Fatalf("change %d is the second one of %s", i, c.file)
		}
		replaced[path] = copied
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replaced})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "overlay.json")
	if err := os.WriteFile(file, overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	return program(t, name, "-overlay", file, "../../cmd/flowrun")
}

// forgotten is the mistake of a path that takes a connection as it is declared.
var forgotten = change{"engine/connections.go", "if !p.live(name) {", "if false {"}

// TestTheControlNoticesAnOpenSandbox: with the decision about connections, the gate
// of the plugin host and that of messages out, every way leads to the service. So
// the test above would notice.
func TestTheControlNoticesAnOpenSandbox(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it builds another flowrun")
	}
	binary := mutant(t, "flowrun-open", forgotten,
		change{"engine/sandbox_gate.go", "return p.refusal(plugin, name).failure()", "return nil"},
		change{"engine/sandbox.go", "return p.live(LiveNotify + target)", "return true"},
		change{"engine/token_from.go", "if !p.live(name) {", "if false {"})
	var seen atomic.Int64
	t.Cleanup(func() {
		if n := seen.Load(); n < 20 {
			t.Errorf("%d ways lead to the service, want at least 20", n)
		}
	})
	for _, way := range ways() {
		t.Run(strings.ReplaceAll(way.name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, binary)
			w.control = true
			for name, text := range way.files {
				w.write(name, text)
			}
			way.act(w)
			switch n := w.service.bytes.Load(); {
			case n > 0:
				seen.Add(1)
			case !way.quiet:
				t.Error("nothing reached the service though nothing keeps it")
			}
		})
	}
}

// TestTheGateHoldsAlone: a path that forgets the sandbox still sends nothing, since
// the plugin host opens no connection that the sandbox does not know.
func TestTheGateHoldsAlone(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it builds another flowrun")
	}
	binary := mutant(t, "flowrun-forgetful", forgotten)
	for _, way := range ways() {
		t.Run(strings.ReplaceAll(way.name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, binary)
			w.control, w.inVain = true, true
			for name, text := range way.files {
				w.write(name, text)
			}
			way.act(w)
			if n := w.service.bytes.Load(); n != 0 {
				t.Errorf("%d bytes reached the service:\n%s", n, w.service.asked())
			}
		})
	}
}
