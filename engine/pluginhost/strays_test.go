package pluginhost

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/peer"
	"github.com/flowrun/flowrun/engine/runs"
)

// runLeavingHost starts a plugin whose child leaves its group and its parents, ends the
// plugin, and tells what became of the child. One that adopts finds it below itself, and
// looks nowhere else.
func runLeavingHost(dir, adopts string) {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	if adopts == "adopts" {
		stop, err := peer.Adopt()
		if err != nil {
			panic(err)
		}
		defer stop()
	}
	host := New(Options{
		StateDir: dir, Environ: os.Environ(), Now: time.Now, Entropy: rand.Reader, Limits: Limits{Memory: -1}, Sandbox: SandboxOff,
		Sources: []Source{{Name: "evil", Bundled: true, Command: []string{self, "plugin", "good"}}},
	})
	answer := host.Call(context.Background(), runs.Request{Action: "evil.spawn", Input: json.RawMessage(`{"text":"off"}`)}, Connection{}, nil)
	if answer.Failed != nil {
		panic(answer.Failed)
	}
	var spawned struct{ Child int }
	if err := json.Unmarshal(answer.Completed.Output, &spawned); err != nil {
		panic(err)
	}
	began := alive(spawned.Child)
	if err := host.Close(context.Background()); err != nil {
		panic(err)
	}
	for range 200 { // a moment until the kernel has ended it
		if !alive(spawned.Child) {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	fmt.Printf("adopts %v, began %v, left %v\n", peer.Adopts(), began, alive(spawned.Child))
}

// TestWhatLeftItsGroupEndsWithItsPlugin: without a sandbox, in a process that adopts and in
// one that does not, as a program that embeds the engine.
func TestWhatLeftItsGroupEndsWithItsPlugin(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("processes can't be followed here")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for mode, want := range map[string]string{"adopts": "adopts true, began true, left false", "embeds": "adopts false, began true, left false"} {
		said, err := exec.Command(self, "leaving", t.TempDir(), mode).CombinedOutput()
		if got := strings.TrimSpace(string(said)); err != nil || got != want {
			t.Errorf("%s: %s, %v; want %s", mode, got, err, want)
		}
	}
}

// TestTheSearchAfterACrashIsBounded: what may be of a plugin that a killed host left is not
// older than it, and of this boot.
func TestTheSearchAfterACrashIsBounded(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("processes can't be listed here")
	}
	first := exec.Command("sleep", "60")
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = first.Process.Kill(); _ = first.Wait() }()
	time.Sleep(30 * time.Millisecond) // a later tick of the clock by which processes start
	second := exec.Command("sleep", "60")
	if err := second.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = second.Process.Kill(); _ = second.Wait() }()
	older, _ := processStart(first.Process.Pid)
	younger, _ := processStart(second.Process.Pid)
	for _, c := range []struct {
		starts        []string
		first, second bool
	}{
		{[]string{younger}, false, true},
		{[]string{younger, older}, true, true},
		{[]string{"another-boot/1"}, false, false},
		{[]string{"another-boot/1", younger}, false, true},
		{nil, false, false},
	} {
		found := map[int]bool{}
		for _, pid := range notOlder(c.starts) {
			found[pid] = true
		}
		if found[first.Process.Pid] != c.first || found[second.Process.Pid] != c.second {
			t.Errorf("%v: the older %v, the younger %v", c.starts, found[first.Process.Pid], found[second.Process.Pid])
		}
	}
}
