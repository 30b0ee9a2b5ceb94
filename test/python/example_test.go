package python

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/flowrun/flowrun/internal/testbuild"
)

const (
	weatherFolder = "../../examples/plugins/weather_python"
	billingFolder = "../../examples/plugins/billing_python"
)

var flowrunBuilt = sync.OnceValue(func() error { return testbuild.Program(filepath.Join(programs, "flowrun"), "../../cmd/flowrun") })

func flowrun(t *testing.T, dir string, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	if err := flowrunBuilt(); err != nil {
		t.Fatal(err)
	}
	command := exec.Command(filepath.Join(programs, "flowrun"), args...)
	command.Dir = dir
	command.Env = []string{"PATH=" + pythonPath(t), "HOME=" + dir, "FLOWRUN_SECRET_WEATHER_KEY=weather-key-123", "HOST_CANARY=canary"}
	var out, errs strings.Builder
	command.Stdout, command.Stderr = &out, &errs
	err = command.Run()
	return out.String(), errs.String(), err
}

// pythonPath is a PATH whose python3 has the libraries.
func pythonPath(t *testing.T) string {
	t.Helper()
	found, err := exec.LookPath(needPython(t))
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Dir(found) + ":" + os.Getenv("PATH")
}

func copyInto(t *testing.T, dir string, files ...string) {
	t.Helper()
	for _, file := range files {
		body, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(file)), body, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestIssue15_5_TheExampleRuns: weather.py is built by the commands of its README, and a
// workflow uses it; a misspelt input is found in its line, and the key is shown nowhere.
func TestIssue15_5_TheExampleRuns(t *testing.T) {
	t.Parallel()
	needPython(t)
	dir := t.TempDir()
	copyInto(t, dir, weatherFolder+"/weather.py", weatherFolder+"/test_weather.py", weatherFolder+"/workflows/home.yaml", sdkFile)
	unittests(t, dir)
	pack(t, filepath.Join(dir, "weather.py"), filepath.Join(dir, "flowrun-plugin-weather"))
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.Header.Get("X-Api-Key") != "weather-key-123" || r.URL.Query().Get("city") != "Bonn" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		fmt.Fprint(w, `{"temperature": 21.5, "sky": "clear"}`)
	}))
	defer service.Close()
	project, err := os.ReadFile(weatherFolder + "/flowrun.yaml")
	if err != nil {
		t.Fatal(err)
	}
	here := strings.Replace(string(project), "https://weather.example.com", service.URL, 1)
	if err := os.WriteFile(filepath.Join(dir, "flowrun.yaml"), []byte(here), 0o644); err != nil {
		t.Fatal(err)
	}
	runExample(t, dir)
	workflow, err := os.ReadFile(filepath.Join(dir, "home.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "wrong.yaml"), []byte(strings.Replace(string(workflow), "city: Bonn", "citty: Bonn", 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	_, stderr, err := flowrun(t, dir, "validate", "wrong.yaml")
	if err == nil || !strings.Contains(stderr, "wrong.yaml:6:") || !strings.Contains(stderr, "citty") {
		t.Errorf("validate: %v\n%s", err, stderr)
	}
	asFolder(t, dir)
	runExample(t, dir)
	runExample(t, dir)
}

// unittests runs the tests of an example as its author does.
func unittests(t *testing.T, dir string) {
	t.Helper()
	tests := exec.Command(needPython(t), "-m", "unittest")
	tests.Dir = dir
	if output, err := tests.CombinedOutput(); err != nil || !strings.Contains(string(output), "OK") {
		t.Fatalf("its tests: %v\n%s", err, output)
	}
}

// TestIssue15_5_BillingIsTheSameInBothLanguages: its tests pass, and it describes itself
// as ../billing does.
func TestIssue15_5_BillingIsTheSameInBothLanguages(t *testing.T) {
	t.Parallel()
	needPython(t)
	dir := t.TempDir()
	copyInto(t, dir, billingFolder+"/billing.py", billingFolder+"/test_billing.py", sdkFile)
	unittests(t, dir)
	program := filepath.Join(dir, "billing-go")
	build := exec.Command("go", "build", "-C", billingFolder+"/../billing", "-buildvcs=false", "-o", program, ".")
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, output)
	}
	describeAlike(t, map[string]*twin{"go": start(t, program), "python": startScript(t, billingFolder+"/billing.py")})
}

// runExample runs the workflow of the example.
func runExample(t *testing.T, dir string) {
	t.Helper()
	stdout, stderr, err := flowrun(t, dir, "run", "home.yaml", "-o", "json")
	if err != nil {
		t.Fatalf("run: %v\n%s%s", err, stdout, stderr)
	}
	var result struct{ Outputs map[string]any }
	if err := json.Unmarshal([]byte(stdout), &result); err != nil || result.Outputs["sky"] != "clear" || result.Outputs["warm"] != true {
		t.Errorf("the outputs are %v (%v) in %s", result.Outputs, err, stdout)
	}
	if strings.Contains(stdout+stderr, "weather-key-123") {
		t.Error("the key stands in the output")
	}
}

// asFolder lets the project use the plugin as a folder with a manifest.
func asFolder(t *testing.T, dir string) {
	t.Helper()
	folder := filepath.Join(dir, "weather")
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	copyInto(t, folder, weatherFolder+"/weather.py", weatherFolder+"/flowrun-plugin.yaml", sdkFile)
	project, err := os.ReadFile(filepath.Join(dir, "flowrun.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	changed := strings.Replace(string(project), "./flowrun-plugin-weather", "./weather", 1)
	if err := os.WriteFile(filepath.Join(dir, "flowrun.yaml"), []byte(changed), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestIssue15_5_PackIsReproducible, and holds what lies beside the plugin.
func TestIssue15_5_PackIsReproducible(t *testing.T) {
	t.Parallel()
	needPython(t)
	dir := t.TempDir()
	for _, name := range []string{"a", "b"} {
		pack(t, weatherFolder+"/weather.py", filepath.Join(dir, name))
	}
	first, err := os.ReadFile(filepath.Join(dir, "a"))
	if err != nil {
		t.Fatal(err)
	}
	if second, err := os.ReadFile(filepath.Join(dir, "b")); err != nil || string(first) != string(second) {
		t.Errorf("twice packed is not the same: %v", err)
	}
	folder := filepath.Join(dir, "folder")
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	copyInto(t, folder, weatherFolder+"/weather.py")
	if err := os.WriteFile(filepath.Join(folder, "__main__.py"), []byte("from weather import plugin\nplugin.serve()\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	pack(t, folder, filepath.Join(dir, "c"))
	output, err := exec.Command(filepath.Join(dir, "c")).CombinedOutput()
	if err == nil || !strings.Contains(string(output), "uses: weather.current") {
		t.Errorf("%v\n%s", err, output)
	}
}

// newPlugin is the folder of what `plugins new` writes.
const newPlugin = "../../internal/plugintemplate/python"

// TestIssue15_5_TheSDKPassesMypy, and so do the plugins of this suite.
func TestIssue15_5_TheSDKPassesMypy(t *testing.T) {
	t.Parallel()
	mypy, err := exec.LookPath("mypy")
	if err != nil {
		t.Skip("SKIPPED: there is no mypy (scripts/install-python)")
	}
	command := exec.Command(mypy, "--strict", "--cache-dir", t.TempDir(), sdkFile, weatherFolder+"/weather.py", weatherFolder+"/test_weather.py", billingFolder+"/billing.py", billingFolder+"/test_billing.py", trackerFolder+"/tracker.py", "testdata/twin.py", "testdata/snoop.py", "testdata/catalog.py", "testdata/largefile.py",
		newPlugin+"/plugin/main.py", newPlugin+"/plugin/simulator.py", newPlugin+"/test_plugin.py")
	command.Env = append(os.Environ(), "MYPYPATH=../../sdk/python:"+weatherFolder+":"+billingFolder+":"+trackerFolder+":"+newPlugin+"/plugin")
	if output, err := command.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, output)
	}
}
