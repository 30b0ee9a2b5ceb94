package web

import (
	"fmt"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/flowrun/flowrun/engine"
)

// Scope is what a caller must be allowed to use a route. The zero value allows
// nothing.
type Scope string

// The scopes. ScopeOpen routes answer anybody; ScopeSocket routes exist on the
// unix socket alone, whose mode is the authority.
const (
	ScopeOpen     Scope = "open"
	ScopeViewer   Scope = "viewer"
	ScopeOperator Scope = "operator"
	ScopeSocket   Scope = "socket"
)

// Route is one line of the API.
type Route struct {
	Pattern string // of net/http's ServeMux
	Scope   Scope
	handle  func(*server, http.ResponseWriter, *http.Request) *Problem
}

// Routes returns the whole API: what is not in this table does not exist.
func Routes() []Route {
	return []Route{
		{"GET /healthz", ScopeOpen, (*server).health},
		{"GET /readyz", ScopeOpen, (*server).health},
		{"GET " + Prefix + "/workflows", ScopeViewer, (*server).workflows},
		{"POST " + Prefix + "/validate", ScopeViewer, (*server).validate},
		{"GET " + Prefix + "/runs", ScopeViewer, (*server).runs},
		{"GET " + Prefix + "/runs/{id}", ScopeViewer, (*server).run},
		{"GET " + Prefix + "/runs/{id}/steps", ScopeViewer, (*server).steps},
		{"GET " + Prefix + "/runs/{id}/logs", ScopeViewer, (*server).logs},
		{"GET " + Prefix + "/runs/{id}/events", ScopeViewer, (*server).events},
		{"POST " + Prefix + "/runs/{id}/cancel", ScopeOperator, (*server).cancel},
		{"POST " + Prefix + "/runs/{id}/resume", ScopeOperator, (*server).resume},
		{"POST " + Prefix + "/runs/{id}/rerun", ScopeOperator, (*server).rerun},
		{"POST " + Prefix + "/runs/{id}/steps/{step}/approve", ScopeOperator, decide(engine.ActApprove)},
		{"POST " + Prefix + "/runs/{id}/steps/{step}/reject", ScopeOperator, decide(engine.ActReject)},
		{"POST " + Prefix + "/runs/{id}/steps/{step}/signal", ScopeOperator, decide(engine.ActSignal)},
		{"POST " + Prefix + "/runs/{id}/steps/{step}/resolve", ScopeOperator, decide(engine.ActResolve)},
		{"GET " + Prefix + "/stream", ScopeViewer, (*server).stream},
		{"GET " + Prefix + "/plugins", ScopeViewer, (*server).plugins},
		{"GET " + Prefix + "/plugins/{name}/actions", ScopeViewer, (*server).actions},
		{"GET " + Prefix + "/connections", ScopeViewer, (*server).connections},
		{"POST " + Prefix + "/connections/{name}/test", ScopeOperator, (*server).testConnection},
		{"POST " + Prefix + "/connections/{name}/login", ScopeOperator, (*server).login},
		{"POST " + Prefix + "/connections/{name}/logout", ScopeOperator, (*server).logout},
		{"GET " + Prefix + "/local/owner", ScopeSocket, (*server).owner},
		{"POST " + Prefix + "/local/runs", ScopeSocket, (*server).startLocal},
		{"POST " + Prefix + "/local/call", ScopeSocket, (*server).callLocal},
		{"GET " + Prefix + "/local/secrets", ScopeSocket, (*server).secrets},
		{"PUT " + Prefix + "/local/secrets/{name}", ScopeSocket, (*server).setSecret},
		{"DELETE " + Prefix + "/local/secrets/{name}", ScopeSocket, (*server).removeSecret},
		{"GET " + Prefix + "/local/state", ScopeSocket, (*server).state},
		{"PUT " + Prefix + "/local/state", ScopeSocket, (*server).setState},
		{"POST " + Prefix + "/local/state/reset", ScopeSocket, (*server).resetState},
		{"GET " + Prefix + "/local/state/cursors", ScopeSocket, (*server).stateCursors},
		{"GET " + Prefix + "/local/state/history", ScopeSocket, (*server).stateHistory},
		{"GET " + Prefix + "/local/runs/{id}/export", ScopeSocket, (*server).exportRun},
		{"POST " + Prefix + "/local/runs/{id}/remove", ScopeSocket, (*server).removeRun},
		{"GET " + Prefix + "/local/db/stats", ScopeSocket, (*server).dbStats},
		{"POST " + Prefix + "/local/db/backup", ScopeSocket, (*server).dbBackup},
		{"GET " + Prefix + "/local/key", ScopeSocket, (*server).checkKey},
		{"POST " + Prefix + "/local/key/rotate", ScopeSocket, (*server).rotateKey},
	}
}

// Options joins a handler with its engine.
type Options struct {
	Runs    Runs
	Catalog Catalog
	Access  Access
	Memory  Memory
	Upkeep  Upkeep
	Owner   Owner
	Gate    *Gate
	// Heartbeat is after how long an idle stream gets a comment line; 0 = never.
	Heartbeat time.Duration
}

type server struct {
	Options
	streams chan struct{} // one slot per open stream
}

// streamCap is how many streams may be open at once.
const streamCap = 100

// NewSocketHandler returns the API as the unix socket serves it: every route,
// no token. It must not be put behind a TCP listener.
func NewSocketHandler(o Options) http.Handler {
	s := &server{Options: o, streams: make(chan struct{}, streamCap)}
	mux := http.NewServeMux()
	for _, route := range Routes() {
		if route.Scope == "" {
			continue // deny by default
		}
		mux.HandleFunc(route.Pattern, func(w http.ResponseWriter, r *http.Request) {
			if problem := route.handle(s, w, r); problem != nil {
				writeProblem(w, problem)
			}
		})
	}
	return contain(o.Gate.wrap(refuseUnknown(mux)))
}

// refuseUnknown answers paths and methods that are not in the table as every
// other error is answered, and never redirects an unclean path.
func refuseUnknown(mux *http.ServeMux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Cache-Control", "no-store")
		if !isPlain(r.URL) {
			writeProblem(w, newProblem(CodeNotFound, "there is no such path"))
			return
		}
		handler, pattern := mux.Handler(r)
		if pattern == "" {
			answer := &statusRecorder{header: http.Header{}}
			handler.ServeHTTP(answer, r)
			if answer.status == http.StatusMethodNotAllowed {
				w.Header().Set("Allow", answer.header.Get("Allow"))
				writeProblem(w, newProblem(CodeMethod, fmt.Sprintf("%s is not allowed here; use %s", r.Method, answer.header.Get("Allow"))))
				return
			}
			writeProblem(w, newProblem(CodeNotFound, "there is no such path"))
			return
		}
		mux.ServeHTTP(w, r)
	})
}

type statusRecorder struct {
	header http.Header
	status int
}

func (s *statusRecorder) Header() http.Header            { return s.header }
func (s *statusRecorder) WriteHeader(status int)         { s.status = status }
func (s *statusRecorder) Write(data []byte) (int, error) { return len(data), nil }

// contain turns a panic of one request into its error answer.
func contain(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			if cause := recover(); cause != nil {
				writeProblem(w, newProblem(CodeInternal, fmt.Sprintf("panic: %v\n%s", cause, debug.Stack())))
			}
		}()
		next.ServeHTTP(w, r)
	})
}
