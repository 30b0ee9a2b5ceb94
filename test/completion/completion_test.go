package completion

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/boltstore"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/storetest"
	"github.com/flowrun/flowrun/internal/cli"
	"github.com/flowrun/flowrun/internal/testbuild"
)

// many is how many runs the large store holds.
const many = 10_000

// projectOf makes a project whose store, which nobody has open, holds so many runs.
func projectOf(tb testing.TB, count int) (dir string) {
	tb.Helper()
	dir = tb.TempDir()
	state := filepath.Join(dir, ".flowrun", "state")
	if err := os.MkdirAll(state, 0o700); err != nil {
		tb.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "workflows"), 0o700); err != nil {
		tb.Fatal(err)
	}
	for name, text := range map[string]string{
		"flowrun.yaml":          "connections: {work: {plugin: netinfo}}\nretention: {keep: 36500d, max_runs: 1000000, max_total: 1000000}\n",
		"workflows/weekly.yaml": "flowrun: v1\nname: weekly\ninputs: {site: {type: string, enum: [A, B], default: A}}\ntriggers: {daily: {cron: \"0 9 * * *\"}}\nstate: {seen: {type: integer, default: 0}}\nsteps:\n  - {id: one, let: {n: 1}}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			tb.Fatal(err)
		}
	}
	s, err := boltstore.Open(filepath.Join(state, "flowrun.db"), boltstore.Options{Marks: true})
	if err != nil {
		tb.Fatal(err)
	}
	var writers sync.WaitGroup
	const at = 64 // once: they share their commits
	for from := range at {
		writers.Go(func() {
			for n := from; n < count; n += at {
				row := storetest.Closed(*storetest.Row(n))
				if n%7 == 0 {
					row.Status = runs.RunFailed
				}
				storetest.CreateScattered(tb, s, row, n)
			}
		})
	}
	writers.Wait()
	if err := s.Close(); err != nil {
		tb.Fatal(err)
	}
	return dir
}

// counts is what one question of a shell cost, in a process of its own.
type counts struct {
	Words         int
	Allocs, Bytes uint64
	Children      int64 // the largest process that it started, in KiB; 0 = none
	Read          int64 // bytes read by calls of the system
}

// The variables of a process that answers and counts.
const (
	countedArgs   = "FLOWRUN_TEST_COMPLETED"
	countedResult = "FLOWRUN_TEST_COMPLETED_COUNTS"
)

// questions are one for each source of words: rows by time, status and need; ids by their
// letters; one run; files.
var questions = map[string][]string{
	"runs":               {"runs", "show", ""},
	"runs that ended":    {"runs", "rerun", ""},
	"runs that failed":   {"runs", "ack", ""},
	"a run's beginning":  {"runs", "show", storetest.ID(0)[:8]},
	"steps of the last":  {"runs", "logs", "last", ""},
	"steps by an ending": {"runs", "logs", "zzzzzz", ""},
	"workflows":          {"runs", "list", "--workflow", ""},
	"inputs":             {"run", "workflows/weekly.yaml", "-i", ""},
	"values":             {"run", "workflows/weekly.yaml", "-i", "site="},
	"schedules":          {"schedules", "pause", ""},
	"state":              {"state", "get", "weekly", ""},
	"connections":        {"connections", "test", ""},
	"secrets":            {"secrets", "rm", ""},
	"codes":              {"explain", "FR"},
}

// How much more a question may allocate and read beside a large store than beside a small
// one: the seal of the file has a sum for each of its pages.
const (
	moreAllocs = 500
	moreBytes  = 512 << 10
	moreRead   = 64 << 10
	mostAllocs = 15_000 // the commands themselves are most of it
)

// TestCompletionCostsTheSameBesideManyRuns: what completes a word starts no process, and
// neither allocates nor reads more beside 10,000 runs than beside 60, but for a bound.
func TestCompletionCostsTheSameBesideManyRuns(t *testing.T) {
	small, large := projectOf(t, 60), projectOf(t, many)
	for name, question := range questions {
		few, lots := counted(t, small, question), counted(t, large, question)
		t.Logf("%s: %+v, beside %d runs %+v", name, few, many, lots)
		if few.Children != 0 || lots.Children != 0 {
			t.Errorf("%s: a process was started", name)
		}
		if lots.Allocs > few.Allocs+moreAllocs || lots.Bytes > few.Bytes+moreBytes || lots.Read > few.Read+moreRead || few.Allocs > mostAllocs {
			t.Errorf("%s: %+v beside few runs, %+v beside many", name, few, lots)
		}
		if lots.Words == 0 && !strings.HasPrefix(name, "steps") && name != "secrets" {
			t.Errorf("%s: no words", name)
		}
	}
	// What starts a process, and what reads more, is seen.
	if started := counted(t, small, []string{"", "plugins", "list"}); started.Children == 0 {
		t.Error("a command that starts plugins starts no process: they are not counted")
	}
	if listed := counted(t, large, []string{"", "runs", "list", "--limit", "1000"}); listed.Allocs < 10*moreAllocs {
		t.Errorf("a list of 1,000 runs allocates %d times: rows are not counted", listed.Allocs)
	}
}

// TestCompletionLeavesNothing: it makes no store and no folder where there is none, and says
// nothing while somebody has the store locked who does not answer.
func TestCompletionLeavesNothing(t *testing.T) {
	dir := projectOf(t, 10)
	s, err := boltstore.Open(filepath.Join(dir, ".flowrun", "state", "flowrun.db"), boltstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := counted(t, dir, []string{"runs", "show", ""}); got.Words != 0 {
		t.Errorf("%d words of a store that is locked", got.Words)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if got := counted(t, dir, []string{"runs", "show", ""}); got.Words == 0 {
		t.Error("no words of a store that is free")
	}
	if err := os.RemoveAll(filepath.Join(dir, ".flowrun")); err != nil {
		t.Fatal(err)
	}
	for name, question := range questions {
		counted(t, dir, question)
		if _, err := os.Stat(filepath.Join(dir, ".flowrun")); err == nil {
			t.Fatalf("%s: the state folder was made", name)
		}
	}
}

// counted asks in a process of its own. Behind an empty first word stands a command.
func counted(t *testing.T, dir string, question []string) counts {
	t.Helper()
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	args := append([]string{"__complete"}, question...)
	if question[0] == "" {
		args = question[1:]
	}
	line, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	result := filepath.Join(t.TempDir(), "counts.json")
	command := exec.CommandContext(t.Context(), executable, "-test.run=^TestCountedQuestion$")
	command.Dir, command.Env = dir, append(os.Environ(), "HOME="+t.TempDir(), countedArgs+"="+string(line), countedResult+"="+result)
	output, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", args, err, output)
	}
	data, err := os.ReadFile(result)
	if err != nil {
		t.Fatal(err)
	}
	var got counts
	if err := json.Unmarshal(data, &got); err != nil || got.Allocs == 0 {
		t.Fatalf("%v: %+v, %v", args, got, err)
	}
	return got
}

// TestMain makes this binary a plugin too, for the control.
func TestMain(m *testing.M) {
	if len(os.Args) >= 4 && os.Args[1] == "plugins" && os.Args[2] == "serve" {
		os.Exit(cli.Run(os.Args[1:], cli.Host()))
	}
	os.Exit(m.Run())
}

// TestCountedQuestion is the process that counts.
func TestCountedQuestion(t *testing.T) {
	line := os.Getenv(countedArgs)
	if line == "" {
		t.Skip("it is the process of another test")
	}
	var args []string
	if err := json.Unmarshal([]byte(line), &args); err != nil {
		t.Fatal(err)
	}
	var answer strings.Builder
	system := cli.Host()
	system.Stdout = &answer
	var before, after runtime.MemStats
	read := readBytes(t)
	runtime.ReadMemStats(&before)
	if code := cli.Run(args, system); code != 0 {
		t.Fatalf("exit code %d\n%s", code, answer.String())
	}
	runtime.ReadMemStats(&after)
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_CHILDREN, &usage); err != nil {
		t.Fatal(err)
	}
	got := counts{Words: strings.Count(answer.String(), "\n") - 1, Allocs: after.Mallocs - before.Mallocs, Bytes: after.TotalAlloc - before.TotalAlloc, Children: usage.Maxrss, Read: readBytes(t) - read}
	data, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(os.Getenv(countedResult), data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// readBytes is what this process has read by calls of the system; 0 where nothing tells.
func readBytes(t *testing.T) (n int64) {
	t.Helper()
	data, err := os.ReadFile("/proc/self/io")
	if err != nil {
		return 0
	}
	if _, err := fmt.Sscanf(string(data), "rchar: %d", &n); err != nil {
		t.Fatal(err)
	}
	return n
}

// BenchmarkCompletion is the time of a question beside 10,000 runs: with nobody at the store,
// and with an owner.
func BenchmarkCompletion(b *testing.B) {
	binary := filepath.Join(b.TempDir(), "flowrun")
	if err := testbuild.Program(binary, "../../cmd/flowrun"); err != nil {
		b.Fatal(err)
	}
	dir := projectOf(b, many)
	ask := func(b *testing.B) {
		for name, question := range questions {
			b.Run(strings.ReplaceAll(name, " ", "_"), func(b *testing.B) {
				for b.Loop() {
					command := exec.Command(binary, append([]string{"__complete"}, question...)...)
					command.Dir = dir
					if output, err := command.CombinedOutput(); err != nil {
						b.Fatalf("%v\n%s", err, output)
					}
				}
			})
		}
	}
	b.Run("at_rest", ask)
	server := exec.Command(binary, "serve", "--listen", "127.0.0.1:0")
	server.Dir = dir
	if err := server.Start(); err != nil {
		b.Fatal(err)
	}
	defer func() {
		_ = server.Process.Signal(syscall.SIGTERM)
		_ = server.Wait()
	}()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		ready := exec.Command(binary, "ready")
		ready.Dir = dir
		if ready.Run() == nil {
			break
		}
		if time.Now().After(deadline) {
			b.Fatal("the server is not ready")
		}
	}
	b.Run("with_an_owner", ask)
}
