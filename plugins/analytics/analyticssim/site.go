package analyticssim

import (
	"sync"
	"time"
)

// history is how long before the simulator's start the recorded data begins.
const history = 60 * 24 * time.Hour

// site is one site with what was recorded of it.
type site struct {
	id, domain string
	perHour    float64 // visits in an average hour
	pages      []string
	start      time.Time // first recorded hour
	anchor     time.Time // when the simulator was made
	drop       bool      // visits fall a day before anchor
	spike      bool      // visits rise in the hours around anchor

	mu    sync.Mutex
	hours [][]visit // from start on
}

func newSites(now time.Time) map[string]*site {
	now = now.UTC()
	start := now.Add(-history).Truncate(24 * time.Hour)
	sites := map[string]*site{}
	for _, s := range []*site{
		{id: SiteSteady, domain: "harborlight-books.com", perHour: 12, pages: pagesOf("/books/title-%d", 240, "/", "/books", "/about", "/events", "/cart", "404")},
		{id: SiteDrop, domain: "copperline.net", perHour: 14, pages: pagesOf("/docs/page-%d", 40, "/", "/status", "/prices", "/docs", "/docs/install", "/contact"), drop: true},
		{id: SiteSpike, domain: "tidewater-cycles.com", perHour: 8, pages: pagesOf("/bikes/model-%d", 60, "/", "/bikes", "/repairs", "/cart", "/blog", "/blog/spring-rides"), spike: true},
	} {
		s.start, s.anchor = start, now
		sites[s.id] = s
	}
	return sites
}

// recorded returns the visits of every hour from first recorded to that of now,
// by the hour. The caller must not change them.
func (s *site) recorded(now time.Time) [][]visit {
	s.mu.Lock()
	defer s.mu.Unlock()
	for at := s.start.Add(time.Duration(len(s.hours)) * time.Hour); !at.After(now); at = at.Add(time.Hour) {
		s.hours = append(s.hours, s.hour(at))
	}
	return s.hours
}

// expected is how many visits an hour has before chance: more by day than by
// night, fewer at the weekend.
func (s *site) expected(at time.Time) float64 {
	byHour := [24]float64{.5, .4, .35, .3, .3, .35, .5, .7, .9, 1.1, 1.3, 1.4, 1.4, 1.35, 1.3, 1.3, 1.35, 1.4, 1.5, 1.6, 1.6, 1.4, 1.0, .7}
	expected := s.perHour * byHour[at.Hour()]
	if day := at.Weekday(); day == time.Saturday || day == time.Sunday {
		expected *= .7
	}
	if s.drop && !at.Before(s.dropStart()) {
		expected *= .15
	}
	return expected
}

// dropStart is a whole day before the simulator was made, so that "today so far"
// lies behind it at any hour.
func (s *site) dropStart() time.Time { return s.anchor.Add(-24 * time.Hour).Truncate(time.Hour) }

// inSpike reports whether an hour has the additional visits: that of the
// simulator's start and the two before it.
func (s *site) inSpike(at time.Time) bool {
	hour := s.anchor.Truncate(time.Hour)
	return s.spike && !at.Before(hour.Add(-2*time.Hour)) && !at.After(hour)
}

// hour makes the visits of one hour, in their order.
func (s *site) hour(at time.Time) []visit {
	rnd := seedOf(s.id, at.Unix())
	count := int(s.expected(at)*(.85+.3*rnd.share()) + rnd.share())
	extra := 0
	if s.inSpike(at) {
		extra = int(6*s.perHour*1.6) - count // even at the busiest hour
	}
	visits := make([]visit, 0, count+max(extra, 0))
	for i := range count + max(extra, 0) {
		second := (i*3600 + rnd.below(3600)) / (count + max(extra, 0))
		visits = append(visits, s.visit(rnd, at.Unix()+int64(second), i >= count))
	}
	return visits
}
