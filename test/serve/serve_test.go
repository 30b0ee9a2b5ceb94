// Package serve attacks the TCP side of `flowrun serve`: every route with every
// kind of credential, hostile hosts, origins, paths, names and bodies
// (docs/reliability.md, section "The server").
package serve

import (
	"context"
	"crypto/rand"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/access"
	"github.com/flowrun/flowrun/engine/workspace"
	"github.com/flowrun/flowrun/internal/mcpserver"
	"github.com/flowrun/flowrun/internal/web"
	"github.com/flowrun/flowrun/internal/web/guard"
	"github.com/flowrun/flowrun/internal/web/page"
)

// clock is the real one, moved on by hand: connections have deadlines.
type clock struct {
	mu    sync.Mutex
	ahead time.Duration
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.ahead)
}

func (c *clock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ahead += d
}

// product is an engine on a store of its own, and what a server of it is made of.
type product struct {
	t      *testing.T
	root   string // of everything: what lies in it and not in the project is a canary
	engine *engine.Engine
	clock  *clock
	server web.ServerOptions
	admin  string
}

const workflowFile = `flowrun: v1
name: hello
triggers:
  morning: {cron: "0 9 * * *", timezone: UTC}
steps:
  - id: greet
    let: {text: hello}
`

// newProduct opens an engine. What can be told of a project is in it: a
// workflow with a schedule.
func newProduct(t *testing.T) *product {
	t.Helper()
	p := &product{t: t, root: t.TempDir(), clock: new(clock)}
	dir := filepath.Join(p.root, "project")
	p.write("project/flowrun.yaml", "workflows: [workflows]\n")
	p.write("project/workflows/hello.yaml", workflowFile)
	project, err := engine.LoadProject(t.Context(), workspace.Config{
		StateDir: filepath.Join(p.root, "state"), ProjectFile: filepath.Join(dir, "flowrun.yaml"), Dir: dir, WorkDir: dir,
		Executable: "none", Version: "test", Now: p.clock.Now, Entropy: rand.Reader, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	if p.engine, err = engine.Open(t.Context(), project); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.engine.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	api := web.Options{
		Runs: p.engine, Catalog: engine.Offline{Workspace: project}, Access: p.engine, Memory: p.engine, Upkeep: p.engine,
		Workflows: p.engine, Schedules: p.engine, Hooks: p.engine, Tokens: p.engine, Ready: p.engine.Ready,
		Owner: web.Owner{PID: os.Getpid(), Version: "test"}, Gate: web.NewGate(),
	}
	p.server = web.ServerOptions{
		API: api,
		MCP: mcpserver.NewHTTP(mcpserver.HTTPOptions{
			Options: mcpserver.Options{Lend: mcpserver.Caller(web.CallerHandler(api)), Version: "test", Entropy: rand.Reader},
			Rights:  mcpserver.RightsOf(false, true), Holds: p.engine.AccessTokenHolds, Ending: api.Gate.Done(),
		}),
		Page: page.Routes(page.Options{
			Engine: p.engine, Catalog: engine.Offline{Workspace: project}, Now: p.clock.Now, Version: "test", StateDir: filepath.Join(p.root, "state"), Since: p.clock.Now(),
			Go: func(task func(context.Context)) { go task(t.Context()) },
		}),
		Metrics:   http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }),
		LoginPage: page.NewLogin(), Sessions: p.engine, Now: p.clock.Now, Entropy: rand.Reader, Log: slog.New(slog.DiscardHandler), HostName: "here",
	}
	return p
}

func (p *product) write(name, text string) {
	p.t.Helper()
	path := filepath.Join(p.root, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

// token makes a token of that scope.
func (p *product) token(r access.NewToken) string {
	p.t.Helper()
	_, text, err := p.engine.CreateAccessToken(p.t.Context(), r)
	if err != nil {
		p.t.Fatal(err)
	}
	return text
}

// listen serves the product on a free port of loopback, and returns its address.
func (p *product) listen(change ...func(*web.ServerOptions)) (*web.Server, string) {
	p.t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		p.t.Fatal(err)
	}
	options := p.server
	for _, c := range change {
		c(&options)
	}
	server, err := web.NewServer(listener, options)
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		options.API.Gate.Close()
		if err := server.Close(ctx); err != nil {
			p.t.Error(err)
		}
	})
	return server, listener.Addr().String()
}

// fill puts a value into each wildcard of a pattern and returns method and path.
func fill(pattern, value string) (method, path string) {
	method, path, _ = strings.Cut(pattern, " ")
	parts := strings.Split(path, "/")
	for i, part := range parts {
		switch {
		case part == "{$}":
			parts[i] = ""
		case strings.HasPrefix(part, "{"):
			parts[i] = value
		}
	}
	return method, strings.Join(parts, "/")
}

// allRoutes is the table of the server, with the guard's own routes.
func (p *product) allRoutes() []guard.Route {
	routes := web.ServerRoutes(p.server)
	for _, pattern := range guard.OwnPatterns() {
		route := guard.Route{Pattern: pattern, Face: guard.FaceOpen}
		if pattern == "POST /logout" {
			route.Face, route.Scope = guard.FacePage, guard.Viewer
		}
		routes = append(routes, route)
	}
	return routes
}
