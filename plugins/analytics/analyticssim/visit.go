package analyticssim

import (
	"fmt"
	"slices"
	"strings"
)

// spikeReferrer is the host that the spike comes from.
const spikeReferrer = "free-traffic-now.xyz"

// columns is how many fields a visit has.
const columns = 21

// columnNames are the fields of a visit in their order. pathname is none: it is of
// a page view.
var columnNames = [columns]string{
	"domain", "hostname", "entry_page", "exit_page", "referrer_hostname", "referrer_pathname", "referrer_source",
	"browser", "country_code", "city", "state", "region", "device_type", "operating_system",
	"utm_campaign", "utm_content", "utm_medium", "utm_source", "utm_term", "keyword", "ref",
}

// column returns the place of a field in a visit, -1 for pathname.
func column(name string) int { return slices.Index(columnNames[:], name) }

// visit is one visit of a site with its pages.
type visit struct {
	at       int64 // unix seconds of the first page view
	step     int64 // seconds between two page views
	duration int64 // seconds
	pages    []string
	fields   [columns]string // session-level fields, and domain
	events   []conversion
}

// conversion is one event of a visit.
type conversion struct {
	name  string
	cents int64
}

// place is where a visitor is.
type place struct{ country, region, state, city string }

// campaign is what a link says in its utm parameters.
type campaign struct{ name, source, medium, content, term, keyword string }

// What visits are made of, the frequent ones first. Only read.
var (
	places = []place{
		{"DE", "EU", "Hamburg", "Hamburg"}, {"DE", "EU", "Berlin", "Berlin"}, {"US", "NA", "Oregon", "Portland"}, {"GB", "EU", "England", "Bristol"},
		{"FR", "EU", "Bretagne", "Brest"}, {"US", "NA", "Maine", "Rockland"}, {"NL", "EU", "Zeeland", "Vlissingen"}, {"AU", "OC", "Tasmania", "Hobart"},
	}
	devices   = [][2]string{{"Phone", "iOS"}, {"Desktop", "Windows"}, {"Phone", "Android"}, {"Desktop", "macOS"}, {"Desktop", "Linux"}, {"Tablet", "iOS"}}
	browsers  = []string{"Chrome", "Safari", "Firefox", "Edge", "Opera"}
	campaigns = []campaign{
		{}, {}, {}, {}, {"spring-sale", "newsletter", "email", "header", "", ""}, {"brand-search", "google", "cpc", "ad-1", "harbor books", "harbor books"},
		{"spring-sale", "instagram", "social", "story", "", ""}, {"autumn-readers", "newsletter", "email", "footer", "", ""},
	}
	referrers = [][3]string{
		{"", "", ""}, {"www.google.com", "/", "Google"}, {"duckduckgo.com", "/", "DuckDuckGo"}, {"news.ycombinator.com", "/item", "Hacker News"},
		{"www.reddit.com", "/r/books", "Reddit"}, {"readers-corner.org", "/reviews/2026", "readers-corner.org"},
	}
)

// pagesOf returns the named pages and count more, made of a pattern.
func pagesOf(pattern string, count int, named ...string) []string {
	pages := slices.Clone(named)
	for i := range count {
		pages = append(pages, fmt.Sprintf(pattern, i+1))
	}
	return pages
}

// visit makes one visit; spiked ones are alike and leave at once.
func (s *site) visit(rnd *seed, at int64, spiked bool) visit {
	v := visit{at: at, step: 20 + int64(rnd.below(90))}
	from, where, device, came := pick(rnd, referrers), pick(rnd, places), pick(rnd, devices), pick(rnd, campaigns)
	count := 1 + rnd.below(5)*rnd.below(2)
	if spiked {
		from, came, count = [3]string{spikeReferrer, "/get", spikeReferrer}, campaign{}, 1
	}
	for range count {
		v.pages = append(v.pages, pick(rnd, s.pages))
	}
	if count > 1 {
		v.duration = v.step*int64(count-1) + int64(rnd.below(60))
	}
	v.fields = [columns]string{
		s.domain, "www." + s.domain, v.pages[0], v.pages[count-1], from[0], from[1], from[2],
		pick(rnd, browsers), where.country, where.city, where.state, where.region, device[0], device[1],
		came.name, came.content, came.medium, came.source, came.term, came.keyword, strings.ToLower(came.source),
	}
	v.convert(rnd, came.name != "", spiked)
	return v
}

// convert lets some visitors buy or sign up, more of those whom a campaign
// brought.
func (v *visit) convert(rnd *seed, campaign, spiked bool) {
	buys, signs := rnd.share(), rnd.share()
	cents := int64(990 + 500*rnd.below(24))
	chance := .03
	if campaign {
		chance = .09
	}
	if spiked {
		return
	}
	if buys < chance {
		v.events = append(v.events, conversion{EventPurchase, cents})
	}
	if signs < chance/2 {
		v.events = append(v.events, conversion{EventSignup, 0})
	}
}
