package page

import (
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/flowrun/flowrun/engine/workspace"
)

// manyFlow fails for every 37th item; the others go on.
const manyFlow = `flowrun: v1
name: many
inputs:
  numbers: {type: array, items: {type: integer}}
steps:
  - id: each
    foreach: ${{ inputs.numbers }}
    key: ${{ string(item) }}
    on_error: collect
    max_parallel: 20
    steps:
      - id: check
        uses: core.fail
        if: item % 37 == 36
        with: {message: "no luck with ${{ item }}\nsecond line"}
      - id: last
        needs: [check]
        let: {n: "${{ item }}"}
`

func (d *desk) many(items int) string {
	d.t.Helper()
	numbers := make([]int, items)
	for i := range numbers {
		numbers[i] = i
	}
	raw, err := json.Marshal(numbers)
	if err != nil {
		d.t.Fatal(err)
	}
	return d.start("many", map[string]workspace.Input{"numbers": rawJSON(string(raw))})
}

var (
	anyLink  = regexp.MustCompile(`href="([^"]+)"`)
	itemLine = regexp.MustCompile(`(?s)<td class="d1" role="cell">.*?</tr>`)
)

// links are the addresses that a page leads to.
func links(page string) map[string]bool {
	found := map[string]bool{}
	for _, match := range anyLink.FindAllStringSubmatch(mainOf(page), -1) {
		found[html.UnescapeString(match[1])] = true
	}
	return found
}

func TestIssue12_21_EachItemIsTwoClicksAway(t *testing.T) {
	d := newDesk(t, map[string]string{"many.yaml": manyFlow})
	id := d.many(600)
	for _, begin := range []string{runURL(id), stepURL(id, "each")} {
		near := map[string]bool{}
		for first := range links(d.get(begin, http.StatusOK)) {
			if !strings.HasPrefix(first, begin+"?") {
				continue
			}
			for second := range links(d.get(first, http.StatusOK)) {
				near[second] = true
			}
		}
		for i := range 600 {
			step := "check"
			if i%37 != 36 {
				step = "last"
			}
			if path := stepURL(id, fmt.Sprintf("each[%d].%s", i, step)); !near[path] {
				t.Fatalf("%s is more than two clicks from %s", path, begin)
			}
		}
	}
}

func TestIssue12_21_FailedItemsComeFirstAndAreCountedTruly(t *testing.T) {
	d := newDesk(t, map[string]string{"many.yaml": manyFlow})
	id := d.many(600)
	page := d.get(runURL(id), http.StatusOK)
	has(t, page, "600 items: 16 failed, 584 succeeded", "the first 8 of 16 are shown", ">16 failed</a>", ">584 succeeded</a>", ">all 600 items</a>", ">501–600</a>")
	rows := itemLine.FindAllString(page, -1)
	if len(rows) != failedItems {
		t.Errorf("%d items are shown at first", len(rows))
	}
	for i, row := range rows {
		if !strings.Contains(row, fmt.Sprintf("no luck with %d", 36+37*i)) {
			t.Errorf("item %d: %s", i, row)
		}
	}
	has(t, page, `aria-label="succeeded`, `; 600 items: 16 failed, 584 succeeded"`)
	failed := d.get(runURL(id)+"?items=each&show=failed", http.StatusOK)
	if rows := itemLine.FindAllString(failed, -1); len(rows) != 16 {
		t.Errorf("%d of 16 that failed", len(rows))
	}
	all := itemLine.FindAllString(d.get(runURL(id)+"?items=each", http.StatusOK), -1)
	if len(all) != itemsPage || !strings.Contains(all[15], "no luck") || strings.Contains(all[16], "no luck") {
		t.Errorf("%d items on the first page of all, those that failed are not first", len(all))
	}
	step := d.get(stepURL(id, "each"), http.StatusOK)
	has(t, step, "600 items: 16 failed, 584 succeeded", ">36</a>", "failed", "no luck with 36", ">72</a>")
	for _, query := range []string{"?show=failed", "?show=loud&from=-4", "?from=599", "?from=99999999", "?show=running"} {
		d.get(stepURL(id, "each")+query, http.StatusOK)
		d.get(runURL(id)+"?items=each&"+query[1:], http.StatusOK)
	}
}

func TestIssue12_21_TheGraphCountsWhatBecameOfEachStep(t *testing.T) {
	d := newDesk(t, map[string]string{"many.yaml": manyFlow})
	page := d.get(runURL(d.many(600)), http.StatusOK)
	var tags []string
	for _, match := range regexp.MustCompile(`<g class="tag">.*?<text[^>]*>([^<]*)</text></g>`).FindAllStringSubmatch(page, -1) {
		tags = append(tags, match[1])
	}
	if got := strings.Join(tags, "; "); got != "16 of 600 failed; 16 failed, 584 skipped; 16 blocked, 584 ok" {
		t.Errorf("the tags say %q", got)
	}
}

func TestIssue12_21_TheStripTellsHowManyFailedAtOneSpot(t *testing.T) {
	d := newDesk(t, map[string]string{"many.yaml": manyFlow})
	page := d.get(runURL(d.many(600)), http.StatusOK)
	total := 0
	for _, match := range regexp.MustCompile(`<svg class="t-bad failed".*?<title>(\d+) items? failed</title>.*?</svg>`).FindAllStringSubmatch(page, -1) {
		n := 0
		if _, err := fmt.Sscan(match[1], &n); err != nil {
			t.Fatal(err)
		}
		if total += n; n > 1 && !strings.Contains(match[0], fmt.Sprintf(">%d</text>", n)) {
			t.Errorf("%d failures lie on each other without a word: %s", n, match[0])
		}
	}
	if total != 16 {
		t.Errorf("the strip marks %d of 16 failures", total)
	}
}

func TestPagesOfItems(t *testing.T) {
	for items, want := range map[int]int{0: 100, 100: 100, 2000: 100, 2001: 200, 10_000: 500, 1_000_000: 50_000} {
		if got := pageLength(items); got != want || items > 0 && (items+got-1)/got > mostPages {
			t.Errorf("%d items come in pages of %d", items, got)
		}
	}
}

// TestIssue12_26_ALoopWithFailuresIsNotGreen: a loop that collects its errors and has
// some warns, in its row, in the graph and in the graph's legend.
func TestIssue12_26_ALoopWithFailuresIsNotGreen(t *testing.T) {
	d := newDesk(t, map[string]string{"l.yaml": loopFlow})
	for names, warns := range map[string]bool{`["a","bad one"]`: true, `["a","b"]`: false} {
		page := d.get(runURL(d.start("looping", map[string]workspace.Input{"names": rawJSON(names)})), http.StatusOK)
		for _, text := range []string{`in t-wait" data-step="each"`, "succeeded with failures, 1 of 2 failed", "ended, but items failed", `title="succeeded, but items failed"`} {
			if strings.Contains(page, text) != warns {
				t.Errorf("%s: %q is there: %t", names, text, !warns)
			}
		}
		if strings.Contains(page, `in t-ok" data-step="each"`) == warns {
			t.Errorf("%s: the box of the loop is green: %t", names, warns)
		}
	}
}
