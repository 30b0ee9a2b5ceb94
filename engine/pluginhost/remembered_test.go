package pluginhost

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestRememberedStartsNothing: what a plugin has said of its file is there for another host,
// without a process and without a folder; of a file that was not read since it changed there
// is nothing.
func TestRememberedStartsNothing(t *testing.T) {
	w := newWorld(t, "good", nil)
	if names := w.host.RememberedActions("evil"); names != nil {
		t.Errorf("before it was described: %v", names)
	}
	if _, err := os.Stat(filepath.Join(w.host.options.StateDir, "plugins")); err == nil {
		t.Error("the plugins' folder was made")
	}
	if _, err := w.host.Describe(context.Background(), "evil"); err != nil {
		t.Fatal(err)
	}
	second := newWorld(t, "exit", func(o *Options) { o.StateDir = w.host.options.StateDir })
	if names := second.host.RememberedActions("evil"); !slices.Contains(names, "evil.echo") || !slices.IsSorted(names) {
		t.Errorf("the actions are %v", names)
	}
	if state := second.host.Status("evil").State; state != Stopped {
		t.Errorf("the plugin is %v", state)
	}
	if second.host.Remembered("other") != nil {
		t.Error("a plugin that is not there is remembered")
	}
	if err := os.Remove(filepath.Join(w.host.dir, "digests.json")); err != nil {
		t.Fatal(err)
	}
	third := newWorld(t, "exit", func(o *Options) { o.StateDir = w.host.options.StateDir })
	if names := third.host.RememberedActions("evil"); names != nil {
		t.Errorf("of a file that nobody has read: %v", names)
	}
}
