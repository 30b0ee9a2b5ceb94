package mutants

import (
	"fmt"
	"go/build"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/flowrun/flowrun/internal/mutant"
	"github.com/flowrun/flowrun/internal/suitesize"
)

const (
	root = "../.." // the module's folder
	// atLeast is how many mutants there are. One that changes no behaviour is none.
	atLeast = 150
	// sampled is how many of them every change is tried with.
	sampled = 20
)

// quick are the packages whose tests are built and run in two seconds or three: the sample is taken
// from their mutants.
var quick = []string{
	"engine/diag", "engine/eval", "engine/format", "engine/graph", "engine/interp", "engine/journal", "engine/plan", "engine/project",
	"engine/ratelimit", "engine/schedule", "engine/schedule/cron", "engine/schema", "engine/secret", "engine/spec", "internal/web/guard",
}

func load(t *testing.T) []mutant.Mutant {
	t.Helper()
	files, err := filepath.Glob("*.txt")
	if err != nil {
		t.Fatal(err)
	}
	var all []mutant.Mutant
	for _, file := range files {
		mutants, err := mutant.Read(file)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, mutants...)
	}
	return all
}

// TestMutantsFitTheSource fails when the product has changed and a mutant no longer
// says what to spoil, or names tests that are gone. It builds nothing.
func TestMutantsFitTheSource(t *testing.T) {
	all := load(t)
	if len(all) < atLeast {
		t.Errorf("there are %d mutants, of %d at least", len(all), atLeast)
	}
	names, tests := map[string]bool{}, map[string][]string{}
	for _, m := range all {
		if _, err := m.Source(root); err != nil {
			t.Errorf("%s: %v", m, err)
		}
		if m.Breaks == "" || names[m.Name] {
			t.Errorf("%s breaks no promise, or has the name of another one", m)
		}
		names[m.Name] = true
		if strings.Count(m.Old, "\n") > 6 {
			t.Errorf("%s spoils more than a place", m)
		}
		pattern, err := regexp.Compile(strings.Split(m.Run, "/")[0])
		if err != nil {
			t.Errorf("%s: %v", m, err)
			continue
		}
		if tests[m.Tests] == nil {
			tests[m.Tests] = testsOf(t, m.Tests)
		}
		if !slices.ContainsFunc(tests[m.Tests], pattern.MatchString) {
			t.Errorf("%s: no test of %s is called %q", m, m.Tests, m.Run)
		}
	}
}

// testsOf are the names of the tests of a package.
func testsOf(t *testing.T, dir string) []string {
	t.Helper()
	p, err := build.ImportDir(filepath.Join(root, dir), 0)
	if err != nil {
		t.Fatal(err)
	}
	declared := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
	var names []string
	for _, file := range slices.Concat(p.TestGoFiles, p.XTestGoFiles) {
		text, err := os.ReadFile(filepath.Join(p.Dir, file))
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range declared.FindAllSubmatch(text, -1) {
			names = append(names, string(found[1]))
		}
	}
	return names
}

// TestMutants puts each fault into the product and runs the tests of its package:
// they must fail within a minute. FLOWRUN_MUTANTS says which: all, a sample that
// is another one after each commit (FLOWRUN_SEED repeats one), or names of areas
// and parts of names with commas between.
func TestMutants(t *testing.T) {
	wanted := os.Getenv("FLOWRUN_MUTANTS")
	if wanted == "" {
		t.Skip("make mutants: it builds the tests of a package for each of them")
	}
	chosen := choose(t, load(t), wanted)
	if len(chosen) == 0 {
		t.Fatalf("no mutant is called %q", wanted)
	}
	if wanted != "sample" { // .ci/run has run these tests before
		control(t, chosen)
	}
	killed, began := 0, time.Now()
	var rest []string
	for _, m := range chosen {
		t.Run(m.Name, func(t *testing.T) {
			start := time.Now()
			by, err := kill(t, m)
			if err != nil {
				rest = append(rest, m.String())
				t.Fatalf("%s (%s): %v", m, m.Breaks, err)
			}
			killed++
			t.Logf("killed in %.1f s by %s", time.Since(start).Seconds(), by)
		})
	}
	t.Logf("%d of %d mutants killed (%.1f %%) in %s; the rest: %s", killed, len(chosen), 100*float64(killed)/float64(len(chosen)),
		time.Since(began).Round(time.Second), strings.Join(rest, ", "))
}

// choose takes the mutants that are wanted.
func choose(t *testing.T, all []mutant.Mutant, wanted string) []mutant.Mutant {
	t.Helper()
	if wanted == "all" {
		return all
	}
	if wanted == "sample" {
		all = slices.DeleteFunc(all, func(m mutant.Mutant) bool { return !slices.Contains(quick, m.Tests) })
		seed := seedOf(t)
		t.Logf("FLOWRUN_SEED=%d", seed)
		rand.New(rand.NewPCG(seed, 0)).Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		return all[:min(sampled, len(all))]
	}
	areas := map[string]bool{}
	for _, m := range all {
		areas[areaOf(m)] = true
	}
	return slices.DeleteFunc(all, func(m mutant.Mutant) bool {
		return !slices.ContainsFunc(strings.Split(wanted, ","), func(name string) bool {
			return name == areaOf(m) || !areas[name] && strings.Contains(m.Name, name)
		})
	})
}

// areaOf is the file that the mutant stands in.
func areaOf(m mutant.Mutant) string {
	area, _, _ := strings.Cut(m.Place, ".txt:")
	return area
}

// seedOf is another number after each commit.
func seedOf(t *testing.T) uint64 {
	t.Helper()
	if text := os.Getenv("FLOWRUN_SEED"); text != "" {
		seed, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatalf("FLOWRUN_SEED: %v", err)
		}
		return seed
	}
	return suitesize.Commit(t)
}

// control runs the same tests without a fault: what fails then kills nothing.
func control(t *testing.T, chosen []mutant.Mutant) {
	t.Helper()
	patterns := map[string][]string{}
	for _, m := range chosen {
		pattern := m.Run
		if pattern == "" {
			pattern = "."
		}
		if !slices.Contains(patterns[m.Tests], pattern) {
			patterns[m.Tests] = append(patterns[m.Tests], pattern)
		}
	}
	for dir, some := range patterns {
		t.Run("control/"+strings.ReplaceAll(dir, "/", "."), func(t *testing.T) {
			for _, pattern := range together(some) {
				if code, out := runTests(t, "", dir, pattern); code != 0 {
					t.Fatalf("the tests %s of %s fail without a fault:\n%s", pattern, dir, tail(out))
				}
			}
		})
	}
}

// together joins patterns to few: those of tests within a test, which a / cuts into parts,
// stay alone.
func together(patterns []string) (joined []string) {
	var plain []string
	for _, pattern := range patterns {
		if strings.Contains(pattern, "/") {
			joined = append(joined, pattern)
		} else {
			plain = append(plain, pattern)
		}
	}
	if len(plain) > 0 {
		joined = append(joined, strings.Join(plain, "|"))
	}
	return joined
}

// kill runs the tests of a mutant and returns the one that fails.
func kill(t *testing.T, m mutant.Mutant) (string, error) {
	t.Helper()
	overlay, err := mutant.Overlay(t.TempDir(), root, m)
	if err != nil {
		return "", err
	}
	code, out := runTests(t, overlay, m.Tests, m.Run)
	failed := regexp.MustCompile(`(?m)^ *--- FAIL: (\S+)|^panic: .*|^fatal error: .*`).FindString(out)
	switch {
	case strings.Contains(out, "[build failed]"), strings.Contains(out, "[setup failed]"):
		return "", fmt.Errorf("it can't be built:\n%s", tail(out))
	case strings.Contains(out, "panic: test timed out"):
		return "", fmt.Errorf("no test fails within a minute:\n%s", tail(out))
	case code == 0:
		return "", fmt.Errorf("it survives: every test of %s passes", m.Tests)
	case failed == "":
		return "", fmt.Errorf("the tests end with %d and name none:\n%s", code, tail(out))
	}
	return strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(failed), "--- FAIL:")), nil
}

// runTests runs tests of a package, at most a minute. What they build has the
// overlay too.
func runTests(t *testing.T, overlay, dir, pattern string) (int, string) {
	t.Helper()
	args := []string{"test", "-vet=off", "-failfast", "-count=1", "-timeout=60s"}
	if pattern != "" {
		args = append(args, "-run="+pattern)
	}
	module, pattern := mutant.Package(root, dir)
	c := exec.CommandContext(t.Context(), "go", append(args, pattern)...)
	c.Dir = module
	c.Env = slices.DeleteFunc(os.Environ(), func(entry string) bool { return strings.HasPrefix(entry, "FLOWRUN_") })
	c.Env = append(c.Env, "FLOWRUN_SUITES=all") // a fault may stand in the part that another commit tries
	if overlay != "" {
		c.Env = append(c.Env, "GOFLAGS="+os.Getenv("GOFLAGS")+" -overlay="+overlay)
	}
	out, _ := c.CombinedOutput() // the exit code says it
	return c.ProcessState.ExitCode(), string(out)
}

func tail(out string) string {
	return out[max(0, len(out)-1500):]
}
