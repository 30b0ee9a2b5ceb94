package bench_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/eval"
	"github.com/flowrun/flowrun/engine/schema"
)

// BenchmarkLongList goes over a list that is kept as text (ADR 71), of rows of 220
// bytes: the time of each is linear in what it reads.
func BenchmarkLongList(b *testing.B) {
	row, err := schema.FromJSON([]byte(`{"type":"object","properties":{"id":{"type":"integer"},"email":{"type":"string"},"paid":{"type":"boolean"},"amount":{"type":"number"},"note":{"type":"string"}}}`))
	if err != nil {
		b.Fatal(err)
	}
	for _, count := range []int{10_000, 100_000} {
		var text strings.Builder
		for i := range count {
			fmt.Fprintf(&text, `,{"id":%d,"email":"customer.%06d@example.org","paid":%v,"amount":%d.25,"note":"%s"}`, i, i, i%10 != 0, i%1000, strings.Repeat("note ", 25))
		}
		part := schema.EncodedPart{Text: []byte("[" + text.String()[1:] + "]"), Element: row}
		list, err := schema.NewEncoded(part)
		if err != nil {
			b.Fatal(err)
		}
		for name, source := range map[string]string{
			"chunk": "chunk(rows, 100)", "last": "rows[-1].email", "filter": "filter(rows, .paid)", "sum": "sum(rows, .amount)", "sortBy": "sortBy(rows, .amount)",
		} {
			program, err := eval.Compile(source)
			if err != nil {
				b.Fatal(err)
			}
			b.Run(fmt.Sprintf("%s/%d", name, count), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if _, err := program.Run(map[string]any{"rows": list}, time.Time{}); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
		b.Run(fmt.Sprintf("index/%d", count), func(b *testing.B) {
			for b.Loop() {
				if _, err := schema.NewEncoded(part); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
