//go:build linux

// Package grants holds what plugins get against what they were granted: a plugin in Go and
// one in Python (testdata) look for canaries in the host's environment, in the config,
// state, tokens and homes of others, in the project, the state folder and the user's home.
// Without Debian's python3-grpcio the half in Python is skipped, and says so.
package grants

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flowrun/flowrun/internal/testbuild"
)

// programs is the folder of what all tests run.
var programs string

func TestMain(m *testing.M) {
	var err error
	if programs, err = os.MkdirTemp("", "gr"); err != nil {
		panic(err)
	}
	code := m.Run()
	_ = os.RemoveAll(programs)
	os.Exit(code)
}

var built = sync.OnceValue(func() error {
	if err := testbuild.Program(filepath.Join(programs, "flowrun"), "../../cmd/flowrun"); err != nil {
		return err
	}
	return testbuild.Program(filepath.Join(programs, "thief"), "./testdata/thief")
})

// python3 is the folder of a python3 that has grpcio and protobuf; "" = there is none.
var python3 = sync.OnceValue(func() string {
	for _, folder := range append(filepath.SplitList(os.Getenv("PATH")), "/usr/bin") {
		if exec.Command(filepath.Join(folder, "python3"), "-c", "import grpc, google.protobuf").Run() == nil {
			return folder
		}
	}
	return ""
})

// house is a project with a thief and its neighbour, and all that the thief wants.
type house struct {
	t        *testing.T
	dir      string
	environ  []string
	canaries map[string]string // by what they are
}

// canary makes one.
func (h *house) canary(name string) string {
	random := make([]byte, 8)
	if _, err := rand.Read(random); err != nil {
		h.t.Fatal(err)
	}
	h.canaries[name] = hex.EncodeToString(random)
	return "canary-" + name + "-" + h.canaries[name]
}

func (h *house) write(name, content string) {
	h.t.Helper()
	path := filepath.Join(h.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		h.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		h.t.Fatal(err)
	}
}

// newHouse makes the project: the language is that of both plugins, grants are what the
// thief is granted, and sandbox is the limit of that name.
func newHouse(t *testing.T, language, grants, sandbox string) *house {
	t.Helper()
	if err := built(); err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "gr") // with a short path: sockets lie in it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	h := &house{t: t, dir: dir, canaries: map[string]string{}, environ: []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Join(dir, "user"), "FLOWRUN_STATE=" + filepath.Join(dir, "state"),
	}}
	for variable, name := range map[string]string{
		"HOST_VARIABLE": "host_environment", "GRANTED": "granted_environment", "NEIGHBOURS": "neighbours_environment",
		"FLOWRUN_SECRET_OWN": "own_key", "FLOWRUN_SECRET_KEY": "neighbours_key", "FLOWRUN_SECRET_HOME": "neighbours_home",
		"FLOWRUN_SECRET_STATE": "neighbours_state", "FLOWRUN_SECRET_TOKEN": "neighbours_token",
	} {
		h.environ = append(h.environ, variable+"="+h.canary(name))
	}
	h.write("user/.ssh/id_ed25519", h.canary("users_home"))
	h.write("project/.env", h.canary("project_file"))
	h.write("project/shared/data.txt", h.canary("granted_file"))
	h.write("project/flowrun.yaml", fmt.Sprintf(`plugins:
  thief: {source: %[1]s, grants: %[2]s}
  neighbour: {source: %[3]s, grants: {env: [NEIGHBOURS]}}
connections:
  thief: {plugin: thief, config: {key: "${{ secrets.OWN }}"}}
  neighbour:
    plugin: neighbour
    config: {plain: %[4]s, key: "${{ secrets.KEY }}", home: "${{ secrets.HOME }}", state: "${{ secrets.STATE }}", token: "${{ secrets.TOKEN }}"}
limits: {sandbox: %[5]s}
`, h.plugin(language, "thief"), grants, h.plugin(language, "neighbour"), h.canary("neighbours_plain_config"), sandbox))
	h.write("project/heist.yaml", h.workflow())
	return h
}

// plugin puts the plugin into a folder of its own and returns its source.
func (h *house) plugin(language, name string) string {
	h.t.Helper()
	folder := filepath.Join(h.dir, "project/plugins", name)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		h.t.Fatal(err)
	}
	if language == "go" {
		if err := testbuild.Copy(filepath.Join(folder, name), filepath.Join(programs, "thief")); err != nil {
			h.t.Fatal(err)
		}
		return "./plugins/" + name + "/" + name
	}
	h.environ[0] = "PATH=" + python3() + ":" + os.Getenv("PATH")
	for from, to := range map[string]string{"testdata/thief.py": name + ".py", "../../sdk/python/flowrun.py": "flowrun.py"} {
		if err := testbuild.Copy(filepath.Join(folder, to), from); err != nil {
			h.t.Fatal(err)
		}
	}
	h.write("project/plugins/"+name+"/flowrun-plugin.yaml", "name: "+name+"\nversion: 1.0.0\ncommand: [python3, "+name+".py]\n")
	return "./plugins/" + name
}

// workflow has the neighbour hide everything, and then the thief look for it while the
// neighbour's process is still there.
func (h *house) workflow() string {
	quoted := func(paths ...string) string {
		for i, path := range paths {
			paths[i] = filepath.Join(h.dir, path)
		}
		text, err := json.Marshal(paths)
		if err != nil {
			h.t.Fatal(err)
		}
		return string(text)
	}
	return fmt.Sprintf(`flowrun: v1
name: heist
inputs: {note: {type: string}}
steps:
  - {id: hide, uses: neighbour.hide}
  - id: search
    uses: thief.search
    with: {files: %s, folders: %s, connections: [neighbour, thief], socket: %q}
  - {id: still, uses: neighbour.hide}
outputs: {hidden: "${{ steps.hide.outputs.places }}", found: "${{ steps.search.outputs.found }}", tried: "${{ steps.search.outputs.tried }}", note: "${{ inputs.note }}"}
`, quoted("user/.ssh/id_ed25519", "project/.env", "project/flowrun.yaml", "project/shared/data.txt", "state/flowrun.db", "state/key", "state/plugins/home/neighbour/hidden"),
		quoted("user", "project", "project/shared", "state"), filepath.Join(h.dir, "state/flowrun.sock"))
}

// heist runs the workflow and returns what the thief found, with the ways, and what came
// of its questions.
func (h *house) heist() (found map[string][]string, tried []string) {
	h.t.Helper()
	command := exec.CommandContext(h.t.Context(), filepath.Join(programs, "flowrun"), "run", "heist.yaml", "-i", "note="+h.canary("argument"), "-o", "json")
	var stderr bytes.Buffer
	command.Dir, command.Env, command.Stderr = filepath.Join(h.dir, "project"), h.environ, &stderr
	output, err := command.Output()
	var run struct {
		Outputs struct {
			Hidden int
			Found  []string
			Tried  []string
		}
	}
	if command.ProcessState.ExitCode() == 11 && strings.Contains(stderr.String(), "sandbox") {
		h.t.Skipf("SKIPPED: this system holds no plugin in a sandbox: %s", &stderr)
	}
	if err != nil || json.Unmarshal(output, &run) != nil || run.Outputs.Hidden != 5 {
		h.t.Fatalf("the run: %v\n%s\n%s", err, output, &stderr)
	}
	found = map[string][]string{}
	for _, line := range run.Outputs.Found {
		words := strings.SplitN(line, " ", 3)
		value := []byte(words[1])
		slices.Reverse(value)
		if h.canaries[words[0]] == string(value) { // not one of a test beside this one
			found[words[0]] = append(found[words[0]], words[2])
		}
	}
	return found, run.Outputs.Tried
}

// languages are those of the plugins that this machine can run.
func languages(t *testing.T) []string {
	t.Helper()
	if python3() == "" {
		t.Log("SKIPPED: the plugin in Python: there is no python3 with grpcio and protobuf (scripts/install-python)")
		return []string{"go"}
	}
	return []string{"go", "python"}
}

// TestIssue15_GrantsAPluginSeesWhatItWasGrantedAndNothingElse: its own connection, and of
// everything else what a grant names.
func TestIssue15_GrantsAPluginSeesWhatItWasGrantedAndNothingElse(t *testing.T) {
	t.Parallel()
	for _, language := range languages(t) {
		for _, c := range []struct {
			name, grants string
			want         map[string][]string
		}{
			{"nothing", "{}", map[string][]string{"own_key": {"its connection"}}},
			{"something", "{env: [GRANTED], paths: [shared]}", map[string][]string{
				"own_key": {"its connection"}, "granted_environment": {"its environment"}, "granted_file": {"a file by its name", "a folder"},
			}},
		} {
			t.Run(language+", granted "+c.name, func(t *testing.T) {
				t.Parallel()
				found, tried := newHouse(t, language, c.grants, "require").heist()
				if diff := cmp.Diff(c.want, found); diff != "" {
					t.Errorf("found (-want +got):\n%s", diff)
				}
				refused(t, tried)
			})
		}
	}
}

// refused holds what came of the questions to the host: each was asked and answered with
// nothing, or refused.
func refused(t *testing.T, tried []string) {
	t.Helper()
	came := map[string]int{}
	for _, line := range tried {
		what, answer, _ := strings.Cut(line, ": ")
		of := strings.HasSuffix(what, " thief") // its own: a lease, for there is no token
		switch {
		case strings.Contains(answer, "an answer") && !of:
			t.Errorf("the host answers: %s", line)
		case strings.Contains(what, "neighbour") && !strings.Contains(answer, "PermissionDenied") && !strings.Contains(answer, "is not open in this process"):
			t.Errorf("the host does not refuse: %s", line)
		case what == "the engine" && answer != "403" && answer != "nothing":
			t.Errorf("the engine answers %s", answer)
		}
		came[what]++
	}
	want := map[string]int{
		"token of neighbour": 2, "token of thief": 2, "state of plugin": 1, "state of run": 1,
		"state of connection/neighbour": 1, "state of connection/thief": 1, "the engine": 2,
	}
	if !maps.Equal(came, want) {
		t.Errorf("it asked %v, want %v", came, want)
	}
}

// TestIssue15_GrantsControlWithoutTheSandboxTheThiefFinds: the same plugins and the same
// canaries, held by nothing but a clean environment. What the host itself decides stays
// closed then too; that the suite notices when it does not is shown by test/mutants.
func TestIssue15_GrantsControlWithoutTheSandboxTheThiefFinds(t *testing.T) {
	t.Parallel()
	for _, language := range languages(t) {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			found, tried := newHouse(t, language, "{}", "off").heist()
			for _, name := range []string{"users_home", "project_file", "granted_file", "neighbours_plain_config", "neighbours_home"} {
				if len(found[name]) == 0 {
					t.Errorf("the suite did not notice that the sandbox is off: %s", name)
				}
			}
			for _, name := range []string{"neighbours_state", "neighbours_token"} {
				if ways := slices.DeleteFunc(found[name], func(way string) bool { return way == "/proc/PID/environ" }); len(ways) > 0 {
					t.Errorf("%s is no file and was found by %v", name, ways)
				}
			}
			if os.Getuid() != 0 {
				t.Log("SKIPPED: the engine's environment is closed to its own user without a sandbox too")
			} else if len(found["host_environment"]) == 0 || len(found["argument"]) == 0 {
				t.Errorf("the suite did not notice that /proc is open: %v", found)
			}
			refused(t, tried)
		})
	}
}
