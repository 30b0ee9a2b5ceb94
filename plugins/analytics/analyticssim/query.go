package analyticssim

import (
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// dateLayout is the documented form of dates (N-23). The reporting timezone is
// not documented; the simulator's is UTC, and its timestamps have this form too.
const dateLayout = "2006-01-02 15:04:05"

// aggregatesOf are the documented aggregates by entity (N-10, N-11).
var aggregatesOf = map[string][]string{
	"pageview": {"visits", "uniques", "pageviews", "avg_duration", "bounce_rate"},
	"event":    {"conversions", "unique_conversions", "value"},
}

// The documented grouping fields (N-17) and the filter properties by their
// operators (N-31, N-32).
const (
	groupings = `hostname pathname entry_page exit_page referrer_hostname referrer_pathname referrer_source browser country_code city
		state region device_type operating_system utm_campaign utm_content utm_medium utm_source utm_term keyword ref`
	anyOperator = `domain hostname pathname entry_page exit_page referrer_hostname referrer_pathname referrer_source ref utm_campaign
		utm_source utm_medium utm_content utm_term`
	exactOperator = "device_type operating_system browser country_code city state region"
	parameters    = "entity entity_id site_id entity_name aggregates date_grouping field_grouping sort_by date_from date_to timezone limit filters"
)

// isWord reports whether a name is one of the words of a text.
func isWord(words, name string) bool { return slices.Contains(strings.Fields(words), name) }

// query is a request for a report that obeys every documented rule.
type query struct {
	entity, site, event string
	aggregates, fields  []string
	columns             []int  // of fields
	bucket              string // hour, day, month, year; "" = no date grouping
	sortBy              string // "" = the simulator's own order
	descending          bool
	from, to            time.Time // both included
	limit               int       // 0 = none
	filters             []filter
}

// readQuery reads the parameters; the error is a refusal. first is when the
// site's data begins.
func readQuery(values url.Values, now time.Time, firstOf func(site string) time.Time) (query, error) {
	q := query{entity: values.Get("entity")}
	for name, given := range values {
		if !isWord(parameters, name) || len(given) != 1 {
			return q, refusal("unknown or repeated parameter " + name)
		}
	}
	steps := []func(*query, url.Values) error{readEntity, readAggregates, readGroupings, readSort, readLimit, readFilters}
	for _, step := range steps {
		if err := step(&q, values); err != nil {
			return q, err
		}
	}
	return q, readRange(&q, values, now, firstOf(q.site))
}

func readEntity(q *query, values url.Values) error {
	id, site, name := values.Get("entity_id"), values.Get("site_id"), values.Get("entity_name")
	switch {
	case q.entity == "pageview" && id != "":
		q.site = id
	case q.entity == "pageview":
		return refusal("entity_id is required")
	case q.entity != "event":
		return refusal("entity must be pageview or event")
	case id == CodePurchase:
		q.site, q.event = SiteSteady, EventPurchase
	case id != "":
		return refusal("no such event")
	case site == "" || name == "":
		return refusal("entity_id, or site_id and entity_name, are required")
	default:
		q.site, q.event = site, name
	}
	return nil
}

// readAggregates takes a list joined by commas, which is not documented (N-14).
func readAggregates(q *query, values url.Values) error {
	q.aggregates = list(values.Get("aggregates"))
	for _, name := range q.aggregates {
		if !slices.Contains(aggregatesOf[q.entity], name) {
			return refusal("no aggregate " + name)
		}
	}
	if len(q.aggregates) == 0 {
		return refusal("aggregates is required")
	}
	return nil
}

func list(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, ",")
}

func readGroupings(q *query, values url.Values) error {
	q.fields = list(values.Get("field_grouping"))
	for _, name := range q.fields {
		if !isWord(groupings, name) {
			return refusal("can't group by " + name)
		}
		q.columns = append(q.columns, column(name))
	}
	q.bucket = values.Get("date_grouping")
	if !slices.Contains([]string{"", "hour", "day", "month", "year"}, q.bucket) {
		return refusal("date_grouping must be hour, day, month or year")
	}
	return nil
}

func readSort(q *query, values url.Values) error {
	text := values.Get("sort_by")
	if text == "" {
		return nil
	}
	field, direction, _ := strings.Cut(text, ":")
	if direction != "asc" && direction != "desc" {
		return refusal("sort_by must be field:asc or field:desc")
	}
	ok := slices.Contains(aggregatesOf[q.entity], field) || isWord(groupings, field) || field == "timestamp" && q.bucket != ""
	if !ok {
		return refusal("can't sort by " + field)
	}
	q.sortBy, q.descending = field, direction == "desc"
	return nil
}

func readLimit(q *query, values url.Values) error {
	text := values.Get("limit")
	if text == "" {
		return nil
	}
	limit, err := strconv.Atoi(text)
	if err != nil || limit < 1 {
		return refusal("limit must be an integer of at least 1")
	}
	q.limit = limit
	return nil
}

// readRange reads the dates; a report by the hour takes at most 7 days (N-16).
func readRange(q *query, values url.Values, now, first time.Time) error {
	q.from, q.to = first, now
	for name, into := range map[string]*time.Time{"date_from": &q.from, "date_to": &q.to} {
		text := values.Get(name)
		if text == "" {
			continue
		}
		parsed, err := time.Parse(dateLayout, text)
		if err != nil {
			return refusal(name + " must be YYYY-MM-DD HH:MM:SS")
		}
		*into = parsed
	}
	if q.bucket == "hour" && q.to.Sub(q.from) > 7*24*time.Hour {
		return refusal("hour is supported for up to 7 days only")
	}
	return nil
}

// bucketOf returns the start of the bucket that a time is in.
func bucketOf(bucket string, at time.Time) string {
	month, day, hour := at.Month(), at.Day(), at.Hour()
	switch bucket {
	case "year":
		month, day, hour = time.January, 1, 0
	case "month":
		day, hour = 1, 0
	case "day":
		hour = 0
	}
	return time.Date(at.Year(), month, day, hour, 0, 0, 0, time.UTC).Format(dateLayout)
}

// filter is one condition; all of them must hold, which is not documented.
type filter struct {
	column int // -1 = pathname
	holds  func(value string) bool
}

func readFilters(q *query, values url.Values) error {
	text := values.Get("filters")
	if text == "" {
		return nil
	}
	var raw []map[string]string
	if err := json.Unmarshal([]byte(text), &raw); err != nil {
		return refusal("filters must be an array of objects of texts")
	}
	for _, r := range raw {
		f, err := readFilter(r)
		if err != nil {
			return err
		}
		q.filters = append(q.filters, f)
	}
	return nil
}

func readFilter(raw map[string]string) (filter, error) {
	property, operator := raw["property"], raw["operator"]
	value, ok := raw["value"]
	if len(raw) != 3 || !ok {
		return filter{}, refusal("a filter has property, operator and value")
	}
	all, exact := isWord(anyOperator, property), isWord(exactOperator, property)
	if !all && !exact {
		return filter{}, refusal("can't filter on " + property)
	}
	if exact && operator != "is" && operator != "is not" {
		return filter{}, refusal(property + " allows is and is not only")
	}
	holds, err := conditionOf(operator, value)
	return filter{column(property), holds}, err
}

// conditionOf returns the test of one operator (N-30). The dialect of regular
// expressions is not documented; the simulator's is RE2.
func conditionOf(operator, value string) (func(string) bool, error) {
	var pattern string
	switch operator {
	case "is", "is not":
		pattern = "^" + regexp.QuoteMeta(value) + "$"
	case "is like", "is not like":
		pattern = strings.ReplaceAll(regexp.QuoteMeta(value), `\*`, "(?s:.*)")
	case "matching", "not matching":
		pattern = value
	default:
		return nil, refusal("unknown operator")
	}
	compiled, err := regexp.Compile(pattern)
	if err != nil {
		return nil, refusal("no regular expression: " + value)
	}
	negated := strings.Contains(operator, "not")
	set := map[string]bool{} // of this request: the same texts come often
	return func(text string) bool {
		holds, seen := set[text]
		if !seen {
			holds = compiled.MatchString(text) != negated
			set[text] = holds
		}
		return holds
	}, nil
}
