package page

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

func TestTheListOfRunsTakesAQuery(t *testing.T) {
	d := newDesk(t, map[string]string{"failing.yaml": failingFlow})
	id := d.start("failing", nil)
	list := func(query string, status int) string {
		t.Helper()
		return d.get("/runs?query="+url.QueryEscape(query), status)
	}
	for query, found := range map[string]bool{
		`status == "failed" && closed`:                        true,
		`error?.kind == "unavailable"`:                        true,
		`status == "succeeded"`:                               false,
		`finished_at != nil && finished_at < started_at`:      false,
		` started_at > now() - duration("1h") && attempt < 2`: true,
	} {
		page := list(query, http.StatusOK)
		if got := strings.Contains(page, `id="r-`+id+`"`); got != found {
			t.Errorf("%s: found %v", query, got)
		}
		if !found {
			has(t, page, "No run fits this filter.")
		}
	}
	page := list(`status == "failed"`, http.StatusOK)
	has(t, page, `href="/runs?query=status&#43;%3D%3D&#43;%22failed%22&amp;status=failed"`) // a tab keeps it
	has(t, page, `name="query" value="status == &#34;failed&#34;"`, `--query`)

	page = list(`<b>statuss == "failed"`, http.StatusBadRequest)
	has(t, page, `role="alert"`, "the query is wrong: column ", "Mend the filter")
	page = list(`statuss == "failed"`, http.StatusBadRequest)
	has(t, page, "statuss == &#34;failed&#34;", "column 1: unknown name `statuss` [FR3005]: did you mean `status`?")
	page = list(`int(workflow) == 1`, http.StatusBadRequest)
	has(t, page, "the query fails: column ", "at run "+id)
}
