package check

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flowrun/flowrun/engine/plan"
)

// A range that the engine cuts into windows is not the plugin's to refuse; one
// that it sends as it stands is.
func TestRangeThatIsCutIsNotAskedAbout(t *testing.T) {
	const whole = `{"project":"p","since":"2026-01-01T00:00:00Z","until":"2026-12-01T00:00:00Z"}`
	const short = `{"project":"p","since":"2026-01-01T00:00:00Z","until":"2026-02-01T00:00:00Z"}`
	const backwards = `{"project":"p","since":"2026-12-01T00:00:00Z","until":"2026-01-01T00:00:00Z"}`
	paged := "\n    paginate: {max_pages: 3}"
	for name, c := range map[string]struct {
		with, paginate string
		want           question
	}{
		"cut":        {whole, paged, question{"task.done", `{"project":"p"}`, []string{"/since", "/until"}}},
		"not paged":  {whole, "", question{"task.done", whole, nil}},
		"one window": {short, paged, question{"task.done", short, nil}},
		"backwards":  {backwards, paged, question{"task.done", backwards, nil}},
	} {
		t.Run(name, func(t *testing.T) {
			catalog := fake()
			action := catalog.add("task.done", plan.EffectRead, `{"type":"object","required":["since","until"],"properties":{
				"project":{"type":"string"},"since":{"type":"string","format":"date-time"},"until":{"type":"string","format":"date-time"}}}`, listOutput)
			action.Paging = &plan.Paging{CursorField: "cursor", ItemsField: "items", NextField: "next_cursor"}
			action.Range = &plan.Range{FromField: "since", ToField: "until", Max: 89 * 24 * time.Hour}
			mustPlan(t, catalog, "flowrun: v1\nsteps:\n  - uses: task.done\n    with: "+c.with+c.paginate+"\n")
			if diff := cmp.Diff([]question{c.want}, catalog.asked, cmp.AllowUnexported(question{})); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			ahead := &aheadCatalog{fakeCatalog: catalog, ahead: map[string]bool{}, asked: map[string]bool{}}
			mustPlan(t, ahead, "flowrun: v1\nsteps:\n  - uses: task.done\n    with: "+c.with+c.paginate+"\n  - id: other\n    uses: task.done\n    with: "+strings.Replace(c.with, `"p"`, `"q"`, 1)+c.paginate+"\n")
			if diff := cmp.Diff(ahead.asked, ahead.ahead); diff != "" || len(ahead.ahead) != 2 {
				t.Errorf("asked (-) and told ahead (+)\n%s", diff)
			}
		})
	}
}
