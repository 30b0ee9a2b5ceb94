package page

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/flowrun/flowrun/engine/workspace"
)

// BenchmarkPageOfALongLoop draws the page of a run that waits behind a loop of 3,000
// items of two steps each, as a stream does at each change.
func BenchmarkPageOfALongLoop(b *testing.B) {
	flow := manyFlow + "  - id: ask\n    needs: [each]\n    run_if: any\n    uses: core.approve\n    with: {message: go on}\n"
	d := newDesk(b, map[string]string{"many.yaml": flow})
	numbers := make([]int, 3000)
	for i := range numbers {
		numbers[i] = i
	}
	raw, err := json.Marshal(numbers)
	if err != nil {
		b.Fatal(err)
	}
	id := d.start("many", map[string]workspace.Input{"numbers": rawJSON(string(raw))})
	b.ReportAllocs()
	for b.Loop() {
		w := httptest.NewRecorder()
		d.handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, runURL(id), nil))
		b.ReportMetric(float64(w.Body.Len()), "bytes/page")
	}
}
