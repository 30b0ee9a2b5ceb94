// Package dictionarysim simulates the dictionary service: one handler for each
// documented endpoint, with the documented envelope, codes and limit.
//
// It knows a few hundred English words and some abbreviations. What the
// service's document leaves open (the shapes of the letter listing and of the
// search, the HTTP status of most errors) is decided here or is an option.
package dictionarysim

import (
	"cmp"
	"net/http"
	"time"

	"github.com/flowrun/flowrun/internal/simkit"
)

// Options of the simulator. The zero value is the documented service.
type Options struct {
	Requests int              // per client and window; 0 = 60, below 0 = no limit (D-18)
	Window   time.Duration    // 0 = one minute (D-18)
	Now      func() time.Time // nil = the real clock
	Latency  time.Duration    // added to every answer

	// AlwaysOK answers errors with HTTP 200 and the code in the envelope alone;
	// otherwise the HTTP status is the code. The document leaves this open but
	// for 429, which is always HTTP 429 (D-03).
	AlwaysOK bool
}

// Sim is the simulator. Its methods are safe for concurrent use.
type Sim struct {
	simkit.Service
	limiter  *simkit.Window
	alwaysOK bool
	lexicon  *lexicon
}

// New returns a simulator; it serves at the root of a host.
func New(o Options) *Sim {
	s := &Sim{alwaysOK: o.AlwaysOK, lexicon: loadLexicon()}
	s.limiter = simkit.NewWindow(cmp.Or(o.Requests, 60), cmp.Or(o.Window, time.Minute), o.Now)
	s.Service = simkit.NewService(simkit.Options{Now: o.Now, Latency: o.Latency, Reset: s.limiter.Reset}, s.limited(s.routes()))
	return s
}

func (s *Sim) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/word/{word}", s.word)
	mux.HandleFunc("GET /api/word/{word}/synonyms", s.related("synonyms", func(e *entry) []string { return e.synonyms }))
	mux.HandleFunc("GET /api/word/{word}/antonyms", s.related("antonyms", func(e *entry) []string { return e.antonyms }))
	mux.HandleFunc("GET /api/abbr/{id}", s.abbr)
	mux.HandleFunc("GET /api/letter/{letter}", s.letter)
	mux.HandleFunc("GET /api/stats", s.stats)
	mux.HandleFunc("GET /api/search", s.search)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			s.fail(w, http.StatusMethodNotAllowed, "method not allowed")
			return
		}
		s.fail(w, http.StatusNotFound, "no such resource")
	})
	return mux
}

// limited counts every request against the limit. The service documents neither
// headers nor Retry-After, so there are none.
func (s *Sim) limited(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Access-Control-Allow-Origin", "*")
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		if !s.limiter.Take(simkit.Client(r)).OK {
			simkit.WriteJSON(w, http.StatusTooManyRequests, envelope{Code: http.StatusTooManyRequests, Message: "too many requests"})
			return
		}
		next.ServeHTTP(w, r)
	})
}

// envelope is the shape of every answer (D-02).
type envelope struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data"`
}

func (s *Sim) succeed(w http.ResponseWriter, data any) {
	simkit.WriteJSON(w, http.StatusOK, envelope{Code: http.StatusOK, Message: "success", Data: data})
}

func (s *Sim) fail(w http.ResponseWriter, code int, message string) {
	status := code
	if s.alwaysOK {
		status = http.StatusOK
	}
	simkit.WriteJSON(w, status, envelope{Code: code, Message: message})
}
