package sandbox_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// twoServices is a project with two connections to two real services.
func twoServices(t *testing.T) (w *world, other *service) {
	t.Helper()
	other = newService(t, "127.0.0.3")
	w = newWorld(t, flowrunProgram(t))
	w.write("flowrun.yaml", strings.Replace(projectFile, "notify:", fmt.Sprintf(`  other: {plugin: things, config: {base_url: %q, token: "${{ secrets.TOKEN }}"}}
notify:`, other.url), 1))
	for _, name := range []string{"mine", "other"} {
		w.write(name+".yaml", workflow(name, "steps:\n  - uses: things.create\n    connection: "+name+"\n    with: {name: a}\n"))
	}
	w.write("both.yaml", workflow("both", "steps:\n  - uses: things.create\n    connection: mine\n    with: {name: a}\n  - uses: things.create\n    connection: other\n    with: {name: a}\n"))
	w.write("tell.yaml", workflow("tell", "steps:\n  - uses: core.notify\n    with: {to: ops, text: hello}\n"))
	return w, other
}

// TestIssue12_01LiveIsByName: exactly the connection that is named is reached.
func TestIssue12_01LiveIsByName(t *testing.T) {
	t.Parallel()
	w, other := twoServices(t)
	output := w.exits(0, "run", "--sandbox", "--live", "mine", "mine.yaml")
	if !strings.Contains(output, "LIVE: mine, with real requests to "+w.service.url) || strings.Contains(output, "no real service is called") {
		t.Errorf("the banner is not true:\n%s", output)
	}
	if got := w.service.asked(); got != "POST /things Bearer real-token-123" {
		t.Errorf("the service was asked %q", got)
	}
	before := w.service.bytes.Load()
	w.exits(3, "run", "--sandbox", "--live", "mine", "both.yaml")
	w.exits(3, "run", "--sandbox", "--live", "mine", "other.yaml")
	w.exits(3, "run", "--sandbox", "--live", "other", "mine.yaml")
	w.exits(3, "run", "--sandbox", "mine.yaml")
	if w.service.bytes.Load() != before || other.bytes.Load() != 0 {
		t.Errorf("%d and %d bytes too many:\n%s", w.service.bytes.Load()-before, other.bytes.Load(), other.asked())
	}
	w.exits(0, "run", "--sandbox", "--live", "mine", "--live", "other", "both.yaml")
	if got := other.asked(); got != "POST /things Bearer real-secret-of-the-environment" {
		t.Errorf("the other service was asked %q", got)
	}
	if output := w.exits(9, "run", "--sandbox", "--live", "mien", "mine.yaml"); !strings.Contains(output, "did you mean `mine`?") {
		t.Errorf("a name that is none:\n%s", output)
	}
	w.exits(2, "run", "--live", "mine", "mine.yaml")
	before = w.service.bytes.Load()
	w.exits(0, "run", "--sandbox", "tell.yaml")
	if w.service.bytes.Load() != before {
		t.Error("a target was told that is not live")
	}
	w.exits(0, "run", "--sandbox", "--live", "notify:ops", "tell.yaml")
	if !strings.Contains(w.service.asked(), "POST /hook") {
		t.Errorf("a live target was not told: %s", w.service.asked())
	}
}

// TestIssue12_01NobodyJoinsAnotherOnesWord: what one command names as live holds for
// no other, and what a second one names is not added to the first.
func TestIssue12_01NobodyJoinsAnotherOnesWord(t *testing.T) {
	t.Parallel()
	w, other := twoServices(t)
	w.write("workflows/x.yaml", workflow("x", "steps:\n  - let: {a: 1}\n"))
	if w.serve("--live", "mine") == nil {
		t.Fatal("the server does not begin")
	}
	for _, args := range [][]string{
		{"run", "--sandbox", "mine.yaml"},
		{"run", "--sandbox", "--detach", "mine.yaml"},
		{"run", "--sandbox", "--live", "other", "other.yaml"},
		{"run", "--sandbox", "--live", "mine", "--live", "other", "both.yaml"},
		{"call", "things.create", "--sandbox", "--connection", "mine", "--with", `{"name":"a"}`},
		{"connections", "test", "mine", "--sandbox"},
	} {
		if output := w.exits(3, args...); !strings.Contains(output, "with --live mine, and this command was given") {
			t.Errorf("%v says:\n%s", args, output)
		}
	}
	if n := w.service.bytes.Load() + other.bytes.Load(); n != 0 {
		t.Errorf("%d bytes reached the services", n)
	}
	w.exits(0, "runs", "list", "--sandbox") // who only looks needs no word
	w.exits(0, "run", "--sandbox", "--live", "mine", "mine.yaml")
	if w.service.bytes.Load() == 0 {
		t.Error("the same word does not join")
	}
}

// TestIssue12_01RealSecretsAreForLiveConnections: neither the environment's nor the
// real store's are read by a sandboxed run, but for a live connection.
func TestIssue12_01RealSecretsAreForLiveConnections(t *testing.T) {
	t.Parallel()
	w := newWorld(t, flowrunProgram(t))
	w.write("flowrun.yaml", strings.NewReplacer(`token: "real-token-123"`, `token: "${{ secrets.STORED }}"`).Replace(projectFile)+"sandbox:\n  mine: {command: [\"$SIM\"]}\n")
	w.write("w.yaml", workflow("w", "steps:\n  - uses: things.create\n    with: {name: a}\n"))
	w.write("key.yaml", workflow("key", "steps:\n  - uses: things.use_key\n    with: {key: \"${{ secrets.STORED }}\"}\n"))
	w.write("env.yaml", workflow("env", "steps:\n  - uses: things.use_key\n    with: {key: \"${{ secrets.TOKEN }}\"}\n"))
	w.write("value", "stored-secret-of-the-real-store")
	w.exits(0, "secrets", "set", "STORED", "--from-file", "value")

	w.exits(0, "run", "--sandbox", "w.yaml") // the simulator has a token of its own
	for _, file := range []string{"key.yaml", "env.yaml"} {
		output := w.exits(3, "run", "--sandbox", file) // before anything starts
		if !strings.Contains(output, "is not set") || !strings.Contains(output, "FLOWRUN_SANDBOX_SECRET_") {
			t.Errorf("%s reads a real secret:\n%s", file, output)
		}
	}
	if w.service.bytes.Load() != 0 {
		t.Errorf("the service was asked %s", w.service.asked())
	}
	w.exits(0, "run", "--sandbox", "--live", "mine", "w.yaml")
	w.exits(0, "run", "--sandbox", "--live", "mine", "key.yaml")
	w.exits(0, "run", "--sandbox", "--live", "mine", "env.yaml")
	if got := w.service.asked(); strings.Count(got, "Bearer stored-secret-of-the-real-store") != 3 {
		t.Errorf("the service was asked %s", got)
	}
	w.write("value", "another-secret-of-the-sandbox")
	w.exits(0, "secrets", "set", "STORED", "--from-file", "value", "--sandbox")
	if output := w.exits(0, "secrets", "--sandbox", "-o", "json"); !strings.Contains(output, `"STORED","sources":["store"]`) {
		t.Errorf("the secrets of the sandbox:\n%s", output)
	}
	w.exits(0, "run", "--sandbox", "--live", "mine", "w.yaml") // what is set for the sandbox goes before
	if got := w.service.asked(); !strings.HasSuffix(got, "Bearer another-secret-of-the-sandbox") {
		t.Errorf("the service was asked %s", got)
	}
	w.exits(0, "secrets", "rm", "STORED", "--sandbox")
	w.exits(0, "run", "--sandbox", "--live", "mine", "w.yaml")
	if got := w.service.asked(); !strings.HasSuffix(got, "Bearer stored-secret-of-the-real-store") {
		t.Errorf("the service was asked %s", got)
	}
}

// simulated is a project whose connection has a simulator with arguments.
func simulated(t *testing.T, arguments ...string) *world {
	t.Helper()
	w := newWorld(t, flowrunProgram(t))
	command, err := json.Marshal(append([]string{program(t, "things-sim", "./testdata/things-sim")}, arguments...))
	if err != nil {
		t.Fatal(err)
	}
	w.write("flowrun.yaml", projectFile+"sandbox:\n  mine: {command: "+string(command)+"}\n")
	w.write("w.yaml", workflow("w", "steps:\n  - id: make\n    uses: things.create\n    with: {name: a}\noutputs: {name: \"${{ steps.make.outputs.name }}\"}\n"))
	return w
}

// TestIssue12_01SimulatorsOfOthers: a program of the project stands for a connection.
func TestIssue12_01SimulatorsOfOthers(t *testing.T) {
	t.Parallel()
	w := simulated(t)
	output := w.exits(0, "run", "--sandbox", "w.yaml")
	if !strings.Contains(output, "made by the simulator") || !strings.Contains(output, "things-sim: mine") {
		t.Errorf("it prints:\n%s", output)
	}
	for arguments, want := range map[string]string{
		"fail":                              "the simulator has no data",
		"text":                              "did not print its config as one JSON object",
		"none":                              "`base_url`",
		"setting=base_ur":                   "did you mean `base_url`?",
		"address=http://192.0.2.7:80":       "not on this machine",
		"address=https://things.example":    "not on this machine",
		"address=http://user:pw@192.0.2.7/": "not on this machine",
	} {
		w := simulated(t, arguments)
		output, code := w.run("run", "--sandbox", "w.yaml")
		if (code != 3 && code != 11) || !strings.Contains(output, want) || strings.Contains(output, "pw@") {
			t.Errorf("%s: exit code %d, want %q in:\n%s", arguments, code, want, output)
		}
	}
	if n := w.service.bytes.Load(); n != 0 {
		t.Errorf("%d bytes reached the service", n)
	}
}

// TestIssue12_01APluginBringsItsSimulator: the plugin's own description names it, by
// its place beside the executable.
func TestIssue12_01APluginBringsItsSimulator(t *testing.T) {
	t.Parallel()
	w := newWorld(t, flowrunProgram(t))
	brings := program(t, "brings/things", "-ldflags=-s -w -X main.simulator=things-sim", "./testdata/things")
	program(t, "brings/things-sim", "./testdata/things-sim")
	w.write("flowrun.yaml", "plugins: {things: {source: "+brings+"}}\nconnections: {mine: {plugin: things, config: {base_url: $URL}}}\n")
	w.write("w.yaml", workflow("w", "steps:\n  - id: make\n    uses: things.create\n    with: {name: a}\noutputs: {name: \"${{ steps.make.outputs.name }}\"}\n"))
	if output := w.exits(0, "run", "--sandbox", "w.yaml"); !strings.Contains(output, "made by the simulator") {
		t.Errorf("it prints:\n%s", output)
	}
	if n := w.service.bytes.Load(); n != 0 {
		t.Errorf("%d bytes reached the service", n)
	}
}

// TestIssue12_01SimulatorsEndWithTheSandbox: also what they have started, and also
// when flowrun is killed. They get no secret.
func TestIssue12_01SimulatorsEndWithTheSandbox(t *testing.T) {
	t.Parallel()
	pids := filepath.Join(t.TempDir(), "pids")
	environ := filepath.Join(t.TempDir(), "environ")
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGKILL} {
		for _, first := range []string{"polite", "deaf"} {
			w := simulated(t, first, "pids="+pids, "environ="+environ)
			w.write("workflows/x.yaml", workflow("x", "steps:\n  - let: {a: 1}\n"))
			s := w.serve()
			if s == nil {
				t.Fatal("the server does not begin")
			}
			text, err := os.ReadFile(pids)
			if err != nil {
				t.Fatal(err)
			}
			given, err := os.ReadFile(environ)
			if err != nil || strings.Contains(string(given), "real-secret") || strings.Contains(string(given), "SECRET") || !strings.Contains(string(given), "PATH=") {
				t.Errorf("its environment (%v):\n%s", err, given)
			}
			if err := s.command.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			<-s.ended
			for _, word := range strings.Fields(string(text)) {
				pid, err := strconv.Atoi(word)
				if err != nil {
					t.Fatal(err)
				}
				end := time.Now().Add(20 * time.Second)
				for alive(pid) && time.Now().Before(end) {
					time.Sleep(20 * time.Millisecond)
				}
				if alive(pid) {
					t.Errorf("after %v process %d of a %s simulator lives", signal, pid, first)
				}
			}
		}
	}
}

// alive reports whether a process is there and no zombie.
func alive(pid int) bool {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, after, _ := strings.Cut(string(data), ") ")
	return !strings.HasPrefix(after, "Z")
}
