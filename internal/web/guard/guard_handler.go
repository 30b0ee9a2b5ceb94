package guard

import (
	"context"
	"errors"
	"fmt"
	"html/template"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/flowrun/flowrun/internal/web/wire"
)

// csp lets a page of ours load what we serve, and nothing else; no script stands
// in a page itself.
const csp = "default-src 'self'; script-src 'self'; frame-ancestors 'none'; object-src 'none'; base-uri 'none'; form-action 'self'"

// Bounds of the body of a request.
const (
	bodyCap   = 1 << 20 // bytes
	readLimit = 30 * time.Second
)

// Authority knows the tokens.
type Authority interface {
	// Token says whose token text is. The error is ErrNoToken for one that was
	// never there, is removed or has expired.
	Token(ctx context.Context, text string) (Grant, error)
	// Holds reports whether the grant of that id is still good.
	Holds(ctx context.Context, id string) bool
}

// Grant is what a token allows.
type Grant struct {
	ID    string
	Name  string
	Scope Scope
}

// ErrNoToken says that a text is nobody's token.
var ErrNoToken = errors.New("there is no such token")

// Options join a guard with its surroundings.
type Options struct {
	Authority Authority
	Now       func() time.Time
	After     func(time.Duration) <-chan time.Time
	Entropy   io.Reader // of sessions and login links
	// Hosts are the names that requests may be sent to, as `name` (any port) or
	// `name:port`. Loopback names and the address that a connection was made to are
	// always among them.
	Hosts []string
	// Listen is the address of the listener. Its port makes the name of the cookie.
	Listen net.Addr
	// Secure says that the server speaks TLS.
	Secure bool
	// TrustedProxies are the networks whose word on a client's address, host and
	// scheme is believed.
	TrustedProxies []netip.Prefix
	// ProxiesOnly refuses what comes neither from one of them nor from this machine: there
	// is no TLS on the way.
	ProxiesOnly bool
	// Hold keeps the connection of a request from being given up for others, until
	// release; nil = nothing does. It is called for requests with a credential.
	Hold func(ctx context.Context) (release func())
	// Sessions keeps sessions over restarts; nil = they end with the process.
	Sessions SessionStore
	// LoginPage writes the page with the login form.
	LoginPage func(io.Writer, LoginView) error
	// Log gets what goes wrong here, and refused logins; nil = nowhere.
	Log *slog.Logger
	// Observe wraps the handler of each route; nil = nothing does.
	Observe func(pattern string, next http.Handler) http.Handler
}

// Guard is the whole server as one handler. Safe for concurrent use.
type Guard struct {
	options  Options
	mux      *http.ServeMux
	origins  *http.CrossOriginProtection
	hosts    []string
	sessions *sessions
	failures *failures
	live     *live
	refusal  *template.Template
}

// bound is a route in the mux. Only what the guard let through reaches it.
type bound struct {
	Route
	segments []string // of the pattern's path
	next     http.Handler
}

type admittedKey struct{}

// ServeHTTP passes a request on that the guard has admitted to this very route.
func (b *bound) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if admitted, ok := r.Context().Value(admittedKey{}).(*bound); !ok || admitted != b {
		writeProblem(w, wire.CodeForbidden, "the request was not admitted", "")
		return
	}
	b.next.ServeHTTP(w, r)
}

// New returns the guard of a table of routes. It owns /login and /logout besides.
// A route whose pattern, face or scope leaves anything open is an error.
func New(routes []Route, o Options) (*Guard, error) {
	if o.Authority == nil || o.Now == nil || o.Entropy == nil || o.LoginPage == nil {
		return nil, errors.New("make a guard: the authority, the clock, the entropy and the login page must be given")
	}
	if o.After == nil {
		o.After = time.After
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	g := &Guard{
		options: o, mux: http.NewServeMux(), origins: http.NewCrossOriginProtection(), failures: newFailures(o.Now),
		sessions: newSessions(o.Now, o.Entropy, o.Sessions), live: newLive(), refusal: template.Must(template.New("").Parse(refusalPage)),
	}
	g.sessions.load(o.Log)
	for _, host := range o.Hosts {
		g.hosts = append(g.hosts, strings.ToLower(host))
	}
	for _, route := range append(slices.Clone(routes), g.ownRoutes()...) {
		if err := g.add(route); err != nil {
			return nil, err
		}
	}
	return g, nil
}

// add puts a route into the mux.
func (g *Guard) add(route Route) (err error) {
	segments, err := route.check()
	if err != nil {
		return fmt.Errorf("route %q: %w", route.Pattern, err)
	}
	defer func() {
		if cause := recover(); cause != nil { // how the mux tells of a pattern that clashes with another
			err = fmt.Errorf("route %q: %v", route.Pattern, cause)
		}
	}()
	next := wire.Contain(route.Handler, g.failed)
	if g.options.Observe != nil {
		next = g.options.Observe(route.Pattern, next)
	}
	g.mux.Handle(route.Pattern, &bound{Route: route, segments: segments, next: next})
	return nil
}

// check says why a route can't be guarded, and returns the segments of its path.
func (route Route) check() ([]string, error) {
	method, path, ok := strings.Cut(route.Pattern, " ")
	switch {
	case !ok || method == "" || !strings.HasPrefix(path, "/"):
		return nil, errors.New("the pattern must be a method and a path")
	case strings.Contains(path, "...") || path != "/{$}" && strings.HasSuffix(path, "/"):
		return nil, errors.New("the pattern must be of one path, not of all below it")
	case route.Handler == nil:
		return nil, errors.New("it has no handler")
	}
	switch route.Face {
	case FaceOpen, FaceHook:
		if route.Scope != "" {
			return nil, fmt.Errorf("the face %s has no scopes", route.Face)
		}
	case FaceAPI, FacePage:
		if !Admin.Allows(route.Scope) {
			return nil, fmt.Errorf("%q is no scope", route.Scope)
		}
	default:
		return nil, fmt.Errorf("%q is no face", route.Face)
	}
	return strings.Split(strings.TrimSuffix(path, "{$}"), "/"), nil
}

// ServeHTTP decides on a request and passes it on.
func (g *Guard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g.setHeaders(w.Header())
	if g.options.ProxiesOnly && !g.isThroughProxy(r) {
		g.refuse(w, r, wire.CodeForbidden, "this server takes requests of its reverse proxies alone", "send them to the proxy; its address stands in `server: {behind_proxy: {trusted_proxies: […]}}` of flowrun.yaml")
		return
	}
	r = g.asSent(r)
	defer boundBody(w, r)()
	wire.Contain(http.HandlerFunc(g.check), g.failed).ServeHTTP(w, r)
}

// failed answers a request whose handler panicked: the log alone says why.
func (g *Guard) failed(w http.ResponseWriter, r *http.Request, cause any, stack []byte) {
	g.options.Log.Error("a request panicked", "method", r.Method, "path", r.URL.Path, "cause", fmt.Sprint(cause), "stack", string(stack))
	g.refuse(w, r, wire.CodeInternal, "the request failed here; the log says why", "")
}

// check refuses what is not sent to a name of ours, or is sent by another's page.
func (g *Guard) check(w http.ResponseWriter, r *http.Request) {
	if !g.knowsHost(r) {
		g.refuse(w, r, wire.CodeHost, "this server does not answer to the host of the request",
			"name it in `server: {hosts: […]}` of flowrun.yaml")
		return
	}
	if !g.isOwnOrigin(r) {
		g.refuse(w, r, wire.CodeOrigin, "requests from pages of other sites are refused", "")
		return
	}
	g.admit(w, r)
}

// setHeaders sets what every answer has.
func (g *Guard) setHeaders(header http.Header) {
	header.Set("Content-Security-Policy", csp)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("X-Frame-Options", "DENY")
	header.Set("Referrer-Policy", "same-origin")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	header.Set("Cache-Control", "no-store")
	if g.options.Secure {
		header.Set("Strict-Transport-Security", "max-age=31536000")
	}
}

// boundBody bounds how large the body of a request may be and how long it may
// take, until end is called. The header and the answer are the server's to bound.
// The writer is the server's again once the handler has returned, whether or not the
// body was read: over HTTP/2 a deadline that is set later ends the program, and over
// HTTP/1 it is that of the connection's next request.
func boundBody(w http.ResponseWriter, r *http.Request) (end func()) {
	if r.Body == nil || r.Body == http.NoBody {
		return func() {}
	}
	body := &timedBody{ReadCloser: r.Body}
	control := http.NewResponseController(w)
	body.timer = time.AfterFunc(readLimit, func() {
		body.mu.Lock()
		defer body.mu.Unlock()
		if !body.ended {
			_ = control.SetReadDeadline(time.Unix(1, 0)) // a time that is past; a writer that knows none is a test's
		}
	})
	r.Body = http.MaxBytesReader(w, body, bodyCap+1<<10) // a handler that has the same bound is to see it first
	return body.end
}

// timedBody is in time once it is read.
type timedBody struct {
	io.ReadCloser
	timer *time.Timer
	mu    sync.Mutex
	ended bool
}

func (b *timedBody) Read(data []byte) (int, error) {
	n, err := b.ReadCloser.Read(data)
	if err != nil {
		b.end()
	}
	return n, err
}

// Close ends the clock too: what is not read by then is nobody's.
func (b *timedBody) Close() error {
	b.end()
	return b.ReadCloser.Close()
}

// end waits for a clock that strikes at this moment: it strikes no more afterwards.
func (b *timedBody) end() {
	b.timer.Stop()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ended = true
}

// admit finds the route, asks for its authority and serves it. What stands in no
// route is told to those alone who hold some authority.
func (g *Guard) admit(w http.ResponseWriter, r *http.Request) {
	route := g.route(r)
	if route == nil {
		if g.mayAsk(w, r) {
			g.unknown(w, r)
		}
		return
	}
	var caller Caller
	var credential string
	switch route.Face {
	case FaceOpen:
	case FaceHook:
		w = g.failures.watch(w, addressOf(r)+" "+r.URL.EscapedPath())
	case FaceAPI:
		grant, ok := g.bearer(w, r)
		if !ok {
			return
		}
		caller, credential = Caller{ID: grant.ID, Name: "token " + grant.Name, Scope: grant.Scope, Remote: addressOf(r)}, grant.ID
	case FacePage:
		session, ok := g.session(w, r)
		if !ok || !g.checkForm(w, r, session) {
			return
		}
		caller, credential = session.caller(addressOf(r)), session.id
	default:
		writeProblem(w, wire.CodeForbidden, "the route lets nobody in", "")
		return
	}
	ctx := context.WithValue(r.Context(), admittedKey{}, route)
	if credential != "" {
		if !caller.Scope.Allows(route.Scope) {
			g.refuseScope(w, r, caller.Scope, route.Scope)
			return
		}
		ctx = WithCaller(ctx, caller)
		var end func()
		ctx, end = g.live.begin(ctx, credential)
		defer end()
		if g.options.Hold != nil {
			defer g.options.Hold(ctx)()
		}
	}
	if r.ContentLength > bodyCap {
		g.refuse(w, r, wire.CodeTooLarge, fmt.Sprintf("the body is larger than %d bytes", bodyCap), "")
		return
	}
	g.mux.ServeHTTP(w, r.WithContext(ctx))
}

// route returns the route of exactly this method and path, nil when there is
// none. Only wildcards may be percent-encoded, and none may stand for a step in
// a path.
func (g *Guard) route(r *http.Request) *bound {
	handler, _ := g.mux.Handler(r)
	found, ok := handler.(*bound) // else it redirects, or refuses
	if !ok || !found.fits(r.URL.EscapedPath()) {
		return nil
	}
	return found
}

// mayAsk reports whether somebody may hear that there is no such path: who holds
// a token, or outside of the API a session.
func (g *Guard) mayAsk(w http.ResponseWriter, r *http.Request) bool {
	if r.Header.Get("Authorization") == "" && !strings.HasPrefix(r.URL.Path, "/api/") {
		if _, ok := g.sessionOf(r); ok {
			return true
		}
		if wantsPage(r) {
			_, ok := g.session(w, r)
			return ok
		}
	}
	_, ok := g.bearer(w, r)
	return ok
}

// unknown answers a path or method that is in no route. What the mux would redirect,
// or serve in another form, is none either.
func (g *Guard) unknown(w http.ResponseWriter, r *http.Request) {
	handler, pattern := g.mux.Handler(r)
	if _, ok := handler.(*bound); ok || pattern != "" {
		handler = http.NotFoundHandler()
	}
	problem := wire.NoRoute(w, r, handler)
	g.refuse(w, r, problem.Code, problem.Detail, "")
}

func (g *Guard) refuseScope(w http.ResponseWriter, r *http.Request, has, needs Scope) {
	g.refuse(w, r, wire.CodeForbidden, fmt.Sprintf("this needs the scope %s, and you have %s", needs, has),
		fmt.Sprintf("`flowrun tokens create --scope %s` makes a token", needs))
}
