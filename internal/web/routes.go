package web

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/flowrun/flowrun/internal/web/guard"
	"github.com/flowrun/flowrun/internal/web/packed"
	"github.com/flowrun/flowrun/internal/web/wire"
)

// FaceSocket is the face of routes that exist on the unix socket alone, whose mode is
// the authority. The guard takes none of them.
const FaceSocket guard.Face = "socket"

// Route is one line of the API.
type Route struct {
	Pattern string // of net/http's ServeMux
	Face    guard.Face
	Scope   guard.Scope // of guard.FaceAPI
	handle  handler
}

// handler serves a route. Its error is answered as a problem.
type handler func(*server, http.ResponseWriter, *http.Request) error

// Routes returns the whole API: what is not in this table does not exist.
func Routes() []Route { return newServer(Options{}).routes() }

// routes returns the typed operations, and what is none: the document, webhooks,
// whose body is the sender's, and what the socket alone has for our own commands.
func (s *server) routes() []Route {
	routes := []Route{
		{"GET /healthz", guard.FaceOpen, "", (*server).health},
		{"GET /readyz", guard.FaceOpen, "", (*server).ready},
		{"GET " + Prefix + "/openapi.json", guard.FaceAPI, guard.Viewer, (*server).openAPI},
		{"POST /hooks/{workflow}/{trigger}", guard.FaceHook, "", (*server).hook},
	}
	for _, route := range s.typed().routes() {
		routes = append(routes, route)
		if method, rest, ok := strings.Cut(route.Pattern, schedulePattern); ok {
			routes = append(routes, Route{method + splitPattern + rest, route.Face, route.Scope, joinID(route.handle)})
		}
	}
	for _, route := range localRoutes() {
		method, path, _ := strings.Cut(route.pattern, " ")
		routes = append(routes, Route{method + " " + Prefix + "/local" + path, FaceSocket, "", route.handle})
	}
	return routes
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

// Options joins a handler with its engine.
type Options struct {
	Runs
	Catalog
	Access
	Memory
	Upkeep
	Workflows
	Schedules
	Hooks
	Tokens
	Owner Owner
	Gate  *Gate
	// LoginLink makes a login link of the TCP server; nil, or an answer of "", says
	// that there is none. TokenRemoved hears of each token that was removed.
	LoginLink    func(by string, scope guard.Scope) (string, error)
	TokenRemoved func(ctx context.Context)
	// Ready says why nothing can be taken; nil, or an answer of nil, says that it can.
	Ready func() error
	// Now lets streams cut off readers over TCP that take nothing; nil = they wait.
	Now func() time.Time
	// Heartbeat is after how long an idle stream gets a comment line; 0 = never.
	Heartbeat time.Duration
}

type server struct {
	Options
	streams chan struct{} // one slot per open stream
}

func newServer(o Options) *server {
	return &server{Options: o, streams: make(chan struct{}, streamCap)}
}

// NewSocketHandler returns the API as the unix socket serves it: every route,
// no token. It must not be put behind a TCP listener.
func NewSocketHandler(o Options) http.Handler {
	s, mux := newServer(o), http.NewServeMux()
	for _, route := range s.routes() {
		mux.Handle(route.Pattern, s.handler(route))
	}
	return packed.Handler(wire.Contain(refuseUnknown(mux), func(w http.ResponseWriter, _ *http.Request, cause any, stack []byte) {
		wire.NewProblem(wire.CodeInternal, fmt.Sprintf("panic: %v\n%s", cause, stack)).Write(w)
	}))
}

// API returns the routes that a server has over TCP: all but /local. Their
// faces and scopes are the guard's to enforce; nothing here asks for a token.
func API(o Options) []guard.Route {
	s := newServer(o)
	var routes []guard.Route
	for _, route := range s.routes() {
		if route.Face != FaceSocket {
			routes = append(routes, guard.Route{Pattern: route.Pattern, Face: route.Face, Scope: route.Scope, Handler: packed.Handler(s.handler(route))})
		}
	}
	return routes
}

// handler is one route, behind the gate but for those that tell of it.
func (s *server) handler(route Route) http.Handler {
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := route.handle(s, w, r); err != nil {
			problemOf(err).Write(w)
		}
	})
	if route.Face == guard.FaceOpen {
		return handler
	}
	return s.Gate.wrap(handler)
}

// refuseUnknown answers paths and methods that are not in the table as every
// other error is answered, and never redirects an unclean path.
func refuseUnknown(mux *http.ServeMux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Cache-Control", "no-store")
		handler, pattern := mux.Handler(r)
		switch {
		case !isPlain(r.URL):
			wire.NoRoute(w, r, http.NotFoundHandler()).Write(w)
		case pattern == "":
			wire.NoRoute(w, r, handler).Write(w)
		default:
			mux.ServeHTTP(w, r)
		}
	})
}
