package page

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// table is a page with many rows that look alike.
func table(rows []int) string {
	var out strings.Builder
	out.WriteString("\n<p>é &lt; \u2028</p><table>")
	for _, row := range rows {
		fmt.Fprintf(&out, "<tr><td><a href=\"/runs/%d\">run</a></td>\n<td><svg><rect x=\"%d%%\"/></svg></td></tr>", row, row%100)
	}
	return out.String() + "</table>"
}

func TestIssue12_24_ChangesMakeTheNewPage(t *testing.T) {
	random := rand.New(rand.NewPCG(12, 24))
	for round := range 400 {
		rows := make([]int, random.IntN(300))
		for i := range rows {
			rows[i] = random.IntN(40)
		}
		next := slices.Clone(rows)
		edits := random.IntN(6)
		for range edits {
			at := random.IntN(len(next) + 1)
			switch {
			case random.IntN(3) == 0:
				next = slices.Insert(next, at, random.IntN(2000))
			case at < len(next) && random.IntN(2) == 0:
				next = slices.Delete(next, at, at+1)
			case at < len(next):
				next[at] = random.IntN(2000)
			}
		}
		old, now := fragments(table(rows)), fragments(table(next))
		data := changes(old, now)
		var parts []any
		if err := json.Unmarshal(data, &parts); err != nil {
			t.Fatalf("%s: %v", data, err)
		}
		if got := applied(old, parts); !slices.Equal(got, now) {
			t.Fatalf("round %d:\n%s\nbecomes\n%s\nby %s", round, table(rows), strings.Join(got, ""), data)
		}
		if most := 40 + 260*edits; len(data) > most {
			t.Errorf("round %d: %d bytes for %d edits of %d rows: %s", round, len(data), edits, len(rows), data)
		}
	}
	for _, pages := range [][2]string{{"", "<p>a</p>"}, {"<p>a</p>", ""}, {"a", "b"}, {"<p>", "<p><p><p>"}, {"<a><b><c>", "<c><b><a>"}} {
		var parts []any
		if err := json.Unmarshal(changes(fragments(pages[0]), fragments(pages[1])), &parts); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(applied(fragments(pages[0]), parts), ""); got != pages[1] {
			t.Errorf("%q becomes %q, not %q", pages[0], got, pages[1])
		}
	}
}

func BenchmarkChanges(b *testing.B) {
	rows := make([]int, 2000)
	for i := range rows {
		rows[i] = i
	}
	old := fragments(table(rows))
	for i := 0; i < len(rows); i += 50 {
		rows[i] += 7
	}
	now := fragments(table(rows))
	b.SetBytes(int64(len(table(rows))))
	for b.Loop() {
		changes(old, now)
	}
}
