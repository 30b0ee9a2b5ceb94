package sandbox_test

import (
	"strings"
	"sync/atomic"
	"testing"

	"github.com/flowrun/flowrun/internal/mutant"
	"github.com/flowrun/flowrun/internal/suitesize"
)

// spoiled builds a flowrun that takes a connection as it is declared, which is the
// mistake of a path that forgets the sandbox. With openVariable in its environment the
// gate of the plugin host, that of messages and that of tokens are out too: one program
// is both controls.
func spoiled(t *testing.T) string {
	t.Helper()
	overlay, err := mutant.Overlay(t.TempDir(), "../..",
		change("engine/workspace/connections.go", "if !p.Live(name) {", "if false {"),
		change("engine/workspace/sandbox_gate.go", "return p.refusal(plugin, name).failure()", "if p.open() {\n\t\treturn nil\n\t}\n\treturn p.refusal(plugin, name).failure()"),
		change("engine/workspace/sandbox.go", "func (p *Workspace) Tells(target string) bool { return p.Live(LiveNotify + target) }",
			"func (p *Workspace) Tells(target string) bool { return p.open() || p.Live(LiveNotify + target) }\n\n"+
				"func (p *Workspace) open() bool { return slices.Contains(p.config.Environ, \""+openVariable+"\") }"),
		change("engine/workspace/token_from.go", "if !p.Live(name) {", "if !p.open() && !p.Live(name) {"))
	if err != nil {
		t.Fatalf("the control is out of date: %v", err)
	}
	return program(t, "flowrun-spoiled", "-overlay", overlay, "../../cmd/flowrun")
}

// openVariable stands in the environment of a spoiled flowrun in which nothing keeps
// the sandbox.
const openVariable = "FLOWRUN_CONTROL=open"

// change takes something out of a source file.
func change(file, from, to string) mutant.Mutant {
	return mutant.Mutant{Name: from, File: file, Old: from, New: to}
}

// TestTheControlNoticesAnOpenSandbox: with the decision about connections, the gate
// of the plugin host and that of messages out, every way leads to the service. So
// the test above would notice.
func TestTheControlNoticesAnOpenSandbox(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it builds another flowrun")
	}
	binary := spoiled(t)
	var seen atomic.Int64
	tried := suitesize.Part(t, ways())
	t.Cleanup(func() {
		if n, least := seen.Load(), int64(len(tried)*20/len(ways())); n < least {
			t.Errorf("%d ways lead to the service, want at least %d", n, least)
		}
	})
	for _, way := range tried {
		t.Run(strings.ReplaceAll(way.name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, binary)
			w.control, w.open = true, true
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
	binary := spoiled(t)
	for _, way := range suitesize.Part(t, ways()) {
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
