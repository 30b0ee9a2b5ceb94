package web

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/flowrun/flowrun/internal/web/guard"
)

// Bounds of the TCP server (docs/serve.md, "Limits").
const (
	maxHeader      = 32 << 10
	headerTimeout  = 5 * time.Second
	idleTimeout    = 60 * time.Second
	answerTimeout  = 60 * time.Second // of the whole answer; streams lift it
	maxConnections = 512
	maxOfAddress   = 128 // of them, from one address that is no trusted proxy and not this machine
)

// ServerOptions join the TCP server with its parts.
type ServerOptions struct {
	API     Options
	Page    []guard.Route // of the web page
	Metrics http.Handler  // nil = none
	MCP     http.Handler  // speaks MCP over streamable HTTP (ADR 64); nil = none
	Hosts   []string      // further names that requests may be sent to
	// TrustedProxies are the networks whose word on a client's address, host and
	// scheme is believed.
	TrustedProxies []netip.Prefix
	// ProxiesOnly refuses requests that do not come through one of them, or from this
	// machine.
	ProxiesOnly bool
	// Sessions keeps the sessions of the page over a restart; nil = they end with it.
	Sessions PageSessions
	TLS      *Certificate // nil = plain HTTP
	// HeaderTime bounds how long the header of a request may take; 0 = 5 s.
	HeaderTime time.Duration
	Now        func() time.Time
	Entropy    io.Reader
	Observe    func(pattern string, next http.Handler) http.Handler
	Log        *slog.Logger
	HostName   string // of this machine, for links where no other name is known
	// LoginPage writes the page with the login form.
	LoginPage func(io.Writer, guard.LoginView) error
}

// ServerRoutes returns the whole table of the TCP server: what is not in it does
// not exist, but for the guard's own /login and /logout.
func ServerRoutes(o ServerOptions) []guard.Route {
	routes := API(o.API)
	if o.Metrics != nil {
		routes = append(routes,
			guard.Route{Pattern: "GET /metrics", Face: guard.FaceAPI, Scope: guard.Viewer, Handler: o.Metrics},
			guard.Route{Pattern: "GET /system/metrics", Face: guard.FacePage, Scope: guard.Viewer, Handler: o.Metrics}) // the same, for people
	}
	if o.MCP != nil {
		routes = append(routes, mcpRoutes(o.API.Gate, o.Now, o.MCP)...)
	}
	for _, route := range o.Page {
		switch {
		case o.API.Gate == nil || route.Face == guard.FaceOpen:
		case strings.HasSuffix(route.Pattern, "/stream"):
			route.Handler = o.API.Gate.wrapStream(route.Handler)
		default:
			route.Handler = o.API.Gate.wrapPage(route.Handler)
		}
		routes = append(routes, route)
	}
	return routes
}

// wrapPage is wrap for the page, which stays readable while the owner ends.
func (g *Gate) wrapPage(next http.Handler) http.Handler {
	gated := g.wrap(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if changes(r) {
			gated.ServeHTTP(w, r)
		} else {
			next.ServeHTTP(w, r)
		}
	})
}

// wrapStream ends the context of a stream when the gate is closed.
func (g *Gate) wrapStream(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		go func() {
			select {
			case <-g.Done():
				cancel()
			case <-ctx.Done():
			}
		}()
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

// Server is the TCP side of an owner. Safe for concurrent use.
type Server struct {
	guard  *guard.Guard
	server *http.Server
	url    string
	stop   context.CancelFunc
	done   sync.WaitGroup
}

// NewServer makes the server of a listener, which it owns. Serve begins.
func NewServer(listener net.Listener, o ServerOptions) (*Server, error) {
	g, err := guard.New(ServerRoutes(o), guard.Options{
		Authority: authority{o.API.Tokens}, Now: o.Now, Entropy: o.Entropy, Hosts: o.Hosts, Listen: listener.Addr(), Secure: o.TLS != nil,
		TrustedProxies: o.TrustedProxies, ProxiesOnly: o.ProxiesOnly, Hold: hold, Sessions: storeOf(o.Sessions), LoginPage: o.LoginPage, Observe: o.Observe, Log: o.Log,
	})
	if err != nil {
		return nil, err
	}
	s := &Server{guard: g, url: ServerURL(listener.Addr(), o.TLS != nil, o.Hosts, o.HostName)}
	s.server = &http.Server{
		Handler: g, ConnContext: withConn, ConnState: noteState, ReadHeaderTimeout: cmp.Or(o.HeaderTime, headerTimeout), IdleTimeout: idleTimeout, WriteTimeout: answerTimeout, MaxHeaderBytes: maxHeader,
		DisableGeneralOptionsHandler: true,                                                // `OPTIONS *` is the guard's to refuse like all else
		ErrorLog:                     slog.NewLogLogger(o.Log.Handler(), slog.LevelDebug), // what clients do wrong
	}
	s.serve(newBoundedListener(listener, maxConnections, maxOfAddress, sharedBy(o.TrustedProxies), fullText(o.TLS)), o)
	return s, nil
}

// sharedBy reports of which addresses many clients may come: those of this machine
// and of trusted proxies.
func sharedBy(proxies []netip.Prefix) func(netip.Addr) bool {
	return func(address netip.Addr) bool {
		return address.IsLoopback() || slices.ContainsFunc(proxies, func(p netip.Prefix) bool { return p.Contains(address) })
	}
}

// fullText is what is said without TLS to who finds no room; with TLS nothing can
// be.
func fullText(secure *Certificate) []byte {
	if secure != nil {
		return nil
	}
	return []byte(fullAnswer)
}

// serve starts the goroutines of the server. Close ends them and waits.
func (s *Server) serve(listener net.Listener, o ServerOptions) {
	ctx, stop := context.WithCancel(context.Background())
	s.stop = stop
	if o.TLS != nil {
		listener = tls.NewListener(listener, o.TLS.config())
	}
	s.done.Go(func() { s.guard.Run(ctx) })
	s.done.Go(func() {
		if err := s.server.Serve(listener); err != nil && !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, net.ErrClosed) {
			o.Log.Error("the server stopped", "error", err)
		}
	})
}

// ServerURL is how the server of an address is reached.
func ServerURL(address net.Addr, secure bool, hosts []string, hostName string) string {
	scheme := "http"
	if secure {
		scheme = "https"
	}
	at, ok := address.(*net.TCPAddr)
	if !ok {
		return scheme + "://" + address.String()
	}
	host := at.IP.String()
	if !at.IP.IsLoopback() {
		switch {
		case len(hosts) > 0:
			host = hosts[0]
		case at.IP.IsUnspecified() || at.IP == nil:
			host = hostName
		}
	}
	if _, _, err := net.SplitHostPort(host); err == nil {
		return scheme + "://" + host // a name with a port of its own
	}
	return scheme + "://" + net.JoinHostPort(strings.Trim(host, "[]"), strconv.Itoa(at.Port))
}

// URL is the address of the web page.
func (s *Server) URL() string { return s.url }

// LoginLink makes a link that logs a browser in, once, within 15 minutes.
func (s *Server) LoginLink(name string, scope guard.Scope) (string, error) {
	path, err := s.guard.LoginPath(name, scope)
	if err != nil {
		return "", fmt.Errorf("make a login link: %w", err)
	}
	return s.url + path, nil
}

// Recheck ends the requests whose token is good no more.
func (s *Server) Recheck(ctx context.Context) { s.guard.Recheck(ctx) }

// Close stops listening, lets requests in flight end until ctx ends, and cuts off
// the rest. The gate must be closed before, so that streams end.
func (s *Server) Close(ctx context.Context) error {
	s.stop()
	err := shutDown(ctx, s.server)
	s.done.Wait()
	return err
}

// shutDown waits until ctx for requests in flight and cuts off the rest.
func shutDown(ctx context.Context, server *http.Server) error {
	err := server.Shutdown(ctx)
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		err = server.Close()
	}
	return err
}
