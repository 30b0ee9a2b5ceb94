package page

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/flowrun/flowrun/internal/web/guard"
)

// Opening a run is no word of a person: links are previewed, and tabs lie open that
// nobody looks at. The button is.
func TestIssue12_18AFailureIsSeenByAButton(t *testing.T) {
	d := newDesk(t, map[string]string{"f.yaml": failingFlow})
	first, second := d.start("failing", nil), d.start("failing", nil)
	d.settle(first)
	d.settle(second)
	has(t, d.get("/", http.StatusOK), "failing failed 2 times", runURL(second), runURL(first), `name="workflow" value="failing"`)
	has(t, d.get(runURL(second), http.StatusOK), "Mark as seen")
	has(t, d.get("/workflows/failing", http.StatusOK), "failing failed 2 times", runURL(second), runURL(first), "2 failed")
	has(t, d.get("/runs?status=attention", http.StatusOK), runURL(second), runURL(first), "runs list --attention")

	d.post("/runs/acknowledge", url.Values{"run": {second}}, http.StatusSeeOther)
	page := d.get("/", http.StatusOK)
	if strings.Contains(page, "2 times") || !strings.Contains(page, runURL(first)) {
		t.Error("one that was seen is still called for, or the other one is not")
	}
	has(t, d.get(runURL(second), http.StatusOK), "<dt>Seen</dt>", "page of ann")

	d.caller.Scope = guard.Viewer
	if page := d.get("/", http.StatusOK); strings.Contains(page, "/runs/acknowledge") {
		t.Error("a viewer gets the button")
	}
	d.caller.Scope = guard.Admin
	for _, form := range []url.Values{{"run": {"nonsense"}}, {"up_to": {"nonsense"}}, {}} {
		w := http.StatusBadRequest
		if form.Get("run") != "" {
			w = http.StatusNotFound
		}
		d.post("/runs/acknowledge", form, w)
	}
	d.post("/runs/acknowledge", url.Values{"workflow": {"failing"}, "up_to": {second}}, http.StatusSeeOther)
	has(t, d.get("/", http.StatusOK), "Nothing fails")
}
