package files_test

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/flowrun/flowrun/plugins/files"
	"github.com/flowrun/flowrun/sdk"
	"github.com/flowrun/flowrun/sdk/sdktest"
)

// bench is the plugin with one root that may be written, beside a folder that it must not
// reach.
type bench struct {
	*sdktest.Plugin
	t       *testing.T
	root    string // the root
	outside string // beside it
}

func open(t *testing.T, step func(string) error) *bench {
	t.Helper()
	top := t.TempDir()
	b := &bench{t: t, root: filepath.Join(top, "root"), outside: filepath.Join(top, "outside")}
	b.folder(b.root)
	b.folder(b.outside)
	b.Plugin = sdktest.Open(t, files.NewWith(files.Options{Now: time.Now, Random: rand.Reader, Dir: top, Home: t.TempDir(), Step: step}),
		map[string]any{"roots": map[string]any{"r": map[string]any{"path": "./root", "write": true}}})
	return b
}

func (b *bench) folder(path string) {
	b.t.Helper()
	if err := os.MkdirAll(path, 0o755); err != nil {
		b.t.Fatal(err)
	}
}

// put writes a file below the root.
func (b *bench) put(name, text string) {
	b.t.Helper()
	path := filepath.Join(b.root, name)
	b.folder(filepath.Dir(path))
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		b.t.Fatal(err)
	}
}

// held is what a file below the root holds; "" = it is not there.
func (b *bench) held(name string) string {
	raw, err := os.ReadFile(filepath.Join(b.root, name))
	if err != nil {
		return ""
	}
	return string(raw)
}

// names are the names in a folder below the root.
func (b *bench) names(dir string) []string {
	b.t.Helper()
	entries, err := os.ReadDir(filepath.Join(b.root, dir))
	if err != nil {
		b.t.Fatal(err)
	}
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

// gives calls an action that must not fail.
func (b *bench) gives(action string, input map[string]any, options ...sdktest.Option) map[string]any {
	b.t.Helper()
	result := b.Call(action, input, options...)
	if result.Err != nil {
		b.t.Fatalf("%s %v: %v (%s)", action, input, result.Err, result.Err.Hint)
	}
	var output map[string]any
	decoder := json.NewDecoder(bytes.NewReader(result.Output))
	decoder.UseNumber()
	if err := decoder.Decode(&output); err != nil {
		b.t.Fatal(err)
	}
	return output
}

// fails calls an action that must fail with a code and a reason.
func (b *bench) fails(action string, input map[string]any, code sdk.Code, reason string, options ...sdktest.Option) *sdk.Error {
	b.t.Helper()
	failed := b.Call(action, input, options...).Err
	if failed == nil || failed.Code != code || failed.Reason != reason {
		b.t.Fatalf("%s %v: %+v, want %s %q", action, input, failed, code, reason)
	}
	return failed
}
