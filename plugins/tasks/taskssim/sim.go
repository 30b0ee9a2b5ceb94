// Package taskssim simulates the task-management service: one handler for each
// documented endpoint, with the documented errors and limits.
//
// The data is invented and deterministic relative to the clock: the same moment
// always has the same records. What the service's document leaves open (records,
// bodies, error texts, the scheme of authentication) is decided here and marked as
// such in the comments; nothing may be learned from it about a real service.
package taskssim

import (
	"bytes"
	"cmp"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/flowrun/flowrun/internal/simkit"
)

// maxBody bounds what the simulator reads of a request, in bytes.
const maxBody = 8 << 20

// maxBodies bounds how many bodies are remembered.
const maxBodies = 1000

// Options of the simulator. The zero value is a service without a rate limit
// that takes every credential.
type Options struct {
	Now      func() time.Time // nil = the real clock
	Latency  time.Duration    // added to every answer
	Requests int              // per client and window; 0 = no limit: the document shows none (T-69)
	Window   time.Duration    // 0 = one minute

	Token          string // the credential that is accepted; "" = any that is not empty
	AuthHeader     string // "" = Authorization
	AuthPrefix     string // text before the credential; "" = "Bearer "
	PublicKey      string // key of the public project; "" = "public-brightwater-site"
	NoSubscription bool   // a top-up is refused (T-54)
}

// Sent is the body of a request as it came.
type Sent struct {
	Method, Path string
	Body         string
}

// Sim is the simulator. Its methods are safe for concurrent use.
type Sim struct {
	simkit.Service
	limiter *simkit.Window
	now     func() time.Time
	options Options
	signing []byte

	mu     sync.Mutex
	world  *world
	bodies []Sent
}

// New returns a simulator; it serves at the root of a host. Its data ends at
// the moment of the call; a reset makes it anew.
func New(o Options) *Sim {
	o.AuthHeader, o.AuthPrefix = cmp.Or(o.AuthHeader, "Authorization"), cmp.Or(o.AuthPrefix, "Bearer ")
	o.PublicKey = cmp.Or(o.PublicKey, "public-brightwater-site")
	s := &Sim{now: simkit.Clock(o.Now), options: o, signing: []byte("cursors of taskssim")}
	s.limiter = simkit.NewWindow(o.Requests, cmp.Or(o.Window, time.Minute), s.now)
	s.reset()
	s.Service = simkit.NewService(simkit.Options{Now: s.now, Latency: o.Latency, Reset: s.reset}, s.limited(s.routes()))
	return s
}

func (s *Sim) reset() {
	fresh := newWorld(s.now())
	s.limiter.Reset()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.world, s.bodies = fresh, nil
}

// Bodies returns the bodies of the requests so far that had one, oldest first.
func (s *Sim) Bodies() []Sent {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Sent{}, s.bodies...)
}

// ServeHTTP serves the service and, below /_sim/, its control endpoint.
func (s *Sim) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !strings.HasPrefix(r.URL.Path, simkit.ControlPrefix) {
		s.remember(r)
	}
	s.Service.ServeHTTP(w, r)
}

// remember keeps the body for Bodies and puts it back for the handlers.
func (s *Sim) remember(r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody))
	r.Body = io.NopCloser(bytes.NewReader(body))
	if err != nil || len(body) == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bodies = append(s.bodies, Sent{r.Method, r.URL.EscapedPath(), string(body)})
	if over := len(s.bodies) - maxBodies; over > 0 {
		s.bodies = append([]Sent(nil), s.bodies[over:]...)
	}
}

// handler is one endpoint: its answer as JSON, or why it refuses.
type handler func(r *http.Request) (any, *refusal)

func (answer handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, refused := answer(r)
	if refused != nil {
		fail(w, refused)
		return
	}
	simkit.WriteJSON(w, http.StatusOK, body)
}

// routes returns the documented endpoints (E1 to E14) and nothing else: no
// /sync, no endpoint for active tasks (N3).
func (s *Sim) routes() http.Handler {
	mux := http.NewServeMux()
	for pattern, handle := range map[string]handler{
		"POST /api/v1/workspaces/invitations/delete":           s.authenticated(s.deleteInvitation),
		"GET /api/v1/workspaces/invitations/all":               s.authenticated(s.listInvitations),
		"PUT /api/v1/workspaces/invitations/{code}/accept":     s.authenticated(s.answerInvitation),
		"PUT /api/v1/workspaces/invitations/{code}/reject":     s.authenticated(s.answerInvitation),
		"GET /api/v1/workspaces/{workspace}/projects/archived": s.authenticated(s.listProjects),
		"GET /api/v1/workspaces/{workspace}/projects/active":   s.authenticated(s.listProjects),
		"POST /api/v1/workspaces/{workspace}/users/invite":     s.authenticated(s.inviteUsers),
		"POST /api/v1/labels/shared/remove":                    s.authenticated(s.removeLabel),
		"POST /api/v1/labels/shared/rename":                    s.authenticated(s.renameLabel),
		"GET /api/v1/tasks/completed/by_completion_date":       s.completedByCompletion,
		"GET /api/v1/tasks/completed/by_due_date":              s.authenticated(s.completedByDue),
		"GET /api/v1/tasks/completed/stats":                    s.authenticated(s.stats),
		"POST /api/v1/access_tokens/migrate_personal_token":    s.authenticated(s.migrate),
		"POST /api/v1/usage_billing/top_up":                    s.authenticated(s.topUp),
		"GET /api/v1/usage_billing/usage_summary":              s.authenticated(s.usageSummary),
		"GET /api/v1/usage_billing/history":                    s.authenticated(s.usageHistory),
		"/":                                                    func(*http.Request) (any, *refusal) { return nil, notFound("No such endpoint.") },
	} {
		mux.Handle(pattern, handle)
	}
	return mux
}

// limited counts requests where the options set a limit.
func (s *Sim) limited(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !s.limiter.Admits(w, simkit.Client(r)) {
			fail(w, &refusal{http.StatusTooManyRequests, "TOO_MANY_REQUESTS", "Too many requests. Try again later."})
			return
		}
		next.ServeHTTP(w, r)
	})
}

// authenticated refuses a request without the credential. The scheme is not
// documented (T-65); the simulator's is set by its options.
func (s *Sim) authenticated(next handler) handler {
	return func(r *http.Request) (any, *refusal) {
		if !s.authorized(r) {
			return nil, unauthorized()
		}
		return next(r)
	}
}

func (s *Sim) authorized(r *http.Request) bool {
	token, ok := strings.CutPrefix(r.Header.Get(s.options.AuthHeader), s.options.AuthPrefix)
	if !ok || token == "" {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.options.Token == "" || token == s.options.Token || s.world.tokens[token]
}
