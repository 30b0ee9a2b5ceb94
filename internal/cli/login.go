package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/flowrun/flowrun/engine/calls"
	"github.com/flowrun/flowrun/engine/connections"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/internal/cli/term"
	"github.com/flowrun/flowrun/internal/cli/view"
	"github.com/flowrun/flowrun/internal/web"
)

// errLoginCanceled says that the person at the terminal gave up.
var errLoginCanceled = errors.New("the login was canceled; nothing more is sent")

func (a *app) loginCommand() *cobra.Command {
	var scopes []string
	c := &cobra.Command{
		Use: "login NAME", Short: "Log in to a connection with a code on another device", Args: exactArgs("NAME"),
		Long: "Login shows a code and an address: open the address on any device and enter the code. It waits until you\n" +
			"have confirmed; q, Esc or Ctrl-C cancel at once. A login that was broken off goes on with the same code.\n" +
			"Exit code: 0 logged in, 5 denied or expired, 6 canceled with a key, 3 nothing to log in to.",
		Example: "  flowrun connections login work_login\n  flowrun connections login work_login --scope 'openid email'",
		RunE:    func(c *cobra.Command, args []string) error { return a.login(c.Context(), args[0], splitScopes(scopes)) },
	}
	c.Flags().StringArrayVar(&scopes, "scope", nil, "scopes to ask for, in one or several (default: `scopes` of the connection's config, else the usual ones of its plugin)")
	return withText(a.liveFlags(c))
}

// splitScopes takes `--scope a --scope "b c"` apart.
func splitScopes(texts []string) []string {
	var scopes []string
	for _, text := range texts {
		scopes = append(scopes, strings.Fields(text)...)
	}
	return scopes
}

func (a *app) login(ctx context.Context, name string, scopes []string) error {
	if !web.ValidConnection(name) {
		return unknownConnection(name)
	}
	return canceledLogin(a.work(ctx, func(ctx context.Context, session *session) (int, error) {
		result, err := a.watchLogin(ctx, func(ctx context.Context, sink web.Prompter) (calls.Result, error) {
			return tryAnyway(ctx, session, func(c *web.Client) (calls.Result, error) { // asked twice, a login is the same one
				return c.Login(ctx, name, connections.LoginRequest{Scopes: scopes}, sink)
			})
		})
		if err != nil {
			return 0, err
		}
		return exitOfCall(result.Error), a.printLogin(name, result)
	}))
}

// canceledLogin says of a key and of a signal the same, with their exit codes.
func canceledLogin(err error) error {
	var killed *killedError
	switch {
	case errors.As(err, &killed):
		return &codedError{code: killed.exitCode(), err: errLoginCanceled}
	case errors.Is(err, errLoginCanceled):
		return &codedError{code: exitCanceled, err: errLoginCanceled}
	}
	return err
}

// watchLogin shows a login and ends it when a key says so.
func (a *app) watchLogin(ctx context.Context, login func(context.Context, web.Prompter) (calls.Result, error)) (calls.Result, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	keys, restore, hasKeys := a.keys()
	cancelKey := ""
	if hasKeys {
		cancelKey = "q"
	}
	go func() {
		select {
		case <-keys: // every key that is told means the same; no keys: never
			cancel(errLoginCanceled)
		case <-ctx.Done():
		}
	}()
	sink := a.newCallSink(cancelKey)
	result, err := login(ctx, sink)
	sink.close()
	if failed := restore(); failed != nil && err == nil {
		err = failed
	}
	if errors.Is(context.Cause(ctx), errLoginCanceled) {
		return result, errLoginCanceled
	}
	return result, err
}

// keys reads keys where both sides of the talk are a terminal.
func (a *app) keys() (keys <-chan term.Key, stop func() error, ok bool) {
	if !a.hasLiveErr() {
		return nil, func() error { return nil }, false
	}
	return term.Keys(a.sys.Stdin)
}

// hasLiveErr reports whether stderr can be drawn on.
func (a *app) hasLiveErr() bool { return term.IsTerminal(a.sys.Stderr) && a.env("TERM") != "dumb" }

// loginAnswer is what the wait of a login answers.
type loginAnswer struct {
	State         string     `json:"state"`
	Scopes        []string   `json:"scopes"`
	MissingScopes []string   `json:"missing_scopes"`
	ExpiresAt     *time.Time `json:"expires_at"`
}

func (a *app) printLogin(name string, result calls.Result) error {
	if a.output == "json" {
		return view.JSON(a.sys.Stdout, struct {
			Connection string `json:"connection"`
			calls.Result
		}{name, result})
	}
	if result.Error != nil {
		shown := *result.Error
		shown.Applied = "" // a login that failed changed nothing that one could undo
		a.showFailure("the login", &shown)
		return nil
	}
	var answer loginAnswer
	if err := json.Unmarshal(result.Outputs, &answer); err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	a.page(a.sys.Stdout).LoggedIn(a.sys.Stdout, name, answer.Scopes, answer.MissingScopes, answer.ExpiresAt)
	a.next("try it:", "connections", "test", name)
	return nil
}

// showFailure prints why something went wrong that is no run.
func (a *app) showFailure(what string, err *runs.Error) {
	err.Hint = err.Hint.Typed(a.commandText)
	a.page(a.sys.Stderr).FailureOf(a.sys.Stderr, what, err)
}

func (a *app) logout(ctx context.Context, name string) error {
	if !web.ValidConnection(name) {
		return unknownConnection(name)
	}
	return a.work(ctx, func(ctx context.Context, session *session) (int, error) {
		result, err := session.client.Logout(ctx, name)
		if err != nil {
			return 0, err
		}
		return exitOfCall(result.Error), a.printLogout(name, result)
	})
}

func (a *app) printLogout(name string, result connections.LogoutResult) error {
	answer := struct {
		Connection string `json:"connection"`
		connections.LogoutResult
	}{name, result}
	return a.print(answer, func() {
		if result.Error != nil {
			a.showFailure("the logout", result.Error)
		}
		switch {
		case result.Revoked:
			a.say("logged out of %s: the service has withdrawn the token", name)
		case result.Forgotten && result.Error != nil:
			a.say("the token of %s is forgotten here, but the service did not withdraw it: it may be good until it ends", name)
		case result.Forgotten:
			a.say("nobody is logged in to %s", name)
		}
	})
}

// callSink shows on stderr what a call or a login says while it goes on. Safe
// for concurrent use.
type callSink struct {
	app  *app
	mu   sync.Mutex
	view *view.Call
	done chan struct{}
	over sync.WaitGroup
}

// newCallSink returns a sink that draws until close is called. cancelKey is the
// key that a prompt offers, "" for none.
func (a *app) newCallSink(cancelKey string) *callSink {
	s := &callSink{app: a, done: make(chan struct{})}
	page := a.page(a.sys.Stderr)
	if !a.hasLiveErr() {
		s.view = view.NewCall(a.sys.Stderr, page)
	} else {
		s.view = view.NewLiveCall(a.sys.Stderr, page, cancelKey, func() (int, int) { return term.Size(a.sys.Stderr) })
	}
	s.with((*view.Call).Tick)
	s.over.Go(func() { every(redraw, s.done, func() { s.with((*view.Call).Tick) }) })
	return s
}

// every does something again and again until done is closed.
func every(pause time.Duration, done <-chan struct{}, do func()) {
	ticker := time.NewTicker(pause)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			do()
		case <-done:
			return
		}
	}
}

func (s *callSink) with(show func(*view.Call, time.Time)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	show(s.view, s.app.sys.Now())
}

// close takes away what was drawn.
func (s *callSink) close() {
	close(s.done)
	s.over.Wait()
	s.with(func(v *view.Call, _ time.Time) { v.Close() })
}

// Log shows a line of the call.
func (s *callSink) Log(log runs.Log) {
	s.with(func(v *view.Call, now time.Time) {
		v.Tick(now) // a line without a time has the present one
		v.Log(log)
	})
}

// Progress shows how far the call is.
func (s *callSink) Progress(progress runs.Progress) {
	s.with(func(v *view.Call, now time.Time) {
		v.Tick(now)
		v.Progress(progress)
	})
}

// Prompt shows what a person must do.
func (s *callSink) Prompt(prompt runs.Prompt) {
	s.with(func(v *view.Call, now time.Time) {
		v.Prompt(prompt)
		v.Tick(now)
	})
}
