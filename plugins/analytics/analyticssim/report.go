package analyticssim

import (
	"cmp"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/flowrun/flowrun/internal/simkit"
)

// aggregations answers GET /v1/aggregations: an array of objects whose values are
// all text (N-36, N-37).
func (s *Sim) aggregations(w http.ResponseWriter, r *http.Request) {
	now := s.now().UTC()
	q, err := readQuery(r.URL.Query(), now, func(id string) time.Time {
		if found := s.sites[id]; found != nil {
			return found.start
		}
		return now.Add(-history)
	})
	if wrong, ok := errors.AsType[refusal](err); ok {
		fail(w, http.StatusBadRequest, string(wrong))
		return
	}
	if site := s.readable(w, q.site); site != nil {
		simkit.WriteJSON(w, http.StatusOK, q.report(site.recorded(now), site.start, now))
	}
}

// group is one row under way.
type group struct {
	timestamp string
	fields    []string

	last                         *visit // the visit that was counted last
	visits, bounces              int64
	duration                     int64 // seconds of all visits
	views, uniques               int64
	conversions, converts, cents int64
}

// count is a report under way.
type count struct {
	query
	now    time.Time
	groups map[string]*group
	key    []byte // scratch: most page views belong to a group that is there
}

// report counts what the query asks for.
func (q query) report(hours [][]visit, start, now time.Time) []map[string]string {
	c := count{query: q, now: now, groups: map[string]*group{}}
	if q.bucket == "" && len(q.fields) == 0 {
		c.groups[""] = &group{} // a whole report has one row, be it of zeros
	}
	for i := range hours {
		hour := start.Add(time.Duration(i) * time.Hour)
		if hour.After(q.to) || hour.Add(2*time.Hour).Before(q.from) { // a visit may last into the next hour
			continue
		}
		for j := range hours[i] {
			c.add(&hours[i][j])
		}
	}
	rows := q.sorted(c.groups)
	if q.limit > 0 && len(rows) > q.limit {
		rows = rows[:q.limit]
	}
	return rows
}

// add adds one visit to the groups that it belongs to.
func (c *count) add(v *visit) {
	if !c.sessionMatches(v) {
		return
	}
	if c.entity == "event" {
		c.addEvents(v)
		return
	}
	for i, page := range v.pages {
		at := time.Unix(v.at+int64(i)*v.step, 0).UTC()
		if !c.covers(at) || !c.pageMatches(page) {
			continue
		}
		g := c.group(v, page, at)
		g.views++
		if !slices.Contains(v.pages[:i], page) {
			g.uniques++
		}
		if g.last == v {
			continue
		}
		g.last = v
		g.visits++
		g.duration += v.duration
		if len(v.pages) == 1 {
			g.bounces++
		}
	}
}

// covers reports whether a time is in the report's range and has come.
func (c *count) covers(at time.Time) bool {
	return !at.Before(c.from) && !at.After(c.to) && !at.After(c.now)
}

// addEvents adds the events of a visit: they happen on its last page.
func (c *count) addEvents(v *visit) {
	page := v.pages[len(v.pages)-1]
	at := time.Unix(v.at+int64(len(v.pages)-1)*v.step, 0).UTC()
	if !c.covers(at) || !c.pageMatches(page) {
		return
	}
	for _, e := range v.events {
		if e.name != c.event {
			continue
		}
		g := c.group(v, page, at)
		g.conversions++
		g.cents += e.cents
		if g.last != v {
			g.last = v
			g.converts++
		}
	}
}

func (q query) sessionMatches(v *visit) bool {
	for _, f := range q.filters {
		if f.column >= 0 && !f.holds(v.fields[f.column]) {
			return false
		}
	}
	return true
}

// pageMatches looks at pathname, which is of a page view; entry_page and
// exit_page are of the visit (N-35).
func (q query) pageMatches(page string) bool {
	for _, f := range q.filters {
		if f.column < 0 && !f.holds(page) {
			return false
		}
	}
	return true
}

// group returns the row that a page view belongs to.
func (c *count) group(v *visit, page string, at time.Time) *group {
	stamp := ""
	if c.bucket != "" {
		stamp = bucketOf(c.bucket, at)
	}
	field := func(column int) string {
		if column < 0 {
			return page
		}
		return v.fields[column]
	}
	c.key = append(c.key[:0], stamp...)
	for _, column := range c.columns {
		c.key = append(append(c.key, 0), field(column)...)
	}
	if g := c.groups[string(c.key)]; g != nil {
		return g
	}
	g := &group{timestamp: stamp}
	for _, column := range c.columns {
		g.fields = append(g.fields, field(column))
	}
	c.groups[string(c.key)] = g
	return g
}

// value is an aggregate as a number.
func (g *group) value(name string) float64 {
	switch name {
	case "visits":
		return float64(g.visits)
	case "uniques":
		return float64(g.uniques)
	case "pageviews":
		return float64(g.views)
	case "avg_duration":
		return float64(g.duration) / float64(max(g.visits, 1))
	case "bounce_rate":
		return float64(g.bounces) / float64(max(g.visits, 1))
	case "conversions":
		return float64(g.conversions)
	case "unique_conversions":
		return float64(g.converts)
	}
	return float64(g.cents)
}

// text is an aggregate as it is sent: an average has two decimals.
func (g *group) text(name string) string {
	decimals := 0
	if name == "avg_duration" || name == "bounce_rate" {
		decimals = 2
	}
	return strconv.FormatFloat(g.value(name), 'f', decimals, 64)
}

// sorted returns the rows: as asked for, else by time, else by the first
// aggregate from the largest on; equal ones by their fields.
func (q query) sorted(groups map[string]*group) []map[string]string {
	list := make([]*group, 0, len(groups))
	for _, g := range groups {
		list = append(list, g)
	}
	by, descending := q.sortBy, q.descending
	if by == "" && q.bucket != "" {
		by = "timestamp"
	} else if by == "" {
		by, descending = q.aggregates[0], true
	}
	slices.SortFunc(list, func(a, b *group) int {
		order := q.compare(a, b, by)
		if descending {
			order = -order
		}
		return cmp.Or(order, strings.Compare(a.timestamp, b.timestamp), slices.Compare(a.fields, b.fields))
	})
	rows := make([]map[string]string, 0, len(list))
	for _, g := range list {
		rows = append(rows, q.row(g))
	}
	return rows
}

func (q query) compare(a, b *group, by string) int {
	if by == "timestamp" {
		return strings.Compare(a.timestamp, b.timestamp)
	}
	if i := slices.Index(q.fields, by); i >= 0 {
		return strings.Compare(a.fields[i], b.fields[i])
	}
	if isWord(groupings, by) {
		return 0 // all rows have the same, unknown value
	}
	return cmp.Compare(a.value(by), b.value(by))
}

func (q query) row(g *group) map[string]string {
	row := map[string]string{}
	if q.bucket != "" {
		row["timestamp"] = g.timestamp
	}
	for i, name := range q.fields {
		row[name] = g.fields[i]
	}
	for _, name := range q.aggregates {
		row[name] = g.text(name)
	}
	return row
}
