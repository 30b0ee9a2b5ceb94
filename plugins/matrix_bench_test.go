package plugins

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/calls"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/workspace"
)

// bench is an engine with real plugin processes, a real store and connections to
// simulators in this process.
type bench struct {
	engine *engine.Engine
	dir    string // project and state
	log    *lockedBuffer
}

// lockedBuffer takes the log of many goroutines.
type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// environment is what a bench's engine sees of the process environment.
func environment(secrets map[string]string) []string {
	environ := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "TMPDIR=" + os.TempDir()}
	for name, value := range secrets {
		environ = append(environ, "FLOWRUN_SECRET_"+name+"="+value)
	}
	return environ
}

// openBench writes a project with a connection for each line and opens its engine.
func openBench(t *testing.T, lines []*line, secrets map[string]string) *bench {
	t.Helper()
	return openBenchAt(t, lines, secrets, time.Now)
}

// openBenchAt is openBench with a clock of the engine's own.
func openBenchAt(t *testing.T, lines []*line, secrets map[string]string, now func() time.Time) *bench {
	t.Helper()
	connections := map[string]any{}
	for _, l := range lines {
		connections[l.name] = map[string]any{"plugin": l.plugin, "config": l.config}
	}
	document, err := json.Marshal(map[string]any{ // JSON is YAML
		"connections": connections, "secrets": []string{"env", "store"}, "limits": map[string]any{"max_active_runs": 1000},
	})
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{dir: t.TempDir(), log: &lockedBuffer{}}
	file := filepath.Join(b.dir, "flowrun.yaml")
	if err := os.WriteFile(file, document, 0o600); err != nil {
		t.Fatal(err)
	}
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	project, err := engine.LoadProject(t.Context(), workspace.Config{
		StateDir: filepath.Join(b.dir, "state"), ProjectFile: file, Dir: b.dir, Environ: environment(secrets), Executable: executable,
		Bundled: append(products(), "careless", "forgetful"), Version: "test", Now: now, Entropy: rand.Reader,
		Log: slog.New(slog.NewTextHandler(b.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	if err != nil {
		t.Fatal(err)
	}
	if b.engine, err = engine.Open(t.Context(), project); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.close)
	return b
}

// close ends the engine and its plugins; a second time it does nothing.
func (b *bench) close() {
	if b.engine != nil {
		_ = b.engine.Close(context.Background()) // what a test is about is judged before
		b.engine = nil
	}
}

// start starts a run of a workflow and returns its id.
func (b *bench) start(t *testing.T, source string) string {
	t.Helper()
	row, problems, err := b.engine.Start(t.Context(), engine.StartRequest{File: "matrix.yaml", Source: []byte(source)})
	if err != nil || row == nil {
		t.Fatalf("start: %v\n%v\n%s", err, problems, source)
	}
	return row.ID
}

// wait returns a run when it has ended or pauses.
func (b *bench) wait(t *testing.T, id string) *runs.Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	result, err := b.engine.Wait(ctx, id)
	if err != nil {
		t.Fatalf("wait for run %s: %v", id, err)
	}
	return result
}

// call makes one call outside a workflow.
func (b *bench) call(t *testing.T, action, connection string, input any) calls.Result {
	t.Helper()
	encoded, err := json.Marshal(input)
	if err != nil {
		t.Fatal(err)
	}
	result, err := b.engine.Call(t.Context(), calls.Request{
		Action: action, Connection: connection, Input: encoded, LiteralSecrets: true,
	}, silent{})
	if err != nil {
		t.Fatalf("call %s: %v", action, err)
	}
	return result
}

// texts is all that people can read of a run: result, events, logs.
func (b *bench) texts(t *testing.T, result *runs.Result) string {
	t.Helper()
	encoded, err := json.Marshal(result)
	if err != nil {
		t.Fatal(err)
	}
	all := []string{string(encoded)}
	for next := uint64(1); next != 0; {
		events, follows, err := b.engine.Events(t.Context(), result.Run.ID, next, 1000)
		if err != nil {
			t.Fatal(err)
		}
		for _, event := range events {
			encoded, err := event.MarshalJSON()
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, string(encoded))
		}
		next = follows
	}
	logs, err := b.engine.Logs(t.Context(), result.Run.ID, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, log := range logs {
		encoded, err := json.Marshal(log)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, string(encoded))
	}
	return strings.Join(all, "\n")
}

// step is a workflow of one step.
type step struct {
	action, connection string
	input              map[string]any
	more               map[string]any // further keys of the step: timeout, retry
}

// source writes the workflow; JSON is YAML.
func (s step) source(t *testing.T) string {
	t.Helper()
	keys := map[string]any{"id": "it", "uses": s.action, "connection": s.connection, "with": s.input}
	if s.input == nil {
		delete(keys, "with")
	}
	for name, value := range s.more {
		keys[name] = value
	}
	document, err := json.Marshal(map[string]any{"flowrun": "v1", "name": "matrix", "steps": []any{keys}})
	if err != nil {
		t.Fatal(err)
	}
	return string(document)
}

// login gives a connection of plugin auth its token, as a person would.
func (b *bench) login(t *testing.T, l *line) {
	t.Helper()
	if failure := b.tryLogin(l); failure != nil {
		t.Fatalf("log in for %s: %v", l.name, failure)
	}
}

func (b *bench) tryLogin(l *line) error {
	flow, err := b.startFlow(l)
	if err != nil {
		return err
	}
	result, err := b.engine.Call(context.Background(), calls.Request{
		Action: "auth.device_wait", Connection: l.name, Input: json.RawMessage(`{"flow_id":"` + flow + `"}`),
	}, silent{})
	if err == nil && result.Error != nil {
		err = fmt.Errorf("%+v", *result.Error)
	}
	return err
}

// startFlow begins a device login, lets the person approve it and returns its id.
func (b *bench) startFlow(l *line) (string, error) {
	result, err := b.engine.Call(context.Background(), calls.Request{
		Action: "auth.device_start", Connection: l.name, Input: json.RawMessage(`{"scopes":["openid","email"]}`),
	}, silent{})
	if err != nil {
		return "", err
	}
	if result.Error != nil {
		return "", fmt.Errorf("%+v", *result.Error)
	}
	var started struct {
		FlowID   string `json:"flow_id"`
		UserCode string `json:"user_code"`
	}
	if err := json.Unmarshal(result.Outputs, &started); err != nil {
		return "", err
	}
	if l.keepPending {
		return started.FlowID, nil
	}
	return started.FlowID, l.auth.Approve(started.UserCode)
}
