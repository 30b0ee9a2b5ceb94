package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flowrun/flowrun/internal/testbuild"
)

// withServer is a project that has the server of the tests, and its tools as the program
// captures them.
func withServer(t *testing.T) *revised {
	t.Helper()
	r := &revised{t: t, binary: buildBinary(t), dir: t.TempDir()}
	if err := testbuild.Program(filepath.Join(r.dir, "server"), "../../plugins/mcp/testdata/server"); err != nil {
		t.Fatal(err)
	}
	if out := r.flowrun(0, "mcp", "tools", "--write", "t.json", "--", "./server"); !strings.Contains(out, "t.json has the tools of the server") {
		t.Errorf("mcp tools says %s", out)
	}
	write(t, r.dir, "flowrun.yaml", `plugins:
  srv: {source: bundled:mcp, with: {tools: t.json}, grants: {commands: [./server], paths: [./out]}}
connections:
  srv: {plugin: srv, config: {command: [./server], secret_env: {KEY: "${{ secrets.KEY }}"}}}
`)
	if err := os.Mkdir(filepath.Join(r.dir, "out"), 0o700); err != nil {
		t.Fatal(err)
	}
	return r
}

// A workflow with the tools of a server is checked before anything runs, then runs; the
// server gets the connection's secret, and the run shows it nowhere.
func TestIssue16_2_TheToolsOfAnMCPServerAreActions(t *testing.T) {
	t.Parallel()
	r := withServer(t)
	write(t, r.dir, ".key", "secret-of-the-server")
	r.flowrun(0, "secrets", "set", "KEY", "--from-file", ".key")
	write(t, r.dir, "wrong.yaml", "flowrun: v1\nname: wrong\nsteps:\n  - {id: s, uses: srv.add_numbers, with: {a: 1, bb: 2}}\noutputs: {sum: \"${{ steps.s.outputs.data.total }}\"}\n")
	_, out, code := flowrunHere(t, r.binary, r.dir, []string{"XDG_STATE_HOME=" + r.dir}, "validate", "wrong.yaml")
	if code != 3 {
		t.Errorf("validate exits with %d", code)
	}
	for _, want := range []string{"wrong.yaml:4:49", "there is no field `bb` here", "wrong.yaml:5:42", "unknown field `total`"} {
		if !strings.Contains(out, want) {
			t.Errorf("validate does not say %q:\n%s", want, out)
		}
	}
	write(t, r.dir, "right.yaml", `flowrun: v1
name: right
steps:
  - id: each
    foreach: [1, 2, 3]
    as: n
    key: n${{ n }}
    steps:
      - {id: s, uses: srv.add_numbers, with: {a: "${{ n }}", b: 10}}
    collect: ${{ steps.s.outputs.data.sum }}
  - {id: env, uses: srv.environment}
  - {id: slow, uses: srv.slow, with: {name: ""}}
outputs:
  sums: ${{ steps.each.outputs.items }}
  known: ${{ steps.env.outputs.text }}
`)
	if out := r.flowrun(0, "run", "right.yaml"); !strings.Contains(out, "sums: [11,12,13]") || !strings.Contains(out, "KEY=[redacted]") || strings.Contains(out, "secret-of-the-server") {
		t.Errorf("run prints\n%s", out)
	}
	if out := r.flowrun(0, "connections", "test"); !strings.Contains(out, "tests 1.2.3, 10 tools") {
		t.Errorf("connections test prints\n%s", out)
	}
	r.change("t.json", `"slow"`, `"slower"`)
	if out := r.flowrun(5, "connections", "test"); !strings.Contains(out, "gone slower") {
		t.Errorf("connections test prints\n%s", out)
	}
}

// A call that may have been done is not repeated: the run waits for a person.
func TestIssue16_2_AToolThatIsCalledOnceIsNotCalledAgain(t *testing.T) {
	t.Parallel()
	r := withServer(t)
	write(t, r.dir, ".key", "another-secret")
	r.flowrun(0, "secrets", "set", "KEY", "--from-file", ".key")
	for tool, want := range map[string]string{"append": "die\n", "write": ""} {
		file := filepath.Join(r.dir, "out", tool)
		write(t, r.dir, tool+".yaml", "flowrun: v1\nname: "+tool+"\nsteps:\n  - {id: s, uses: srv."+tool+", with: {name: "+file+", note: die}}\n")
		if want == "" {
			r.flowrun(0, "run", tool+".yaml")
			continue
		}
		_, out, code := flowrunHere(t, r.binary, r.dir, []string{"XDG_STATE_HOME=" + r.dir}, "run", tool+".yaml")
		if code != 8 || !strings.Contains(out, "not known") {
			t.Errorf("%s: run exits with %d:\n%s", tool, code, out)
		}
		if text, err := os.ReadFile(file); err != nil || string(text) != want {
			t.Errorf("%s: the file has %q, %v", tool, text, err)
		}
	}
}

func TestIssue16_2_TheProgramOfThePluginMCPPassesTheKit(t *testing.T) {
	t.Parallel()
	r := withServer(t)
	write(t, r.dir, ".key", "another-secret")
	r.flowrun(0, "secrets", "set", "KEY", "--from-file", ".key")
	if err := testbuild.Program(filepath.Join(r.dir, "flowrun-plugin-mcp"), "../../plugins/mcp/cmd/flowrun-plugin-mcp"); err != nil {
		t.Fatal(err)
	}
	write(t, r.dir, "kit.yaml", "with: {tools: t.json}\nconnection: {command: ["+filepath.Join(r.dir, "server")+"]}\ncalls:\n  - {action: add_numbers, input: {a: 1, b: 2}}\n  - {action: greet, input: {name: Ann}}\n")
	for _, plugin := range []string{"./flowrun-plugin-mcp", "mcp"} {
		stdout, stderr, code := flowrunHere(t, r.binary, r.dir, []string{"XDG_STATE_HOME=" + r.dir}, "plugins", "test", plugin, "--config", "kit.yaml")
		if code != 0 || !strings.Contains(stdout, " 0 failed") {
			t.Errorf("plugins test %s exits %d:\n%s%s", plugin, code, stdout, stderr)
		}
	}
}

func TestIssue16_2_MCPToolsSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	binary := buildBinary(t)
	for _, c := range []struct {
		args string
		code int
		want string
	}{
		{"", 2, "the server is missing"},
		{"-- ./none", 5, "there is no program ./none"},
		{"-- false", 5, "open the session with the server"},
		{"http://127.0.0.1:1/mcp", 5, "reach the server"},
		{"http://127.0.0.1:1/mcp more", 2, `unexpected argument "more"`},
		{"--token-env NOPE http://127.0.0.1:1/mcp", 2, `no variable "NOPE"`},
		{"--token-env PATH -- true", 2, "--token-env is for a server at an address"},
		{"--env NOPE -- true", 2, `no variable "NOPE"`},
		{"--env PATH http://127.0.0.1:1/mcp", 2, "--env is for a program"},
	} {
		out, code := flowrunIn(t, binary, dir, append([]string{"mcp", "tools"}, strings.Fields(c.args)...)...)
		if code != c.code || !strings.Contains(out, c.want) {
			t.Errorf("mcp tools %s exits with %d, want %d and %q:\n%s", c.args, code, c.code, c.want, out)
		}
	}
}
