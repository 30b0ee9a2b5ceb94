// Package mcp talks to an MCP server that others wrote: the reference server of the
// protocol, where Node.js and its modules are.
package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flowrun/flowrun/internal/testbuild"
)

const modules = "testdata/node/node_modules"

// project is a project with the server, and flowrun.
type project struct {
	*testing.T
	flowrun, dir string
}

func newProject(t *testing.T) *project {
	t.Helper()
	_, missing := os.Stat(filepath.Join(modules, "@modelcontextprotocol/server-everything"))
	if _, err := exec.LookPath("node"); err != nil || missing != nil {
		t.Skip("SKIPPED: the reference server of MCP: there is no node, or not its modules (npm ci --prefix test/mcp/testdata/node)")
	}
	p := &project{T: t, flowrun: filepath.Join(t.TempDir(), "flowrun"), dir: t.TempDir()}
	if err := testbuild.Program(p.flowrun, "../../cmd/flowrun"); err != nil {
		t.Fatal(err)
	}
	return p
}

// withServer is a project with the reference server and its tools.
func withServer(t *testing.T) *project {
	t.Helper()
	p := newProject(t)
	from, err := filepath.Abs(modules)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(p.dir, "node_modules"), onlyFiles{os.DirFS(from)}); err != nil {
		t.Fatal(err)
	}
	p.write("flowrun.yaml", `plugins:
  every: {source: bundled:mcp, with: {tools: every.json, effects: {toggle-*: idempotent}}, grants: {paths: ["./node_modules:ro"]}}
connections:
  every: {plugin: every, config: {command: [node, `+server+`]}}
`)
	p.run(0, "mcp", "tools", "--write", "every.json", "--", "node", server)
	return p
}

const server = "node_modules/@modelcontextprotocol/server-everything/dist/index.js"

// onlyFiles leaves out links, which npm makes for programs.
type onlyFiles struct{ fs.FS }

func (f onlyFiles) ReadDir(name string) ([]fs.DirEntry, error) {
	entries, err := fs.ReadDir(f.FS, name)
	var kept []fs.DirEntry
	for _, entry := range entries {
		if entry.Type()&fs.ModeSymlink == 0 {
			kept = append(kept, entry)
		}
	}
	return kept, err
}

func (p *project) write(name, text string) {
	p.Helper()
	if err := os.WriteFile(filepath.Join(p.dir, name), []byte(text), 0o600); err != nil {
		p.Fatal(err)
	}
}

func (p *project) run(want int, args ...string) string {
	p.Helper()
	command := exec.CommandContext(p.Context(), p.flowrun, args...)
	command.Dir = p.dir
	command.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + p.dir, "TMPDIR=" + os.TempDir()}
	var out bytes.Buffer
	command.Stdout, command.Stderr = &out, &out
	if exit := new(exec.ExitError); command.Run() != nil && !errors.As(command.Err, &exit) && command.ProcessState == nil {
		p.Fatal(command.Err)
	}
	if code := command.ProcessState.ExitCode(); code != want {
		p.Fatalf("flowrun %q exits with %d, want %d:\n%s", args, code, want, &out)
	}
	return out.String()
}

// calls has a call of every tool of the server, with a part of what it answers.
var calls = map[string]struct{ with, want string }{
	"echo":                           {"{message: hello there}", "hello there"},
	"get_annotated_message":          {"{messageType: error, includeImage: true}", "Error"},
	"get_env":                        {"{}", "PATH"},
	"get_resource_links":             {"{count: 3}", "resource links"},
	"get_resource_reference":         {"{resourceType: Text, resourceId: 1}", "resource"},
	"get_structured_content":         {"{location: Chicago}", "temperature"},
	"get_sum":                        {"{a: 2, b: 3.5}", "5.5"},
	"get_tiny_image":                 {"{}", "image"},
	"gzip_file_as_resource":          {"{name: a.gz, data: 'data:text/plain;base64,aGVsbG8=', outputType: resource}", ""},
	"simulate_research_query":        {"{topic: tea}", ""},
	"toggle_simulated_logging":       {"{}", "logging"},
	"toggle_subscriber_updates":      {"{}", "updates"},
	"trigger_long_running_operation": {"{duration: 0.1, steps: 2}", "completed"},
}

// Every tool of the reference server is called by a workflow of its own, typed under --strict.
func TestIssue16_2_EveryToolOfTheReferenceServerIsCalled(t *testing.T) {
	t.Parallel()
	p := withServer(t)
	var list struct {
		Items []struct{ Action string }
	}
	if err := json.Unmarshal([]byte(p.run(0, "plugins", "actions", "every", "-o", "json")), &list); err != nil {
		t.Fatal(err)
	}
	if len(list.Items) != len(calls) {
		t.Errorf("the server has %d tools, %d are known: %v", len(list.Items), len(calls), list)
	}
	for name, call := range calls {
		p.write(name+".yaml", "flowrun: v1\nname: "+strings.ReplaceAll(name, "_", "-")+"\nsteps:\n  - {id: s, uses: every."+name+", with: "+call.with+"}\noutputs: {text: \"${{ steps.s.outputs.text }}\"}\n")
		p.run(0, "validate", "--strict", name+".yaml")
		if name == "simulate_research_query" { // a task, which wants a client that polls: it says so
			if out := p.run(5, "run", name+".yaml"); !strings.Contains(out, "requires task augmentation") {
				t.Errorf("%s answers\n%s", name, out)
			}
			continue
		}
		if out := p.run(0, "run", name+".yaml"); !strings.Contains(out, call.want) {
			t.Errorf("%s answers\n%s", name, out)
		}
	}
}

// A wrong argument is found at its column, before the server is started.
func TestIssue16_2_AWrongArgumentOfTheReferenceServerIsFound(t *testing.T) {
	t.Parallel()
	p := withServer(t)
	p.write("w.yaml", "flowrun: v1\nname: w\nsteps:\n  - {id: a, uses: every.get_sum, with: {a: two, b: 3}}\n  - {id: b, uses: every.get_structured_content, with: {location: Paris}}\n  - {id: c, uses: every.echo, with: {mesage: x}}\n")
	out := p.run(3, "validate", "w.yaml")
	for _, want := range []string{"w.yaml:4:44", "w.yaml:5:66", "must be one of", "w.yaml:6:38", "did you mean `message`?"} {
		if !strings.Contains(out, want) {
			t.Errorf("validate does not say %q:\n%s", want, out)
		}
	}
}
