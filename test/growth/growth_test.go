//go:build linux

// Package growth runs the real binary with a raw plugin that lets one part of what
// it says grow for ever (docs/reliability.md, P20): each ends its own step for the
// limit, names the part, and the store stays small.
package growth

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/flowrun/flowrun/internal/suitesize"
	"github.com/flowrun/flowrun/internal/testbuild"
	"github.com/flowrun/flowrun/internal/testparallel"
)

// The bounds of the whole suite.
const (
	mostGrowth = 80 << 20 // of the whole file, from that of a run that does nothing
	mostMemory = 150 << 20
	mostStart  = 20 * time.Second // 2 s on a quiet machine; the figure is printed
)

// part is what grows, the field that the failure names, and how the step reads it.
type part struct {
	action, field string
	paged         bool
}

func parts() []part {
	return []part{
		{"next_cursor", "next_cursor", true}, {"next_cursor_within", "next_cursor", true}, {"watermark", "watermark", true}, {"meta", "meta", true},
		{"meta_within", "meta", true}, {"page_note", "page_note", true}, {"output_within", "output", true}, {"checkpoint", "checkpoint", false},
		{"checkpoint_within", "checkpoint", false}, {"message", "message", false}, {"prompt", "prompt", false}, {"error_message", "error.message", false},
		{"error_details", "error.details", false}, {"progress", "progress.message", false}, {"log", "log", false}, {"log_fields", "log", false},
		{"state_value", "state_value", false}, {"state", "state", false}, {"state_keys", "state_keys", false},
	}
}

// arena is a project with the plugin.
type arena struct {
	t            *testing.T
	dir, flowrun string
	empty        int64 // what the file of a store has in which one run has done nothing
}

// smallLimits let the short form of the suite end soon.
const smallLimits = "limits: {journal: 4MiB, log: 200KiB, state: 4MiB, state_keys: 50}\n"

func newArena(t *testing.T, limits string) *arena {
	t.Helper()
	a := &arena{t: t, dir: t.TempDir()}
	a.flowrun = filepath.Join(a.dir, "flowrun")
	for binary, source := range map[string]string{a.flowrun: "../../cmd/flowrun", filepath.Join(a.dir, "grower"): "./testdata/grower"} {
		if err := testbuild.Program(binary, source); err != nil {
			t.Fatal(err)
		}
	}
	a.limits(limits)
	for _, p := range parts() {
		paging := ""
		if p.paged {
			paging = ", paginate: {max_pages: 10000, max_items: 1000000}"
		}
		a.write(p.action+".yaml", fmt.Sprintf("flowrun: v1\nname: %[1]s\nsteps:\n  - {id: s, uses: grower.%[1]s, timeout: 5m, retry: {attempts: 1}%[2]s}\nfinally:\n  - {id: end, uses: core.log, with: {text: bye}}\n", p.action, paging))
	}
	a.write("empty.yaml", "flowrun: v1\nname: empty\nsteps:\n  - {id: s, uses: core.log, with: {text: hello}}\n")
	empty := filepath.Join(a.dir, "state-empty")
	if output, err := a.command("run", "empty.yaml", "--state", empty).CombinedOutput(); err != nil {
		t.Fatalf("a run that does nothing: %v\n%s", err, output)
	}
	if a.empty = sizeOf(t, empty); a.empty > 8<<20 {
		t.Errorf("an empty store has %d MiB", a.empty>>20)
	}
	return a
}

func sizeOf(t *testing.T, state string) int64 {
	t.Helper()
	info, err := os.Stat(filepath.Join(state, "flowrun.db"))
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

func (a *arena) limits(text string) {
	a.t.Helper()
	a.write("flowrun.yaml", "plugins:\n  grower: {source: ./grower}\n"+text)
}

func (a *arena) write(name, content string) {
	a.t.Helper()
	if err := os.WriteFile(filepath.Join(a.dir, name), []byte(content), 0o600); err != nil {
		a.t.Fatal(err)
	}
}

func (a *arena) command(args ...string) *exec.Cmd {
	c := exec.Command(a.flowrun, args...)
	c.Dir = a.dir
	return c
}

func (a *arena) state(p part) string { return filepath.Join(a.dir, "state-"+p.action) }

// result is what a run says of itself.
type result struct {
	Run   struct{ Status string }
	Error struct {
		Step, Reason, Message string
		Details               struct{ Field, Limit string }
	}
}

// grow runs a part and returns what came of it, and by how much its store grew.
func (a *arena) grow(p part) (got result, store int64) {
	a.t.Helper()
	output, err := a.command("run", p.action+".yaml", "-o", "json", "--state", a.state(p)).Output()
	if jsonErr := json.Unmarshal(output, &got); jsonErr != nil {
		a.t.Fatalf("%s: %v, %v\n%.2000s", p.action, err, jsonErr, output)
	}
	return got, sizeOf(a.t, a.state(p)) - a.empty
}

// judge holds a run against what is promised; "" = it keeps to it.
func judge(p part, got result, store, most int64) string {
	switch {
	case store > most:
		return fmt.Sprintf("the store grew by %d MiB", store>>20)
	case got.Run.Status != "failed" || got.Error.Reason != "limit" || got.Error.Step != "s":
		return fmt.Sprintf("the run is %s: %+v", got.Run.Status, got.Error)
	case got.Error.Details.Field != p.field || got.Error.Message == "":
		return fmt.Sprintf("it names %q: %s", got.Error.Details.Field, got.Error.Message)
	}
	return ""
}

func TestMain(m *testing.M) {
	testparallel.AtLeast(6)
	os.Exit(m.Run())
}

// TestIssue13_02NoPartGrowsForEver is short with small limits; FLOWRUN_GROWTH=full
// keeps the usual ones.
func TestIssue13_02NoPartGrowsForEver(t *testing.T) {
	full := os.Getenv("FLOWRUN_GROWTH") == "full"
	limits, most := smallLimits, int64(16<<20)
	if full {
		limits, most = "", mostGrowth
	}
	a := newArena(t, limits)
	var sizes sync.Map
	t.Run("parts", func(t *testing.T) {
		for _, p := range suitesize.Part(t, parts()) {
			t.Run(p.action, func(t *testing.T) {
				t.Parallel()
				one, began := *a, time.Now()
				one.t = t
				got, store := one.grow(p)
				if fault := judge(p, got, store, most); fault != "" {
					t.Error(fault)
				}
				sizes.Store(p, store)
				t.Logf("%s; the store grew by %d MiB after %s", got.Error.Message, store>>20, time.Since(began).Round(time.Millisecond))
			})
		}
	})
	largest, size := part{}, int64(0)
	for p, store := range sizes.Range {
		if store := store.(int64); store > size {
			largest, size = p.(part), store
		}
	}
	a.serve(largest)

	// The control: with a higher bound the same judge finds what grows.
	higher := "limits: {journal: 32MiB}\n"
	if full {
		higher = "limits: {journal: 256MiB}\n"
	}
	a.limits(higher)
	control := part{"next_cursor_within", "next_cursor", true}
	if err := os.RemoveAll(a.state(control)); err != nil {
		t.Fatal(err)
	}
	got, store := a.grow(control)
	if fault := judge(control, got, store, most); !strings.Contains(fault, "the store grew by") {
		t.Errorf("without the bound the judge says %q of %d MiB", fault, store>>20)
	}
}

// serve starts a server beside what came of a part.
func (a *arena) serve(p part) {
	a.t.Helper()
	const listen = "127.0.0.1:0"
	server := a.command("serve", "--listen", listen, "--state", a.state(p))
	logs, err := os.Create(filepath.Join(a.dir, "serve.log"))
	if err != nil {
		a.t.Fatal(err)
	}
	server.Stdout, server.Stderr = logs, logs
	began := time.Now()
	if err := server.Start(); err != nil {
		a.t.Fatal(err)
	}
	defer func() {
		_ = server.Process.Signal(os.Interrupt)
		_ = server.Wait()
		_ = logs.Close()
	}()
	client := a.socket(p)
	for {
		response, err := client.Get("http://flowrun/api/v1/local/owner")
		if err == nil {
			_ = response.Body.Close()
			break
		}
		if time.Since(began) > mostStart {
			text, _ := os.ReadFile(logs.Name())
			a.t.Fatalf("the server does not answer after %s: %v\n%s", mostStart, err, text)
		}
		time.Sleep(20 * time.Millisecond)
	}
	took, memory := time.Since(began), resident(server.Process.Pid)
	a.t.Logf("serve beside %s: answers after %s, with %d MiB", p.action, took.Round(time.Millisecond), memory>>20)
	if memory > mostMemory {
		a.t.Errorf("the server takes %d MiB beside %s", memory>>20, p.action)
	}
}

// resident is the memory of a process.
func resident(pid int) int64 {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	for line := range strings.Lines(string(status)) {
		if text, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kib, _ := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(text), "kB")), 10, 64)
			return kib << 10
		}
	}
	return 0
}

func (a *arena) socket(p part) *http.Client {
	return &http.Client{Transport: &http.Transport{DialContext: dialUnix(filepath.Join(a.state(p), "flowrun.sock"))}, Timeout: 5 * time.Second}
}
