package exec_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/flowrun/flowrun/plugins/exec"
	"github.com/flowrun/flowrun/sdk/sdktest"
)

// show is a program that tells what it was given: its arguments and its environment as
// JSON texts a line each, and that writes a file for an option -oFILE or --out=FILE, as
// programs do.
const show = `#!/bin/sh
while read -r line; do :; done
for a; do
  case "$a" in
    -o*) : > "${a#-o}" ;;
    --out=*) : > "${a#--out=}" ;;
    --) break ;;
  esac
done
for a; do printf 'arg:%s\n' "$a"; done
env | sort | while read -r v; do printf 'env:%s\n' "$v"; done
`

// bench is a folder with programs, beside which nothing may appear.
type bench struct {
	*testing.T
	dir string
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{T: t, dir: t.TempDir()}
	b.script("show", show)
	return b
}

func (b *bench) script(name, text string) {
	b.Helper()
	if err := os.WriteFile(filepath.Join(b.dir, name), []byte(text), 0o755); err != nil { //nolint:gosec // a program
		b.Fatal(err)
	}
}

// environ is the environment of the plugin, with a secret that is nobody's.
func environ() []string {
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=/", "LANG=C", "PLUGIN_SECRET=secret-of-the-plugin", "FLOWRUN_LAUNCH_MARK=mark"}
}

// with opens a connection with one command, named c.
func (b *bench) with(command map[string]any) *sdktest.Plugin {
	b.Helper()
	p, problems := b.try(command)
	for _, problem := range problems {
		b.Fatalf("%v: %s", command, problem)
	}
	return p
}

func (b *bench) try(command map[string]any) (*sdktest.Plugin, []string) {
	b.Helper()
	p := sdktest.Serve(b.T, exec.NewWith(exec.Options{Now: time.Now, Dir: b.dir, Environ: environ()}))
	var said []string
	for _, problem := range p.Connect(sdktest.Connection, map[string]any{"commands": map[string]any{"c": command}}) {
		said = append(said, problem.Pointer+" "+problem.Summary+": "+problem.Detail)
	}
	return p, said
}

// texts is an input schema with texts of these names, all required.
func texts(names ...string) map[string]any {
	properties := map[string]any{}
	for _, name := range names {
		properties[name] = map[string]any{"type": "string"}
	}
	return map[string]any{"type": "object", "required": names, "properties": properties}
}

// output decodes the output of a call.
func output(t testing.TB, result sdktest.Result) (out struct {
	ExitCode int               `json:"exit_code"`
	Text     string            `json:"text"`
	Lines    []string          `json:"lines"`
	JSON     json.RawMessage   `json:"json"`
	Rows     []json.RawMessage `json:"rows"`
}) {
	t.Helper()
	result.Decode(t, &out)
	return out
}
