package cli

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"github.com/flowrun/flowrun/engine/access"
	"github.com/flowrun/flowrun/internal/cli/view"
	"github.com/flowrun/flowrun/internal/web"
)

// loginFlags are the flags of login.
type loginFlags struct{ scope, expires, name string }

func (a *app) serverLoginCommand() *cobra.Command {
	flags := new(loginFlags)
	c := &cobra.Command{
		Use: "login [URL]", Short: "Log in at a server on another machine: a person approves it on the server's page", Args: rangeArgs(0, "URL"),
		Long: "Login prints an address and a code, and waits. Open the address in a browser that is logged in to the server's\n" +
			"page, compare the code, and approve. The token is kept sealed in your own state folder. Each command with\n" +
			"--server or FLOWRUN_SERVER uses it, where no --token-file is given. Without a URL it is the server of\n" +
			"FLOWRUN_SERVER. `flowrun logout` ends the login at both ends.",
		Example: "  flowrun login https://flow.example.com\n  flowrun login https://flow.example.com --scope admin --expires 8h",
		RunE:    func(c *cobra.Command, args []string) error { return a.loginAtServer(c.Context(), args, flags) },
	}
	c.Flags().StringVar(&flags.scope, "scope", "operator", "what it allows: viewer, operator or admin")
	c.Flags().StringVar(&flags.expires, "expires", "", "how long it is good, such as 8h, or until when, in RFC 3339 (default: 90 days)")
	c.Flags().StringVar(&flags.name, "name", "", "what the server calls this machine (default: your name and the machine's)")
	completeFlag(c, "scope", access.TokenScopes()...)
	return withText(c)
}

func (a *app) serverLogoutCommand() *cobra.Command {
	return withText(&cobra.Command{
		Use: "logout [URL]", Short: "End the login at a server: there and here", Args: rangeArgs(0, "URL"),
		Example: "  flowrun logout https://flow.example.com",
		RunE:    func(c *cobra.Command, args []string) error { return a.logoutAtServer(c.Context(), args) },
	})
}

// loginServer is the server that login and logout are about.
func (a *app) loginServer(args []string) (*url.URL, error) {
	text, source := a.stringSetting(serverKey), a.find(serverKey).Source
	if len(args) > 0 {
		text, source = args[0], "the argument"
	}
	if text == "" {
		return nil, usageError(errors.New("no server is named"), "such as flowrun login https://flow.example.com; or set FLOWRUN_SERVER")
	}
	address, err := web.ParseRemote(text)
	if err != nil {
		return nil, usageError(fmt.Errorf("%s does not name a server: %w", source, err), "such as https://flow.example.com")
	}
	return address, nil
}

func (a *app) loginAtServer(ctx context.Context, args []string, flags *loginFlags) error {
	address, err := a.loginServer(args)
	if err != nil {
		return err
	}
	kept, err := a.keptLogins()
	if err != nil {
		return err
	}
	request := web.LoginRequest{Machine: flags.name, Scope: flags.scope}
	if request.Machine == "" {
		request.Machine = a.user() + "@" + a.sys.Host
	}
	if request.ExpiresAt, err = a.expiry(flags.expires); err != nil {
		return err
	}
	before, wasIn := kept.byName[address.String()]
	remote, authority := a.remoteAt(address), a.find(caFileKey)
	if authority.Value == "" && before.CAFile != "" {
		authority = candidate{Value: before.CAFile, Source: "flowrun login"}
	}
	if remote.Roots, err = a.readRoots(authority); err != nil {
		return err
	}
	token, err := a.askForLogin(ctx, remote, request)
	if err != nil {
		return err
	}
	login := keptLogin{Server: address.String(), Name: token.Name, Scope: token.Scope, ExpiresAt: token.ExpiresAt}
	if authority.Value != "" {
		login.CAFile = a.abs(authority.Value)
	}
	if wasIn {
		a.endAtServer(ctx, kept, before, *remote)
	}
	if err := a.keepLogin(kept, login, token.Token); err != nil {
		return err
	}
	return a.print(loggedIn(login), func() {
		until := ""
		if login.ExpiresAt != nil {
			until = ", until " + a.times.Full(*login.ExpiresAt)
		}
		a.say("logged in at %s as %s (%s)%s", login.Server, login.Name, login.Scope, until)
		a.next("use it:", "runs", "--server", login.Server)
	})
}

// loginAnswer is a login without its token.
type serverLogin struct {
	Server    string     `json:"server"`
	Name      string     `json:"name"`
	Scope     string     `json:"scope"`
	ExpiresAt *time.Time `json:"expires_at"`
}

func loggedIn(login keptLogin) serverLogin {
	return serverLogin{Server: login.Server, Name: login.Name, Scope: login.Scope, ExpiresAt: login.ExpiresAt}
}

// askForLogin shows the person the code and waits until they have decided.
func (a *app) askForLogin(ctx context.Context, remote *web.Remote, request web.LoginRequest) (*web.TokenAnswer, error) {
	begun, err := web.BeginLogin(ctx, *remote, request)
	if err != nil {
		return nil, a.loginError(remote, inputAsUsage(err))
	}
	a.note("open %s%s in a browser that is logged in to that page", remote.URL, begun.Path)
	a.note("it must show the code %s; approve there until %s", begun.UserCode, a.times.Full(begun.ExpiresAt))
	pause := time.Duration(max(begun.Interval, 1)) * time.Second
	for {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(pause):
		}
		answer, err := web.PollLogin(ctx, *remote, begun.DeviceCode)
		if gone, ok := errors.AsType[*web.GoneError](err); ok && gone.Unsent { // the server starts anew, perhaps
			if a.sys.Now().Before(begun.ExpiresAt) {
				continue
			}
		}
		if err != nil {
			return nil, a.loginError(remote, err)
		}
		again := "`flowrun login " + remote.URL.String() + "` begins again"
		switch {
		case answer.State == web.LoginDenied:
			return nil, &codedError{code: exitLogin, err: errors.New("the login was refused on the page"), hint: again}
		case answer.State == web.LoginExpired:
			return nil, &codedError{code: exitLogin, err: errors.New("the code has ended: nobody approved it, or the server was started anew"), hint: again}
		case answer.Token != nil:
			return answer.Token, nil
		}
	}
}

// loginError says why a server can't be asked for a login.
func (a *app) loginError(remote *web.Remote, err error) error {
	gone, ok := errors.AsType[*web.GoneError](err)
	if !ok {
		return err
	}
	return a.unreached(remote.URL.String(), "is the address right? HTTPS_PROXY and NO_PROXY hold", gone)
}

func (a *app) logoutAtServer(ctx context.Context, args []string) error {
	address, err := a.loginServer(args)
	if err != nil {
		return err
	}
	kept, err := a.keptLogins()
	if err != nil {
		return err
	}
	login, there := kept.byName[address.String()]
	if !there {
		return notFoundError(fmt.Errorf("nobody is logged in at %s", address), "`flowrun login "+address.String()+"` logs in")
	}
	remote := a.remoteAt(address)
	authority := candidate{Value: login.CAFile, Source: "flowrun login"}
	if own := a.find(caFileKey); own.Value != "" {
		authority = own
	}
	if remote.Roots, err = a.readRoots(authority); err != nil {
		a.note("%v", err)
	}
	revoked := a.endAtServer(ctx, kept, login, *remote)
	delete(kept.byName, login.Server)
	if err := kept.write(); err != nil {
		return err
	}
	if a.output == "json" {
		return view.JSON(a.sys.Stdout, struct {
			Server  string `json:"server"`
			Revoked bool   `json:"revoked"`
		}{login.Server, revoked})
	}
	a.say("logged out of %s", login.Server)
	if !revoked {
		a.note("the token is forgotten here, but not removed there: `flowrun tokens rm %s` on its machine does that", login.Name)
	}
	return nil
}

// endAtServer removes the token of a login at its server. One that is good no more counts as
// removed.
func (a *app) endAtServer(ctx context.Context, kept *keptLogins, login keptLogin, remote web.Remote) bool {
	token, err := a.tokenOf(kept, login)
	if err != nil {
		return false
	}
	remote.Token = token
	_, err = web.EndLogin(ctx, remote)
	denied, isDenied := errors.AsType[*web.DeniedError](err)
	return err == nil || isDenied && denied.Status == 401
}
