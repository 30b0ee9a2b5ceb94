package runquery

import (
	"errors"
	"strings"
	"testing"

	"github.com/flowrun/flowrun/engine/store"
)

// BenchmarkPageOfAQuery is the longest page of a list: rows are looked at until
// the work of one page is done, without reading them from the store.
func BenchmarkPageOfAQuery(b *testing.B) {
	row := queried()
	for name, text := range map[string]string{
		"simple":  `status == "queued" && duration_ms > 60000 && started_at > now() - duration("24h")`,
		"fields":  `error?.kind == "timeout" || labels.team == "x" || parent?.run == "y" || fire?.kind == "poll" || concurrency?.key == "z"`,
		"loop":    `all(1..30000, {# > 0}) && false`,
		"text":    `len(repeat(workflow, 60000)) < 0`,
		"lists":   `len(map(1..90000, {#})) < 0`,
		"pattern": `repeat(workflow, 1900) matches "(w|e)+(k|l)+[^a]{3}z$"`,
		"long":    strings.Repeat(`duration_ms + 1 > 5 && `, 240) + `false`,
		"zones":   `any(1..150, {formatTime(started_at, "15:04 MST", "Europe/Berlin") == ""})`,
		"sort":    `len(sort(map(1..3000, {string(#)}))) < 0`,
		"group":   `len(groupBy(map(1..3000, {string(#)}), {#})) < 0`,
		"JSON":    `len(toJSON(map(1..3000, {string(#)}))) < 0`,
	} {
		b.Run(name, func(b *testing.B) {
			rows := 0
			for b.Loop() {
				query, err := New(text, queryTime)
				if err != nil {
					b.Fatal(err)
				}
				for err == nil {
					_, err = query.Selects(b.Context(), &row)
				}
				if !errors.Is(err, store.ErrEnough) {
					b.Fatal(err)
				}
				rows = query.Rows
			}
			b.ReportMetric(float64(rows), "rows/page")
		})
	}
}
