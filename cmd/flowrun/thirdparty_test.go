package main_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/flowrun/flowrun/plugins/netinfo/netinfosim"
)

const thirdPartyWorkflow = `flowrun: v1
name: weather-at-home
steps:
  - id: bonn
    needs: []
    uses: weather.current
    with: {city: Bonn}
  - id: me
    needs: []
    uses: netinfo.my_ip
outputs:
  sky: ${{ steps.bonn.outputs.sky }}
  warm: ${{ steps.bonn.outputs.temperature > 20.0 }}
  ip: ${{ steps.me.outputs.ip }}
`

// TestAThirdPartysPluginRunsBesideTheBundledOnes builds examples/plugins/weather,
// a module of its own, and names it by its path.
func TestAThirdPartysPluginRunsBesideTheBundledOnes(t *testing.T) {
	t.Parallel()
	binary, dir := buildBinary(t), t.TempDir()
	build := exec.Command("go", "build", "-o", filepath.Join(dir, "flowrun-plugin-weather"), ".")
	build.Dir = "../../examples/plugins/weather"
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the plugin: %v\n%s", err, output)
	}
	weather := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Api-Key") != "weather-key-123" || r.URL.Query().Get("city") != "Bonn" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"temperature": 21.5, "sky": "clear"}`)
	}))
	defer weather.Close()
	netinfo := httptest.NewServer(netinfosim.New(netinfosim.Options{Now: time.Now}))
	defer netinfo.Close()
	write(t, dir, "flowrun.yaml", fmt.Sprintf(`plugins:
  weather: {source: ./flowrun-plugin-weather}
connections:
  weather: {plugin: weather, config: {base_url: "%s", api_key: "${{ secrets.WEATHER_KEY }}"}}
  netinfo: {plugin: netinfo, config: {base_url: "%s"}}
`, weather.URL, netinfo.URL))
	write(t, dir, "home.yaml", thirdPartyWorkflow)
	write(t, dir, "wrong.yaml", strings.Replace(thirdPartyWorkflow, "city: Bonn", "citty: Bonn", 1))

	stdout, stderr, err := flowrun(t, binary, dir, "run", "home.yaml", "-o", "json")
	if err != nil {
		t.Fatalf("run: %v\n%s", err, stderr)
	}
	var result struct{ Outputs map[string]any }
	if err := json.Unmarshal([]byte(stdout), &result); err != nil {
		t.Fatalf("%v in %s", err, stdout)
	}
	if result.Outputs["sky"] != "clear" || result.Outputs["warm"] != true || result.Outputs["ip"] == nil {
		t.Errorf("outputs are %v", result.Outputs)
	}
	if strings.Contains(stdout+stderr, "weather-key-123") {
		t.Error("the secret stands in the output")
	}

	_, stderr, err = flowrun(t, binary, dir, "validate", "wrong.yaml")
	if err == nil || !strings.Contains(stderr, "wrong.yaml:7:12") && !strings.Contains(stderr, "wrong.yaml:7:") || !strings.Contains(stderr, "did you mean `city`?") {
		t.Errorf("validate of a misspelt input: %v\n%s", err, stderr)
	}
}

func write(t *testing.T, dir, name, content string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func flowrun(t *testing.T, binary, dir string, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	stdout, stderr, code := flowrunHere(t, binary, dir, []string{"FLOWRUN_SECRET_WEATHER_KEY=weather-key-123", "XDG_STATE_HOME=" + dir}, args...)
	if code != 0 {
		err = failedWith(code)
	}
	return stdout, stderr, err
}

// flowrunProcess is flowrun as a process, which may be killed.
func flowrunProcess(t *testing.T, binary, dir string, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	var out, errs bytes.Buffer
	command := exec.Command(binary, args...)
	command.Dir, command.Stdout, command.Stderr = dir, &out, &errs
	command.Env = append(os.Environ(), "XDG_STATE_HOME="+dir)
	err = command.Run()
	return out.String(), errs.String(), err
}

// failedWith is the exit code of a flowrun that failed.
type failedWith int

func (f failedWith) Error() string { return fmt.Sprintf("exit status %d", int(f)) }
