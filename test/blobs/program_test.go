package blobs

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/flowrun/flowrun/internal/testbuild"
)

var program = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "flowrun-blobs-")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "flowrun")
	return path, testbuild.Program(path, "../../cmd/flowrun")
})

func TestMain(m *testing.M) {
	code := m.Run()
	if path, err := program(); err == nil {
		_ = os.RemoveAll(filepath.Dir(path))
	}
	os.Exit(code)
}

// project is a folder with a workflow that downloads a file and sends it on.
type project struct {
	dir, binary string
}

func newProject(t *testing.T, s *service) *project {
	t.Helper()
	binary, err := program()
	if err != nil {
		t.Fatal(err)
	}
	p := &project{dir: t.TempDir(), binary: binary}
	p.write(t, "flowrun.yaml", fmt.Sprintf("connections:\n  shop: {plugin: http, config: {base_url: %q, private: true}}\n", s.URL))
	p.write(t, "fetch.yaml", `flowrun: v1
name: fetch
steps:
  - id: fetch
    uses: http.get
    connection: shop
    timeout: 20m
    with: {path: /file.bin, as: blob}
outputs:
  file: ${{ steps.fetch.outputs.blob }}
`)
	p.write(t, "send.yaml", `flowrun: v1
name: send
steps:
  - id: fetch
    uses: http.get
    connection: shop
    timeout: 20m
    with: {path: /file.bin, as: blob}
  - id: send
    uses: http.put
    connection: shop
    timeout: 20m
    with: {path: /file.bin, blob: "${{ steps.fetch.outputs.blob }}", as: none}
outputs:
  file: ${{ steps.fetch.outputs.blob }}
`)
	return p
}

func (p *project) write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(p.dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// command is flowrun with arguments, in the project.
func (p *project) command(ctx context.Context, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, p.binary, args...)
	c.Dir = p.dir
	c.Env = append(os.Environ(), "XDG_STATE_HOME="+p.dir, "TZ=UTC", "NO_COLOR=1")
	return c
}

// flowrun runs a command to its end, and returns what it printed, and its exit code.
func (p *project) flowrun(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, errs bytes.Buffer
	c := p.command(t.Context(), args...)
	c.Stdout, c.Stderr = &out, &errs
	if err := c.Run(); err != nil && c.ProcessState == nil {
		t.Fatal(err)
	}
	return out.String(), errs.String(), c.ProcessState.ExitCode()
}

// must is flowrun for what has to end well.
func (p *project) must(t *testing.T, args ...string) string {
	t.Helper()
	stdout, stderr, code := p.flowrun(t, args...)
	if code != 0 {
		t.Fatalf("flowrun %s exits with %d:\n%s%s", strings.Join(args, " "), code, stdout, stderr)
	}
	return stdout
}

// newest is the id of the newest run.
func (p *project) newest(t *testing.T) string {
	t.Helper()
	var page struct{ Items []struct{ ID string } }
	var list []struct{ ID string }
	out := p.must(t, "runs", "list", "--limit", "1", "-o", "json")
	if json.Unmarshal([]byte(out), &list) == nil && len(list) == 1 {
		return list[0].ID
	}
	if err := json.Unmarshal([]byte(out), &page); err != nil || len(page.Items) != 1 {
		t.Fatalf("no run: %s", out)
	}
	return page.Items[0].ID
}

// peak is the most memory that a process has had resident, in bytes; 0 = it is gone, or
// this system does not tell.
func peak(pid int) int64 {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		if value, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kib, _ := strconv.ParseInt(strings.Fields(value)[0], 10, 64)
			return kib << 10
		}
	}
	return 0
}

// plugins are the processes below another one.
func plugins(pid int) (below []int) {
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, task := range tasks {
		text, _ := os.ReadFile(task)
		for _, child := range strings.Fields(string(text)) {
			if id, err := strconv.Atoi(child); err == nil {
				below = append(append(below, id), plugins(id)...)
			}
		}
	}
	return below
}
