package pluginhost

import (
	"os"
	"os/exec"
	"testing"
	"time"
)

func TestAPluginIsStartedToSeeWhetherItCanBe(t *testing.T) {
	w := newWorld(t, "", nil)
	if err := w.host.Start(t.Context(), "evil"); err != nil {
		t.Fatal(err)
	}
	if status := w.host.Status("evil"); status.State != Ready || status.Starts != 1 || status.InFlight != 0 || status.AllCrashes != 0 {
		t.Errorf("after the start: %+v", status)
	}
	if err := w.host.Start(t.Context(), "nobody"); err == nil {
		t.Error("a plugin that is not there was started")
	}
	w.call("crash", `{}`)
	for deadline := time.Now().Add(10 * time.Second); w.host.Status("evil").AllCrashes == 0; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("a crash is not counted: %+v", w.host.Status("evil"))
		}
	}
}

func TestOrphansAreListedAndLeftAlone(t *testing.T) {
	w := newWorld(t, "", nil)
	if err := w.host.ready(); err != nil {
		t.Fatal(err)
	}
	child := exec.Command("sleep", "60")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = child.Process.Kill()
		_ = child.Wait() // killed
	})
	start, ok := processStart(child.Process.Pid)
	if !ok {
		t.Skip("the start of a process can't be told here")
	}
	here, _ := processStart(os.Getpid())
	err := updateJSON(w.host.pids.path, func(entries *[]pidEntry) {
		*entries = []pidEntry{
			{Plugin: "lost", PID: child.Process.Pid, Start: start, Host: 1 << 30, HostAt: "gone"},
			{Plugin: "kept", PID: child.Process.Pid, Start: start, Host: os.Getpid(), HostAt: here},
			{Plugin: "ended", PID: 1 << 30, Start: "1", Host: 1 << 30, HostAt: "gone"},
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // it is only a look
		lost, err := w.host.Orphans()
		if err != nil || len(lost) != 1 || lost[0] != (Orphan{Plugin: "lost", PID: child.Process.Pid}) {
			t.Fatalf("orphans %+v: %v", lost, err)
		}
	}
	if err := updateJSON(w.host.pids.path, func(entries *[]pidEntry) { *entries = nil }); err != nil {
		t.Fatal(err)
	}
}
