package main_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/flowrun/flowrun/internal/cli"
)

// What a whole command of one step allocates at most, beyond what its packages make before
// main (TestIssue17_PackagesInitialiseLittle): some hundreds more than it does.
const (
	maxLetAllocs    = 7_900
	maxLetBytes     = 1_100_000
	maxPluginAllocs = 18_900
	maxPluginBytes  = 2_600_000
)

// commandCounts is what one command allocated, in a process of its own.
type commandCounts struct {
	Code           int
	Allocs, Bytes  uint64
	JournalRecords []string // who decoded some
	Expressions    []string // who compiled regular ones
}

// TestWhatAColdRunAllocates holds what a command of one step allocates in all: each page of
// it is a fault, of which a command has more than of anything else (ADR 83). No record of the
// journal is read while a run is started, waited for and printed, and no regular expression
// is compiled for what stands in each project.
func TestWhatAColdRunAllocates(t *testing.T) {
	dir := oneStepProject(t, "auto")
	write(t, dir, "let.yaml", "flowrun: v1\nname: let\nsteps:\n  - {id: one, let: {n: 1}}\noutputs: {n: \"${{ steps.one.outputs.n }}\"}\n")
	for range 2 { // makes the store, describes the plugin
		counted(t, dir, "run", "one.yaml")
	}
	for workflow, most := range map[string][2]uint64{"let.yaml": {maxLetAllocs, maxLetBytes}, "one.yaml": {maxPluginAllocs, maxPluginBytes}} {
		got := counted(t, dir, "run", workflow)
		for range 2 { // the least: what goes on beside it wobbles
			if again := counted(t, dir, "run", workflow); again.Allocs < got.Allocs {
				got = again
			}
		}
		t.Logf("%s: %+v", workflow, got)
		if got.Allocs > most[0] || got.Bytes > most[1] {
			t.Errorf("%s: %d allocations (at most %d) of %d bytes (at most %d)", workflow, got.Allocs, most[0], got.Bytes, most[1])
		}
		if len(got.JournalRecords) > 0 || len(got.Expressions) > 0 {
			t.Errorf("%s: records of the journal are decoded by %q, regular expressions compiled by %q, want none", workflow, got.JournalRecords, got.Expressions)
		}
	}
	// What reads the journal, and what has an expression, is seen.
	if read := counted(t, dir, "run", "let.yaml", "-o", "jsonl"); len(read.JournalRecords) == 0 {
		t.Error("a run that prints its records decodes none: they are not counted")
	}
	write(t, dir, "flowrun.yaml", "connections: {c: {plugin: files, rate: 5/1s, config: {roots: {data: {path: ./data}}}}}\n")
	if expression := counted(t, dir, "run", "let.yaml"); len(expression.Expressions) == 0 {
		t.Error("a project with a rate compiles no expression: they are not counted")
	}
}

// counted runs a command in a process of its own, which counts.
func counted(t *testing.T, dir string, args ...string) commandCounts {
	t.Helper()
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	line, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	result := filepath.Join(t.TempDir(), "counts.json")
	command := exec.CommandContext(t.Context(), executable, "-test.run=^TestCountedCommand$")
	command.Dir, command.Env = dir, append(os.Environ(), "HOME="+dir, countedArgs+"="+string(line), countedResult+"="+result)
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", args, err, output)
	}
	data, err := os.ReadFile(result)
	if err != nil {
		t.Fatal(err)
	}
	var counts commandCounts
	if err := json.Unmarshal(data, &counts); err != nil || counts.Code != 0 || counts.Allocs == 0 {
		t.Fatalf("%v: %+v, %v", args, counts, err)
	}
	return counts
}

// The variables of a process that runs and counts a command: its arguments as JSON, and the
// file that takes the counts.
const (
	countedArgs   = "FLOWRUN_TEST_COUNTED"
	countedResult = "FLOWRUN_TEST_COUNTS"
)

// TestCountedCommand is that process.
func TestCountedCommand(t *testing.T) {
	line := os.Getenv(countedArgs)
	if line == "" {
		t.Skip("it is the process of another test")
	}
	var args []string
	if err := json.Unmarshal([]byte(line), &args); err != nil {
		t.Fatal(err)
	}
	runtime.MemProfileRate = 1
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	counts := commandCounts{Code: cli.Run(args, cli.Host())}
	runtime.ReadMemStats(&after)
	counts.Allocs, counts.Bytes = after.Mallocs-before.Mallocs, after.TotalAlloc-before.TotalAlloc
	counts.JournalRecords, counts.Expressions = allocatedIn("engine/journal.Decode"), allocatedIn("regexp.compile")
	data, err := json.Marshal(counts)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(os.Getenv(countedResult), data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// allocatedIn looks for allocations within a function, and names those of our packages that
// called it.
func allocatedIn(function string) (callers []string) {
	runtime.GC() // what was allocated is in the profile after the second one
	runtime.GC()
	profile := make([]runtime.MemProfileRecord, 1<<16)
	n, _ := runtime.MemProfile(profile, true)
	for _, record := range profile[:min(n, len(profile))] {
		within, caller := false, ""
		for frames := runtime.CallersFrames(record.Stack()); ; {
			frame, more := frames.Next()
			within = within || strings.HasSuffix(frame.Function, function)
			if _, name, ours := strings.Cut(frame.Function, "/flowrun/flowrun/"); ours && within && !strings.Contains(name, function) && !strings.Contains(name, "_test.init") && caller == "" {
				caller = name
			}
			if !more {
				break
			}
		}
		if caller != "" && !slices.Contains(callers, caller) {
			callers = append(callers, caller)
		}
	}
	return callers
}

// oneStepProject is a project with a workflow of one step in one bundled plugin.
func oneStepProject(t *testing.T, sandbox string) string {
	t.Helper()
	dir := t.TempDir()
	write(t, dir, "flowrun.yaml", "limits: {sandbox: "+sandbox+"}\nplugins: {files: {grants: {paths: [./data]}}}\nconnections: {files: {plugin: files, config: {roots: {data: {path: ./data}}}}}\n")
	write(t, dir, "one.yaml", "flowrun: v1\nname: one\nsteps:\n  - {id: one, uses: files.read, with: {root: data, path: a.txt}}\n")
	if err := os.Mkdir(filepath.Join(dir, "data"), 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, dir, "data/a.txt", "one\n")
	return dir
}
