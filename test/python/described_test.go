package python

import (
	"bytes"
	"crypto/rand"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/conformance"
	"github.com/flowrun/flowrun/internal/testbuild"
)

const catalogDocument = `{"things": {"path": "/thing", "schema": {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}},
  "orders": {"path": "/write/orders", "effect": "keyed", "schema": {"type": ["object", "null"], "properties": {"id": {"type": "integer"}}}}}`

const catalogKit = `{
  "connection": {"base_url": "${service}", "token": "token-of-the-kit-1"},
  "with": {"document": "catalog.json"},
  "answers": [
    {"method": "GET", "path": "/thing?id=1&size=3", "body": {"id": 1}},
    {"method": "POST", "path": "/write/orders", "status": 201, "body": {"id": 8}}
  ],
  "calls": [{"action": "things", "input": {"id": 1}}, {"action": "orders", "input": {"id": 2}}],
  "faults": [{"action": "things", "input": {"id": 4}, "answer": {"status": 404, "body": {"error": "gone"}}, "code": "not_found"}]
}`

// A plugin in Python that describes what it is told keeps what the kit asks of one.
func TestAPluginInPythonDescribesWhatItIsTold(t *testing.T) {
	t.Parallel()
	needPython(t)
	packed := filepath.Join(t.TempDir(), "catalog")
	pack(t, "testdata/catalog.py", packed)
	config, err := conformance.ParseConfig([]byte(catalogKit))
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "fk") // with a short path: sockets lie in it
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	report, err := conformance.Run(t.Context(), conformance.Options{
		Command: []string{packed}, Environ: os.Environ(), Entropy: rand.Reader, Now: time.Now, Version: "0.0.0", Dir: dir, Config: config,
		ReadFile: func(string) ([]byte, error) { return []byte(catalogDocument), nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if err := report.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	skips := func(name string) bool {
		return slices.ContainsFunc(report.Results, func(r conformance.Result) bool {
			return strings.HasPrefix(r.Case, name) && r.Status == conformance.Skipped
		})
	}
	if report.Failed > 0 || report.Passed < 60 || skips("settings.") || skips("index.") {
		t.Errorf("%s", &text)
	}
}

// A project tells it a document: mistakes have their places, and a run goes by it.
func TestAProjectTellsAPluginInPython(t *testing.T) {
	t.Parallel()
	needPython(t)
	dir := t.TempDir()
	pack(t, "testdata/catalog.py", filepath.Join(dir, "catalog"))
	put := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	flowrun := filepath.Join(dir, "flowrun")
	if err := testbuild.Program(flowrun, "../../cmd/flowrun"); err != nil {
		t.Fatal(err)
	}
	put("catalog.json", catalogDocument)
	put("read.yaml", "flowrun: v1\nname: read\nsteps:\n  - id: one\n    uses: shop.things\n    with: {id: 13}\n")
	for _, test := range []struct{ only, says string }{
		{"[things]", "read.yaml:6:16"}, // the author's own check of the input
		{"[thing]", "the document has no thing"},
		{"[orders]", "no action `things`"},
	} {
		put("flowrun.yaml", "plugins: {shop: {source: ./catalog, with: {document: catalog.json, only: "+test.only+"}}}\nconnections: {shop: {plugin: shop, config: {base_url: \"http://127.0.0.1:9\"}}}\n")
		command := exec.Command(flowrun, "validate", "read.yaml")
		command.Dir, command.Env = dir, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "XDG_STATE_HOME=" + dir}
		output, err := command.CombinedOutput()
		if err == nil || command.ProcessState.ExitCode() != 3 || !strings.Contains(string(output), test.says) {
			t.Errorf("only %s: validate ends with %v, want %q:\n%s", test.only, err, test.says, output)
		}
	}
}
