package web

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/internal/web/guard"
	"github.com/flowrun/flowrun/internal/web/packed"
	"github.com/flowrun/flowrun/internal/web/wire"
)

// FaceSocket is the face of routes that are for our own commands. On the unix socket its
// mode is the authority. Over TCP those that have a scope are routes of guard.FaceAPI
// (ADR 91); the guard takes none of the others.
const FaceSocket guard.Face = "socket"

// Route is one line of the API.
type Route struct {
	Pattern string // of net/http's ServeMux
	Face    guard.Face
	Scope   guard.Scope // of guard.FaceAPI; of FaceSocket what a token needs over TCP, "" = it is not there
	handle  handler
}

// handler serves a route. Its error is answered as a problem.
type handler func(*server, http.ResponseWriter, *http.Request) error

// Routes returns the whole API: what is not in this table does not exist.
func Routes() []Route { return newServer(Options{}).routes() }

// routes returns the routes of all sections.
func (s *server) routes() []Route {
	var routes []Route
	for _, section := range sections() {
		routes = append(routes, section.routes(s)...)
	}
	return routes
}

// section is some of the routes: those of its areas (areaOf).
type section struct {
	areas []string
	typed []func(*typed, *server) // adds documented operations
	plain []Route                 // what is none
}

// sections are the typed operations, and what is none: the document, webhooks, whose body is
// the sender's, and what the socket alone has for our own commands.
func sections() []section {
	all := []section{
		{areas: []string{"healthz", "readyz", "openapi.json", "hooks"}, plain: ownRoutes()},
		{areas: []string{"runs"}, typed: []func(*typed, *server){registerRuns, registerSummary, registerActs, registerDecisions}},
		{areas: []string{"stream"}, typed: []func(*typed, *server){registerStream}},
		{areas: []string{"workflows", "plan", "validate", "plugins", "schemas", "test"}, typed: []func(*typed, *server){registerWorkflows, registerCatalog}},
		{areas: []string{"schedules", "fires"}, typed: []func(*typed, *server){registerSchedules}},
		{areas: []string{"connections"}, typed: []func(*typed, *server){registerAccess}},
	}
	return append(all, localSections()...)
}

// localSections are what the socket alone has, by area.
func localSections() []section {
	var sections []section
	for _, route := range localRoutes() {
		method, path, _ := strings.Cut(route.pattern, " ")
		made := Route{method + " " + Prefix + "/" + local + path, FaceSocket, route.scope, route.handle}
		area := areaOf(Prefix + "/" + local + path)
		place := slices.IndexFunc(sections, func(n section) bool { return n.areas[0] == area })
		if place < 0 {
			place = len(sections)
			sections = append(sections, section{areas: []string{area}})
		}
		sections[place].plain = append(sections[place].plain, made)
	}
	return sections
}

func ownRoutes() []Route {
	return []Route{
		{"GET /healthz", guard.FaceOpen, "", (*server).health},
		{"GET /readyz", guard.FaceOpen, "", (*server).ready},
		{"GET " + Prefix + "/openapi.json", guard.FaceAPI, guard.Viewer, (*server).openAPI},
		{"POST /hooks/{workflow}/{trigger}", guard.FaceHook, "", (*server).hook},
	}
}

// routes makes the routes of a section.
func (n section) routes(s *server) []Route {
	routes := slices.Clone(n.plain)
	operations := new(typed)
	n.add(operations, s)
	for _, route := range operations.routes() {
		routes = append(routes, route)
		if method, rest, ok := strings.Cut(route.Pattern, schedulePattern); ok {
			routes = append(routes, Route{method + splitPattern + rest, route.Face, route.Scope, joinID(route.handle)})
		}
	}
	return routes
}

// add registers the documented operations of a section.
func (n section) add(t *typed, s *server) {
	for _, register := range n.typed {
		register(t, s)
	}
}

// typed registers all documented operations.
func (s *server) typed() *typed {
	t := new(typed)
	for _, section := range sections() {
		section.add(t, s)
	}
	return t
}

// local is the area of what the socket alone has. Below it each word is an area.
const local = "local"

// areaOf is the word of a path by which its section is found: the first below Prefix, else
// the first; two words below local.
func areaOf(path string) string {
	path = strings.TrimPrefix(strings.TrimPrefix(path, Prefix), "/")
	area, rest, _ := strings.Cut(path, "/")
	if area == local {
		below, _, _ := strings.Cut(rest, "/")
		area += "/" + below
	}
	return area
}

// muxes serve each section by its areas. One is made when it is first asked for: most
// processes answer a few requests of their own command. handler makes the handler of a
// route, nil where it does not exist.
func (s *server) muxes(handler func(Route) http.Handler) func(path string) *http.ServeMux {
	none, made := http.NewServeMux(), map[string]func() *http.ServeMux{}
	for _, section := range sections() {
		mux := sync.OnceValue(func() *http.ServeMux {
			mux := http.NewServeMux()
			for _, route := range section.routes(s) {
				if h := handler(route); h != nil {
					mux.Handle(route.Pattern, h)
				}
			}
			return mux
		})
		for _, area := range section.areas {
			made[area] = mux
		}
	}
	return func(path string) *http.ServeMux {
		if mux := made[areaOf(path)]; mux != nil {
			return mux()
		}
		return none
	}
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
	// Devices are the programs that wait for a login; nil = there is no page to approve it.
	Devices *guard.Devices
	// NoRemoteAdmin refuses over TCP what of /local needs the scope admin.
	NoRemoteAdmin bool
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
	s := newServer(o)
	return packed.Handler(wire.Contain(refuseUnknown(s.muxes(s.handler)), func(w http.ResponseWriter, _ *http.Request, cause any, stack []byte) {
		wire.NewProblem(wire.CodeInternal, fmt.Sprintf("panic: %v\n%s", cause, stack)).Write(w)
	}))
}

// API returns the routes that a server has over TCP: of /local those with a scope. Their
// faces and scopes are the guard's to enforce; nothing here asks for a token.
func API(o Options) []guard.Route {
	s := newServer(o)
	var routes []guard.Route
	for _, route := range s.routes() {
		face := route.Face
		if face == FaceSocket && route.Scope == anybody {
			face, route.Scope, route.Face = guard.FaceOpen, "", guard.FaceOpen
		} else if face == FaceSocket && route.Scope != onSocket {
			face = guard.FaceAPI
			if o.NoRemoteAdmin && route.Scope == guard.Admin {
				route.handle = closedHere
			}
		}
		if face != FaceSocket {
			routes = append(routes, guard.Route{Pattern: route.Pattern, Face: face, Scope: route.Scope, Handler: packed.Handler(s.handler(route))})
		}
	}
	return routes
}

// closedHere refuses what flowrun.yaml keeps at the server's own machine.
func closedHere(*server, http.ResponseWriter, *http.Request) error {
	return wire.NewProblem(wire.CodeForbidden, "this server takes that at its own machine alone").
		With(diag.Say("type the command there; `server: {remote_admin: false}` of its flowrun.yaml says so"))
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
func refuseUnknown(muxOf func(path string) *http.ServeMux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Cache-Control", "no-store")
		mux := muxOf(r.URL.Path)
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
