//go:build linux

// Package shutdown holds the suites of a graceful stop (docs/reliability.md P17), of
// what a start does with what a stop left (P7), and of two processes at one store
// (P16): the real binary with a real plugin.
package shutdown

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/flowrun/flowrun/internal/testbuild"
	"github.com/flowrun/flowrun/internal/testparallel"
)

// seed of a suite: FLOWRUN_SEED, else the same at every commit.
func seed(t *testing.T) uint64 {
	t.Helper()
	seed := uint64(1)
	if text := os.Getenv("FLOWRUN_SEED"); text == "random" {
		seed = uint64(time.Now().UnixNano())
	} else if text != "" {
		parsed, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatalf("FLOWRUN_SEED=%s: %v", text, err)
		}
		seed = parsed
	}
	t.Logf("seed %d", seed)
	return seed
}

// built are the two binaries, built once for all tests.
type built struct{ dir, flowrun, worker string }

var binaries = sync.OnceValues(func() (built, error) {
	dir, err := os.MkdirTemp("", "flowrun-shutdown-")
	if err != nil {
		return built{}, err
	}
	b := built{dir: dir, flowrun: filepath.Join(dir, "flowrun"), worker: filepath.Join(dir, "worker")}
	for binary, source := range map[string]string{b.flowrun: "../../cmd/flowrun", b.worker: "./testdata/worker"} {
		if err := testbuild.Program(binary, source); err != nil {
			return b, err
		}
	}
	return b, nil
})

func TestMain(m *testing.M) {
	testparallel.AtLeast(4)
	code := m.Run()
	if b, err := binaries(); err == nil {
		_ = os.RemoveAll(b.dir)
	}
	os.Exit(code)
}

// place is a project in a folder of its own.
type place struct {
	built
	t      *testing.T
	dir    string
	ledger string
}

func newPlace(t *testing.T, limits string) *place {
	t.Helper()
	b, err := binaries()
	if err != nil {
		t.Fatal(err)
	}
	p := &place{built: b, t: t, dir: t.TempDir()}
	p.ledger = filepath.Join(t.TempDir(), "ledger")
	p.write("flowrun.yaml", fmt.Sprintf("plugins: {worker: {source: %q, grants: {paths: [%q]}}}\n%s", b.worker, filepath.Dir(p.ledger), limits))
	t.Cleanup(func() {
		for _, pid := range p.processes() {
			_ = syscall.Kill(pid, syscall.SIGKILL) // what a failed test left
		}
	})
	return p
}

func (p *place) write(name, content string) {
	p.t.Helper()
	if err := os.WriteFile(filepath.Join(p.dir, name), []byte(content), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

// process is a running flowrun.
type process struct {
	*exec.Cmd
	stdout, stderr bytes.Buffer
	began          time.Time
}

func (p *place) start(args ...string) *process {
	p.t.Helper()
	c := &process{Cmd: exec.CommandContext(context.Background(), p.flowrun, args...), began: time.Now()}
	c.Dir, c.Stdout, c.Stderr = p.dir, &c.stdout, &c.stderr
	if err := c.Start(); err != nil {
		p.t.Fatal(err)
	}
	return c
}

// end waits for the process, at most limit, and returns its exit code.
func (c *process) end(limit time.Duration) (int, error) {
	kill := time.AfterFunc(limit, func() { _ = c.Process.Kill() })
	err := c.Wait()
	if !kill.Stop() {
		return -1, fmt.Errorf("it did not end within %s", limit)
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return -1, err
	}
	return c.ProcessState.ExitCode(), nil
}

func (c *process) said() string { return c.stdout.String() + c.stderr.String() }

// processes lists what runs of this place: the working directory, the executable
// or an argument lies in it.
func (p *place) processes() []int {
	entries, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		p.t.Fatal(err)
	}
	var found []int
	for _, entry := range entries {
		pid, err := strconv.Atoi(filepath.Base(entry))
		if err != nil || pid == os.Getpid() {
			continue
		}
		exe, _ := os.Readlink(entry + "/exe") // gone meanwhile, or a zombie
		cwd, _ := os.Readlink(entry + "/cwd")
		command, _ := os.ReadFile(entry + "/cmdline")
		if len(command) > 0 && (strings.HasPrefix(exe, p.dir) || strings.HasPrefix(cwd, p.dir) || bytes.Contains(command, []byte(p.dir))) {
			found = append(found, pid)
		}
	}
	return found
}

// awaitAlone waits until no process of the place is left.
func (p *place) awaitAlone(limit time.Duration) error {
	for end := time.Now().Add(limit); ; time.Sleep(10 * time.Millisecond) {
		left := p.processes()
		if len(left) == 0 {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("%d processes are left after %s: %v", len(left), limit, left)
		}
	}
}

// lines of the ledger.
func (p *place) lines() []string {
	data, err := os.ReadFile(p.ledger)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		p.t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
}

// count counts the lines of the ledger.
func (p *place) count() map[string]int {
	counts := map[string]int{}
	for _, line := range p.lines() {
		counts[line]++
	}
	return counts
}

// awaitLine waits until the ledger holds n lines that begin so.
func (p *place) awaitLine(prefix string, n int) {
	p.t.Helper()
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(2 * time.Millisecond) {
		found := 0
		for _, line := range p.lines() {
			if strings.HasPrefix(line, prefix) {
				found++
			}
		}
		if found >= n {
			return
		}
		if time.Now().After(end) {
			p.t.Fatalf("the ledger has %d lines %q, want %d", found, prefix, n)
		}
	}
}

// record is what the suites read of a stored event.
type record struct {
	Seq   int `json:"seq"`
	Event struct {
		Kind  string `json:"kind"`
		Path  string `json:"path"`
		Start *struct {
			RunID string `json:"run_id"`
		} `json:"start"`
	} `json:"event"`
}

// records reads the events that a process has printed: each was acknowledged. The
// last line may be cut.
func (c *process) records() (run string, all []record) {
	for line := range bytes.Lines(c.stdout.Bytes()) {
		var r record
		if json.Unmarshal(line, &r) != nil {
			continue
		}
		if r.Event.Start != nil {
			run = r.Event.Start.RunID
		}
		all = append(all, r)
	}
	return run, all
}

// stored reads the events of a run from the store.
func (p *place) stored(run string) (map[int]string, error) {
	c := p.start("runs", "events", run, "-o", "jsonl")
	if code, err := c.end(30 * time.Second); err != nil || code != 0 {
		return nil, fmt.Errorf("runs events: exit %d, %v\n%s", code, err, c.stderr.String())
	}
	found := map[int]string{}
	_, all := c.records()
	for _, r := range all {
		found[r.Seq] = r.Event.Kind + " " + r.Event.Path
	}
	return found, nil
}
