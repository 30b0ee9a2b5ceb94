// Package netinfosim simulates the IP-information service: one handler for each
// documented endpoint, with the documented errors, headers and limit.
//
// The data is invented and deterministic: the same name or address always has
// the same record. What the service's document leaves open is decided here and
// marked as such in the comments; nothing may be learned from it about a real
// service.
package netinfosim

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/flowrun/flowrun/internal/simkit"
)

// Options of the simulator. The zero value is the documented service.
type Options struct {
	Requests     int              // per client and window; 0 = 60, below 0 = no limit (I-19)
	Window       time.Duration    // 0 = one minute (I-19)
	Now          func() time.Time // nil = the real clock
	Latency      time.Duration    // added to every answer
	Unregistered []string         // further names that the registry does not know
}

// Sim is the simulator. Its methods are safe for concurrent use.
type Sim struct {
	simkit.Service
	limiter      *simkit.Window
	now          func() time.Time
	unregistered []string
}

// New returns a simulator; it serves at the root of a host.
func New(o Options) *Sim {
	s := &Sim{now: simkit.Clock(o.Now), unregistered: append(slices.Clone(lapsed), o.Unregistered...)}
	s.limiter = simkit.NewWindow(cmp.Or(o.Requests, 60), cmp.Or(o.Window, time.Minute), s.now)
	s.Service = simkit.NewService(simkit.Options{Now: s.now, Latency: o.Latency, Reset: s.limiter.Reset}, s.limited(s.routes()))
	return s
}

// routes returns the documented endpoints. All are GET; what else is asked for
// is answered in the same envelope, since the document shows no other shape.
func (s *Sim) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/v1/ip", s.myIP)
	mux.HandleFunc("GET /api/v1/ip/{address}", s.lookupIP)
	mux.HandleFunc("GET /api/v1/dns/{domain}", s.dns)
	mux.HandleFunc("GET /api/v1/headers", s.headers)
	mux.HandleFunc("GET /api/v1/whois/{domain}", s.whois)
	mux.HandleFunc("/", simkit.OnlyGET(fail))
	return mux
}

// limited counts every request against the limit and shows it in the three
// documented headers (I-19, I-20, I-21). The unit of X-RateLimit-Window is not
// documented; the simulator gives seconds.
func (s *Sim) limited(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g := s.limiter.Take(simkit.Client(r))
		h := w.Header()
		h.Set("Access-Control-Allow-Origin", "*")
		h.Set("Content-Type", "application/json")
		h.Set("X-RateLimit-Limit", strconv.Itoa(g.Limit))
		h.Set("X-RateLimit-Remaining", strconv.Itoa(g.Remaining))
		h.Set("X-RateLimit-Window", simkit.Seconds(g.Window))
		if !g.OK {
			h.Set("Retry-After", simkit.Seconds(g.Reset))
			fail(w, http.StatusTooManyRequests, "Rate limit exceeded. Maximum "+perWindow(g)+".")
			return
		}
		next.ServeHTTP(w, r)
	})
}

func perWindow(g simkit.Grant) string {
	if g.Window == time.Minute {
		return fmt.Sprintf("%d requests per minute", g.Limit)
	}
	return fmt.Sprintf("%d requests per %s", g.Limit, g.Window)
}

// succeed answers with the envelope of success (I-03).
func succeed(w http.ResponseWriter, data any) {
	simkit.WriteJSON(w, http.StatusOK, struct {
		Success bool `json:"success"`
		Data    any  `json:"data"`
	}{true, data})
}

// fail answers with the envelope of an error (I-04).
func fail(w http.ResponseWriter, status int, message string) {
	simkit.WriteJSON(w, status, struct {
		Success bool   `json:"success"`
		Error   string `json:"error"`
	}{false, message})
}

// wellFormed reports whether name can be a domain: letters, digits, hyphens and
// underscores in labels of 1 to 63 characters.
func wellFormed(name string) bool {
	if name == "" || len(name) > 253 {
		return false
	}
	for label := range strings.SplitSeq(name, ".") {
		if label == "" || len(label) > 63 {
			return false
		}
		for _, c := range []byte(label) {
			if c != '-' && c != '_' && (c < '0' || c > '9') && (c < 'a' || c > 'z') {
				return false
			}
		}
	}
	return true
}
