//go:build linux

package evilplugins

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/pluginhost"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/internal/testbuild"
	"github.com/flowrun/flowrun/internal/testparallel"
)

// fort is a host with an attacker and a neighbour, and beside them what the attacker
// wants: a key, a store, an address.
type fort struct {
	t         *testing.T
	host      *pluginhost.Host
	state     string
	neighbour int // its pid
	address   string
}

// programs is the folder of what all tests run.
var programs string

// evilBuilt builds the plugin once.
var evilBuilt = sync.OnceValue(func() error { return testbuild.Program(filepath.Join(programs, "evil"), "./testdata/evil") })

func evilBinary(t *testing.T) string {
	t.Helper()
	if err := evilBuilt(); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(programs, "evil")
}

func TestMain(m *testing.M) {
	testparallel.AtLeast(6)
	var err error
	if programs, err = os.MkdirTemp("", "evil"); err != nil {
		panic(err)
	}
	code := m.Run()
	_ = os.RemoveAll(programs)
	os.Exit(code)
}

// newFort starts both. With the sandbox off it is the control of the suite.
func newFort(t *testing.T, evil string, sandbox pluginhost.Sandbox, hosts []string) *fort {
	t.Helper()
	f := &fort{t: t, state: t.TempDir()}
	for _, name := range []string{"key", "flowrun.db"} {
		if err := os.WriteFile(filepath.Join(f.state, name), []byte("canary of "+name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	f.address = listener.Addr().String()
	f.host = pluginhost.New(pluginhost.Options{
		StateDir: f.state, Environ: os.Environ(), Now: time.Now, Entropy: rand.Reader, Sandbox: sandbox, Limits: pluginhost.Limits{Grace: time.Second},
		Sources: []pluginhost.Source{{Name: "attacker", Path: evil, Hosts: hosts}, {Name: "healthy", Path: evil}},
	})
	t.Cleanup(func() { _ = f.host.Close(context.Background()) })
	if err := f.host.Start(context.Background(), "healthy"); err != nil {
		t.Fatal(err)
	}
	f.neighbour = f.host.Status("healthy").PID
	return f
}

// attack returns what the attacker got.
func (f *fort) attack(what, text string, n int) string {
	f.t.Helper()
	input, err := json.Marshal(map[string]any{"what": what, "text": text, "n": n})
	if err != nil {
		f.t.Fatal(err)
	}
	answer := f.host.Call(context.Background(), runs.Request{Action: "attacker.act", Input: input, Timeout: 30 * time.Second}, pluginhost.Connection{}, nil)
	if answer.Failed != nil {
		f.t.Fatalf("%s: %v", what, answer.Failed)
	}
	var output struct{ Text string }
	if err := json.Unmarshal(answer.Completed.Output, &output); err != nil {
		f.t.Fatal(err)
	}
	return output.Text
}

// attempt is one attack on the fort. part names what must hold it.
type attempt struct {
	what, part string
	text       func(*fort) string
	n          func(*fort) int
}

func attempts() []attempt {
	none, zero := func(*fort) string { return "" }, func(*fort) int { return 0 }
	neighbour := func(f *fort) int { return f.neighbour }
	engine := func(*fort) int { return os.Getpid() }
	file := func(name string) func(*fort) string {
		return func(f *fort) string { return filepath.Join(f.state, name) }
	}
	return []attempt{
		{"environment", "files", none, neighbour}, {"memory", "files", none, neighbour}, {"descriptors", "files", none, neighbour},
		{"environment", "files", none, engine}, {"memory", "files", none, engine},
		{"trace", "system calls", none, neighbour}, {"signal", "signals", none, neighbour}, {"signal", "signals", none, engine},
		{"read", "files", file("key"), zero}, {"read", "files", file("flowrun.db"), zero}, {"list", "files", file(""), zero},
		{"list", "files", file("plugins/home/healthy/.."), zero}, {"list", "files", file("plugins/tmp"), zero},
		{"write", "files", file("flowrun.db"), zero}, {"replace", "files", file("flowrun.db"), zero}, {"write", "files", file("plugins/digests.json"), zero},
		{"read", "files", func(*fort) string { return "/etc/shadow" }, zero},
		{"sockets", "files", none, zero}, {"user namespace", "system calls", none, zero}, {"key ring", "system calls", none, zero},
		{"connect", "ports", func(f *fort) string { return f.address }, zero},
	}
}

// held are the parts that this system holds. Where Landlock or seccomp is missing, the
// suite says what it skips.
func held(t *testing.T, f *fort) map[string]bool {
	t.Helper()
	parts := map[string]bool{}
	for _, part := range f.host.Confinement() {
		if parts[part.Name] = part.Held; !part.Held {
			t.Logf("SKIPPED: the attacks that %s must hold: %s", part.Name, part.Why)
		}
	}
	return parts
}

func TestIssue13_04_AttacksFail(t *testing.T) {
	t.Parallel()
	evil := evilBinary(t)
	f := newFort(t, evil, pluginhost.SandboxAuto, []string{"api.example"})
	parts := held(t, f)
	for _, a := range attempts() {
		if !parts[a.part] {
			continue
		}
		if got := f.attack(a.what, a.text(f), a.n(f)); got != "" {
			t.Errorf("%s %s: the attacker got %.60q", a.what, a.text(f), got)
		}
	}
	if data, err := os.ReadFile(filepath.Join(f.state, "flowrun.db")); err != nil || string(data) != "canary of flowrun.db" {
		t.Errorf("the store is now %q, %v", data, err)
	}
	// Root alone can read it: the neighbour is not dumpable.
	data, err := os.ReadFile("/proc/" + strconv.Itoa(f.neighbour) + "/environ")
	closed := errors.Is(err, fs.ErrPermission) && os.Geteuid() != 0
	if err != nil && !closed || bytes.Contains(data, []byte("FLOWRUN_LAUNCH_TOKEN=")) {
		t.Errorf("the neighbour's environment has a launch token, or none can be read: %v", err)
	}
}

// TestIssue13_04_ControlAttacksSucceed: without the sandbox the same attacks get
// something, unless the system itself refuses them to everybody.
func TestIssue13_04_ControlAttacksSucceed(t *testing.T) {
	t.Parallel()
	evil := evilBinary(t)
	f := newFort(t, evil, pluginhost.SandboxOff, nil)
	// What a system may refuse by itself: other users, Yama, no user namespaces.
	mayFail := []string{"trace", "memory", "environment", "descriptors", "user namespace", "key ring"}
	for _, a := range attempts() {
		got := f.attack(a.what, a.text(f), a.n(f))
		switch {
		case got != "":
		case slices.Contains(mayFail, a.what), a.text(f) == "/etc/shadow" && os.Getuid() != 0:
			t.Logf("SKIPPED: %s is refused here without a sandbox too", a.what)
		default:
			t.Errorf("%s %s: the suite did not notice that the sandbox is off", a.what, a.text(f))
		}
	}
}

// TestIssue13_04_NothingOutlivesTheEngine: a child in a session of its own, without
// environment, files and parent, ends with the host; without the sandbox it stays.
func TestIssue13_04_NothingOutlivesTheEngine(t *testing.T) {
	t.Parallel()
	evil := evilBinary(t)
	for _, sandbox := range []pluginhost.Sandbox{pluginhost.SandboxAuto, pluginhost.SandboxOff} {
		f := newFort(t, evil, sandbox, nil)
		if sandbox == pluginhost.SandboxAuto && !held(t, f)["group"] {
			continue
		}
		pid, err := strconv.Atoi(f.attack("away", "", 0))
		if err != nil {
			t.Fatal(err)
		}
		if err := f.host.Close(context.Background()); err != nil {
			t.Fatal(err)
		}
		gone := false
		for range 300 {
			if gone = !rows(pid); gone || sandbox == pluginhost.SandboxOff {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		if sandbox == pluginhost.SandboxAuto && !gone {
			t.Errorf("process %d outlived the host", pid)
		}
		if sandbox == pluginhost.SandboxOff && gone {
			t.Error("the suite did not notice that the sandbox is off")
		}
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

func rows(pid int) bool {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.Contains(string(data[bytes.LastIndexByte(data, ')'):]), " Z ")
}

// TestIssue13_04_TenThousandForks: the plugin ends in its own step, and nothing of it is
// left. Without the limit it goes on.
func TestIssue13_04_TenThousandForks(t *testing.T) {
	t.Parallel()
	evil := evilBinary(t)
	for processes, forks := range map[int]int{0: 10_000, -1: 100} {
		state := t.TempDir()
		host := pluginhost.New(pluginhost.Options{
			StateDir: state, Environ: os.Environ(), Now: time.Now, Entropy: rand.Reader, Limits: pluginhost.Limits{Grace: time.Second, Processes: processes},
			Sources: []pluginhost.Source{{Name: "attacker", Path: evil}},
		})
		input := fmt.Sprintf(`{"what":"forks","n":%d}`, forks)
		answer := host.Call(context.Background(), runs.Request{Action: "attacker.act", Input: json.RawMessage(input), Timeout: 5 * time.Second * time.Duration(1+3*min(processes+1, 1))}, pluginhost.Connection{}, nil)
		failure := answer.Failed
		if failure == nil {
			t.Fatalf("%d forks succeeded", forks)
		}
		switch caught := failure.Reason == pluginhost.ReasonLimit && strings.Contains(failure.Message, "64 are allowed"); {
		case processes == 0 && !caught:
			t.Errorf("%d forks ended with %v", forks, failure)
		case processes < 0 && caught:
			t.Errorf("%d forks without a limit ended with %v", forks, failure)
		}
		if err := host.Close(context.Background()); err != nil {
			t.Fatal(err)
		}
		if left := livingIn(state); len(left) > 0 {
			t.Errorf("left after %d forks: %v", forks, left)
		}
	}
}

// livingIn lists the processes that work in a folder, after they had a moment to end.
func livingIn(folder string) (left []string) {
	for range 300 {
		left = nil
		entries, _ := filepath.Glob("/proc/[0-9]*")
		for _, entry := range entries {
			if cwd, err := os.Readlink(entry + "/cwd"); err == nil && strings.HasPrefix(cwd, folder) {
				left = append(left, filepath.Base(entry))
			}
		}
		if len(left) == 0 {
			return nil
		}
		time.Sleep(10 * time.Millisecond)
	}
	return left
}
