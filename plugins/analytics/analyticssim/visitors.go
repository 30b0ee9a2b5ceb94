package analyticssim

import (
	"cmp"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/flowrun/flowrun/internal/simkit"
)

// maxListed bounds both lists of the detailed view (N-42).
const maxListed = 150

// spikeEvery and spikeFor say when the current visitors of SiteSpike are many: in
// the first minutes of each hour, counted from when the simulator was made.
const (
	spikeEvery = 60
	spikeFor   = 10
)

// currentVisitors answers GET /v1/current_visitors (N-38 to N-42).
func (s *Sim) currentVisitors(w http.ResponseWriter, r *http.Request) {
	values := r.URL.Query()
	for name, given := range values {
		if name != "site_id" && name != "detailed" || len(given) != 1 {
			fail(w, http.StatusBadRequest, "unknown or repeated parameter "+name)
			return
		}
	}
	detailed := values.Get("detailed")
	switch {
	case values.Get("site_id") == "":
		fail(w, http.StatusBadRequest, "site_id is required")
		return
	case detailed != "" && detailed != "true" && detailed != "false":
		fail(w, http.StatusBadRequest, "detailed must be true or false")
		return
	}
	found := s.readable(w, values.Get("site_id"))
	if found == nil {
		return
	}
	current := found.current(s.now().UTC())
	if detailed != "true" {
		simkit.WriteJSON(w, http.StatusOK, map[string]int{"total": len(current)})
		return
	}
	simkit.WriteJSON(w, http.StatusOK, map[string]any{
		"total":     len(current),
		"content":   tally(current, "hostname", "pathname"),
		"referrers": tally(current, "referrer_hostname", "referrer_pathname"),
	})
}

// current returns who is on the site in a minute: always the same visits for the
// same minute.
func (s *site) current(now time.Time) []visit {
	minute := now.Truncate(time.Minute)
	rnd := seedOf(s.id+" now", minute.Unix())
	count := int(s.expected(minute) * (1.6 + .4*rnd.share()))
	extra := 0
	since := int(minute.Sub(s.anchor.Truncate(time.Minute)) / time.Minute)
	if s.spike && ((since%spikeEvery)+spikeEvery)%spikeEvery < spikeFor {
		extra = count*3 + 20
	}
	var visits []visit
	for i := range count + extra {
		visits = append(visits, s.visit(rnd, minute.Unix(), i >= count))
	}
	return visits
}

// tally counts visits by two of their fields, the most frequent first.
func tally(visits []visit, first, second string) []map[string]any {
	a, b := column(first), column(second)
	if b < 0 {
		b = column("entry_page") // the page that they are on
	}
	counts := map[[2]string]int{}
	for _, v := range visits {
		counts[[2]string{v.fields[a], v.fields[b]}]++
	}
	keys := slices.SortedFunc(maps.Keys(counts), func(a, b [2]string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), slices.Compare(a[:], b[:]))
	})
	list := make([]map[string]any, 0, len(keys))
	for _, k := range keys[:min(len(keys), maxListed)] {
		list = append(list, map[string]any{first: k[0], second: k[1], "total": counts[k]})
	}
	return list
}
