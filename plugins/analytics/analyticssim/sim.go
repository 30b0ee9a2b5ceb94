// Package analyticssim simulates the analytics service: reports over generated
// page views and events of three sites, and their current visitors, with the
// documented parameters, rules and limits.
//
// The data is invented and deterministic: the same site and hour always have the
// same visits, relative to the time at which the simulator was made. One site
// loses its visitors a day before that time, another has a spike from one
// referrer. What the service's document leaves open (the shape of errors, the
// time zone, how filters combine) is decided here and marked in the comments;
// nothing may be learned from it about a real service.
package analyticssim

import (
	"cmp"
	"net/http"
	"strings"
	"time"

	"github.com/flowrun/flowrun/internal/simkit"
)

// Ids of the sites. SitePrivate exists, and no token may read it.
const (
	SiteSteady  = "ABCDEFGH" // harborlight-books.com: a weekly rhythm, many pages
	SiteDrop    = "KLMNOPQR" // copperline.net: visits fall by 85 % a day before the simulator's start
	SiteSpike   = "STUVWXYZ" // tidewater-cycles.com: a spike from one referrer
	SitePrivate = "PRIVATE0"
)

// Names and tracking code of events; each site but SitePrivate has both.
const (
	EventPurchase = "purchase"
	EventSignup   = "newsletter signup"
	CodePurchase  = "PURCHASE1" // of SiteSteady
)

// Options of the simulator. The zero value is the documented service.
type Options struct {
	Now      func() time.Time // nil = the real clock
	Latency  time.Duration    // added to every answer
	Token    string           // the only token that is accepted; "" = any
	Requests int              // per client and window; 0 = no limit: the document shows none (N-44)
	Window   time.Duration    // 0 = one minute
}

// Sim is the simulator. Its methods are safe for concurrent use.
type Sim struct {
	simkit.Service
	limiter *simkit.Window
	now     func() time.Time
	token   string
	sites   map[string]*site
}

// New returns a simulator; it serves at the root of a host.
func New(o Options) *Sim {
	s := &Sim{now: simkit.Clock(o.Now), token: o.Token}
	s.sites = newSites(s.now())
	s.limiter = simkit.NewWindow(o.Requests, cmp.Or(o.Window, time.Minute), s.now)
	s.Service = simkit.NewService(simkit.Options{Now: s.now, Latency: o.Latency, Reset: s.limiter.Reset}, s.guarded(s.routes()))
	return s
}

// routes returns the documented endpoints, both GET (N-01).
func (s *Sim) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/aggregations", s.aggregations)
	mux.HandleFunc("GET /v1/current_visitors", s.currentVisitors)
	mux.HandleFunc("/", simkit.OnlyGET(fail))
	return mux
}

// guarded checks the limit and the credential (N-02, N-03).
func (s *Sim) guarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !s.limiter.Admits(w, simkit.Client(r)) {
			fail(w, http.StatusTooManyRequests, "Too many requests.")
			return
		}
		given, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		switch {
		case !ok || given == "" || s.token != "" && given != s.token:
			fail(w, http.StatusUnauthorized, "Unauthenticated.")
		case r.Header.Get("Accept") != "application/json":
			fail(w, http.StatusNotAcceptable, "Send Accept: application/json.")
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// readable returns a site that the token may read. A site that there is not is
// forbidden too, so that nothing can be learned about it.
func (s *Sim) readable(w http.ResponseWriter, id string) *site {
	found := s.sites[id]
	if found == nil {
		fail(w, http.StatusForbidden, "This token may not read the site.")
	}
	return found
}

// refusal is what is wrong with a request's parameters.
type refusal string

func (r refusal) Error() string { return string(r) }

// fail answers with an error. The shape of errors is not documented (N-43).
func fail(w http.ResponseWriter, status int, message string) {
	simkit.WriteJSON(w, status, map[string]string{"error": message})
}
