package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/memory"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/internal/web/guard"
	"github.com/flowrun/flowrun/internal/web/wire"
)

// mcpPath is where the server speaks MCP.
const mcpPath = "/mcp"

// mcpRoutes are the routes of MCP over streamable HTTP. Whoever holds a token may
// speak; what a caller may do is decided for each of its tools.
func mcpRoutes(gate *Gate, now func() time.Time, handler http.Handler) []guard.Route {
	handler = spoken(handler, now)
	if gate != nil {
		handler = gate.wrapStream(gate.wrap(handler))
	}
	var routes []guard.Route
	for _, method := range []string{http.MethodPost, http.MethodGet, http.MethodDelete} {
		routes = append(routes, guard.Route{Pattern: method + " " + mcpPath, Face: guard.FaceAPI, Scope: guard.Viewer, Handler: handler})
	}
	return routes
}

// spoken holds the messages of MCP to the rules of all answers and bodies: a body is
// JSON by its own word, an answer is not kept, and a refusal is a problem. An answer may
// take its time, and each part of it is taken within that of a usual answer.
func spoken(next http.Handler, now func() time.Time) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if declared := r.Header.Get("Content-Type"); r.Method != http.MethodGet && !isJSON(declared) && (r.Method == http.MethodPost || declared != "" || r.ContentLength != 0) {
			wire.NewProblem(wire.CodeMediaType, "the body must be application/json").Write(w)
			return
		}
		longAnswer(w)
		answer := &spokenAnswer{ResponseWriter: w, control: http.NewResponseController(w), now: now}
		defer answer.end()
		next.ServeHTTP(answer, r)
	})
}

// spokenAnswer keeps what would be kept elsewhere from being so, and makes a problem
// of a refusal in plain text. Used by one goroutine.
type spokenAnswer struct {
	http.ResponseWriter
	control *http.ResponseController
	now     func() time.Time
	status  int             // of a refusal in plain text; 0 = none
	refusal strings.Builder // its text
}

// maxRefusal bounds what is told of a refusal.
const maxRefusal = 1000

// WriteHeader begins the answer.
func (a *spokenAnswer) WriteHeader(status int) {
	a.Header().Set("Cache-Control", "no-store")
	if status >= http.StatusBadRequest && strings.HasPrefix(a.Header().Get("Content-Type"), "text/plain") {
		a.status = status
		return
	}
	a.ResponseWriter.WriteHeader(status)
}

// Write writes a part of the answer.
func (a *spokenAnswer) Write(data []byte) (int, error) {
	if a.status != 0 {
		a.refusal.Write(data[:min(len(data), maxRefusal)])
		return len(data), nil
	}
	a.Header().Set("Cache-Control", "no-store")
	defer a.inTime()()
	return a.ResponseWriter.Write(data)
}

// FlushError sends what was written.
func (a *spokenAnswer) FlushError() error {
	if a.status != 0 {
		return nil
	}
	defer a.inTime()()
	return a.control.Flush()
}

// inTime bounds how long the reader takes for what is sent until end: who takes nothing
// is hung up on, and an answer that has nothing to say is not.
func (a *spokenAnswer) inTime() (end func()) {
	_ = a.control.SetWriteDeadline(a.now().Add(answerTimeout)) // a writer that has no deadlines is a test's
	return func() { _ = a.control.SetWriteDeadline(time.Time{}) }
}

// Unwrap lets http.ResponseController find the connection.
func (a *spokenAnswer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// end writes the problem that a refusal is.
func (a *spokenAnswer) end() {
	if a.status == 0 {
		return
	}
	code := wire.CodeBadRequest
	for _, known := range wire.Codes() {
		if known.Status() == a.status && known != wire.CodeOrigin {
			code = known
			break
		}
	}
	problem := wire.NewProblem(code, strings.TrimSpace(a.refusal.String()))
	problem.Status, problem.Title = a.status, http.StatusText(a.status)
	a.Header().Del("Content-Length")
	problem.Write(a.ResponseWriter)
}

// CallerHandler returns the API for what acts within this process in the name of callers
// whom the guard let in (guard.WithCaller). Each request needs the scope of its route, by
// a token that is still good when it comes; what the socket alone has does not exist here.
func CallerHandler(o Options) http.Handler {
	s := newServer(o)
	return wire.Contain(refuseUnknown(s.muxes(func(route Route) http.Handler {
		if route.Face != guard.FaceAPI {
			return nil
		}
		return s.ofCaller(route)
	})), func(w http.ResponseWriter, _ *http.Request, cause any, _ []byte) {
		wire.NewProblem(wire.CodeInternal, fmt.Sprintf("panic: %v", cause)).Write(w)
	})
}

func (s *server) ofCaller(route Route) http.Handler {
	next := s.handler(route)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		caller, ok := guard.CallerOf(r.Context())
		switch {
		case !ok || caller.ID == "" || !s.Tokens.AccessTokenHolds(r.Context(), caller.ID):
			wire.NewProblem(wire.CodeUnauthorized, "the token is not known here: it has expired or was removed").Write(w)
		case !caller.Scope.Allows(route.Scope):
			wire.NewProblem(wire.CodeForbidden, fmt.Sprintf("this needs the scope %s, and the token has %s", route.Scope, caller.Scope)).
				With(diag.Sayf("%s makes a token", diag.Command{"tokens", "create", "--scope", string(route.Scope)})).Write(w)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// Project is what the files of a project tell.
type Project interface {
	Catalog
	WorkflowList(ctx context.Context) ([]engine.WorkflowInfo, error)
	Workflow(ctx context.Context, name string) (*engine.WorkflowDetail, error)
}

// files is a project where nothing is stored.
type files struct {
	Project
	Memory
}

// StartNamed starts nothing.
func (files) StartNamed(context.Context, string, engine.NamedStart) (*runs.Run, diag.List, error) {
	return nil, nil, errNoStore
}

// Definition knows no run.
func (files) Definition(context.Context, string) (*engine.RunDefinition, error) {
	return nil, errNoStore
}

// StateCursors are nowhere yet.
func (files) StateCursors(context.Context, string) ([]memory.CursorItem, error) { return nil, nil }

var errNoStore = errors.New("there is no store")

// ProjectHandler returns the part of the API that needs no store, for where there is
// none: what is in a project, what is right with it and what it would do.
func ProjectHandler(p Project) http.Handler {
	s := newServer(Options{Catalog: p, Workflows: files{Project: p}, Memory: files{Project: p}, Gate: NewGate()})
	ofFiles := map[string]bool{}
	for _, pattern := range []string{
		"POST /validate", "POST /plan", "POST /test", "GET /workflows", "GET /workflows/{name}", "GET /plugins", "GET /plugins/{name}/actions",
		"GET /plugins/{name}/actions/{action}", "GET /schemas/workflow",
	} {
		method, path, _ := strings.Cut(pattern, " ")
		ofFiles[method+" "+Prefix+path] = true
	}
	return wire.Contain(refuseUnknown(s.muxes(func(route Route) http.Handler {
		if !ofFiles[route.Pattern] {
			return nil
		}
		return s.handler(route)
	})), func(w http.ResponseWriter, _ *http.Request, cause any, _ []byte) {
		wire.NewProblem(wire.CodeInternal, fmt.Sprintf("panic: %v", cause)).Write(w)
	})
}
