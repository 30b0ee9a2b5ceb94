package main_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/flowrun/flowrun/engine/pluginhost/confine"
	"github.com/flowrun/flowrun/internal/cli"
	"github.com/flowrun/flowrun/internal/testbuild"
)

// TestMain makes this test binary a flowrun too: for the scripts, and for the
// bundled plugins, which are this executable run again.
func TestMain(m *testing.M) {
	flowrun := func() { os.Exit(cli.Run(os.Args[1:], cli.Host())) }
	if len(os.Args) >= 4 && (os.Args[1] == "plugins" && os.Args[2] == "serve" || os.Args[1] == "sandbox" && os.Args[2] == "hold") {
		flowrun()
	}
	testscript.Main(suite{m}, map[string]func(){"flowrun": flowrun, "http": sendHTTP, "certificate": makeCertificate})
}

// TestScripts runs every script below testdata/script. UPDATE=1 writes what the
// commands print into the scripts.
func TestScripts(t *testing.T) {
	t.Parallel()
	folders, err := filepath.Glob("testdata/script/*")
	if err != nil || len(folders) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	workflows, err := filepath.Abs("../../workflows")
	if err != nil {
		t.Fatal(err)
	}
	fakeauth := sync.OnceValue(func() string { return buildFakeAuth(t) })
	ticket := sync.OnceValue(func() string { return buildPlugin(t, "ticket") })
	shaped := sync.OnceValue(func() string { return buildPlugin(t, "shaped") })
	words := sync.OnceValue(func() string { return buildPlugin(t, "words") })
	noisy := sync.OnceValue(func() string { return buildPlugin(t, "noisy") })
	pythonSDK, err := filepath.Abs("../../sdk/python/flowrun.py")
	if err != nil {
		t.Fatal(err)
	}
	things := sync.OnceValue(func() string {
		path := filepath.Join(t.TempDir(), "things")
		buildThings(t, path)
		return path
	})
	for _, folder := range folders {
		t.Run(filepath.Base(folder), func(t *testing.T) {
			t.Parallel()
			set := setByScripts(t, folder)
			testscript.Run(t, testscript.Params{
				Dir:                 folder,
				UpdateScripts:       os.Getenv("UPDATE") != "",
				RequireExplicitExec: true,
				RequireUniqueNames:  true,
				Cmds:                map[string]func(*testscript.TestScript, bool, []string){"exits": exits, "feed": feed, "runid": runid, "until": until, "places": places, "serving": serving, "tell": tell, "keep": keep, "fill": fill},
				Condition:           condition,
				Setup: func(env *testscript.Env) error {
					env.Setenv("HOME", env.WorkDir)
					env.Setenv("USER", "ann")
					env.Setenv("TZ", "UTC")
					env.Setenv("WORKFLOWS", workflows)
					switch filepath.Base(folder) {
					case "connections":
						env.Setenv("FAKEAUTH", fakeauth())
						env.Setenv("TICKET", ticket())
					case "plugins":
						env.Setenv("WORDS", words())
						env.Setenv("NOISY", noisy())
						env.Setenv("SHAPED", shaped())
						env.Setenv("PYTHON", python3())
						env.Setenv("PYTHONSDK", pythonSDK)
					case "issue":
						env.Setenv("THINGS", things())
					}
					env.Values[variables{}] = withNamesOf(env.Vars, set)
					plugins, err := described()
					if err != nil {
						return err
					}
					return plugins.Project(env.WorkDir)
				},
			})
		})
	}
}

// condition is what scripts ask for in brackets, besides what testscript knows: whether
// this system has a sandbox for plugins, and a python3 that runs them ($PYTHON is its folder).
func condition(name string) (bool, error) {
	switch name {
	case "sandbox":
		return !slices.ContainsFunc(confine.Probe(), func(part confine.Part) bool { return !part.Held }), nil
	case "python":
		return python3() != "", nil
	}
	return false, fmt.Errorf("there is no condition %q", name)
}

// python3 is the folder of a python3 with grpcio and protobuf; "" = there is none.
var python3 = sync.OnceValue(func() string {
	for _, folder := range append(filepath.SplitList(os.Getenv("PATH")), "/usr/bin") {
		if exec.Command(filepath.Join(folder, "python3"), "-c", "import grpc, google.protobuf").Run() == nil {
			return folder
		}
	}
	return ""
})

// buildFakeAuth builds testdata/fakeauth, a plugin with a login that needs no
// service.
func buildFakeAuth(t *testing.T) string {
	t.Helper()
	return buildPlugin(t, "fakeauth")
}

func buildPlugin(t *testing.T, name string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := testbuild.Program(path, "./testdata/"+name); err != nil {
		t.Fatal(err)
	}
	return path
}

// places puts $WORK and the plugins into a file: `places flowrun.yaml`.
func places(ts *testscript.TestScript, _ bool, args []string) {
	for _, file := range args {
		text := strings.NewReplacer("$WORK", ts.Getenv("WORK"), "$FAKEAUTH", ts.Getenv("FAKEAUTH"), "$THINGS", ts.Getenv("THINGS"), "$TICKET", ts.Getenv("TICKET"), "$WORDS", ts.Getenv("WORDS"), "$NOISY", ts.Getenv("NOISY")).Replace(ts.ReadFile(file))
		ts.Check(os.WriteFile(ts.MkAbs(file), []byte(text), 0o600))
	}
}

// fill writes a file that is too long to be written out: `fill FILE BEFORE TEXT
// TIMES AFTER`.
func fill(ts *testscript.TestScript, negated bool, args []string) {
	if negated || len(args) != 5 {
		ts.Fatalf("usage: fill FILE BEFORE TEXT TIMES AFTER")
	}
	times, err := strconv.Atoi(args[3])
	ts.Check(err)
	content := strings.ReplaceAll(args[1], `\n`, "\n") + strings.Repeat(args[2], times) + strings.ReplaceAll(args[4], `\n`, "\n")
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(content), 0o600))
}

// keep puts the stdout of the last command into a variable: `keep TOKEN`.
func keep(ts *testscript.TestScript, negated bool, args []string) {
	if negated || len(args) != 1 {
		ts.Fatalf("usage: keep VARIABLE")
	}
	ts.Setenv(args[0], strings.TrimSpace(ts.ReadFile("stdout")))
}
