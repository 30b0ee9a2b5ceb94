package pluginhost

import (
	"testing"

	"github.com/flowrun/flowrun/engine/pluginhost/confine"
)

// BenchmarkRules of a start, and of what the kernel is asked first.
func BenchmarkRules(b *testing.B) {
	dir := b.TempDir()
	h := New(Options{StateDir: dir + "/state", Secret: []string{dir + "/key"}, Private: []string{dir}, Sandbox: SandboxAuto})
	p := &process{unit: &unit{host: h}, exe: executable{path: "/usr/bin/true"}, code: &code{}, folders: folders{home: dir, tmp: dir, socket: dir}}
	b.Run("probe", func(b *testing.B) {
		for b.Loop() {
			confine.Probe()
		}
	})
	b.Run("rules", func(b *testing.B) {
		for b.Loop() {
			p.rules()
		}
	})
}
