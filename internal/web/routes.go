package web

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/flowrun/flowrun/internal/web/guard"
	"github.com/flowrun/flowrun/internal/web/packed"
)

// Scope is what a caller must be allowed to use a route. The zero value allows
// nothing.
type Scope string

// The scopes. ScopeOpen routes answer anybody; ScopeHook routes ask for what the
// trigger of a webhook says; ScopeSocket routes exist on the unix socket alone,
// whose mode is the authority.
const (
	ScopeOpen     Scope = "open"
	ScopeViewer   Scope = "viewer"
	ScopeOperator Scope = "operator"
	ScopeHook     Scope = "hook"
	ScopeSocket   Scope = "socket"
)

// Route is one line of the API.
type Route struct {
	Pattern string // of net/http's ServeMux
	Scope   Scope
	handle  func(*server, http.ResponseWriter, *http.Request) *Problem
}

// Routes returns the whole API: what is not in this table does not exist.
func Routes() []Route { return newServer(Options{}).routes() }

// routes returns the typed operations, and what is none: the document, webhooks,
// whose body is the sender's, and what the socket alone has for our own commands.
func (s *server) routes() []Route {
	routes := []Route{
		{"GET /healthz", ScopeOpen, (*server).health},
		{"GET /readyz", ScopeOpen, (*server).ready},
		{"GET " + Prefix + "/openapi.json", ScopeViewer, (*server).openAPI},
		{"POST /hooks/{workflow}/{trigger}", ScopeHook, (*server).hook},
	}
	for _, route := range s.typed().routes() {
		routes = append(routes, route)
		if method, rest, ok := strings.Cut(route.Pattern, schedulePattern); ok {
			routes = append(routes, Route{method + splitPattern + rest, route.Scope, joinID(route.handle)})
		}
	}
	return append(routes, localRoutes()...)
}

// typed registers the documented operations.
func (s *server) typed() *typed {
	t := new(typed)
	registerRuns(t, s)
	registerSummary(t, s)
	registerActs(t, s)
	registerDecisions(t, s)
	registerStream(t, s)
	registerWorkflows(t, s)
	registerCatalog(t, s)
	registerSchedules(t, s)
	registerAccess(t, s)
	return t
}

func localRoutes() []Route {
	return []Route{
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
		{"GET " + Prefix + "/local/state/plugins", ScopeSocket, (*server).pluginStates},
		{"POST " + Prefix + "/local/state/plugins/remove", ScopeSocket, (*server).removePluginState},
		{"GET " + Prefix + "/local/runs/{id}/export", ScopeSocket, (*server).exportRun},
		{"POST " + Prefix + "/local/runs/{id}/remove", ScopeSocket, (*server).removeRun},
		{"GET " + Prefix + "/local/db/stats", ScopeSocket, (*server).dbStats},
		{"GET " + Prefix + "/local/db/owners/{by}", ScopeSocket, (*server).dbOwners},
		{"POST " + Prefix + "/local/db/backup", ScopeSocket, (*server).dbBackup},
		{"GET " + Prefix + "/local/key", ScopeSocket, (*server).checkKey},
		{"POST " + Prefix + "/local/key/rotate", ScopeSocket, (*server).rotateKey},
		{"GET " + Prefix + "/local/tokens", ScopeSocket, (*server).tokens},
		{"POST " + Prefix + "/local/tokens", ScopeSocket, (*server).createToken},
		{"POST " + Prefix + "/local/tokens/remove", ScopeSocket, (*server).removeToken},
		{"POST " + Prefix + "/local/login-link", ScopeSocket, (*server).loginLink},
	}
}

// Options joins a handler with its engine.
type Options struct {
	Runs      Runs
	Catalog   Catalog
	Access    Access
	Memory    Memory
	Upkeep    Upkeep
	Workflows Workflows
	Schedules Schedules
	Hooks     Hooks
	Tokens    Tokens
	Owner     Owner
	Gate      *Gate
	// LoginLink makes a login link of the TCP server; nil, or an answer of "", says
	// that there is none. TokenRemoved hears of each token that was removed.
	LoginLink    func(by string, scope guard.Scope) (string, error)
	TokenRemoved func(ctx context.Context)
	// Ready says why nothing can be taken; nil, or an answer of nil, says that it can.
	Ready func() error
	// Log gets the panics of requests that come over TCP; nil = nobody.
	Log *slog.Logger
	// Now lets streams cut off readers over TCP that take nothing; nil = they wait.
	Now func() time.Time
	// Heartbeat is after how long an idle stream gets a comment line; 0 = never.
	Heartbeat time.Duration
}

type server struct {
	Options
	streams  chan struct{} // one slot per open stream
	document func() ([]byte, error)
}

func newServer(o Options) *server {
	return &server{Options: o, streams: make(chan struct{}, streamCap), document: sync.OnceValues(OpenAPI)}
}

// NewSocketHandler returns the API as the unix socket serves it: every route,
// no token. It must not be put behind a TCP listener.
func NewSocketHandler(o Options) http.Handler {
	s, mux := newServer(o), http.NewServeMux()
	for _, route := range s.routes() {
		if route.Scope == "" {
			continue // deny by default
		}
		mux.Handle(route.Pattern, s.handler(route))
	}
	return packed.Handler(contain(refuseUnknown(mux), func(text string) string { return text }))
}

// API returns the routes that a server has over TCP: all but /local. Their
// faces and scopes are the guard's to enforce; nothing here asks for a token.
func API(o Options) []guard.Route {
	s := newServer(o)
	var routes []guard.Route
	for _, route := range s.routes() {
		r := guard.Route{Pattern: route.Pattern, Handler: packed.Handler(contain(s.handler(route), s.keepToLog))}
		switch route.Scope {
		case ScopeOpen:
			r.Face = guard.FaceOpen
		case ScopeHook:
			r.Face = guard.FaceHook
		case ScopeViewer, ScopeOperator:
			r.Face, r.Scope = guard.FaceAPI, guard.Scope(route.Scope)
		default:
			continue // the socket's, and what has no scope
		}
		routes = append(routes, r)
	}
	return routes
}

// handler is one route, behind the gate but for those that tell of it.
func (s *server) handler(route Route) http.Handler {
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if problem := route.handle(s, w, r); problem != nil {
			writeProblem(w, problem)
		}
	})
	if route.Scope == ScopeOpen {
		return handler
	}
	return s.Gate.wrap(handler)
}

// keepToLog logs what a request has broken; over TCP nobody else hears of it.
func (s *server) keepToLog(text string) string {
	if s.Log != nil {
		s.Log.Error("a request of the API panicked", "panic", text)
	}
	return "this request has met a fault of flowrun; the server's log tells which"
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

// contain turns a panic of one request into its error answer, of which told words
// the text.
func contain(next http.Handler, told func(text string) string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			if cause := recover(); cause != nil {
				writeProblem(w, newProblem(CodeInternal, told(fmt.Sprintf("panic: %v\n%s", cause, debug.Stack()))))
			}
		}()
		next.ServeHTTP(w, r)
	})
}
