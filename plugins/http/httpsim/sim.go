// Package httpsim simulates a service of which nothing is known but what a request says:
// it answers each with what the step will take.
//
// A request whose header Flowrun-Answer says how the answer will be read gets one that is
// made of that: values of the schema, rows of a table, a text. Without a schema there is a
// small service with things and orders, for examples, and behind it an echo of the
// request. The data is invented and deterministic.
package httpsim

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/flowrun/flowrun/internal/simkit"
)

// answerHeader is the header in which the plugin says how it will read the answer.
const answerHeader = "Flowrun-Answer"

// maxBody bounds what is read of a request.
const maxBody = 8 << 20

// Options of the simulator. The zero value is a service without a limit.
type Options struct {
	Requests int              // per client and window; 0 = no limit
	Window   time.Duration    // of the limit
	Now      func() time.Time // nil = the real clock
}

// Sim is the simulator. Its methods are safe for concurrent use.
type Sim struct {
	simkit.Service
	limiter *simkit.Window

	mu     sync.Mutex
	things map[int]map[string]any
	orders map[string]map[string]any // by their key
	last   int                       // number of the last order
}

// New returns a simulator; it serves at the root of a host.
func New(o Options) *Sim {
	s := &Sim{}
	now := simkit.Clock(o.Now)
	reset := s.reset
	if o.Requests > 0 {
		s.limiter = simkit.NewWindow(o.Requests, o.Window, now)
		reset = func() { s.limiter.Reset(); s.reset() }
	}
	s.reset()
	s.Service = simkit.NewService(simkit.Options{Now: now, Reset: reset}, http.HandlerFunc(s.serve))
	return s
}

func (s *Sim) reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.things, s.orders, s.last = map[int]map[string]any{}, map[string]map[string]any{}, 0
	for id := 1; id <= 25; id++ {
		s.things[id] = map[string]any{"id": id, "name": fmt.Sprintf("thing %d", id)}
	}
}

func (s *Sim) serve(w http.ResponseWriter, r *http.Request) {
	if s.limiter != nil && !s.limiter.Admits(w, simkit.Client(r)) {
		w.WriteHeader(http.StatusTooManyRequests)
		return
	}
	told, isTold := toldBy(r)
	if isTold && told.As != "auto" && told.As != "json" || told.Answer != nil {
		told.answer(w, r)
		return
	}
	s.routes().ServeHTTP(w, r)
}

// toldBy reads how an answer will be read; what can't be read is as if it was not there.
func toldBy(r *http.Request) (t told, ok bool) {
	text, err := base64.StdEncoding.DecodeString(r.Header.Get(answerHeader))
	if err != nil || len(text) == 0 || json.Unmarshal(text, &t) != nil {
		return told{}, false
	}
	return t, true
}

func (s *Sim) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /things", s.list)
	mux.HandleFunc("/things/{id}", s.thing)
	mux.HandleFunc("POST /orders", s.order)
	mux.HandleFunc("/", echo)
	return mux
}

// list gives pages of things: `limit` of them behind the one with the number `after`.
func (s *Sim) list(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	after, _ := strconv.Atoi(r.URL.Query().Get("after")) // what is no number begins at the first
	limit, err := strconv.Atoi(r.URL.Query().Get("limit"))
	if err != nil || limit < 1 {
		limit = 100
	}
	page, next := []map[string]any{}, any(nil)
	for id := after + 1; id <= 1000; id++ {
		thing, there := s.things[id]
		if there && len(page) == limit {
			next = strconv.Itoa(id - 1)
			break
		}
		if there {
			page = append(page, thing)
		}
	}
	simkit.WriteJSON(w, http.StatusOK, map[string]any{"things": page, "next": next})
}

func (s *Sim) thing(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id, err := strconv.Atoi(r.PathValue("id"))
	thing, there := s.things[id]
	switch {
	case err != nil || !there && r.Method != http.MethodPut:
		simkit.WriteJSON(w, http.StatusNotFound, map[string]any{"error": "There is no such thing."})
		return
	case r.Method == http.MethodDelete:
		delete(s.things, id)
		w.WriteHeader(http.StatusNoContent)
		return
	case r.Method == http.MethodPut:
		thing = map[string]any{}
	}
	if r.Method == http.MethodPut || r.Method == http.MethodPatch {
		changed := map[string]any{}
		for name, value := range thing {
			changed[name] = value
		}
		if err := json.NewDecoder(io.LimitReader(r.Body, maxBody)).Decode(&changed); err != nil {
			simkit.WriteJSON(w, http.StatusBadRequest, map[string]any{"error": "The body is no object."})
			return
		}
		changed["id"], thing = id, changed
		s.things[id] = thing
	}
	simkit.WriteJSON(w, http.StatusOK, thing)
}

// order makes an order; a second one with the same key is the first.
func (s *Sim) order(w http.ResponseWriter, r *http.Request) {
	var given map[string]any
	if err := json.NewDecoder(io.LimitReader(r.Body, maxBody)).Decode(&given); err != nil {
		simkit.WriteJSON(w, http.StatusBadRequest, map[string]any{"error": "The body is no object."})
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	key := r.Header.Get("Idempotency-Key")
	order := s.orders[key]
	if key == "" || order == nil {
		s.last++
		order = map[string]any{"id": s.last}
		for name, value := range given {
			order[name] = value
		}
		s.orders[key] = order
	}
	simkit.WriteJSON(w, http.StatusOK, order)
}

// echo answers with the request itself.
func echo(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(io.LimitReader(r.Body, maxBody)) // a client that went away reads no answer
	headers := simkit.Headers(r)
	for name := range headers {
		if strings.EqualFold(name, answerHeader) || strings.EqualFold(name, "traceparent") {
			delete(headers, name)
		}
	}
	answer := map[string]any{"method": r.Method, "path": r.URL.EscapedPath(), "query": r.URL.Query(), "headers": headers, "body": string(body)}
	var document any
	if json.Unmarshal(body, &document) == nil {
		answer["body"] = document
	}
	simkit.WriteJSON(w, http.StatusOK, answer)
}
