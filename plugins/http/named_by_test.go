package http

import (
	"testing"

	"github.com/flowrun/flowrun/sdk/sdktest"
)

// What tells the items of a list apart is said by the input that names the list.
func TestItemsAreNamedByTheInput(t *testing.T) {
	t.Parallel()
	p := sdktest.Serve(t, New())
	pages := func(namedBy any) map[string]any {
		return map[string]any{"path": "/things", "pages": map[string]any{"by": "page", "query": "page", "named_by": namedBy}}
	}
	for _, name := range []string{"id", "-"} {
		if got := p.ItemsNamedBy("get", pages(name)); got != name {
			t.Errorf("named_by %q gives %q", name, got)
		}
	}
	for _, input := range []map[string]any{{"path": "/things"}, {"path": "/things", "pages": map[string]any{"by": "link"}}} {
		if got := p.ItemsNamedBy("get", input); got != "" {
			t.Errorf("%v gives %q", input, got)
		}
	}
	if got := p.ItemsNamedBy("get", pages(nil), "/pages/named_by"); got != "" {
		t.Errorf("one that is not known yet gives %q", got)
	}
	if problems := p.Validate("get", pages("")); len(problems) != 1 || problems[0].Pointer != "/pages/named_by" {
		t.Errorf("an empty one: %v", problems)
	}
}
