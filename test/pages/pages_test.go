//go:build linux

// Package pages runs the real binary with a plugin that gives a long table by pages:
// what the host needs of memory grows by little more than the table (ADR 71), and what
// a workflow does with such a list is right.
package pages

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/flowrun/flowrun/internal/testbuild"
)

// The bounds of what the host has resident, mapped files included.
const (
	most       = 150 << 20
	mostGrowth = 4 // times what a table is larger than another one; it was ten before
	rowBytes   = 224
)

// size is a table: its rows, on how many pages.
type size struct{ rows, pages int }

func (s size) bytes() int64 { return int64(s.rows) * rowBytes }

// sizes are what the tests read; FLOWRUN_PAGES=full reads up to 200,000 rows, near 50 MB,
// in 40 pages.
func sizes() (small, large size) {
	if os.Getenv("FLOWRUN_PAGES") == "full" {
		return size{50_000, 10}, size{200_000, 40}
	}
	return size{15_000, 3}, size{65_000, 13}
}

// arena is a project with the plugin.
type arena struct {
	t            *testing.T
	dir, flowrun string
}

func newArena(t *testing.T) *arena {
	t.Helper()
	a := &arena{t: t, dir: t.TempDir()}
	a.flowrun = filepath.Join(a.dir, "flowrun")
	for binary, source := range map[string]string{a.flowrun: "../../cmd/flowrun", filepath.Join(a.dir, "rows"): "./testdata/rows"} {
		if err := testbuild.Program(binary, source); err != nil {
			t.Fatal(err)
		}
	}
	a.write("flowrun.yaml", "plugins:\n  rows: {source: ./rows}\nlimits: {journal: 160MiB}\n")
	return a
}

func (a *arena) write(name, content string) {
	a.t.Helper()
	if err := os.WriteFile(filepath.Join(a.dir, name), []byte(content), 0o600); err != nil {
		a.t.Fatal(err)
	}
}

// workflow reads a table, and goes on with steps and outputs.
func (a *arena) workflow(name string, of size, then string) {
	a.t.Helper()
	a.write(name+".yaml", fmt.Sprintf(`flowrun: v1
name: %s
steps:
  - id: read
    uses: rows.list
    with: {rows: %d, pages: %d}
    paginate: {max_pages: 1000, max_items: 1000000}
%s`, name, of.rows, of.pages, then))
}

// result is what a command prints of a run that failed.
type result struct {
	Error struct{ Message, Reason, Hint string }
}

// run runs a command and returns the most memory that the host had resident.
func (a *arena) run(want int, args ...string) (stdout string, peak int64) {
	a.t.Helper()
	c := exec.Command(a.flowrun, args...)
	c.Dir = a.dir
	var out, said strings.Builder
	c.Stdout, c.Stderr = &out, &said
	err := c.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) || c.ProcessState.ExitCode() != want {
		a.t.Fatalf("flowrun %s: %v\n%s%s", strings.Join(args, " "), err, said.String(), out.String())
	}
	usage, _ := c.ProcessState.SysUsage().(*syscall.Rusage)
	return out.String(), usage.Maxrss << 10
}

func (a *arena) state(name string) string { return filepath.Join(a.dir, "state-"+name) }

// read reads a table and gives an expression over its items as the output n.
func (a *arena) read(name string, of size, n string) (peak int64) {
	a.t.Helper()
	a.workflow(name, of, "outputs: {n: \"${{ "+n+" }}\"}\n")
	_, peak = a.run(0, "run", name+".yaml", "--state", a.state(name))
	return peak
}

// judge says what is wrong with two peaks, "" for nothing.
func judge(less, more int64, small, large size) string {
	if growth, data := more-less, large.bytes()-small.bytes(); growth > mostGrowth*data || more > most {
		return fmt.Sprintf("the host takes %d MiB for a table of %d MiB, and %d for one of %d", less>>20, small.bytes()>>20, more>>20, large.bytes()>>20)
	}
	return ""
}

// worked goes through the table in batches, and asks for figures of it.
const worked = `  - id: batches
    foreach: ${{ chunk(filter(steps.read.outputs.items, .paid), 1000) }}
    as: batch
    steps:
      - {id: store, uses: rows.store, with: {rows: "${{ map(batch, {{id: .id, email: .email}}) }}"}}
    collect: ${{ steps.store.outputs.count }}
  - {id: ask, uses: core.approve, with: {message: go on}}
outputs:
  all:
    n: ${{ len(steps.read.outputs.items) }}
    stored: ${{ sum(steps.batches.outputs.items) }}
    cities: ${{ len(uniqueBy(steps.read.outputs.items, "city")) }}
    last: ${{ steps.read.outputs.items[-1]?.email ?? "none" }}
    unpaid: ${{ map(take(filter(steps.read.outputs.items, not .paid and .country == "DE"), 2), .id) }}
`

// TestIssue16_03ALongReadingTakesItsOwnMemory: what the host needs is little more than
// the table. In the control an expression needs all rows at once, and the judge finds it.
func TestIssue16_03ALongReadingTakesItsOwnMemory(t *testing.T) {
	a := newArena(t)
	small, large := sizes()
	const filtered = `len(filter(steps.read.outputs.items, .paid and .country == 'DE'))`
	less, more := a.read("small", small, filtered), a.read("large", large, filtered)
	t.Logf("at most resident: %d MiB for %d MiB of rows, %d MiB for %d MiB", less>>20, small.bytes()>>20, more>>20, large.bytes()>>20)
	if fault := judge(less, more, small, large); fault != "" {
		t.Error(fault)
	}
	if os.Getenv("FLOWRUN_PAGES") == "full" {
		return // the control would need more than an expression may decode
	}
	if whole := a.read("whole", large, "len(flatten([steps.read.outputs.items, map(steps.read.outputs.items, {{row: #}})]))"); judge(less, whole, small, large) == "" {
		t.Errorf("a table that is decoded as a whole takes %d MiB, and the judge says nothing", whole>>20)
	}
}

// TestIssue16_03ALongListIsWorkedThroughInBatches, waits for a person, and is taken up
// from its journal by another process: that needs no more than the first one.
func TestIssue16_03ALongListIsWorkedThroughInBatches(t *testing.T) {
	a := newArena(t)
	_, of := sizes()
	a.workflow("work", of, worked)
	_, first := a.run(8, "run", "work.yaml", "--state", a.state("work"))
	listed, _ := a.run(0, "runs", "list", "--state", a.state("work"), "-o", "json")
	var runs struct {
		Items []struct{ ID, Status string }
	}
	if err := json.Unmarshal([]byte(listed), &runs); err != nil || len(runs.Items) != 1 || runs.Items[0].Status != "waiting" {
		t.Fatalf("%v: %s", err, listed)
	}
	id := runs.Items[0].ID
	a.run(0, "runs", "approve", id, "ask", "--state", a.state("work"))
	_, again := a.run(0, "runs", "resume", id, "--state", a.state("work"))
	_, shown := a.run(0, "runs", "show", id, "--state", a.state("work"))
	t.Logf("at most resident for %d MiB of rows: %d MiB, %d when it is taken up, %d to show it", of.bytes()>>20, first>>20, again>>20, shown>>20)
	if again > first+first/10 || shown > first {
		t.Errorf("taking it up takes %d MiB, showing it %d, the first process %d", again>>20, shown>>20, first>>20)
	}
	got, _ := a.run(0, "runs", "output", id, "all", "--state", a.state("work"))
	want := fmt.Sprintf(`{"cities":500,"last":"customer.%06d@example.org","n":%d,"stored":%d,"unpaid":[10,30]}`, of.rows, of.rows, of.rows/10*9)
	if strings.Join(strings.Fields(got), "") != want {
		t.Errorf("the output is %s, want %s", got, want)
	}
}

// TestIssue16_03ALoopOverTooManyItemsSaysWhatToDo names the way out.
func TestIssue16_03ALoopOverTooManyItemsSaysWhatToDo(t *testing.T) {
	a := newArena(t)
	a.workflow("much", size{12_000, 3}, "  - {id: each, foreach: \"${{ steps.read.outputs.items }}\", steps: [{id: s, uses: core.log, with: {text: x}}]}\n")
	said, _ := a.run(5, "run", "much.yaml", "--state", a.state("much"), "-o", "json")
	var got result
	if err := json.Unmarshal([]byte(said), &got); err != nil || got.Error.Reason != "limit" || !strings.Contains(got.Error.Hint, "`batch: 100` makes lists of a hundred") {
		t.Errorf("%v: %+v", err, got.Error)
	}
}

// TestTheWorkflowOfTheDocument runs what docs/long-lists.md shows, with fewer rows.
func TestTheWorkflowOfTheDocument(t *testing.T) {
	a := newArena(t)
	page, err := os.ReadFile("../../docs/long-lists.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "```yaml\n")
	workflow, _, found := strings.Cut(rest, "```")
	few := strings.Replace(workflow, "{rows: 200000, pages: 40}", "{rows: 12000, pages: 3}", 1)
	if !found || few == workflow {
		t.Fatal("the document shows no workflow that reads 200,000 rows")
	}
	a.write("import.yaml", few)
	a.run(0, "validate", "--strict", "import.yaml")
	printed, _ := a.run(0, "run", "import.yaml", "--state", a.state("import"))
	if want := "cities: [\"City 1\",\"City 2\",\"City 3\"]\nlate: 1200\nstored: 10800\n"; printed != want {
		t.Errorf("it gives %s, want %s", printed, want)
	}
}
