package main_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flowrun/flowrun/engine/conformance"
	"github.com/flowrun/flowrun/internal/suitesize"
	"github.com/flowrun/flowrun/internal/testbuild"
)

// TestIssue15_TheBundledPluginsPassTheKit tries each self-executed, and as the program of
// its own that a third party would build.
func TestIssue15_TheBundledPluginsPassTheKit(t *testing.T) {
	t.Parallel()
	binary := buildBinary(t)
	for _, name := range suitesize.Part(t, []string{"analytics", "auth", "dictionary", "exec", "files", "http", "mail", "netinfo", "tasks"}) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kitPasses(t, binary, t.TempDir(), name)
		})
		t.Run(name+", alone", func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			program := "flowrun-plugin-" + name
			if err := testbuild.Program(filepath.Join(dir, program), "../../plugins/"+name+"/cmd/"+program); err != nil {
				t.Fatal(err)
			}
			write(t, dir, "kit.yaml", "simulator: ["+name+"]\n")
			kitPasses(t, binary, dir, "./"+program, "--config", "kit.yaml")
		})
	}
}

// kitPasses tries a plugin: no case fails, and enough were tried.
func kitPasses(t *testing.T, binary, dir string, args ...string) {
	t.Helper()
	output, code := flowrunIn(t, binary, dir, append([]string{"plugins", "test", "-o", "json"}, args...)...)
	var report conformance.Report
	if err := json.Unmarshal([]byte(output), &report); err != nil {
		t.Fatalf("exit code %d: %v\n%s", code, err, output)
	}
	if code != 0 || report.Failed > 0 || report.Passed < leastPassed(args[0]) {
		var text strings.Builder
		if err := report.WriteText(&text); err != nil {
			t.Fatal(err)
		}
		t.Errorf("exit code %d\n%s", code, text.String())
	}
}

// leastPassed is how many cases must have had an occasion: exec and mail send nothing that
// comes by the kit, and have no pages.
func leastPassed(plugin string) int {
	if strings.HasSuffix(plugin, "exec") || strings.HasSuffix(plugin, "mail") {
		return 46
	}
	return 50
}

// A plugin that fails, a wrong config and a case that is not there have codes of their own.
func TestIssue15_TheKitSaysByItsExitCodeWhatItFound(t *testing.T) {
	t.Parallel()
	binary, dir := buildBinary(t), t.TempDir()
	write(t, dir, "broken", "#!/bin/sh\necho hello\n")
	if err := os.Chmod(filepath.Join(dir, "broken"), 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, dir, "wrong.yaml", "conection: {}\n")
	for _, c := range []struct {
		args string
		code int
		want string
	}{
		{"./broken --junit report.xml", 5, "its stdout ended without a handshake line"},
		{"./broken --config wrong.yaml", 2, "conection"},
		{"./broken --case pages.rezume", 2, `no case "pages.rezume"`},
		{"./missing", 2, "missing"},
		{"--list", 0, "pages.resume"},
	} {
		output, code := flowrunIn(t, binary, dir, append([]string{"plugins", "test"}, strings.Fields(c.args)...)...)
		if code != c.code || !strings.Contains(output, c.want) {
			t.Errorf("%s: exit code %d, want %d with %q\n%s", c.args, code, c.code, c.want, output)
		}
	}
	report, err := os.ReadFile(filepath.Join(dir, "report.xml"))
	if err != nil || !strings.Contains(string(report), `<testcase name="start.handshake"`) {
		t.Errorf("%v\n%s", err, report)
	}
}

// A plugin that is told nothing has no connection that the kit could open: that is a
// reason to leave cases out, not a failure.
func TestPluginsThatAreToldNothingPassTheKit(t *testing.T) {
	t.Parallel()
	binary := buildBinary(t)
	for _, name := range []string{"openapi", "mcp"} {
		output, code := flowrunIn(t, binary, t.TempDir(), "plugins", "test", name)
		if code != 0 || !strings.Contains(output, " 0 failed") || !strings.Contains(output, "it is told nothing, and has no actions: see `with` of --config") {
			t.Errorf("%s: exit code %d\n%s", name, code, output)
		}
	}
}
