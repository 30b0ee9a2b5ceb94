package main_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// The input of a step says what tells the items of its list apart, and a run keeps to it,
// also where another process has asked the plugin before. Without it equal items fail.
func TestItemsAreToldApartByTheInput(t *testing.T) {
	t.Parallel()
	pages := []string{`[{"id":1,"n":5},{"id":2,"n":5}]`, `[{"id":2,"n":6},{"id":3,"n":5}]`, `[{"id":1,"n":5}]`, `[]`}
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		page := 0
		_, _ = fmt.Sscan(r.URL.Query().Get("page"), &page)
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprint(w, pages[min(page, len(pages)-1)])
	}))
	t.Cleanup(service.Close)
	dir := t.TempDir()
	binary := experienced(t, dir)
	write(t, dir, "flowrun.yaml", "connections: {s: {plugin: http, config: {base_url: \""+service.URL+"\", private: true}}}\n")
	for _, test := range []struct {
		name, namedBy string
		code          int
		says          string
	}{
		{"as a whole", "", 5, "page 3 has an item again that page 1 gave"},
		{"by a field", ", named_by: id", 5, "with `id` 2"},
		{"not at all", `, named_by: "-"`, 0, "count: 5"},
	} {
		for range 2 { // the second is another process, which finds what the plugin said kept
			write(t, dir, "read.yaml", `flowrun: v1
name: read
steps:
  - id: list
    uses: http.get
    connection: s
    paginate: {max_pages: 9}
    with:
      path: /list
      pages: {by: page, query: page, first: 0`+test.namedBy+`}
      answer: {type: array, items: {type: object, properties: {id: {type: integer}, n: {type: integer}}}}
outputs: {count: "${{ len(steps.list.outputs.items) }}"}
`)
			if output, code := flowrunIn(t, binary, dir, "run", "read.yaml"); code != test.code || !strings.Contains(output, test.says) {
				t.Errorf("%s: run exits with %d, want %d and %q:\n%s", test.name, code, test.code, test.says, output)
			}
		}
	}
}
