package analytics

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flowrun/flowrun/internal/simkit"
	"github.com/flowrun/flowrun/plugins/analytics/analyticssim"
)

// inputDoc returns the words of aggregate's documentation.
func inputDoc(t *testing.T) string {
	t.Helper()
	p, _ := open(t)
	a := p.Action("aggregate")
	return a.Doc + string(a.Input) + string(a.Output)
}

// documented checks that a note stands in aggregate's documentation.
func documented(t *testing.T, note string) {
	t.Helper()
	if !strings.Contains(inputDoc(t), note) {
		t.Errorf("the action's documentation lacks %q", note)
	}
}

func TestN05_Entity(t *testing.T) {
	refused(t, "aggregate", with(in{"entity": nil}), "/entity", "required")
	refused(t, "aggregate", with(in{"entity": "pageviews"}), "/entity", "did you mean `pageview`?")
	if got := sent(t, "aggregate", with(nil)).Get("entity"); got != "pageview" {
		t.Errorf("sent %q", got)
	}
	if got := sent(t, "aggregate", event(nil)).Get("entity"); got != "event" {
		t.Errorf("sent %q", got)
	}
}

func TestN06_PageviewNeedsEntityID(t *testing.T) {
	refused(t, "aggregate", with(in{"entity_id": nil}), "/entity_id", "required")
	refused(t, "aggregate", with(in{"entity_id": nil, "site_id": "X"}), "/site_id", "use entity_id")
	refused(t, "aggregate", with(in{"site_id": "X"}), "/site_id", "events")
	refused(t, "aggregate", with(in{"entity_name": "X"}), "/entity_name", "events")
	refused(t, "aggregate", with(in{"entity_id": ""}), "/entity_id", "empty")
	if got := sent(t, "aggregate", with(nil)).Get("entity_id"); got != analyticssim.SiteSteady {
		t.Errorf("sent %q", got)
	}
}

func TestN07_EventByTrackingCode(t *testing.T) {
	values := sent(t, "aggregate", event(in{"site_id": nil, "entity_name": nil, "entity_id": analyticssim.CodePurchase}))
	if values.Get("entity_id") != analyticssim.CodePurchase || values.Has("site_id") || values.Has("entity_name") {
		t.Errorf("sent %v", values)
	}
}

func TestN08_EventBySiteAndName(t *testing.T) {
	refused(t, "aggregate", event(in{"site_id": nil}), "/site_id", "too")
	refused(t, "aggregate", event(in{"entity_name": nil}), "/entity_name", "too")
	refused(t, "aggregate", event(in{"site_id": nil, "entity_name": nil}), "/entity_id", "not named")
	refused(t, "aggregate", event(in{"entity_id": "CODE"}), "/site_id", "ambiguous")
	refused(t, "aggregate", event(in{"entity_id": "CODE", "site_id": nil}), "/entity_name", "ambiguous")
	values := sent(t, "aggregate", event(nil))
	if values.Get("site_id") != analyticssim.SiteSteady || values.Get("entity_name") != analyticssim.EventPurchase || values.Has("entity_id") {
		t.Errorf("sent %v", values)
	}
}

func TestN09_Aggregates(t *testing.T) {
	refused(t, "aggregate", with(in{"aggregates": nil}), "/aggregates", "required")
	refused(t, "aggregate", with(in{"aggregates": []string{}}), "/aggregates", "at least 1")
	refused(t, "aggregate", with(in{"aggregates": []string{"visits", "visits"}}), "/aggregates/1", "twice")
	refused(t, "aggregate", with(in{"aggregates": []string{"visit"}}), "/aggregates/0", "did you mean `visits`?")
	refused(t, "aggregate", with(in{"aggregates": "visits"}), "/aggregates", "list")
}

func TestN10_PageviewAggregates(t *testing.T) {
	for _, name := range []string{"visits", "uniques", "pageviews", "avg_duration", "bounce_rate"} {
		accepted(t, with(in{"aggregates": []string{name}}))
		refused(t, "aggregate", event(in{"aggregates": []string{name}}), "/aggregates/0", "entity: event", "value")
	}
}

func TestN11_EventAggregates(t *testing.T) {
	for _, name := range []string{"conversions", "unique_conversions", "value"} {
		accepted(t, event(in{"aggregates": []string{name}}))
		refused(t, "aggregate", with(in{"aggregates": []string{name}}), "/aggregates/0", "entity: pageview", "visits")
	}
}

func TestN13_VisitsAndUniquesAreExplained(t *testing.T) {
	documented(t, "visits (unique site visits), uniques (unique page visits)")
}

func TestN14_AggregatesAreJoinedByCommas(t *testing.T) {
	if got := sent(t, "aggregate", with(in{"aggregates": []string{"visits", "uniques", "bounce_rate"}})).Get("aggregates"); got != "visits,uniques,bounce_rate" {
		t.Errorf("sent %q", got)
	}
	// a service that combines them otherwise is recognised by what the rows lack
	p, sim := open(t)
	answer(t, sim, simkit.Fault{Body: `[{"visits":"1"}]`})
	r := p.Call("aggregate", with(in{"aggregates": []string{"visits", "uniques"}}))
	if r.Err == nil || !strings.Contains(r.Err.Message, "row 0 lacks `uniques`") || !strings.Contains(r.Err.Hint, "commas") {
		t.Errorf("got %+v", r.Err)
	}
}

func TestN15_DateGrouping(t *testing.T) {
	for _, grouping := range []string{"hour", "day", "month", "year"} {
		accepted(t, with(in{"date_grouping": grouping, "date_from": "2031-05-06 00:00:00"}))
	}
	refused(t, "aggregate", with(in{"date_grouping": "week"}), "/date_grouping", "one of")
	if sent(t, "aggregate", with(nil)).Has("date_grouping") {
		t.Error("sent though not given")
	}
}

func TestN16_HourGroupingUpTo7Days(t *testing.T) {
	hourly := func(from, to any) in {
		return with(in{"date_grouping": "hour", "date_from": from, "date_to": to})
	}
	tests := map[string]struct {
		input   in
		pointer string // "" = accepted
	}{
		"exactly 7 days":               {hourly("2026-03-01 00:00:00", "2026-03-08 00:00:00"), ""},
		"a second more":                {hourly("2026-03-01 00:00:00", "2026-03-08 00:00:01"), "/date_to"},
		"no beginning":                 {hourly(nil, "2026-03-08 00:00:00"), "/date_from"},
		"neither":                      {hourly(nil, nil), "/date_from"},
		"open end, certainly too long": {hourly("2031-04-29 23:59:59", nil), "/date_from"},
		"open end, in no zone certain": {hourly("2031-04-30 00:00:00", nil), ""}, // 7 days before noon, less 12 hours
		"from the future":              {hourly("2031-06-01 00:00:00", nil), ""},
		"by the day":                   {with(in{"date_grouping": "day"}), ""},
		"RFC 3339, 7 days": {with(in{"date_grouping": "hour", "date_from": "2026-01-01T00:00:00Z", "date_to": "2026-01-08T00:00:00Z",
			"date_zone": "Asia/Tokyo"}), ""},
		"RFC 3339, more": {with(in{"date_grouping": "hour", "date_from": "2026-01-01T00:00:00Z", "date_to": "2026-01-08T00:00:01Z",
			"date_zone": "Asia/Tokyo"}), "/date_to"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if tt.pointer == "" {
				accepted(t, tt.input)
			} else {
				refused(t, "aggregate", tt.input, tt.pointer, "hour")
			}
		})
	}
}

func TestN17_FieldGrouping(t *testing.T) {
	all := strings.Fields(`hostname pathname entry_page exit_page referrer_hostname referrer_pathname referrer_source browser country_code city state
		region device_type operating_system utm_campaign utm_content utm_medium utm_source utm_term keyword ref`)
	if len(all) != 21 {
		t.Fatalf("%d fields", len(all))
	}
	if got := sent(t, "aggregate", with(in{"field_grouping": all, "limit": 5})).Get("field_grouping"); got != strings.Join(all, ",") {
		t.Errorf("sent %q", got)
	}
	refused(t, "aggregate", with(in{"field_grouping": []string{"browser", "pathnme"}}), "/field_grouping/1", "did you mean `pathname`?")
	refused(t, "aggregate", with(in{"field_grouping": []string{"visits"}}), "/field_grouping/0", "there are hostname")
	refused(t, "aggregate", with(in{"field_grouping": []string{"browser", "browser"}}), "/field_grouping/1", "twice")
	refused(t, "aggregate", with(in{"field_grouping": "browser"}), "/field_grouping", "list")
	for _, field := range all {
		documented(t, field)
	}
	if sent(t, "aggregate", with(in{"field_grouping": []string{}})).Has("field_grouping") {
		t.Error("an empty list is sent")
	}
}

func TestN18_DomainIsFilteredNotGrouped(t *testing.T) {
	refused(t, "aggregate", with(in{"field_grouping": []string{"domain"}}), "/field_grouping/0", "`domain` can be filtered on, not grouped by")
	accepted(t, with(in{"filters": []in{{"property": "domain", "operator": "is", "value": "example.com"}}}))
}

func TestN19_KeywordIsGroupedNotFiltered(t *testing.T) {
	refused(t, "aggregate", with(in{"filters": []in{{"property": "keyword", "operator": "is", "value": "x"}}}), "/filters/0/property", "`keyword` can be grouped by, not filtered on")
	accepted(t, with(in{"field_grouping": []string{"keyword"}}))
}

func TestN20_EntryAndExitPageAreSessionLevel(t *testing.T) {
	documented(t, "entry_page, exit_page (session-level: first and last page of a visit)")
}

func TestN21_SortBy(t *testing.T) {
	for _, text := range []string{"visits:asc", "bounce_rate:desc", "pathname:asc", "keyword:desc"} {
		if got := sent(t, "aggregate", with(in{"sort_by": text})).Get("sort_by"); got != text {
			t.Errorf("sent %q for %q", got, text)
		}
	}
	for _, text := range []string{"visits", "visits:up", "visits: asc", ":asc", "visits:asc,uniques:asc", "Visits:asc", "visits:DESC", " visits:asc"} {
		refused(t, "aggregate", with(in{"sort_by": text}), "/sort_by", "field:asc or field:desc")
	}
	refused(t, "aggregate", with(in{"sort_by": "value:asc"}), "/sort_by", "can't be sorted by")
	refused(t, "aggregate", event(in{"sort_by": "visits:asc"}), "/sort_by", "can't be sorted by")
	refused(t, "aggregate", with(in{"sort_by": "domain:asc"}), "/sort_by", "can't be sorted by")
	refused(t, "aggregate", with(in{"sort_by": "vists:asc"}), "/sort_by", "did you mean `visits`?")
}

func TestN22_TimestampNeedsDateGrouping(t *testing.T) {
	refused(t, "aggregate", with(in{"sort_by": "timestamp:asc"}), "/sort_by", "date_grouping")
	if got := sent(t, "aggregate", with(in{"sort_by": "timestamp:desc", "date_grouping": "day"})).Get("sort_by"); got != "timestamp:desc" {
		t.Errorf("sent %q", got)
	}
}

func TestN23_Dates(t *testing.T) {
	for _, text := range []string{
		"2026-02-29 00:00:00", "2026-03-01", "2026-03-01 00:00", "2026-03-01 24:00:00", "2026-3-1 00:00:00", "2026-03-01 00:00:00.5",
		"2026-03-01  00:00:00", " 2026-03-01 00:00:00", "2026-03-01 0:00:00", "2026/03/01 00:00:00", "yesterday", "2026-03-01T00:00:00",
	} {
		refused(t, "aggregate", with(in{"date_from": text}), "/date_from", "YYYY-MM-DD HH:MM:SS")
		refused(t, "aggregate", with(in{"date_to": text}), "/date_to", "YYYY-MM-DD HH:MM:SS")
	}
	refused(t, "aggregate", with(in{"date_from": "2026-03-02 00:00:00", "date_to": "2026-03-01 23:59:59"}), "/date_to", "before")
	accepted(t, with(in{"date_from": "2026-03-02 00:00:00", "date_to": "2026-03-02 00:00:00"}))
	accepted(t, with(in{"date_from": "2028-02-29 00:00:00"}))
	values := sent(t, "aggregate", with(in{"date_from": "2026-03-01 00:00:00", "date_to": "2026-03-07 23:59:59"}))
	if values.Get("date_from") != "2026-03-01 00:00:00" || values.Get("date_to") != "2026-03-07 23:59:59" {
		t.Errorf("sent %v", values)
	}
}

func TestN23_RFC3339NeedsDateZone(t *testing.T) {
	refused(t, "aggregate", with(in{"date_from": "2026-03-01T00:00:00Z"}), "/date_from", "date_zone")
	refused(t, "aggregate", with(in{"date_from": "2026-03-01T00:00:00Z", "date_zone": "Mars/Olympus"}), "/date_zone", "no time zone")
	refused(t, "aggregate", with(in{"date_from": "2026-03-01T00:00:00Z", "date_zone": "Local"}), "/date_zone", "no time zone")
	refused(t, "aggregate", with(in{"date_from": "9999-12-31T23:00:00Z", "date_zone": "Asia/Tokyo"}), "/date_from", "9999")
	values := sent(t, "aggregate", with(in{"date_from": "2026-03-01T00:00:00.9Z", "date_to": "2026-07-01T02:00:00+04:00", "date_zone": "Europe/Berlin"}))
	if values.Get("date_from") != "2026-03-01 01:00:00" || values.Get("date_to") != "2026-07-01 00:00:00" || values.Has("date_zone") {
		t.Errorf("sent %v", values)
	}
	warned(t, with(in{"date_from": "2026-03-01 00:00:00", "date_zone": "Europe/Berlin"}), "/date_zone", "no effect")
}

func TestN24_DatesAreOmitted(t *testing.T) {
	values := sent(t, "aggregate", with(in{"date_from": nil, "date_to": nil}))
	if values.Has("date_from") || values.Has("date_to") {
		t.Errorf("sent %v", values)
	}
	got := []string{}
	for name := range values {
		got = append(got, name)
	}
	slices.Sort(got)
	if diff := cmp.Diff([]string{"aggregates", "entity", "entity_id"}, got); diff != "" {
		t.Errorf("parameters of the smallest report (-want +got):\n%s", diff)
	}
}

func TestN25_TimezoneIsNoInput(t *testing.T) {
	refused(t, "aggregate", with(in{"timezone": "UTC"}), "/timezone", "no field")
	if sent(t, "aggregate", with(in{"date_from": "2026-03-01T00:00:00Z", "date_zone": "UTC"})).Has("timezone") {
		t.Error("timezone is sent")
	}
}

func TestN26_Limit(t *testing.T) {
	refused(t, "aggregate", with(in{"limit": 0}), "/limit", "at least 1")
	refused(t, "aggregate", with(in{"limit": 1.5}), "/limit", "integer")
	if got := sent(t, "aggregate", with(in{"limit": 1000000})).Get("limit"); got != "1000000" {
		t.Errorf("sent %q", got)
	}
	if sent(t, "aggregate", with(nil)).Has("limit") {
		t.Error("sent though not given")
	}
}

func TestN27_HighCardinalityWarns(t *testing.T) {
	for _, field := range []string{"pathname", "referrer_pathname", "entry_page", "exit_page"} {
		warned(t, with(in{"field_grouping": []string{"browser", field}}), "/field_grouping/1", "limit")
		p, _ := open(t)
		if problems := p.Validate("aggregate", with(in{"field_grouping": []string{field}, "limit": 10})); len(problems) != 0 {
			t.Errorf("with a limit: %v", problems)
		}
		if problems := p.Validate("aggregate", with(in{"field_grouping": []string{field}}), "/limit"); len(problems) != 0 {
			t.Errorf("with a limit that is not known yet: %v", problems)
		}
	}
}

func TestN28_FiltersAreOneJSONParameter(t *testing.T) {
	filters := []in{
		{"property": "pathname", "operator": "is like", "value": `/a&b/*`},
		{"property": "utm_campaign", "operator": "is not", "value": ""},
		{"property": "browser", "operator": "is", "value": `<"ü">`},
	}
	values := sent(t, "aggregate", with(in{"filters": filters}))["filters"]
	const want = `[{"property":"pathname","operator":"is like","value":"/a&b/*"},{"property":"utm_campaign","operator":"is not","value":""},` +
		`{"property":"browser","operator":"is","value":"<\"ü\">"}]`
	if diff := cmp.Diff([]string{want}, values); diff != "" {
		t.Errorf("filters (-want +got):\n%s", diff)
	}
	many := slices.Repeat(filters, 30)
	if got := sent(t, "aggregate", with(in{"filters": many})).Get("filters"); strings.Count(got, "property") != 90 {
		t.Error("any number of filters may be given")
	}
	if sent(t, "aggregate", with(in{"filters": []in{}})).Has("filters") {
		t.Error("an empty list is sent")
	}
}

func TestN29_FilterKeysAndText(t *testing.T) {
	filter := func(changes in) in {
		f := in{"property": "city", "operator": "is", "value": "Bonn"}
		for name, value := range changes {
			f[name] = value
			if value == nil {
				delete(f, name)
			}
		}
		return with(in{"filters": []in{f}})
	}
	for _, key := range []string{"property", "operator", "value"} {
		refused(t, "aggregate", filter(in{key: nil}), "/filters/0/"+key, "required")
	}
	refused(t, "aggregate", filter(in{"values": "x"}), "/filters/0/values", "no field")
	for _, value := range []any{404, 1.5, true, []string{"x"}} {
		refused(t, "aggregate", filter(in{"value": value}), "/filters/0/value", "text")
	}
	documented(t, "Always text: quote a number.")
	accepted(t, filter(in{"value": "404"}))
}

func TestN30_Operators(t *testing.T) {
	for _, operator := range []string{"is", "is not", "is like", "is not like", "matching", "not matching"} {
		accepted(t, with(in{"filters": []in{{"property": "pathname", "operator": operator, "value": "x"}}}))
	}
	for _, operator := range []string{"", "=", "IS", "is  not", "like", "is matching"} {
		refused(t, "aggregate", with(in{"filters": []in{{"property": "pathname", "operator": operator, "value": "x"}}}), "/filters/0/operator", "one of")
	}
}

func TestN31_PropertiesWithAllOperators(t *testing.T) {
	properties := strings.Fields(`domain hostname pathname entry_page exit_page referrer_hostname referrer_pathname referrer_source ref
		utm_campaign utm_source utm_medium utm_content utm_term`)
	if len(properties) != 14 {
		t.Fatalf("%d properties", len(properties))
	}
	var filters []in
	for _, property := range properties {
		for _, operator := range []string{"is", "is not", "is like", "is not like", "matching", "not matching"} {
			filters = append(filters, in{"property": property, "operator": operator, "value": "x"})
		}
	}
	accepted(t, with(in{"filters": filters}))
	refused(t, "aggregate", with(in{"filters": []in{filters[0], {"property": "utm_compaign", "operator": "is", "value": "x"}}}), "/filters/1/property", "did you mean `utm_campaign`?")
	refused(t, "aggregate", with(in{"filters": []in{{"property": "visits", "operator": "is", "value": "1"}}}), "/filters/0/property", "no property")
}

func TestN32_PropertiesWithTwoOperators(t *testing.T) {
	for _, property := range []string{"device_type", "operating_system", "browser", "country_code", "city", "state", "region"} {
		for _, operator := range []string{"is", "is not"} {
			accepted(t, with(in{"filters": []in{{"property": property, "operator": operator, "value": "x"}}}))
		}
		for _, operator := range []string{"is like", "is not like", "matching", "not matching"} {
			refused(t, "aggregate", with(in{"filters": []in{{"property": property, "operator": operator, "value": "x"}}}),
				"/filters/0/operator", "`"+property+"` allows `is` and `is not` only")
		}
	}
}

// passedOn checks that a filter's value is sent as it is.
func passedOn(t *testing.T, operator, value string) {
	t.Helper()
	p, sim := open(t)
	answer(t, sim, simkit.Fault{Body: "[]"})
	output(t, p.Call("aggregate", with(in{"filters": []in{{"property": "pathname", "operator": operator, "value": value}}})))
	got := sim.Kit().Requests()[0].Query
	var filters []Filter
	values, err := url.ParseQuery(got)
	if err == nil {
		err = json.Unmarshal([]byte(values.Get("filters")), &filters)
	}
	if err != nil || len(filters) != 1 || filters[0].Value != value || filters[0].Operator != operator {
		t.Errorf("sent %s: %v", got, err)
	}
}

func TestN33_WildcardIsPassedOn(t *testing.T) {
	passedOn(t, "is like", `/blog/*-%_\*`)
	documented(t, "in which * stands for anything")
}

func TestN34_PatternIsNotJudged(t *testing.T) {
	passedOn(t, "matching", `^(?<year>\d{4})(?!x)[[:odd:`)
	passedOn(t, "not matching", `(`)
}

func TestN35_EntryPageIsExplained(t *testing.T) {
	documented(t, "entry_page (with is: only visits that entered there; pathname takes those that came later too)")
	passedOn(t, "is", "/landing")
}

func TestUnknownInputsAreNotJudged(t *testing.T) {
	p, _ := open(t)
	tests := map[string]struct {
		input   in
		unknown []string
		errors  []string // pointers
	}{
		"everything":                     {in{}, []string{"/entity", "/entity_id", "/aggregates"}, nil},
		"the entity's id":                {with(in{"entity_id": nil}), []string{"/entity_id"}, nil},
		"the event's site":               {event(in{"site_id": nil}), []string{"/site_id"}, nil},
		"the entity":                     {with(in{"entity": nil, "aggregates": []string{"value"}, "sort_by": "value:asc"}), []string{"/entity"}, nil},
		"an aggregate":                   {with(in{"aggregates": []any{nil, "value", "visits"}}), []string{"/aggregates/0"}, []string{"/aggregates/1"}},
		"a field":                        {with(in{"field_grouping": []any{nil, "domain"}}), []string{"/field_grouping/0"}, []string{"/field_grouping/1"}},
		"the date grouping":              {with(in{"sort_by": "timestamp:asc"}), []string{"/date_grouping"}, nil},
		"the beginning of an hour range": {with(in{"date_grouping": "hour"}), []string{"/date_from"}, nil},
		"the end of an hour range":       {with(in{"date_grouping": "hour", "date_from": "2020-01-01 00:00:00"}), []string{"/date_to"}, nil},
		"the zone":                       {with(in{"date_grouping": "hour", "date_from": "2020-01-01T00:00:00Z", "date_to": "2020-01-09T00:00:00Z"}), []string{"/date_zone"}, nil},
		"the zone, not the date":         {with(in{"date_from": "soon"}), []string{"/date_zone"}, []string{"/date_from"}},
		"a filter":                       {with(in{"filters": []any{nil, in{"property": "keyword", "operator": "is", "value": "x"}}}), []string{"/filters/0"}, []string{"/filters/1/property"}},
		"a filter's operator":            {with(in{"filters": []any{in{"property": "city", "value": "x"}}}), []string{"/filters/0/operator"}, nil},
		"a filter's property":            {with(in{"filters": []any{in{"operator": "matching", "value": "x"}}}), []string{"/filters/0/property"}, nil},
		"a filter's value":               {with(in{"filters": []any{in{"property": "city", "operator": "matching"}}}), []string{"/filters/0/value"}, []string{"/filters/0/operator"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var pointers []string
			for _, problem := range p.Validate("aggregate", tt.input, tt.unknown...) {
				pointers = append(pointers, problem.Pointer)
			}
			if diff := cmp.Diff(tt.errors, pointers); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

func TestEveryProblemIsToldAtOnce(t *testing.T) {
	p, _ := open(t)
	problems := p.Validate("aggregate", in{
		"entity": "pageview", "site_id": "X", "aggregates": []string{"value"}, "field_grouping": []string{"domain"}, "sort_by": "x",
		"date_from": "x", "filters": []in{{"property": "keyword", "operator": "is", "value": ""}},
	})
	if len(problems) != 6 {
		t.Errorf("%d problems: %v", len(problems), problems)
	}
}

// TestIssue12_16_AnEmptyRangeInTheRepeatedHourIsSaid: instants in order whose
// wall clocks are not.
func TestIssue12_16_AnEmptyRangeInTheRepeatedHourIsSaid(t *testing.T) {
	for name, c := range map[string]struct {
		from, to string
		refused  bool
	}{
		"the same wall clock":   {"2026-10-25T02:30:00+02:00", "2026-10-25T02:30:00+01:00", true},
		"an earlier wall clock": {"2026-10-25T02:50:00+02:00", "2026-10-25T02:10:00+01:00", true},
		"beyond that hour":      {"2026-10-25T02:30:00+02:00", "2026-10-25T03:30:00+01:00", false},
		"within the first one":  {"2026-10-25T02:10:00+02:00", "2026-10-25T02:30:00+02:00", false},
	} {
		in := AggregateInput{DateFrom: c.from, DateTo: c.to, DateZone: "Europe/Berlin"}
		said := false
		for _, p := range dateProblems(in, nil, nil) {
			said = said || strings.Contains(p.Summary, "the hour that Europe/Berlin has twice")
		}
		if said != c.refused {
			t.Errorf("%s: said %t, want %t", name, said, c.refused)
		}
	}
}
