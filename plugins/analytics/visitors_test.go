package analytics

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flowrun/flowrun/internal/simkit"
	"github.com/flowrun/flowrun/plugins/analytics/analyticssim"
	"github.com/flowrun/flowrun/sdk"
)

// visitors returns the output for an answer of the service.
func visitors(t *testing.T, detailed bool, body string) string {
	t.Helper()
	p, sim := open(t)
	answer(t, sim, simkit.Fault{Body: body})
	r := p.Call("current_visitors", in{"site_id": "X", "detailed": detailed})
	output(t, r)
	return string(r.Output)
}

func TestN38_SiteID(t *testing.T) {
	refused(t, "current_visitors", in{}, "/site_id", "required")
	refused(t, "current_visitors", in{"site_id": ""}, "/site_id", "empty")
	refused(t, "current_visitors", in{"site_id": 7}, "/site_id", "text")
	if got := sent(t, "current_visitors", in{"site_id": analyticssim.SiteDrop}).Get("site_id"); got != analyticssim.SiteDrop {
		t.Errorf("sent %q", got)
	}
}

func TestN39_Detailed(t *testing.T) {
	for _, detailed := range []any{nil, false} {
		if values := sent(t, "current_visitors", in{"site_id": analyticssim.SiteDrop, "detailed": detailed}); values.Has("detailed") {
			t.Errorf("detailed %v: sent %v", detailed, values)
		}
	}
	if got := sent(t, "current_visitors", in{"site_id": analyticssim.SiteDrop, "detailed": true}).Get("detailed"); got != "true" {
		t.Errorf("sent %q", got)
	}
	refused(t, "current_visitors", in{"site_id": "X", "detailed": "true"}, "/detailed", "true or false")
}

func TestN40_TotalIsANumber(t *testing.T) {
	if got := visitors(t, false, `{"total":42}`); got != `{"total":42}` {
		t.Errorf("got %s", got)
	}
	for _, body := range []string{`{"total":"42"}`, `{"total":null}`, `{}`, `{"total":1.5}`, `[]`, `42`, `null`} {
		p, sim := open(t)
		answer(t, sim, simkit.Fault{Body: body})
		if r := p.Call("current_visitors", in{"site_id": "X"}); r.Err == nil || r.Err.Code != sdk.CodeUnexpectedResponse {
			t.Errorf("%s: got %v", body, r.Err)
		}
	}
	p, _ := open(t)
	if out := output(t, p.Call("current_visitors", in{"site_id": analyticssim.SiteSteady})); out["total"].(float64) <= 0 || len(out) != 1 {
		t.Errorf("got %v", out)
	}
}

func TestN41_DetailedLists(t *testing.T) {
	p, _ := open(t)
	out := output(t, p.Call("current_visitors", in{"site_id": analyticssim.SiteSpike, "detailed": true}))
	page, from := out["content"].([]any)[0].(map[string]any), out["referrers"].([]any)[0].(map[string]any)
	if page["hostname"] == "" || !strings.HasPrefix(page["pathname"].(string), "/") || from["referrer_hostname"] == "" || from["total"].(float64) <= 0 {
		t.Errorf("got %v and %v", page, from)
	}
	const empty = `{"total":3,"content":[],"referrers":[],"content_truncated":false,"referrers_truncated":false}`
	for _, body := range []string{`{"total":3}`, `{"total":3,"content":null,"referrers":null}`, `{"total":3,"content":[],"other":1}`} {
		if diff := cmp.Diff(empty, visitors(t, true, body)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", body, diff)
		}
	}
	if got := visitors(t, false, `{"total":3,"content":[],"referrers":[]}`); got != `{"total":3}` {
		t.Errorf("lists that were not asked for: %s", got)
	}
	got := visitors(t, true, `{"total":3,"content":[{"hostname":"a.example","pathname":"404","total":"2","x":[1.10]}],"referrers":[{"referrer_hostname":null,"total":1}]}`)
	const want = `{"total":3,"content":[{"hostname":"a.example","pathname":"404","total":2,"x":[1.10]}],` +
		`"referrers":[{"referrer_hostname":"","total":1,"referrer_pathname":""}],"content_truncated":false,"referrers_truncated":false}`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("output (-want +got):\n%s", diff)
	}
	for body, text := range map[string]string{
		`{"total":1,"content":{}}`:                                       "another shape",
		`{"total":1,"content":["x"]}`:                                    "element 0 of `content` is no object",
		`{"total":1,"content":[{"hostname":"a","pathname":"/"}]}`:        "no integer `total`",
		`{"total":1,"referrers":[{"referrer_hostname":[],"total":1}]}`:   "element 0 of `referrers` has a list as `referrer_hostname`",
		`{"total":1,"referrers":[{"referrer_hostname":"","total":1.5}]}`: "no integer `total`",
	} {
		p, sim := open(t)
		answer(t, sim, simkit.Fault{Body: body})
		if r := p.Call("current_visitors", in{"site_id": "X", "detailed": true}); r.Err == nil || r.Err.Code != sdk.CodeUnexpectedResponse || !strings.Contains(r.Err.Message, text) {
			t.Errorf("%s: got %v, want %q", body, r.Err, text)
		}
	}
}

func TestN41_ListsAreInTheSchemaWhenAskedFor(t *testing.T) {
	p, _ := open(t)
	for name, tt := range map[string]struct {
		input   in
		unknown []string
		has     bool
		narrows bool
	}{
		"detailed":     {in{"site_id": "X", "detailed": true}, nil, true, true},
		"not detailed": {in{"site_id": "X"}, nil, false, true},
		"not known":    {in{"site_id": "X"}, []string{"/detailed"}, false, false},
	} {
		_, narrowed := p.ValidateNarrow("current_visitors", tt.input, tt.unknown...)
		if (narrowed != nil) != tt.narrows || strings.Contains(string(narrowed), `"content"`) != tt.has {
			t.Errorf("%s: %s", name, narrowed)
		}
	}
}

func TestN42_TruncatedAt150(t *testing.T) {
	list := func(n int, first, second string) string {
		items := make([]string, n)
		for i := range items {
			items[i] = fmt.Sprintf(`{"%s":"h","%s":"/%d","total":1}`, first, second, i)
		}
		return "[" + strings.Join(items, ",") + "]"
	}
	for _, n := range []int{149, 150} {
		got := visitors(t, true, `{"total":900,"content":`+list(n, "hostname", "pathname")+`,"referrers":`+list(150, "referrer_hostname", "referrer_pathname")+`}`)
		if want := fmt.Sprintf(`"content_truncated":%v,"referrers_truncated":true}`, n == 150); !strings.HasSuffix(got, want) {
			t.Errorf("%d pages: %s, want %s", n, got[len(got)-80:], want)
		}
	}
	p, _ := open(t)
	if schema := string(p.Action("current_visitors").Output); !strings.Contains(schema, "Their sum may be below total.") {
		t.Errorf("schema %s", schema)
	}
}
