package pluginhost

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
)

// world is what a host needs, for tests: real files and processes, and a memory
// for what it stores and logs.
type world struct {
	t     *testing.T
	host  *Host
	state *memoryState
	masks *masks
	vault *memoryVault
	clock *clock
}

type clock struct {
	mu     sync.Mutex
	offset time.Duration
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.offset)
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.offset += d
}

func evilSource(t *testing.T, mode string) Source {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return Source{Name: "evil", Bundled: true, Command: []string{self, "plugin", mode}}
}

func newWorld(t *testing.T, mode string, change func(*Options)) *world {
	t.Helper()
	w := &world{t: t, state: &memoryState{}, masks: &masks{}, vault: &memoryVault{}, clock: &clock{}}
	o := Options{
		StateDir: t.TempDir(), Sources: []Source{evilSource(t, mode)}, Environ: os.Environ(),
		Now: w.clock.now, Entropy: rand.Reader, Version: "1.0.0",
		State: w.state, Secrets: memorySecrets{"KEY": "kilo-123456"}, Vault: w.vault, Redactor: w.masks,
		Limits: Limits{Grace: 300 * time.Millisecond, Memory: -1},
	}
	if change != nil {
		change(&o)
	}
	w.host = New(o)
	t.Cleanup(func() {
		if err := w.host.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return w
}

func (w *world) call(action, input string) runs.Answer {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	return w.host.Call(ctx, runs.Request{
		Action: "evil." + action, RunID: "run-1", Step: "a", Operation: "a", Attempt: 2, IdempotencyKey: "idem", Input: json.RawMessage(input),
	}, Connection{Name: "main"}, nil)
}

// ok makes a call that must succeed and decodes its output.
func (w *world) ok(action, input string) map[string]any {
	w.t.Helper()
	answer := w.call(action, input)
	if answer.Failed != nil {
		w.t.Fatalf("%s: %v\n%s", action, answer.Failed, answer.Failed.Details)
	}
	var output map[string]any
	if err := json.Unmarshal(answer.Completed.Output, &output); err != nil {
		w.t.Fatal(err)
	}
	return output
}

// fails makes a call that must fail with the kind.
func (w *world) fails(action, input string, kind plan.ErrorKind) *runs.Error {
	w.t.Helper()
	answer := w.call(action, input)
	if answer.Failed == nil {
		w.t.Fatalf("%s succeeded, want %s", action, kind)
	}
	if answer.Failed.Kind != kind {
		w.t.Fatalf("%s failed with %v, want %s", action, answer.Failed, kind)
	}
	return answer.Failed
}

type memorySecrets map[string]string

func (m memorySecrets) Reveal(_ context.Context, name string) (string, error) {
	if value, found := m[name]; found {
		return value, nil
	}
	return "", errors.New("no such secret; set FLOWRUN_SECRET_" + name)
}

type masks struct {
	mu     sync.Mutex
	values []string
}

func (m *masks) Add(value string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.values = append(m.values, value)
}

func (m *masks) Redact(text string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, value := range m.values {
		if len(value) >= 6 {
			text = strings.ReplaceAll(text, value, "[redacted]")
		}
	}
	return text
}

type memoryVault struct {
	mu     sync.Mutex
	values map[string]json.RawMessage
}

func (v *memoryVault) Seal(_ context.Context, r SealRequest) (string, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.values == nil {
		v.values = map[string]json.RawMessage{}
	}
	ref := r.RunID + "/" + r.Operation + r.Pointer
	v.values[ref] = r.Value
	return ref, nil
}

func (v *memoryVault) Open(_ context.Context, ref string) (json.RawMessage, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if value, found := v.values[ref]; found {
		return value, nil
	}
	return nil, errors.New("nothing is kept there")
}

type memoryState struct {
	mu     sync.Mutex
	values map[StateKey][]byte
	at     map[StateKey]uint64
}

func (s *memoryState) GetState(_ context.Context, key StateKey) ([]byte, uint64, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	value, found := s.values[key]
	return value, s.at[key], found, nil
}

func (s *memoryState) PutState(_ context.Context, key StateKey, value []byte, ifVersion uint64, _ time.Duration) (uint64, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.at == nil {
		s.values, s.at = map[StateKey][]byte{}, map[StateKey]uint64{}
	}
	if s.at[key] != ifVersion {
		return s.at[key], false, nil
	}
	s.values[key] = value
	s.at[key]++
	return s.at[key], true, nil
}

// sinkOf collects what a call says.
type sinkOf struct {
	mu       sync.Mutex
	logs     []runs.Log
	progress []runs.Progress
}

func (s *sinkOf) Log(l runs.Log) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.logs = append(s.logs, l)
}

func (s *sinkOf) Progress(p runs.Progress) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.progress = append(s.progress, p)
}

// eventually waits for a condition, for at most limit.
// patience bounds what is waited for: it says "never", not "slow".
const patience = 90 * time.Second

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: not within %s", what, patience)
		}
	}
}

func alive(pid int) bool {
	_, ok := processStart(pid)
	return ok
}

func stateFiles(t *testing.T, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	return files
}
