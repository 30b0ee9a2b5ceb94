package cli

import (
	"context"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/workspace"
	"github.com/flowrun/flowrun/internal/cli/term"
	"github.com/flowrun/flowrun/internal/mcpserver"
	"github.com/flowrun/flowrun/internal/web"
	"github.com/flowrun/flowrun/internal/web/guard"
	"github.com/flowrun/flowrun/internal/web/page"
)

// serving is the TCP side of an owner that is a `flowrun serve`.
type serving struct {
	app        *app
	address    string // as it was written
	bind       *net.TCPAddr
	settings   workspace.ServerSettings
	tls        *web.Certificate // nil = plain HTTP
	onTerminal bool
	manager    *serviceManager
	signals    <-chan os.Signal // interrupt and terminate

	listener net.Listener
	server   *web.Server
	engine   *engine.Engine

	assistants *mcpserver.HTTP // nil until it answers

	demo *demo // nil = it is none

	background context.Context // of what the page began and nobody waits for
	stop       context.CancelFunc
	tasks      sync.WaitGroup
}

// run does something in the background. It is told to end when the server begins
// to, and waited for.
func (s *serving) run(task func(ctx context.Context)) {
	s.tasks.Go(func() { task(s.background) })
}

// newServing checks how the server is to be reached, before anything is touched.
func (a *app) newServing(ctx context.Context, at place, flags *serveFlags) (*serving, error) {
	project, err := engine.LoadProject(ctx, a.engineConfig(at))
	if err != nil {
		return nil, err
	}
	settings := project.ServerSettings()
	project.Close()
	background, stop := context.WithCancel(context.WithoutCancel(ctx))
	s := &serving{background: background, stop: stop, app: a, settings: settings, onTerminal: term.IsTerminal(a.sys.Stderr), manager: newServiceManager(a.sys)}
	if settings.TLSCert != "" {
		if s.tls, err = web.NewCertificate(settings.TLSCert, settings.TLSKey); err != nil {
			return nil, usageError(err, "server.tls_cert and server.tls_key of "+projectFileName+" name them")
		}
		if left := s.tls.Expires().Sub(a.sys.Now()); left < 14*24*time.Hour {
			a.log.Warn("the TLS certificate expires soon, or has expired", "expires", s.tls.Expires().UTC())
		}
	}
	address, source := a.listenAddress(flags, settings)
	s.address = address
	if s.bind, err = web.ResolveListen(ctx, net.DefaultResolver, address, s.tls != nil || settings.BehindProxy); err != nil {
		return nil, listenError(address+" ("+source+")", err)
	}
	return s, nil
}

// listen binds the address, and tells others of it.
func (s *serving) listen(_ context.Context, info *web.Owner) error {
	listener, err := net.ListenTCP("tcp", s.bind)
	if err != nil {
		return listenError(s.address, err)
	}
	s.listener = listener
	info.Serve = true
	info.URL = web.ServerURL(listener.Addr(), s.tls != nil, s.settings.Hosts, info.Host)
	return nil
}

// start answers requests.
func (s *serving) start(o *owner, session *session, project *workspace.Workspace, api web.Options) error {
	a := s.app
	s.engine, api.NoRemoteAdmin = o.engine, s.settings.NoRemoteAdmin
	api.Devices = guard.NewDevices(a.sys.Now, a.sys.Entropy)
	s.assistants = s.newAssistants(o, api)
	server, err := web.NewServer(s.listener, web.ServerOptions{
		MCP: s.assistants,
		API: api, Hosts: s.settings.Hosts, TrustedProxies: s.settings.TrustedProxies, ProxiesOnly: s.proxiesOnly(), Sessions: o.engine, TLS: s.tls, Now: a.sys.Now, Entropy: a.sys.Entropy, Log: a.log, HostName: a.sys.Host,
		LoginPage: page.NewLogin(), Metrics: o.watch.metrics.Handler(), Observe: o.watch.metrics.HTTP,
		Page: page.Routes(page.Options{
			Engine: o.engine, Catalog: engine.Offline{Workspace: project}, Now: a.sys.Now, Location: a.times.Location, Version: a.sys.Version,
			Config: session.at.projectFile, StateDir: session.at.stateDir, Since: api.Owner.Since, Metrics: true, Go: s.run, Devices: api.Devices,
			Flags: a.placeFlags(), Log: a.log,
		}),
	})
	if err != nil {
		return err
	}
	s.server, s.manager.alive = server, s.alive
	return nil
}

// proxiesOnly reports whether a reverse proxy speaks TLS in the server's place: nothing else
// may reach it then.
func (s *serving) proxiesOnly() bool { return s.settings.BehindProxy && s.tls == nil }

// alive reports whether the engine still answers: one that hangs is to be
// started again.
func (s *serving) alive() bool {
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		_, _, _ = s.engine.List(s.background, runs.Filter{Limit: 1}) // an error is an answer
	}()
	select {
	case <-answered:
		return true
	case <-time.After(aliveWithin):
		return false
	}
}

// aliveWithin is how long an engine that lives takes for the smallest question.
const aliveWithin = 5 * time.Second

// announce tells people and the service manager that the server is there.
func (s *serving) announce() error {
	if s.demo != nil {
		return s.demo.announce(s)
	}
	s.app.note("flowrun serves %s (Ctrl-C ends it)", s.server.URL())
	if s.proxiesOnly() {
		proxies := make([]string, len(s.settings.TrustedProxies))
		for i, proxy := range s.settings.TrustedProxies {
			proxies[i] = proxy.String()
		}
		s.app.note("it speaks no TLS itself: the proxy at %s does, and requests of that and of this machine alone are taken", strings.Join(proxies, ", "))
	}
	if s.app.jsonNotes || s.toJournal() { // where more people read than may log in
		s.app.note("log in with a link or a token: `%s`, `%s`", s.app.commandText("tokens", "link"), s.app.commandText("tokens", "create", "--scope", "admin"))
	} else {
		link, err := s.loginLink(s.app.user(), guard.Admin)
		if err != nil {
			return err
		}
		fmt.Fprintf(s.app.sys.Stderr, "log in, once and within 15 minutes: %s\n", link)
	}
	s.manager.ready("serving " + s.server.URL())
	return nil
}

// toJournal reports whether stderr goes to the journal of systemd, where more
// people read than may log in.
func (s *serving) toJournal() bool {
	file, ok := s.app.sys.Stderr.(*os.File)
	stream := s.app.env("JOURNAL_STREAM")
	if !ok || stream == "" {
		return false
	}
	info, err := file.Stat()
	if err != nil {
		return false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && stream == fmt.Sprintf("%d:%d", stat.Dev, stat.Ino)
}

// loginLink makes a login link; "" before the server is there.
func (s *serving) loginLink(by string, scope guard.Scope) (string, error) {
	if s.server == nil {
		return "", nil
	}
	return s.server.LoginLink(by, scope)
}

func (s *serving) tokenRemoved(ctx context.Context) {
	if s.server != nil {
		s.server.Recheck(ctx)
	}
}

// reload reads the workflow files and the certificate again.
func (s *serving) reload(ctx context.Context) {
	log := s.app.log
	s.manager.send("RELOADING=1", "MONOTONIC_USEC="+monotonicMicros())
	defer s.manager.send("READY=1")
	if s.tls != nil {
		if err := s.tls.Load(); err != nil {
			log.Error("the TLS certificate from before stays in use", "error", err)
		}
	}
	result, err := s.engine.Reload(ctx)
	if err != nil {
		log.Error("the workflows are not read again", "error", err)
		return
	}
	log.Info("workflows read again", "changed", len(result.Changed), "removed", len(result.Removed), "broken", strings.Join(result.Broken, " "))
}

// ending tells the service manager that the server is about to end.
func (s *serving) ending() {
	s.stop()
	s.manager.send("STOPPING=1")
}

// close ends the TCP side within grace.
func (s *serving) close(grace time.Duration) error {
	s.stop()
	s.manager.close()
	s.tasks.Wait()
	if s.server == nil {
		if s.listener != nil {
			return s.listener.Close()
		}
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	s.assistants.Close(ctx)
	return s.server.Close(ctx)
}

// newAssistants is what speaks MCP over HTTP. A caller may do what the API lets the
// token do, and no more than flowrun.yaml lets assistants do.
func (s *serving) newAssistants(o *owner, api web.Options) *mcpserver.HTTP {
	return mcpserver.NewHTTP(mcpserver.HTTPOptions{
		Options: mcpserver.Options{Lend: mcpserver.Caller(web.CallerHandler(api)), Version: s.app.sys.Version, Entropy: s.app.sys.Entropy},
		Rights:  mcpserver.RightsOf(s.settings.MCP.NoRun, s.settings.MCP.Approve), Holds: o.engine.AccessTokenHolds, Ending: o.gate.Done(),
	})
}
