package pluginhost

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/sdk/proto/handshake"
)

func TestEnvironmentHoldsOnlyAllowedNames(t *testing.T) {
	w := newWorld(t, "good", func(o *Options) {
		o.Environ = []string{
			"PATH=/bin:/usr/bin", "HOME=/home/maria", "TZ=UTC", "AWS_SECRET_ACCESS_KEY=canary", "FLOWRUN_SECRET_KEY=canary",
			"GRANTED=yes", "LD_PRELOAD=canary", "https_proxy=http://p", "TMPDIR=/tmp",
		}
		o.Sources[0].Env = []string{"GRANTED", "FLOWRUN_SECRET_KEY", "HOME", "NOT_SET"}
	})
	var names []string
	values := map[string]string{}
	for _, entry := range w.ok("environ", `{}`)["environ"].([]any) {
		name, value, _ := strings.Cut(entry.(string), "=")
		names = append(names, name)
		values[name] = value
	}
	slices.Sort(names)
	want := []string{
		handshake.EnvHostSocket, handshake.EnvLaunchTokenFD, handshake.EnvLaunchMark, handshake.MagicCookieKey, "GRANTED", "HOME", "PATH",
		"PLUGIN_MAX_PORT", "PLUGIN_MIN_PORT", "PLUGIN_PROTOCOL_VERSIONS", "PLUGIN_UNIX_SOCKET_DIR", "TMPDIR", "TZ", "https_proxy",
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	for _, name := range []string{"HOME", "TMPDIR", "PLUGIN_UNIX_SOCKET_DIR"} {
		info, err := os.Stat(values[name])
		if err != nil || info.Mode().Perm() != 0o700 || values[name] == "/home/maria" || values[name] == "/tmp" {
			t.Errorf("%s=%s is not a private folder: %v %v", name, values[name], info, err)
		}
	}
}

// A plugin that has not described itself checks all that it is made of when it starts; one
// that has, and started again, is told so.
func TestAStartSaysWhetherThePluginIsDescribed(t *testing.T) {
	w := newWorld(t, "good", nil)
	told := func() bool {
		return slices.Contains(w.ok("environ", `{}`)["environ"].([]any), any(handshake.EnvDescribed+"=1"))
	}
	if told() {
		t.Error("the first start is told that the plugin is described")
	}
	answer := w.host.Call(context.Background(), runs.Request{Action: "evil.crash"}, Connection{Name: "main", Config: json.RawMessage(`{"api_key":{"$secret":"KEY"}}`)}, nil)
	if answer.Failed == nil || answer.Failed.Kind != plan.KindCrashed {
		t.Fatalf("answer = %+v", answer)
	}
	if !told() {
		t.Error("a later start is not told that the plugin is described")
	}
}

func TestCrashCarriesStderrAndCountsOnce(t *testing.T) {
	eachForm(t, func(t *testing.T, form string) {
		w := newWorld(t, form+"good", nil)
		conn := Connection{Name: "main", Config: json.RawMessage(`{"api_key":{"$secret":"KEY"}}`)}
		answer := w.host.Call(context.Background(), runs.Request{Action: "evil.crash"}, conn, nil)
		f := answer.Failed
		if f == nil || f.Kind != plan.KindCrashed || f.Applied != runs.AppliedUnknown {
			t.Fatalf("answer = %+v", answer)
		}
		if !strings.Contains(f.Message, "exit status 2") || !strings.Contains(f.Message, "panic: my heart with key [redacted]") {
			t.Errorf("message = %s", f.Message)
		}
		if !strings.Contains(string(f.Details), "goroutine") || strings.Contains(string(f.Details), "kilo") {
			t.Errorf("details = %s", f.Details)
		}
		// The first crash restarts at once.
		w.ok("echo", `{}`)
		if s := w.host.Status("evil"); s.Crashes != 1 || s.State != Ready {
			t.Errorf("status = %+v", s)
		}
	})
}

func TestCrashLoopBacksOffAndOpensTheCircuit(t *testing.T) {
	w := newWorld(t, "good", nil)
	w.ok("echo", `{}`)
	for i := 1; i <= crashLimit; i++ {
		w.fails("crash", `{}`, plan.KindCrashed)
		eventually(t, "crash counted", func() bool { return w.host.Status("evil").Crashes == i })
		switch s := w.host.Status("evil"); {
		case i == 1 && s.State != Crashed, i > 1 && i < crashLimit && s.State != Backoff:
			t.Errorf("after crash %d: %+v", i, s)
		}
		if i == 2 {
			ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
			answer := w.host.Call(ctx, runs.Request{Action: "evil.echo"}, Connection{}, nil)
			cancel()
			f := answer.Failed
			if f == nil || f.Kind != plan.KindUnavailable || f.Reason != ReasonBackoff || f.RetryAfterS <= 0 || f.Applied != runs.NotApplied {
				t.Errorf("a call that can't wait for the backoff = %+v", f)
			}
		}
		w.clock.advance(time.Minute / 2)
	}
	f := w.fails("echo", `{}`, plan.KindUnavailable)
	if f.Reason != ReasonCircuitOpen || !strings.Contains(f.Message, "crashed 5 times in 10 minutes") || f.Applied != runs.NotApplied {
		t.Errorf("failure = %+v", f)
	}
	w.clock.advance(crashWindow)
	w.ok("echo", `{}`)
}

func TestBackoffDoublesUpToTwoMinutes(t *testing.T) {
	var got []time.Duration
	for n := 1; n <= 10; n++ {
		got = append(got, backoff(n)/time.Second)
	}
	want := []time.Duration{0, 1, 2, 4, 8, 16, 32, 64, 120, 120}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("backoff in seconds (-want +got):\n%s", diff)
	}
}

func TestPluginsThatDoNotStart(t *testing.T) {
	cases := map[string]struct{ reason, message string }{
		"exit":    {ReasonStart, "exit status 3): cannot read my licence"},
		"silent":  {ReasonHandshake, "not ready within 1s: thinking"},
		"babble":  {ReasonStart, "without a handshake"},
		"version": {ReasonHandshake, "speaks protocol version 7; this flowrun speaks 1"},
		"tcp":     {ReasonHandshake, "only unix sockets are accepted"},
		"foreign": {ReasonHandshake, "outside of the folder"},
	}
	for mode, c := range cases {
		t.Run(mode, func(t *testing.T) {
			w := newWorld(t, mode, func(o *Options) {
				if mode == "silent" { // the others end by themselves, however slow the machine is
					o.Limits.Start = time.Second
				}
			})
			_, err := w.host.Describe(context.Background(), "evil")
			var failure *PluginError
			if !errors.As(err, &failure) || failure.Reason != c.reason || !strings.Contains(failure.Message, c.message) {
				t.Fatalf("error = %v (%+v)", err, failure)
			}
			if s := w.host.Status("evil"); s.Crashes != 1 {
				t.Errorf("status = %+v", s)
			}
			if f := failure.planError(w.clock.now()); f.Kind != plan.KindCrashed || f.Applied != runs.NotApplied {
				t.Errorf("as a failure of a call: %+v", f)
			}
		})
	}
}

func TestNoiseBeforeTheHandshakeIsSkipped(t *testing.T) {
	w := newWorld(t, "noise", nil)
	w.ok("echo", `{}`)
}

func TestHungCallIsGivenUpAndItsProcessReplaced(t *testing.T) {
	eachForm(t, func(t *testing.T, form string) {
		w := newWorld(t, form+"good", nil)
		pid := int(w.ok("pid", `{}`)["pid"].(float64))
		neighbour := make(chan runs.Answer, 1)
		ctx, cancel := context.WithCancel(context.Background())
		go func() {
			neighbour <- w.host.Call(ctx, runs.Request{Action: "evil.slow"}, Connection{Name: "main"}, nil)
		}()
		eventually(t, "neighbour in flight", func() bool { return w.host.Status("evil").InFlight == 1 })

		began := time.Now()
		answer := w.host.Call(context.Background(), runs.Request{Action: "evil.hang", Timeout: 200 * time.Millisecond}, Connection{Name: "main"}, nil)
		if f := answer.Failed; f == nil || f.Kind != plan.KindTimeout || f.Applied != runs.AppliedUnknown {
			t.Fatalf("answer = %+v", answer)
		}
		if took := time.Since(began); took > patience {
			t.Errorf("the call took %s", took)
		}
		eventually(t, "another process for new calls", func() bool { return int(w.ok("pid", `{}`)["pid"].(float64)) != pid })
		if !alive(pid) {
			t.Error("the old process was killed under a neighbour's call")
		}
		cancel()
		if f := (<-neighbour).Failed; f == nil || f.Kind != plan.KindCanceled {
			t.Errorf("neighbour = %+v", f)
		}
		eventually(t, "end of the old process", func() bool { return !alive(pid) })
		if s := w.host.Status("evil"); s.Crashes != 0 {
			t.Errorf("a stopped process counted as a crash: %+v", s)
		}
	})
}

func TestIdleProcessStops(t *testing.T) {
	w := newWorld(t, "good", func(o *Options) { o.Limits.IdleStop = 100 * time.Millisecond })
	pid := int(w.ok("pid", `{}`)["pid"].(float64))
	eventually(t, "idle stop", func() bool { return !alive(pid) && w.host.Status("evil").State == Stopped })
	w.ok("echo", `{}`)
}

func TestChildrenEndWithTheProcess(t *testing.T) {
	w := newWorld(t, "good", nil)
	child := int(w.ok("spawn", `{}`)["child"].(float64))
	if !alive(child) {
		t.Fatal("the child does not run")
	}
	began := time.Now()
	if err := w.host.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took > patience {
		t.Errorf("close took %s", took)
	}
	eventually(t, "end of the child", func() bool { return !alive(child) })
}

func TestCloseKillsADeafPluginAfterTheGrace(t *testing.T) {
	w := newWorld(t, "deaf", nil)
	pid := int(w.ok("pid", `{}`)["pid"].(float64))
	if err := w.host.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	if alive(pid) {
		t.Error("it lives")
	}
	if f := w.fails("echo", `{}`, plan.KindCanceled); f.Reason != ReasonClosed {
		t.Errorf("a call after Close = %+v", f)
	}
	for _, pattern := range []string{"plugins/tmp/*", "plugins/sock/*"} {
		if left := stateFiles(t, filepath.Join(w.host.options.StateDir, pattern)); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	}
}

func TestCallInFlightEndsCanceledWhenTheHostCloses(t *testing.T) {
	eachForm(t, func(t *testing.T, form string) {
		w := newWorld(t, form+"good", nil)
		answer := make(chan runs.Answer, 1)
		go func() { answer <- w.call("slow", `{}`) }()
		eventually(t, "call in flight", func() bool { return w.host.Status("evil").InFlight == 1 })
		if err := w.host.Close(context.Background()); err != nil {
			t.Fatal(err)
		}
		if f := (<-answer).Failed; f == nil || f.Kind != plan.KindCanceled {
			t.Errorf("failure = %+v", f)
		}
	})
}

// runDoomedHost starts a plugin with a child, tells their pids, and waits to be
// killed. Without a sandbox the child leaves the plugin's group.
func runDoomedHost(dir, mode string, sandbox Sandbox) {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	host := New(Options{
		StateDir: dir, Environ: os.Environ(), Now: time.Now, Entropy: rand.Reader, Limits: Limits{Memory: -1}, Sandbox: sandbox,
		Sources: []Source{{Name: "evil", Bundled: true, Command: []string{self, "plugin", mode}}},
	})
	for _, action := range []string{"evil.pid", "evil.spawn"} {
		answer := host.Call(context.Background(), runs.Request{Action: action, Input: json.RawMessage(`{"text":"` + string(sandbox) + `"}`)}, Connection{}, nil)
		if answer.Failed != nil {
			panic(answer.Failed)
		}
		fmt.Println(string(answer.Completed.Output))
	}
	select {}
}

// P7: after SIGKILL of the host no plugin is left, even one that ignores its
// lifeline, nor what it started. What left its group, where no sandbox keeps it there, is
// reaped by the next host.
func TestP7KilledHostLeavesNoPlugin(t *testing.T) {
	for _, mode := range []string{"good", "deaf"} {
		for _, sandbox := range []Sandbox{SandboxAuto, SandboxOff} {
			t.Run(mode+" "+string(sandbox), func(t *testing.T) { killHost(t, mode, sandbox) })
		}
	}
}

func killHost(t *testing.T, mode string, sandbox Sandbox) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	doomed := exec.Command(self, "host", dir, mode, string(sandbox))
	doomed.Stderr = os.Stderr
	stdout, err := doomed.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := doomed.Start(); err != nil {
		t.Fatal(err)
	}
	var plugin struct{ PID int }
	var spawned struct{ Child int }
	decoder := json.NewDecoder(stdout)
	if err := errors.Join(decoder.Decode(&plugin), decoder.Decode(&spawned)); err != nil {
		t.Fatal(err)
	}
	if !alive(plugin.PID) || !alive(spawned.Child) {
		t.Fatal("the plugin does not run")
	}
	if err := doomed.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = doomed.Wait()
	eventually(t, "end of the plugin", func() bool { return !alive(plugin.PID) })
	left := 1
	if sandbox == SandboxAuto {
		left = 0
		eventually(t, "end of what the plugin started", func() bool { return !alive(spawned.Child) })
	}

	var entries []pidEntry
	if err := readJSON(filepath.Join(dir, "plugins", "pids.json"), &entries); err != nil || len(entries) != 1 {
		t.Fatalf("record = %v, %v", entries, err)
	}
	next := New(Options{StateDir: dir, Now: time.Now, Entropy: rand.Reader})
	defer next.Close(context.Background())
	reaped, err := next.ReapOrphans(context.Background())
	if err != nil || reaped != left || alive(spawned.Child) {
		t.Errorf("reaped %d, want %d, %v; child alive: %v", reaped, left, err, alive(spawned.Child))
	}
	for _, entry := range entries {
		for _, folder := range []string{entry.TMP, entry.Socket, filepath.Dir(entry.Socket)} {
			if _, err := os.Stat(folder); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("%s is left: %v", folder, err)
			}
		}
	}
	if reaped, err := next.ReapOrphans(context.Background()); err != nil || reaped != 0 {
		t.Errorf("reaped again: %d, %v", reaped, err)
	}
}

func TestReapOrphansSparesTheLivingAndTheirSuccessors(t *testing.T) {
	w := newWorld(t, "good", nil)
	pid := int(w.ok("pid", `{}`)["pid"].(float64))
	if reaped, err := w.host.ReapOrphans(context.Background()); err != nil || reaped != 0 || !alive(pid) {
		t.Errorf("reaped %d, %v", reaped, err)
	}
	// A process that got the pid of a plugin later is not touched.
	other := exec.Command("sleep", "60")
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Process.Kill(); _ = other.Wait() }()
	stale := fmt.Sprintf(`[{"plugin":"evil","pid":%d,"start":"boot/1","token":"x","host":%d,"host_start":"boot/1"}]`, other.Process.Pid, os.Getpid())
	if err := os.WriteFile(w.host.pids.path, []byte(stale), 0o600); err != nil {
		t.Fatal(err)
	}
	if reaped, err := w.host.ReapOrphans(context.Background()); err != nil || reaped != 0 || !alive(other.Process.Pid) {
		t.Errorf("reaped %d, %v", reaped, err)
	}
}

func TestProcessesAreRecordedWhileTheyRun(t *testing.T) {
	w := newWorld(t, "good", nil)
	pid := int(w.ok("pid", `{}`)["pid"].(float64))
	data, err := os.ReadFile(w.host.pids.path)
	if err != nil || !strings.Contains(string(data), strconv.Itoa(pid)) {
		t.Errorf("record = %s, %v", data, err)
	}
	if err := w.host.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(w.host.pids.path); err != nil || string(data) != "[]" {
		t.Errorf("record after the end = %s, %v", data, err)
	}
}
