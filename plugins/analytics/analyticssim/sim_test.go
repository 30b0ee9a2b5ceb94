package analyticssim

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var noon = time.Date(2031, 5, 7, 12, 0, 0, 0, time.UTC) // a Wednesday

func frozen() time.Time { return noon }

type params = map[string]string

func ask(h http.Handler, path string, p params, token string) *httptest.ResponseRecorder {
	values := url.Values{}
	for name, value := range p {
		values.Set(name, value)
	}
	r := httptest.NewRequest(http.MethodGet, path+"?"+values.Encode(), nil)
	r.Header.Set("Accept", "application/json")
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, r)
	return rec
}

// report returns the rows of a report that must succeed.
func report(t *testing.T, s *Sim, p params) []map[string]string {
	t.Helper()
	rec := ask(s, "/v1/aggregations", p, "t")
	var rows []map[string]string
	if err := json.Unmarshal(rec.Body.Bytes(), &rows); rec.Code != 200 || err != nil {
		t.Fatalf("%v: %d %s", p, rec.Code, rec.Body)
	}
	return rows
}

func with(p params, more params) params {
	out := params{"entity": "pageview", "entity_id": SiteSteady, "aggregates": "visits"}
	for _, m := range []params{p, more} {
		for k, v := range m {
			out[k] = v
		}
	}
	return out
}

func number(t *testing.T, text string) float64 {
	t.Helper()
	n, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func sum(t *testing.T, rows []map[string]string, name string) (total float64) {
	t.Helper()
	for _, row := range rows {
		total += number(t, row[name])
	}
	return total
}

func TestReportsAreDeterministic(t *testing.T) {
	p := with(params{"aggregates": "visits,uniques,pageviews,avg_duration,bounce_rate", "field_grouping": "pathname,browser"}, nil)
	s := New(Options{Now: frozen})
	first := report(t, s, p)
	again := report(t, s, p)
	if diff := cmp.Diff(first, again); diff != "" || !cmp.Equal(first, report(t, New(Options{Now: frozen}), p)) {
		t.Errorf("not the same: %s", diff)
	}
	row := first[0]
	if number(t, row["pageviews"]) < number(t, row["uniques"]) || number(t, row["bounce_rate"]) > 1 || number(t, row["avg_duration"]) < 0 {
		t.Errorf("row %v", row)
	}
}

func TestGroupsAddUpToTheWhole(t *testing.T) {
	s := New(Options{Now: frozen})
	one := report(t, s, with(nil, nil))
	if len(one) != 1 {
		t.Fatalf("a report without groups has %d rows", len(one))
	}
	whole := number(t, one[0]["visits"])
	for _, grouping := range []string{"browser", "utm_campaign", "entry_page", "referrer_hostname", "country_code,city"} {
		if got := sum(t, report(t, s, with(params{"field_grouping": grouping}, nil)), "visits"); got != whole {
			t.Errorf("by %s: %v visits, the whole has %v", grouping, got, whole)
		}
	}
	views := number(t, report(t, s, with(params{"aggregates": "pageviews"}, nil))[0]["pageviews"])
	for _, grouping := range []string{"day", "month", "year"} {
		rows := report(t, s, with(params{"aggregates": "pageviews", "date_grouping": grouping}, nil))
		if got := sum(t, rows, "pageviews"); got != views {
			t.Errorf("by %s: %v views, the whole has %v", grouping, got, views)
		}
		if !slices.IsSortedFunc(rows, func(a, b map[string]string) int { return cmpText(a["timestamp"], b["timestamp"]) }) {
			t.Errorf("by %s: not in order", grouping)
		}
	}
}

func cmpText(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

func TestFiltersSplitTheWhole(t *testing.T) {
	s := New(Options{Now: frozen})
	views := func(filters string) float64 {
		return number(t, report(t, s, with(params{"aggregates": "pageviews", "filters": filters}, nil))[0]["pageviews"])
	}
	whole := views("")
	for _, f := range [][3]string{
		{"browser", "is", "Firefox"}, {"pathname", "is like", "/books/*-1"}, {"pathname", "matching", "^/books/title-[0-9]$"},
		{"utm_campaign", "is", ""}, {"domain", "is like", "harborlight"}, {"entry_page", "is", "/"},
	} {
		yes := views(`[{"property":"` + f[0] + `","operator":"` + f[1] + `","value":"` + f[2] + `"}]`)
		opposite := map[string]string{"is": "is not", "is like": "is not like", "matching": "not matching"}[f[1]]
		no := views(`[{"property":"` + f[0] + `","operator":"` + opposite + `","value":"` + f[2] + `"}]`)
		if yes == 0 || yes+no != whole {
			t.Errorf("%v: %v and %v of %v", f, yes, no, whole)
		}
	}
	entered := number(t, report(t, s, with(params{"filters": `[{"property":"entry_page","operator":"is","value":"/cart"}]`}, nil))[0]["visits"])
	saw := number(t, report(t, s, with(params{"filters": `[{"property":"pathname","operator":"is","value":"/cart"}]`}, nil))[0]["visits"])
	if entered == 0 || entered >= saw { // N-35
		t.Errorf("%v visits entered on /cart, %v saw it", entered, saw)
	}
}

func TestSortLimitAndRange(t *testing.T) {
	s := New(Options{Now: frozen})
	rows := report(t, s, with(params{"field_grouping": "pathname", "sort_by": "visits:desc", "limit": "5"}, nil))
	if len(rows) != 5 || number(t, rows[0]["visits"]) < number(t, rows[4]["visits"]) {
		t.Errorf("got %v", rows)
	}
	rows = report(t, s, with(params{"field_grouping": "browser", "sort_by": "browser:desc"}, nil))
	if rows[0]["browser"] != "Safari" {
		t.Errorf("got %v", rows)
	}
	rows = report(t, s, with(params{"date_grouping": "hour", "date_from": "2031-05-06 00:00:00", "date_to": "2031-05-06 23:59:59", "sort_by": "timestamp:desc"}, nil))
	if len(rows) != 24 || rows[0]["timestamp"] != "2031-05-06 23:00:00" {
		t.Errorf("%d rows, %v", len(rows), rows)
	}
	if rows := report(t, s, with(params{"date_from": "2032-01-01 00:00:00"}, nil)); len(rows) != 1 || rows[0]["visits"] != "0" {
		t.Errorf("a range without data: %v", rows)
	}
}

func TestEventsHaveRevenueByCampaign(t *testing.T) {
	s := New(Options{Now: frozen})
	p := params{"entity": "event", "site_id": SiteSteady, "entity_name": EventPurchase, "aggregates": "conversions,unique_conversions,value", "field_grouping": "utm_campaign"}
	rows := report(t, s, p)
	if len(rows) < 4 {
		t.Fatalf("got %v", rows)
	}
	for _, row := range rows {
		if n := number(t, row["value"]); n != float64(int(n)) || n < number(t, row["conversions"])*990 {
			t.Errorf("row %v", row)
		}
	}
	delete(p, "site_id")
	delete(p, "entity_name")
	p["entity_id"] = CodePurchase
	if diff := cmp.Diff(rows, report(t, s, p)); diff != "" {
		t.Errorf("by tracking code (-name +code):\n%s", diff)
	}
}

func TestTheDropAndTheSpikeShowAtAnyHour(t *testing.T) {
	for _, now := range []time.Time{noon, noon.Add(-8 * time.Hour), noon.Add(11*time.Hour + 59*time.Minute), noon.Add(4 * 24 * time.Hour)} {
		clock := func() time.Time { return now }
		s := New(Options{Now: clock})
		day := now.Truncate(24 * time.Hour)
		visits := func(site string, from, to time.Time) float64 {
			rows := report(t, s, params{"entity": "pageview", "entity_id": site, "aggregates": "visits", "date_from": from.Format(dateLayout), "date_to": to.Format(dateLayout)})
			return number(t, rows[0]["visits"])
		}
		week := 7 * 24 * time.Hour
		today, before := visits(SiteDrop, day, now), visits(SiteDrop, day.Add(-week), now.Add(-week))
		if today > before*.4 {
			t.Errorf("%s: %v visits today, %v a week ago", now, today, before)
		}
		if today, before := visits(SiteSteady, day, now), visits(SiteSteady, day.Add(-week), now.Add(-week)); today < before*.6 {
			t.Errorf("%s: the steady site has %v visits today, %v a week ago", now, today, before)
		}
		hour := now.Truncate(time.Hour).Add(-time.Hour)
		var hours []float64
		for i := range 24 {
			at := hour.Add(-time.Duration(i) * time.Hour)
			hours = append(hours, visits(SiteSpike, at, at.Add(time.Hour-time.Second)))
		}
		latest := hours[0]
		slices.Sort(hours)
		if latest <= 3*hours[12] {
			t.Errorf("%s: %v visits in the last hour, the median is %v", now, latest, hours[12])
		}
	}
}

func TestCurrentVisitors(t *testing.T) {
	now := noon
	s := New(Options{Now: func() time.Time { return now }})
	var answer struct {
		Total     int
		Content   []map[string]any
		Referrers []struct {
			Host  string `json:"referrer_hostname"`
			Total int
		}
	}
	get := func(detailed string) {
		t.Helper()
		rec := ask(s, "/v1/current_visitors", params{"site_id": SiteSpike, "detailed": detailed}, "t")
		answer.Content, answer.Referrers = nil, nil
		if err := json.Unmarshal(rec.Body.Bytes(), &answer); err != nil || rec.Code != 200 {
			t.Fatalf("%d %s", rec.Code, rec.Body)
		}
	}
	get("true")
	peak := answer.Total
	if answer.Referrers[0].Host != spikeReferrer || len(answer.Content) == 0 {
		t.Errorf("got %+v", answer)
	}
	var totals []int
	for i := range 60 {
		now = noon.Add(time.Duration(i) * time.Minute)
		get("false")
		totals = append(totals, answer.Total)
	}
	if answer.Content != nil {
		t.Errorf("lists in the short view: %+v", answer)
	}
	slices.Sort(totals)
	if peak <= 3*totals[30] || totals[0] == totals[30] {
		t.Errorf("the peak is %d, the median %d, the least %d", peak, totals[30], totals[0])
	}
}

func TestRefusals(t *testing.T) {
	s := New(Options{Now: frozen, Token: "right"})
	tests := map[string]struct {
		path   string
		p      params
		token  string
		status int
	}{
		"no token":                 {"/v1/aggregations", with(nil, nil), "", 401},
		"another token":            {"/v1/aggregations", with(nil, nil), "wrong", 401},
		"a site that is not ours":  {"/v1/aggregations", with(params{"entity_id": SitePrivate}, nil), "right", 403},
		"no site":                  {"/v1/current_visitors", params{}, "right", 400},
		"another current site":     {"/v1/current_visitors", params{"site_id": "X"}, "right", 403},
		"no entity":                {"/v1/aggregations", params{"aggregates": "visits"}, "right", 400},
		"site_id for a page view":  {"/v1/aggregations", params{"entity": "pageview", "site_id": SiteSteady, "aggregates": "visits"}, "right", 400},
		"half an event":            {"/v1/aggregations", params{"entity": "event", "site_id": SiteSteady, "aggregates": "value"}, "right", 400},
		"aggregate of the other":   {"/v1/aggregations", with(params{"aggregates": "value"}, nil), "right", 400},
		"group by domain":          {"/v1/aggregations", with(params{"field_grouping": "domain"}, nil), "right", 400},
		"filter on keyword":        {"/v1/aggregations", with(params{"filters": `[{"property":"keyword","operator":"is","value":"x"}]`}, nil), "right", 400},
		"like on a choice":         {"/v1/aggregations", with(params{"filters": `[{"property":"city","operator":"is like","value":"x"}]`}, nil), "right", 400},
		"a number as value":        {"/v1/aggregations", with(params{"filters": `[{"property":"city","operator":"is","value":5}]`}, nil), "right", 400},
		"timestamp without dates":  {"/v1/aggregations", with(params{"sort_by": "timestamp:asc"}, nil), "right", 400},
		"an hour report too long":  {"/v1/aggregations", with(params{"date_grouping": "hour"}, nil), "right", 400},
		"an ISO date":              {"/v1/aggregations", with(params{"date_from": "2031-05-01T00:00:00Z"}, nil), "right", 400},
		"limit 0":                  {"/v1/aggregations", with(params{"limit": "0"}, nil), "right", 400},
		"a parameter of our own":   {"/v1/aggregations", with(params{"date_zone": "UTC"}, nil), "right", 400},
		"another endpoint":         {"/v1/sites", nil, "right", 404},
		"everything in good order": {"/v1/aggregations", with(nil, nil), "right", 200},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if rec := ask(s, tt.path, tt.p, tt.token); rec.Code != tt.status {
				t.Errorf("got %d %s, want %d", rec.Code, rec.Body, tt.status)
			}
		})
	}
}

func TestLimit(t *testing.T) {
	s := New(Options{Now: frozen, Requests: 2})
	for i, want := range []int{200, 200, 429} {
		rec := ask(s, "/v1/current_visitors", params{"site_id": SiteSteady}, "t")
		if rec.Code != want || want == 429 && rec.Header().Get("Retry-After") != "60" {
			t.Errorf("request %d: %d, Retry-After %q", i+1, rec.Code, rec.Header().Get("Retry-After"))
		}
	}
}
