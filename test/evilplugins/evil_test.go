//go:build linux

// Package evilplugins runs the real binary with plugins that do everything wrong
// (docs/reliability.md P18): each fails its own step, with a clear error, and nothing
// else.
package evilplugins

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
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
	"unicode/utf8"

	"github.com/flowrun/flowrun/internal/suitesize"
	"github.com/flowrun/flowrun/internal/testbuild"
)

const canary = "canary-5ecret-0f-the-suite"

// The bounds of P18.
const (
	memoryRise  = 64 << 20
	slowdown    = 2
	floor       = 25 * time.Millisecond // a healthy call naps 20 ms: below this nothing is slow
	stepLimit   = 45 * time.Second      // the describe limit is 30 s
	afterwards  = 15 * time.Second      // grace of a call that was given up, and of its process
	parallelism = 5
)

// arena is a project with all the plugins, and an owner whose healthy run goes on
// beside them.
type arena struct {
	t            *testing.T
	dir, flowrun string
	owner        *exec.Cmd
	stdout       bytes.Buffer
	stderr       bytes.Buffer
}

func TestP18EvilPluginsAreContained(t *testing.T) {
	t.Parallel()
	all := behaviours()
	if len(all) < 30 {
		t.Fatalf("%d behaviours, want 30", len(all))
	}
	all = suitesize.Part(t, all)
	rounds := suitesize.Of(t, "FLOWRUN_EVIL_ROUNDS", 1)
	seed := uint64(1)
	if text := os.Getenv("FLOWRUN_SEED"); text != "" {
		if _, err := fmt.Sscan(text, &seed); err != nil {
			t.Fatalf("FLOWRUN_SEED=%s: %v", text, err)
		}
	}
	t.Logf("seed %d, %d behaviours, %d rounds", seed, len(all), rounds)
	random := rand.New(rand.NewPCG(seed, 18))
	a := newArena(t)
	for round := range rounds {
		random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		slices.SortStableFunc(all, func(x, y behaviour) int { return boolInt(y.slow) - boolInt(x.slow) }) // the long ones first
		ratio, rise := a.round(all)
		if ratio > slowdown {
			t.Logf("round %d: a healthy call took %.1f times as long; once more", round, ratio)
			if ratio, _ = a.round(all); ratio > slowdown {
				t.Errorf("round %d: a healthy call took %.1f times as long, want at most %d", round, ratio, slowdown)
			}
		}
		if rise > memoryRise {
			t.Errorf("round %d: the engine's memory rose by %d MiB, want less than %d", round, rise>>20, memoryRise>>20)
		}
	}
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// newArena builds the binaries and writes the project.
func newArena(t *testing.T) *arena {
	t.Helper()
	a := &arena{t: t, dir: t.TempDir()}
	a.flowrun = filepath.Join(a.dir, "flowrun")
	if err := testbuild.Program(a.flowrun, "../../cmd/flowrun"); err != nil {
		t.Fatal(err)
	}
	if err := testbuild.Copy(filepath.Join(a.dir, "evil"), evilBinary(t)); err != nil {
		t.Fatal(err)
	}
	project := "plugins:\n  healthy: {source: ./evil}\n"
	for _, b := range behaviours() {
		project += fmt.Sprintf("  %s: {source: ./evil}\n", b.name)
		run := b.run
		if run == "" {
			run = "steps:\n  - {id: s, uses: %[1]s.act, timeout: " + b.timeout() + ", retry: {attempts: 1}}\n"
		}
		a.write(b.name+".yaml", fmt.Sprintf("flowrun: v1\nname: %[1]s\n"+run, b.name))
	}
	project += "connections:\n  tells_its_secrets: {plugin: tells_its_secrets, config: {api_key: \"${{ secrets.KEY }}\"}}\n"
	a.write("flowrun.yaml", project)
	a.write("healthy.yaml", "flowrun: v1\nname: healthy\nsteps:\n  - {id: s, foreach: \"${{ 1..9999 }}\", as: n, max_parallel: 1, steps: [{uses: healthy.act, with: {n: \"${{ n }}\"}}]}\n")
	return a
}

func (a *arena) write(name, content string) {
	a.t.Helper()
	if err := os.WriteFile(filepath.Join(a.dir, name), []byte(content), 0o600); err != nil {
		a.t.Fatal(err)
	}
}

func (a *arena) command(args ...string) *exec.Cmd {
	c := exec.Command(a.flowrun, args...)
	c.Dir, c.Env = a.dir, append(os.Environ(), "FLOWRUN_SECRET_KEY="+canary)
	return c
}

// round lets every behaviour loose beside a healthy run. It returns how many times
// as long a healthy call took, and by how much the engine's memory rose.
func (a *arena) round(all []behaviour) (ratio float64, rise int64) {
	a.stdout.Reset()
	a.stderr.Reset()
	a.owner = a.command("run", "healthy.yaml", "-o", "jsonl")
	a.owner.Stdout, a.owner.Stderr = &a.stdout, &a.stderr
	if err := a.owner.Start(); err != nil {
		a.t.Fatal(err)
	}
	ended := false
	a.t.Cleanup(func() {
		if !ended {
			_ = a.owner.Process.Kill()
			_ = a.owner.Wait()
		}
	})
	time.Sleep(3 * time.Second)
	var phases [4]time.Time
	before := int64(0)
	phases[0] = time.Now()
	for time.Since(phases[0]) < 2*time.Second {
		before = max(before, a.memory())
		time.Sleep(20 * time.Millisecond)
	}
	phases[1] = time.Now()
	most := a.release(all)
	phases[2] = time.Now()
	left := a.awaitNeighbours()
	time.Sleep(2 * time.Second)
	phases[3] = time.Now()
	if len(left) > 0 {
		a.t.Errorf("%s after the last run plugins are alive: %v", afterwards, left)
	}
	_ = a.owner.Process.Signal(os.Interrupt)
	kill := time.AfterFunc(20*time.Second, func() { _ = a.owner.Process.Kill() })
	_ = a.owner.Wait()
	kill.Stop()
	ended = true
	if code := a.owner.ProcessState.ExitCode(); code != 130 {
		a.t.Errorf("the owner ended with %d, want 130\n%s", code, tail(a.stderr.String()))
	}
	if text := a.stderr.String() + a.stdout.String(); strings.Contains(text, canary) || strings.Contains(text, "\x1b]") {
		a.t.Error("the owner's output holds a secret or a terminal escape")
	}
	if left := a.alive(func(string) bool { return true }); len(left) > 0 {
		a.t.Errorf("processes are left after the end: %v", left)
	}
	if left, _ := filepath.Glob(filepath.Join(a.dir, ".flowrun/state/plugins/sock/*")); len(left) > 0 {
		a.t.Errorf("sockets are left: %v", left)
	}
	quiet := min(a.median(phases[0], phases[1]), a.median(phases[2], phases[3]))
	busy := a.median(phases[1], phases[2])
	ratio = float64(max(busy, floor)) / float64(max(quiet, floor))
	a.t.Logf("%d behaviours in %s; a healthy call: %s alone, %s beside them (x%.2f); engine memory: %d MiB before, %d MiB at most",
		len(all), phases[2].Sub(phases[1]).Round(time.Millisecond), quiet.Round(time.Microsecond), busy.Round(time.Microsecond), ratio, before>>20, most>>20)
	return ratio, most - before
}

// release runs all behaviours, a few at a time, and returns the engine's most memory.
func (a *arena) release(all []behaviour) (most int64) {
	done, watched := make(chan struct{}), make(chan int64)
	go func() {
		seen := int64(0)
		for {
			select {
			case <-done:
				watched <- seen
				return
			case <-time.After(10 * time.Millisecond):
				seen = max(seen, a.memory())
			}
		}
	}()
	turns := make(chan struct{}, parallelism)
	var running sync.WaitGroup
	for _, b := range all {
		turns <- struct{}{}
		running.Go(func() {
			defer func() { <-turns }()
			for _, problem := range a.misbehave(b) {
				a.t.Errorf("%s: %s", b.name, problem)
			}
		})
	}
	running.Wait()
	close(done)
	return <-watched
}

// memory is held by who lets memoryEater loose: one of them at a time is enough for a
// machine.
var memory sync.Mutex

const memoryEater = "eats_memory"

// misbehave runs one behaviour and says what is wrong with how it ended.
func (a *arena) misbehave(b behaviour) (problems []string) {
	if b.name == memoryEater {
		memory.Lock()
		defer memory.Unlock()
	}
	var stdout, stderr bytes.Buffer
	c := a.command("run", b.name+".yaml", "-o", "json")
	c.Stdout, c.Stderr = &stdout, &stderr
	if err := c.Start(); err != nil {
		return []string{err.Error()}
	}
	kill := time.AfterFunc(stepLimit, func() { _ = c.Process.Kill() })
	_ = c.Wait()
	if !kill.Stop() {
		return []string{fmt.Sprintf("it did not end within %s\n%s", stepLimit, tail(stderr.String()))}
	}
	complain := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	code, message := c.ProcessState.ExitCode(), stderr.String()
	var result struct {
		Run   struct{ Status string }
		Error *struct{ Kind, Message string }
	}
	if stdout.Len() > 0 {
		if err := json.Unmarshal(stdout.Bytes(), &result); err != nil {
			complain("its output is no JSON: %v", err)
		}
		if !utf8.Valid(stdout.Bytes()) || bytes.Contains(stdout.Bytes(), []byte("1e999,")) {
			complain("its output is no JSON that all read alike: %q", tail(stdout.String()))
		}
		if result.Error != nil {
			message = result.Error.Message
		}
	}
	problems = append(problems, judge(b, code, message)...)
	for where, text := range map[string]string{"stdout": stdout.String(), "stderr": stderr.String()} {
		if strings.Contains(text, canary) {
			complain("its %s holds the secret", where)
		}
		if strings.ContainsAny(text, "\x1b\x07") {
			complain("its %s holds terminal escapes: %q", where, tail(text))
		}
		if len(text) > 4<<20 {
			complain("its %s has %d bytes", where, len(text))
		}
	}
	return problems
}

// judge compares how a run ended with what is wanted.
func judge(b behaviour, code int, message string) []string {
	switch {
	case b.good && code != 0:
		return []string{fmt.Sprintf("exit %d, want 0: %s", code, tail(message))}
	case b.good:
		return nil
	case !slices.Contains([]int{3, 5, 7, 11}, code):
		return []string{fmt.Sprintf("exit %d, want that of a failed run or a plugin that can't be used: %s", code, tail(message))}
	case len(message) > 100<<10:
		return []string{fmt.Sprintf("its message has %d bytes", len(message))}
	case !regexp.MustCompile("(?s)" + b.says).MatchString(message):
		return []string{fmt.Sprintf("exit %d, its message does not say %q: %s", code, b.says, tail(message))}
	}
	return nil
}

func tail(text string) string {
	if len(text) > 700 {
		text = text[len(text)-700:]
	}
	return text
}

// memory is the owner's anonymous memory in bytes.
func (a *arena) memory() int64 {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", a.owner.Process.Pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(data)) {
		if value, found := strings.CutPrefix(line, "RssAnon:"); found {
			kib, _ := strconv.ParseInt(strings.Fields(value)[0], 10, 64)
			return kib << 10
		}
	}
	return 0
}

// median is the time between two healthy calls that ended in an interval.
func (a *arena) median(from, to time.Time) time.Duration {
	var ends []time.Time
	for line := range bytes.Lines(a.stdout.Bytes()) {
		var record struct {
			Event struct {
				Kind string
				At   time.Time
			}
		}
		if json.Unmarshal(line, &record) == nil && record.Event.Kind == "completed" && record.Event.At.After(from) && record.Event.At.Before(to) {
			ends = append(ends, record.Event.At)
		}
	}
	if len(ends) < 20 {
		a.t.Errorf("only %d healthy calls in %s", len(ends), to.Sub(from))
		return time.Hour
	}
	gaps := make([]time.Duration, 0, len(ends))
	for i := range ends[1:] {
		gaps = append(gaps, ends[i+1].Sub(ends[i]))
	}
	slices.Sort(gaps)
	return gaps[len(gaps)/2]
}

// awaitNeighbours waits until the owner and the healthy plugin are alone.
func (a *arena) awaitNeighbours() (left []string) {
	for end := time.Now().Add(afterwards); ; time.Sleep(50 * time.Millisecond) {
		left = a.alive(func(command string) bool {
			name, _, _ := strings.Cut(filepath.Base(command), " ")
			b := slices.IndexFunc(behaviours(), func(b behaviour) bool { return b.name == name })
			// Those that did nothing wrong stay warm, as the well-made one with a bug does.
			return b < 0 && name != "healthy" && name != "flowrun" || b >= 0 && mustBeGone(name)
		})
		if len(left) == 0 || time.Now().After(end) {
			return left
		}
	}
}

// mustBeGone names those whose process can't be used any more.
func mustBeGone(name string) bool {
	return slices.Contains([]string{
		"hangs_at_start", "describes_forever", "ignores_cancel", "ignores_every_signal", "stops_itself", "forks_without_end",
		"leaves_a_child_with_its_pipes", "floods_stderr", "logs_forever", "progresses_forever", "prints_one_endless_line", "answers_too_late",
	}, name)
}

// alive lists the processes of the arena, but the test itself.
func (a *arena) alive(counts func(command string) bool) (found []string) {
	entries, _ := filepath.Glob("/proc/[0-9]*")
	for _, entry := range entries {
		cwd, _ := os.Readlink(entry + "/cwd")
		command, err := os.ReadFile(entry + "/cmdline")
		line := strings.TrimSpace(strings.ReplaceAll(string(command), "\x00", " "))
		if err != nil || line == "" || !strings.HasPrefix(cwd, a.dir) || !counts(line) {
			continue
		}
		found = append(found, filepath.Base(entry)+" "+line)
	}
	return found
}
