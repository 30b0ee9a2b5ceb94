package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/flowrun/flowrun/engine/fault"
	"github.com/flowrun/flowrun/engine/workspace"
	"github.com/flowrun/flowrun/internal/cli/term"
	"github.com/flowrun/flowrun/internal/web"
)

// serveFlags are the flags of serve.
type serveFlags struct {
	listen    string
	logFormat string
	logLevel  string
	pluginFlags
}

func (a *app) serveCommand() *cobra.Command {
	flags := new(serveFlags)
	c := &cobra.Command{
		Use: "serve", Short: "Run schedules, webhooks, the HTTP API and the web page until a signal ends it", Args: exactArgs(),
		Long: "Serve owns the store: it starts runs by their triggers, goes on with those that were left open, and answers\n" +
			"the HTTP API and the web page. Other commands act through it. It listens on 127.0.0.1; another address wants\n" +
			"TLS. SIGTERM and Ctrl-C let calls in flight end first, SIGHUP reads the workflow files again.",
		Example: "  flowrun serve\n  flowrun serve --sandbox\n  flowrun serve --listen 127.0.0.1:8080",
		RunE:    func(c *cobra.Command, _ []string) error { return a.serve(c.Context(), flags) },
	}
	c.Flags().StringVar(&flags.listen, "listen", "", "listen on this host:port (default: server.listen of flowrun.yaml, else "+workspace.DefaultListen+")")
	c.Flags().StringVar(&flags.logFormat, "log-format", "text", "form of the log on stderr: text or json")
	c.Flags().StringVar(&flags.logLevel, "log-level", "info", "what is logged: debug, info, warn or error")
	completeFlag(c, "log-format", "text", "json")
	completeFlag(c, "log-level", "debug", "info", "warn", "error")
	flags.pluginFlags.add(c)
	a.sandboxFlag(c, "serve a sandbox: simulators of the services, and a store of its own")
	return a.liveFlags(c)
}

func (a *app) serve(ctx context.Context, flags *serveFlags) error {
	return a.serveAs(ctx, flags, nil)
}

// serveAs is serve, of a demo where there is one.
func (a *app) serveAs(ctx context.Context, flags *serveFlags, shown *demo) error {
	reloads, stop := a.reloads()
	defer stop()
	signals, stopSignals := a.sys.Signals() // from now on: one that comes too early is kept
	defer stopSignals()
	log, err := a.serveLogger(flags.logFormat, flags.logLevel)
	if err != nil {
		return err
	}
	a.log, a.jsonNotes = log, flags.logFormat == "json"
	at, err := a.locate()
	if err != nil {
		return err
	}
	stopTail, err := a.usePlugins(&flags.pluginFlags)
	if err != nil {
		return err
	}
	defer stopTail()
	serving, err := a.newServing(ctx, at, flags)
	if err != nil {
		return err
	}
	serving.signals, serving.demo = signals, shown
	s := &session{app: a, at: at, role: roleServe, serving: serving}
	if err := s.takeStore(ctx); err != nil {
		return err
	}
	if shown == nil {
		s.announceSandbox()
		s.announceConfinement()
	}
	if err := s.owner.engine.AlwaysOn(ctx); err != nil {
		return errors.Join(err, s.owner.leave(false, nil))
	}
	if shown != nil {
		if err := shown.begin(ctx, s.client); err != nil {
			return errors.Join(err, s.owner.leave(false, nil))
		}
	}
	if err := serving.announce(); err != nil {
		return errors.Join(err, s.owner.leave(false, nil))
	}
	debug.FreeOSMemory() // opening a large store takes what an idle server would keep for minutes
	return s.serveUntilEnd(ctx, reloads)
}

// busyStep is between two looks at a store that another process works on.
const busyStep = 250 * time.Millisecond

// takeStore becomes the owner of the store. It waits for a command that works on
// it, whose runs end some time; a server ends never.
func (s *session) takeStore(ctx context.Context) error {
	isNoted, lockedSince := false, time.Time{}
	for {
		busy, err := s.busy(ctx)
		if err != nil {
			return err
		}
		step := busyStep
		if busy == "" {
			owner, err := s.own(ctx)
			if err == nil {
				s.owner, s.client = owner, owner.client
				return nil
			}
			if lockedSince, err = s.stillLocked(lockedSince, err); err != nil {
				return err
			}
			step = connectStep
		} else if lockedSince = (time.Time{}); !isNoted {
			isNoted = true
			s.app.note("%s; waiting for it", busy)
		}
		select {
		case signal := <-s.serving.signals:
			return &codedError{code: exitOfSignal(signal), err: errSilent, silent: true}
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(step):
		}
	}
}

// stillLocked takes the error of own: a lock whose owner does not answer is
// waited for, but not for long.
func (s *session) stillLocked(since time.Time, err error) (time.Time, error) {
	var locked *fault.LockedError
	if !errors.As(err, &locked) {
		return since, err
	}
	now := s.app.sys.Now()
	switch {
	case since.IsZero():
		return now, nil
	case now.Sub(since) >= connectFor:
		return since, lockedError(locked)
	}
	return since, nil
}

// busy says who works on the store and will leave, "" when nobody answers. A
// server is an error: it does not leave.
func (s *session) busy(ctx context.Context) (string, error) {
	client, info, err := web.Dial(ctx, s.at.stateDir)
	var gone *web.GoneError
	switch {
	case err == nil:
		client.Close()
	case errors.As(err, &gone) && gone.Closing():
		return "the process that owns the store is ending", nil
	case errors.As(err, &gone):
		return "", nil
	default:
		return "", err
	}
	if info.Serve {
		return "", &codedError{
			code: exitLocked, err: errors.New(strings.TrimSuffix(fmt.Sprintf("process %d serves this store already at %s", info.PID, info.URL), " at ")),
			hint: "use it, end it first, or name another folder with --state",
		}
	}
	return fmt.Sprintf("process %d owns the store until its runs have ended", info.PID), nil
}

// serveUntilEnd waits for the end: a signal, or the store's failure.
func (s *session) serveUntilEnd(ctx context.Context, reloads <-chan os.Signal) error {
	a, o := s.app, s.owner
	for {
		select {
		case <-o.left:
			if a.ending.Load() {
				<-a.ended
				return nil
			}
			return o.leftErr
		case err := <-o.engine.Failed():
			s.serving.ending()
			a.log.Error("the store failed; nothing can be acknowledged any more", "error", err)
			return errors.Join(err, o.leave(false, nil))
		case <-reloads:
			if s.serving.terminalGone() {
				o.terminate(os.Interrupt)
				continue
			}
			s.serving.reload(ctx)
		}
	}
}

// reloads delivers SIGHUP.
func (a *app) reloads() (signals <-chan os.Signal, stop func()) {
	if a.sys.Reload == nil {
		return nil, func() {}
	}
	return a.sys.Reload()
}

// The setting of where a server listens, and its environment variable.
const (
	listenKey      = "server.listen"
	listenVariable = "FLOWRUN_LISTEN"
)

// listenAddress settles where a server listens, and says who decided it.
func (a *app) listenAddress(flags *serveFlags, settings workspace.ServerSettings) (address, source string) {
	switch {
	case flags.listen != "":
		return flags.listen, "--listen"
	case a.env(listenVariable) != "":
		return a.env(listenVariable), listenVariable
	case settings.Listen != "":
		return settings.Listen, listenKey + " of " + projectFileName
	}
	return workspace.DefaultListen, "default"
}

// listenError says why the address can't be listened on.
func listenError(address string, err error) error {
	if exposed, ok := errors.AsType[*web.ExposedError](err); ok {
		return usageError(exposed, "listen on 127.0.0.1, with a reverse proxy that speaks TLS before it; or name a certificate: server: {tls_cert: cert.pem, tls_key: key.pem} in "+projectFileName+
			"; or, where a proxy on another machine speaks TLS, name it: server: {behind_proxy: {trusted_proxies: [ITS-ADDRESS]}}")
	}
	return usageError(fmt.Errorf("%s can't be listened on: %s", address, listenFault(address, err)), "choose another address with --listen, or port 0 for a free one")
}

// listenFault says what the system has against an address, in words for people.
func listenFault(address string, err error) string {
	if why := workspace.CheckListen(address); why != "" {
		return why
	}
	var (
		lookup *net.DNSError
		system syscall.Errno
		short  *net.OpError
	)
	switch {
	case errors.As(err, &lookup):
		return lookup.Name + " is no address and no name that is known here"
	case errors.As(err, &system):
		return system.Error()
	case errors.As(err, &short):
		return short.Err.Error()
	}
	return err.Error()
}

// terminalGone reports whether the terminal that the server was started in is
// closed: a SIGHUP means that then.
func (s *serving) terminalGone() bool { return s.onTerminal && !term.IsTerminal(s.app.sys.Stderr) }
