package killloop

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// The effects of the actions, as paths of the service.
const (
	effectRead       = "read"
	effectIdempotent = "idempotent"
	effectKeyed      = "keyed"
	effectOnce       = "once"
)

// seen is one request that the service got.
type seen struct {
	cycle   int
	effect  string
	key     string // of the operation, told by every call
	idem    string // the Idempotency-Key header
	run     string
	step    string
	name    string // "" for pages
	attempt int
	refused bool // answered with 503 before anything happened
}

// onceEffect is what happened under a key of a once action.
type onceEffect struct {
	name  string
	times int
}

// counter is the counting service. It lives in the test's own process and
// outlives the kills. Safe for concurrent use.
type counter struct {
	*httptest.Server

	mu      sync.Mutex
	random  *rand.Rand    // of the delays
	delay   time.Duration // the longest, before and after the effect
	cycle   int
	light   bool // counts alone are kept: for long loads
	total   int
	all     []seen
	applied map[string]int            // effects by effect and name
	keyed   map[string]bool           // keys of keyed effects that happened
	once    map[string]*onceEffect    // effects of once actions, by key
	keys    map[string]map[string]int // keys by effect, run, step and name
	feed    int64                     // items 1 to feed are in every list
	open    map[net.Conn]bool
}

// newCounter starts the service.
func newCounter(t *testing.T, source *rand.Rand, delay time.Duration) *counter {
	t.Helper()
	s := &counter{random: source, delay: delay, open: map[net.Conn]bool{}}
	s.reset()
	mux := http.NewServeMux()
	for _, effect := range []string{effectRead, effectIdempotent, effectKeyed, effectOnce} {
		mux.HandleFunc("/"+effect, func(w http.ResponseWriter, r *http.Request) { s.serve(w, r, effect) })
	}
	mux.HandleFunc("/list", s.list)
	mux.HandleFunc("/known", s.known)
	s.Server = httptest.NewUnstartedServer(mux)
	s.Config.ConnState = s.connection
	s.Start()
	t.Cleanup(s.Close)
	return s
}

// reset forgets what was counted.
func (s *counter) reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all, s.applied, s.keyed = nil, map[string]int{}, map[string]bool{}
	s.once, s.keys = map[string]*onceEffect{}, map[string]map[string]int{}
	s.feed = fixedItems
}

func (s *counter) connection(conn net.Conn, state http.ConnState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch state {
	case http.StateNew:
		s.open[conn] = true
	case http.StateClosed, http.StateHijacked:
		delete(s.open, conn)
	case http.StateActive, http.StateIdle:
	}
}

// settle waits until no connection is open: what a dead plugin sent has
// happened then, or never will.
func (s *counter) settle(t *testing.T) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		s.mu.Lock()
		open := len(s.open)
		s.mu.Unlock()
		if open == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d connections of dead plugins are open after 10 s", open)
		}
	}
}

// pause waits a part of the longest delay.
func (s *counter) pause() {
	s.mu.Lock()
	var wait time.Duration
	if s.delay > 0 {
		wait = time.Duration(s.random.Int64N(int64(s.delay)))
	}
	s.mu.Unlock()
	if wait > 0 {
		time.Sleep(wait)
	}
}

// serve does what an action asks for. A name that ends in "!" is refused at its
// first attempt.
func (s *counter) serve(w http.ResponseWriter, r *http.Request, effect string) {
	attempt, _ := strconv.Atoi(r.Header.Get(headerAttempt))
	request := seen{
		effect: effect, key: r.Header.Get(headerKey), idem: r.Header.Get("Idempotency-Key"), run: r.Header.Get(headerRun),
		step: r.Header.Get(headerStep), name: r.URL.Query().Get("name"), attempt: attempt,
	}
	request.refused = attempt == 1 && strings.HasSuffix(request.name, "!")
	s.pause()
	s.happen(request)
	s.pause()
	if request.refused {
		http.Error(w, "busy", http.StatusServiceUnavailable)
		return
	}
	answer(w, valueOut{Name: request.name, Value: valueOf(request.name)})
}

// happen notes a request and does its effect, in one step.
func (s *counter) happen(r seen) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r.cycle = s.cycle
	s.total++
	if s.light {
		return
	}
	s.all = append(s.all, r)
	operation := strings.Join([]string{r.effect, r.run, r.step, r.name}, " ")
	if s.keys[operation] == nil {
		s.keys[operation] = map[string]int{}
	}
	s.keys[operation][r.key]++
	if r.refused {
		return
	}
	switch r.effect {
	case effectKeyed:
		if !s.keyed[r.idem] {
			s.applied[r.effect+" "+r.name]++
		}
		s.keyed[r.idem] = true
	case effectOnce:
		s.applied[r.effect+" "+r.name]++
		if s.once[r.key] == nil {
			s.once[r.key] = &onceEffect{name: r.name}
		}
		s.once[r.key].times++
	case effectIdempotent:
		s.applied[r.effect+" "+r.name] = 1 // the value is what it was
	}
}

// list gives the items behind the watermark, page by page.
func (s *counter) list(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	pages, _ := strconv.Atoi(query.Get("size"))
	from, _ := strconv.ParseInt(query.Get("after"), 10, 64)
	if cursor := query.Get("cursor"); cursor != "" {
		from, _ = strconv.ParseInt(cursor, 10, 64)
	}
	s.pause()
	s.happen(seen{effect: "list", key: r.Header.Get(headerKey), run: r.Header.Get(headerRun), step: r.Header.Get(headerStep)})
	s.mu.Lock()
	last := s.feed
	s.mu.Unlock()
	if query.Get("feed") == "fixed" {
		last = fixedItems
	}
	page := listOut{Items: []listItem{}, Last: from}
	for id := from + 1; id <= last && len(page.Items) < pages; id++ {
		page.Items = append(page.Items, listItem{ID: id})
		page.Last = id
	}
	if page.Last < last {
		page.Next = strconv.FormatInt(page.Last, 10)
	}
	answer(w, page)
}

// known gives the answer to a once action's key, null when it did not happen.
func (s *counter) known(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	effect := s.once[r.URL.Query().Get("key")]
	s.mu.Unlock()
	if effect == nil {
		answer(w, nil)
		return
	}
	answer(w, valueOut{Name: effect.name, Value: valueOf(effect.name)})
}

func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // a killed plugin reads no answer
}

// fixedItems is how many items the list "fixed" has; others grow.
const fixedItems = 7

// valueOf is what every service of this kind says of a name, whatever its tag.
func valueOf(name string) int64 {
	_, name, _ = strings.Cut(name, "/")
	h := fnv.New32a()
	_, _ = h.Write([]byte(name)) // never fails
	return int64(h.Sum32())
}

// begin starts a cycle: later requests belong to it. Lists grow by some items.
func (s *counter) begin(cycle int, grow int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cycle = cycle
	s.feed += grow
}

// grown is how many items a list has.
func (s *counter) grown() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.feed
}

// since returns the requests of a cycle.
func (s *counter) since(cycle int) []seen {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []seen
	for _, r := range slices.Backward(s.all) {
		if r.cycle < cycle {
			break
		}
		found = append(found, r)
	}
	return found
}

// effects returns how often each effect happened, by effect and name.
func (s *counter) effects() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	counts := map[string]int{}
	for name, n := range s.applied {
		counts[name] = n
	}
	return counts
}

// split returns what is wrong with keys: an operation that had several.
func (s *counter) split() (problems []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for operation, keys := range s.keys {
		if len(keys) > 1 && !strings.HasPrefix(operation, "list ") { // each page has a key of its own
			problems = append(problems, fmt.Sprintf("P2: %s was asked for under %d keys", operation, len(keys)))
		}
	}
	return problems
}
