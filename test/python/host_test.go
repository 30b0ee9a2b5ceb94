//go:build linux

package python

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/pluginhost"
	"github.com/flowrun/flowrun/engine/runs"
)

// snoop is a host with a plugin in Python, in the sandbox.
type snoop struct {
	t     *testing.T
	host  *pluginhost.Host
	state string
}

func newSnoop(t *testing.T, sandbox pluginhost.Sandbox) *snoop {
	t.Helper()
	needPython(t)
	source := filepath.Join(t.TempDir(), "flowrun-plugin-snoop")
	pack(t, "testdata/snoop.py", source)
	s := &snoop{t: t, state: t.TempDir()}
	if err := os.WriteFile(filepath.Join(s.state, "flowrun.db"), []byte("canary-of-the-store"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.host = pluginhost.New(pluginhost.Options{
		StateDir: s.state, Environ: append(os.Environ(), "HOST_CANARY=canary-of-the-environment"), Now: time.Now, Entropy: rand.Reader, Sandbox: sandbox,
		Limits: pluginhost.Limits{Grace: time.Second}, Sources: []pluginhost.Source{{Name: "snoop", Path: source, Hosts: []string{"127.0.0.1:9"}}},
	})
	t.Cleanup(func() {
		if err := s.host.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return s
}

func (s *snoop) look(what, at string) string {
	s.t.Helper()
	input, err := json.Marshal(map[string]string{"what": what, "at": at})
	if err != nil {
		s.t.Fatal(err)
	}
	answer := s.host.Call(context.Background(), runs.Request{Action: "snoop.look", Input: input, Timeout: 30 * time.Second}, pluginhost.Connection{}, nil)
	if answer.Failed != nil {
		s.t.Fatalf("%s: %v %s", what, answer.Failed, answer.Failed.Details)
	}
	return string(answer.Completed.Output)
}

// TestIssue15_5_ASandboxedPythonPluginSeesNothingOfTheHost: its environment, its files,
// another address. The control is the same plugin without the sandbox.
func TestIssue15_5_ASandboxedPythonPluginSeesNothingOfTheHost(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	for name, sandbox := range map[string]pluginhost.Sandbox{"on": pluginhost.SandboxAuto, "off": pluginhost.SandboxOff} {
		t.Run(name, func(t *testing.T) {
			s := newSnoop(t, sandbox)
			if got := s.look("environment", ""); strings.Contains(got, "canary") || strings.Contains(got, "HOST_CANARY") {
				t.Errorf("the environment is %s", got)
			}
			store := s.look("file", filepath.Join(s.state, "flowrun.db"))
			address := s.look("connect", listener.Addr().String())
			if free := strings.Contains(store, "canary-of-the-store"); free != (name == "off") {
				t.Errorf("it reads of the store: %s", store)
			}
			if free := strings.Contains(address, "connected"); free != (name == "off") {
				t.Errorf("it reaches: %s", address)
			}
		})
	}
}

// TestIssue15_5_APythonPluginEndsWithItsHost: Close ends it, and so does the end of its
// lifeline in the middle of a call.
func TestIssue15_5_APythonPluginEndsWithItsHost(t *testing.T) {
	t.Parallel()
	s := newSnoop(t, pluginhost.SandboxAuto)
	if got := s.look("secret", ""); !strings.Contains(got, "0 signs") {
		t.Error(got)
	}
	pid := s.host.Status("snoop").PID
	if err := s.host.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(fmt.Sprintf("/proc/%d/cmdline", pid)); err == nil && pid != 0 {
		t.Errorf("process %d lives on", pid)
	}
	w := startTwinInPython(t)
	w.connect(`{}`)
	ctx, cancel := w.context(30 * time.Second)
	defer cancel()
	if _, err := w.client.Execute(ctx, executeOf("fail", `{"how":"hang"}`)); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	_ = w.stdin.Close()
	err := <-w.ended
	w.ended <- err
	if took := time.Since(began); took > time.Second {
		t.Errorf("it ended after %s", took)
	}
}
