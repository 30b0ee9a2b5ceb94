package pluginhost

import (
	"context"
	"os"
	"testing"

	"github.com/flowrun/flowrun/engine/runs"
)

// TestRestEndsWhatNobodyCalls: a process without a call in flight, and no other; the next
// call starts another, and nothing has crashed.
func TestRestEndsWhatNobodyCalls(t *testing.T) {
	w := newWorld(t, "good", nil)
	first := int(w.ok("pid", `{}`)["pid"].(float64))
	answer := make(chan runs.Answer, 1)
	go func() { answer <- w.call("slow", `{}`) }()
	eventually(t, "call in flight", func() bool { return w.host.Status("evil").InFlight == 1 })
	w.host.Rest()
	if status := w.host.Status("evil"); status.PID != first || !alive(first) {
		t.Errorf("a process with a call in flight: %+v", status)
	}
	if err := w.host.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	<-answer

	w = newWorld(t, "good", nil)
	first = int(w.ok("pid", `{}`)["pid"].(float64))
	w.host.Rest()
	eventually(t, "end of the process", func() bool { return !alive(first) })
	second := int(w.ok("pid", `{}`)["pid"].(float64))
	if status := w.host.Status("evil"); second == first || status.Starts != 2 || status.AllCrashes != 0 {
		t.Errorf("after a rest: %+v, process %d, before it %d", status, second, first)
	}
}

// TestAfterTheEndNothingRuns: End returns when no process is left, Close when nothing of it
// is.
func TestAfterTheEndNothingRuns(t *testing.T) {
	w := newWorld(t, "good", nil)
	pid := int(w.ok("pid", `{}`)["pid"].(float64))
	var entries []pidEntry
	if err := readJSON(w.host.pids.path, &entries); err != nil || len(entries) != 1 {
		t.Fatalf("record = %v, %v", entries, err)
	}
	w.host.End(context.Background())
	if alive(pid) {
		t.Error("it runs after the end")
	}
	if err := w.host.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{entries[0].TMP, entries[0].Socket} {
		if _, err := os.Stat(folder); err == nil {
			t.Errorf("%s is left", folder)
		}
	}
	var left []pidEntry
	if err := readJSON(w.host.pids.path, &left); err != nil || len(left) > 0 {
		t.Errorf("recorded still: %v, %v", left, err)
	}
}
