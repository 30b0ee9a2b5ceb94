package main_test

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/flowrun/flowrun/internal/testcommand"
)

// flowrunHere runs a command in a folder, with more variables than those of the tests,
// and returns what it prints and its exit code. Its plugins run from the binary.
func flowrunHere(t *testing.T, binary, dir string, environ []string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	code, stdout, stderr, err := testcommand.Command{Dir: dir, Executable: binary, Environ: append(os.Environ(), environ...), Location: time.Local}.Output(args...)
	if err != nil {
		t.Fatal(err)
	}
	return stdout, stderr, code
}

// inScript runs `flowrun args...` as a script's current folder and environment have
// it.
func inScript(ts *testscript.TestScript, stdin io.Reader, args []string) (code int, stdout, stderr string) {
	executable, err := exec.LookPath("flowrun")
	ts.Check(err)
	location, err := time.LoadLocation(ts.Getenv("TZ"))
	ts.Check(err)
	code, stdout, stderr, err = testcommand.Command{
		Dir: ts.MkAbs("."), Executable: executable, User: ts.Getenv("USER"), Environ: environOf(ts), Stdin: stdin, Location: location,
	}.Output(args...)
	ts.Check(err)
	return code, stdout, stderr
}

// described is what flowrun knows of its bundled plugins after its first command, which
// is one for all scripts.
var described = sync.OnceValues(func() (*testcommand.Described, error) {
	executable, err := exec.LookPath("flowrun")
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(suiteDir, "described")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	return testcommand.Command{Executable: executable, User: "ann", Environ: []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH")}}.Describe(dir)
})

// experienced returns a flowrun that has described its bundled plugins before, for
// commands in this process in a folder that has its states below it.
func experienced(t *testing.T, dir string) (binary string) {
	t.Helper()
	plugins, err := described()
	if err == nil {
		err = plugins.Project(dir)
	}
	if err == nil {
		err = plugins.State(filepath.Join(dir, "flowrun"))
	}
	if err == nil {
		binary, err = exec.LookPath("flowrun")
	}
	if err != nil {
		t.Fatal(err)
	}
	return binary
}

// variables is the key of the names of all variables that a script may have.
type variables struct{}

// setsVariable finds what a script puts into its environment.
var setsVariable = regexp.MustCompile(`(?m)^(?:\[[^]]*\] )*(?:env|keep) ([A-Za-z_][A-Za-z0-9_]*)`)

// setByScripts are the names that the scripts of a folder give variables.
func setByScripts(t *testing.T, folder string) []string {
	t.Helper()
	names := []string{"RUN", "URL", "SERVE"} // of runid and serving
	scripts, err := filepath.Glob(filepath.Join(folder, "*.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	for _, script := range scripts {
		text, err := os.ReadFile(script)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range setsVariable.FindAllSubmatch(text, -1) {
			names = append(names, string(match[1]))
		}
	}
	return names
}

// withNamesOf adds the names of an environment.
func withNamesOf(environ, names []string) []string {
	names = slices.Clone(names)
	for _, entry := range environ {
		name, _, _ := strings.Cut(entry, "=")
		names = append(names, name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// environOf is a script's environment as it is now.
func environOf(ts *testscript.TestScript) []string {
	names := ts.Value(variables{}).([]string)
	var environ []string
	for _, name := range names {
		if value := ts.Getenv(name); value != "" {
			environ = append(environ, name+"="+value)
		}
	}
	return environ
}

// exits runs a command and wants its exit code: `exits 3 flowrun validate x`.
// flowrun runs in this process.
func exits(ts *testscript.TestScript, negated bool, args []string) {
	if negated || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND...")
	}
	wantExit(ts, nil, args)
}

// feed is exits for a command that reads a file as its stdin: `feed FILE 0 flowrun
// secrets set X`.
func feed(ts *testscript.TestScript, negated bool, args []string) {
	if negated || len(args) < 3 || args[2] != "flowrun" {
		ts.Fatalf("usage: feed FILE CODE flowrun...")
	}
	wantExit(ts, strings.NewReader(ts.ReadFile(args[0])), args[1:])
}

func wantExit(ts *testscript.TestScript, stdin io.Reader, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got, stdout, stderr := outcome(ts, stdin, args[1:])
	_, _ = io.WriteString(ts.Stdout(), stdout) // both are in memory
	_, _ = io.WriteString(ts.Stderr(), stderr)
	if got != want {
		ts.Fatalf("%v: exit code %d, want %d\n%s", args[1:], got, want, stderr)
	}
}

// outcome runs a command: flowrun in this process, others as processes.
func outcome(ts *testscript.TestScript, stdin io.Reader, args []string) (code int, stdout, stderr string) {
	if args[0] == "flowrun" {
		return inScript(ts, stdin, args[1:])
	}
	err := ts.Exec(args[0], args[1:]...)
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		code = exit.ExitCode()
	case err != nil:
		ts.Fatalf("run %s: %v", args[0], err)
	}
	return code, ts.ReadFile("stdout"), ts.ReadFile("stderr")
}

// runid sets $RUN to the newest run: `runid --sandbox`.
func runid(ts *testscript.TestScript, _ bool, args []string) {
	code, stdout, stderr := inScript(ts, nil, append([]string{"runs", "list", "--limit", "1", "-o", "json"}, args...))
	if code != 0 {
		ts.Fatalf("list runs: exit code %d\n%s", code, stderr)
	}
	ts.Setenv("RUN", firstID(stdout))
}

// until runs a command again and again until it succeeds and its stdout matches:
// `until '"status":"queued"' flowrun runs -o json`. It waits for a store's owner to
// begin: were it flowrun in this process, which may own the store for a moment, a
// child of the tests would be taken for one of that owner's plugins.
func until(ts *testscript.TestScript, negated bool, args []string) {
	if negated || len(args) < 2 {
		ts.Fatalf("usage: until PATTERN COMMAND...")
	}
	pattern, err := regexp.Compile(args[0])
	ts.Check(err)
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
		err := ts.Exec(args[1], args[2:]...)
		if err == nil && pattern.MatchString(ts.ReadFile("stdout")) {
			return
		}
		if time.Now().After(end) {
			ts.Fatalf("%v never printed %s (%v)", args[1:], args[0], err)
		}
	}
}
