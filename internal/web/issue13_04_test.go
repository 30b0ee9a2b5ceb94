//go:build linux

package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/peer"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/internal/web/wire"
)

// attackVariable makes the test program a process that a plugin has started: it
// approves through the socket as "boss" and writes what it heard to a file. With
// "orphan" it leaves that to a process of its own session, and ends.
const attackVariable = "WEB_TEST_ATTACK"

// parentVariable tells an orphan whose end it waits for.
const parentVariable = "WEB_TEST_PARENT"

// TestAttackOfTheSocket is no test: it is that process.
func TestAttackOfTheSocket(t *testing.T) {
	verb, rest, _ := strings.Cut(os.Getenv(attackVariable), " ")
	socket, answer, _ := strings.Cut(rest, " ")
	switch verb {
	case "":
		t.Skip("it is the process of another test")
	case "orphan":
		child := exec.Command(os.Args[0], "-test.run=^TestAttackOfTheSocket$")
		child.Env = []string{attackVariable + "=late " + rest, fmt.Sprint(parentVariable, "=", os.Getpid())}
		child.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		os.Exit(0)
	case "late":
		for fmt.Sprint(os.Getppid()) == os.Getenv(parentVariable) {
			time.Sleep(5 * time.Millisecond) // until its parent has ended
		}
	}
	client := http.Client{Transport: &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return net.Dial("unix", socket) }}}
	response, err := client.Post("http://flowrun"+Prefix+"/runs/"+attackedRun+"/steps/ask/approve", "application/json", strings.NewReader(`{"by":"boss"}`))
	text := fmt.Sprint(err)
	if err == nil {
		text = fmt.Sprint(response.StatusCode)
		_ = response.Body.Close()
	}
	if err := os.WriteFile(answer+".new", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(answer+".new", answer); err != nil {
		t.Fatal(err)
	}
}

const attackedRun = "01aryz6s41tsv4rrffq69g5fav"

// decisions notes who decides.
type decisions struct {
	Runs
	by []string
}

func (d *decisions) Decide(_ context.Context, _, _ string, _ engine.Act, r engine.DecideRequest) (*engine.DecideResult, error) {
	d.by = append(d.by, r.By)
	return &engine.DecideResult{Run: &runs.Run{ID: attackedRun}}, nil
}

// attack starts the process and returns the status that it heard.
func attack(t *testing.T, verb, socket string) string {
	t.Helper()
	answer := filepath.Join(t.TempDir(), "answer")
	command := exec.Command(os.Args[0], "-test.run=^TestAttackOfTheSocket$")
	command.Env = []string{attackVariable + "=" + verb + " " + socket + " " + answer}
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	for range 3000 {
		if text, err := os.ReadFile(answer); err == nil {
			return string(text)
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("the process does not answer")
	return ""
}

// TestIssue13_04NoDescendantUsesTheSocket: what a plugin has started can't approve,
// also when it has left its parents, its session and its environment. Control: without
// the admission it can, and then it is named by the kernel's word.
func TestIssue13_04NoDescendantUsesTheSocket(t *testing.T) {
	stop, err := peer.Adopt()
	if err != nil {
		t.Skip(err)
	}
	defer stop()
	nobody, everybody := func(int) bool { return false }, func(int) bool { return true }
	for name, test := range map[string]struct {
		admit Admission
		want  string
	}{
		"descendants are refused":    {RefuseDescendants(os.Getpid(), nobody), "403"},
		"the command of a notice":    {RefuseDescendants(os.Getpid(), everybody), "202"},
		"control: nobody is refused": {nil, "202"},
	} {
		for _, verb := range []string{"child", "orphan"} {
			a, taken := newAlwaysOn(t), &decisions{}
			options := a.options()
			options.Runs = taken
			dir := t.TempDir()
			socket, err := Listen(dir, Owner{PID: os.Getpid()}, test.admit, NewSocketHandler(options))
			if err != nil {
				t.Fatal(err)
			}
			if got := attack(t, verb, filepath.Join(dir, socketName)); got != test.want {
				t.Errorf("%s, %s: %s, want %s", name, verb, got, test.want)
			}
			if err := socket.Close(t.Context()); err != nil {
				t.Error(err)
			}
			switch {
			case test.want == "403" && len(taken.by) > 0:
				t.Errorf("%s, %s: decided by %v", name, verb, taken.by)
			case test.want == "202" && (len(taken.by) != 1 || !strings.Contains(taken.by[0], fmt.Sprintf("(uid %d, process ", os.Getuid())) ||
				!strings.HasSuffix(taken.by[0], ` who says "boss"`) || !strings.Contains(taken.by[0], ".test")):
				t.Errorf("%s, %s: decided by %v", name, verb, taken.by)
			}
		}
	}
}

// TestIssue13_04ARefusalIsAProblem: a command that is refused says why.
func TestIssue13_04ARefusalIsAProblem(t *testing.T) {
	dir := t.TempDir()
	refuse := Admission(func(*peer.Peer) error { return peer.ErrEnded })
	socket, err := Listen(dir, Owner{PID: os.Getpid()}, refuse, NewSocketHandler(newAlwaysOn(t).options()))
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close(context.Background())
	_, _, err = Dial(t.Context(), dir)
	var problem *Problem
	if !errors.As(err, &problem) || problem.Code != wire.CodeForbidden || !strings.Contains(problem.Detail, "has ended") {
		encoded, _ := json.Marshal(problem)
		t.Errorf("%v %s", err, encoded)
	}
}
