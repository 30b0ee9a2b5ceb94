package pluginhost

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
)

// TestAPrestartedPluginIsTheOneThatIsCalled: one start, whether the call comes during it or
// after it, and however often it is asked for.
func TestAPrestartedPluginIsTheOneThatIsCalled(t *testing.T) {
	w := newWorld(t, "good", nil)
	w.host.Prestart("evil")
	w.host.Prestart("evil")
	w.host.Prestart("nobody")
	eventually(t, "a process", func() bool { return w.host.Status("evil").State == Ready })
	pid := w.host.Status("evil").PID
	if got := int(w.ok("pid", `{}`)["pid"].(float64)); got != pid {
		t.Errorf("process %d is called, %d was started", got, pid)
	}
	w.host.Prestart("evil")
	if status := w.host.Status("evil"); status.Starts != 1 || status.PID != pid {
		t.Errorf("%+v, want one start of %d", status, pid)
	}

	other := newWorld(t, "good", nil)
	other.host.Prestart("evil")
	other.ok("pid", `{}`)
	if status := other.host.Status("evil"); status.Starts != 1 {
		t.Errorf("%d starts, want 1", status.Starts)
	}
}

// TestAPrestartedPluginEndsWithTheHost: one that nobody called, also where it is still
// starting.
func TestAPrestartedPluginEndsWithTheHost(t *testing.T) {
	w := newWorld(t, "good", nil)
	w.host.Prestart("evil")
	eventually(t, "a process", func() bool { return w.host.Status("evil").State == Ready })
	pid := w.host.Status("evil").PID
	if err := w.host.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	if alive(pid) {
		t.Error("it outlives its host")
	}
	for range 20 {
		w := newWorld(t, "good", nil)
		w.host.Prestart("evil")
		if err := w.host.Close(context.Background()); err != nil {
			t.Fatal(err)
		}
		var entries []pidEntry
		if err := readJSON(w.host.pids.path, &entries); err != nil || len(entries) > 0 {
			t.Fatalf("recorded still: %+v, %v", entries, err)
		}
	}
}

// TestAFailedPrestartIsToldToTheFirstCall: as if that had started the plugin, and once.
func TestAFailedPrestartIsToldToTheFirstCall(t *testing.T) {
	w := newWorld(t, "exit", nil)
	w.host.Prestart("evil")
	eventually(t, "a crash", func() bool { return w.host.Status("evil").AllCrashes == 1 })
	w.host.Prestart("evil") // one that has crashed is left to its calls
	_, err := w.host.Describe(context.Background(), "evil")
	if failure, ok := errors.AsType[*PluginError](err); !ok || failure.Reason != ReasonStart {
		t.Errorf("the first: %v", err)
	}
	if status := w.host.Status("evil"); status.AllCrashes != 1 {
		t.Errorf("%d crashes after the first call, want 1", status.AllCrashes)
	}
	if _, err := w.host.Describe(context.Background(), "evil"); err == nil {
		t.Error("the second call finds no fault")
	}
	if status := w.host.Status("evil"); status.AllCrashes != 2 {
		t.Errorf("%d crashes after the second call, want 2", status.AllCrashes)
	}
}

// TestAPrestartObeysTheLock: what a call would not start is not started before it.
func TestAPrestartObeysTheLock(t *testing.T) {
	for name, change := range map[string]func(*Source){
		"refused":     func(s *Source) { s.Refused = &Refusal{Message: "it is not locked"} },
		"other bytes": func(s *Source) { s.Locked = "00" },
		"told":        func(s *Source) { s.Settings = func(json.RawMessage) (Settings, error) { return Settings{}, nil } },
		"attached":    func(s *Source) { s.Attach = "/nowhere" },
	} {
		w := newWorld(t, "good", func(o *Options) { change(&o.Sources[0]) })
		w.host.Prestart("evil")
		w.host.running.Wait()
		if status := w.host.Status("evil"); status.Starts != 0 || status.AllCrashes != 0 || status.State != Stopped {
			t.Errorf("%s: %+v", name, status)
		}
	}
}
