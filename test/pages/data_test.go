//go:build linux

package pages

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// What working with a list may take of memory, beyond reading it: as much whatever its
// length, and for an item of a loop.
const (
	mostMore = 64 << 20
	mostItem = 3 << 10
)

// working are workflows behind a reading, each with what it prints of the rows that are
// read: all, those whose amount is above 10 (all but 41 of 10,000), those that are new.
func working() map[string]string {
	const items, above = "steps.read.outputs.items", "filter(steps.read.outputs.items, .amount > 10)"
	loop := func(list, more string) string {
		return "  - id: each\n    foreach: ${{ " + list + " }}\n    as: x\n" + more + "    collect: ${{ index }}\noutputs: {n: \"${{ len(steps.each.outputs.items) }}\"}\n"
	}
	return map[string]string{
		"filter":     "  - {id: f, let: {big: \"${{ " + above + " }}\"}}\noutputs: {n: \"${{ len(steps.f.outputs.big) }}\"}\n",
		"objects":    "  - {id: f, let: {all: \"${{ map(" + items + ", {{id: .id, email: .email}}) }}\"}}\noutputs: {n: \"${{ len(steps.f.outputs.all) }}\"}\n",
		"dedupe":     "  - {id: s, let: {seen: \"${{ 1..9000 }}\"}}\n  - {id: f, let: {new: \"${{ filter(" + items + ", not (.id in steps.s.outputs.seen)) }}\"}}\noutputs: {n: \"${{ len(steps.f.outputs.new) }}\"}\n",
		"loop":       loop(items, "    steps: [{id: g, let: {v: \"${{ x.id }}\"}}]\n"),
		"loopfilter": loop(above, "    key: ${{ x.id }}\n    steps: [{id: g, let: {v: \"${{ x.id }}\"}}]\n"),
		"batches":    loop(above, "    batch: 500\n    steps: [{id: g, uses: rows.store, with: {rows: \"${{ map(x, {{id: .id, email: .email}}) }}\"}}]\n"),
	}
}

// TestIssue17RowsAreWorkedWith: what people do with 10,000 rows goes well with the limits
// as they are, takes little more memory than to read them, and leaves little more in the
// store than the rows. FLOWRUN_PAGES=full has 50,000, with limits that are raised.
func TestIssue17RowsAreWorkedWith(t *testing.T) {
	of, limits := size{10_000, 10}, ""
	want := map[string]string{"filter": "n: 9959", "objects": "n: 10000", "dedupe": "n: 1000", "loop": "n: 10000", "loopfilter": "n: 9959", "batches": "n: 20"}
	if os.Getenv("FLOWRUN_PAGES") == "full" {
		of, limits = size{50_000, 10}, ", expression_steps: 2000000, expression_result: 4MiB, loop_items: 50000"
		want = map[string]string{"filter": "n: 49795", "objects": "n: 50000", "dedupe": "n: 41000", "loop": "n: 50000", "loopfilter": "n: 49795", "batches": "n: 100"}
	}
	a := newArena(t)
	a.write("flowrun.yaml", "plugins:\n  rows: {source: ./rows}\nlimits: {journal: 160MiB"+limits+"}\n")
	alone := a.read("alone", of, "len(steps.read.outputs.items)")
	for name, then := range working() {
		a.workflow(name, of, then)
		a.run(0, "validate", "--strict", name+".yaml")
		printed, peak := a.run(0, "run", name+".yaml", "--state", a.state(name))
		if !strings.Contains(printed, want[name]) {
			t.Errorf("%s prints %s, want %s", name, printed, want[name])
		}
		stored := a.stored(name)
		t.Logf("%s: at most resident %d MiB, to read them %d; %d KiB in the store, for %d of rows", name, peak>>20, alone>>20, stored>>10, of.bytes()>>10)
		most := int64(mostMore)
		if strings.HasPrefix(name, "loop") {
			most = max(most, int64(of.rows)*mostItem)
		}
		if peak > alone+most {
			t.Errorf("%s takes %d MiB, to read the rows takes %d", name, peak>>20, alone>>20)
		}
		if stored > 2*of.bytes() {
			t.Errorf("%s leaves %d KiB in the store, for rows of %d", name, stored>>10, of.bytes()>>10)
		}
	}
}

// stored is how much of the store of a state is in use: the file itself grows in steps.
func (a *arena) stored(name string) int64 {
	a.t.Helper()
	said, _ := a.run(0, "db", "stats", "--state", a.state(name), "-o", "json")
	var stats struct {
		Used int64 `json:"used_bytes"`
	}
	if err := json.Unmarshal([]byte(said), &stats); err != nil || stats.Used == 0 {
		a.t.Fatalf("db stats says %s: %v", said, err)
	}
	return stats.Used
}
