package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/flowrun/flowrun/engine/access"
	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/duration"
	"github.com/flowrun/flowrun/internal/cli/view"
	"github.com/flowrun/flowrun/internal/web"
	"github.com/flowrun/flowrun/internal/web/wire"
)

func (a *app) tokensCommand() *cobra.Command {
	return listGroup(&cobra.Command{Use: "tokens", Short: "The tokens of the HTTP API: make, list, remove; login links of the web page"},
		a.inSandbox("those of the sandbox",
			withText(&cobra.Command{
				Use: "list", Short: "List the tokens: never their text", Args: exactArgs(),
				Example: "  flowrun tokens\n  flowrun tokens list -o json",
				RunE:    func(c *cobra.Command, _ []string) error { return a.listTokens(c.Context()) },
			}),
			a.tokensCreateCommand(),
			withText(&cobra.Command{
				Use: "rm NAME", Short: "Remove a token, by its name or id: it is good no more, at once", Args: exactArgs("NAME"),
				Example: "  flowrun tokens rm ci",
				RunE:    func(c *cobra.Command, args []string) error { return a.removeToken(c.Context(), args[0]) },
			}),
			a.tokensLinkCommand(),
		))
}

// tokenFlags are the flags of tokens create.
type tokenFlags struct{ name, scope, expires string }

func (a *app) tokensCreateCommand() *cobra.Command {
	flags := new(tokenFlags)
	c := &cobra.Command{
		Use: "create [NAME]", Short: "Make a token and print it, this once", Args: rangeArgs(0, "NAME"),
		Long: "Create prints a new token on stdout. It is stored as a hash: nobody can print it again. A viewer reads, an\n" +
			"operator starts and ends runs, decides and pauses schedules, an admin does all else.",
		Example: "  flowrun tokens create ci --scope operator --expires 90d\n  TOKEN=$(flowrun tokens create)",
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				if flags.name != "" && flags.name != args[0] {
					return usageError(errors.New("the name is given twice"), "")
				}
				flags.name = args[0]
			}
			return a.createToken(c.Context(), flags)
		},
	}
	c.Flags().StringVar(&flags.name, "name", "", "name of the token (default: its scope and a number)")
	c.Flags().StringVar(&flags.scope, "scope", "viewer", "what it allows: viewer, operator or admin")
	c.Flags().StringVar(&flags.expires, "expires", "", "how long it is good, such as 90d, or until when, in RFC 3339 (default: until it is removed)")
	completeFlag(c, "scope", access.TokenScopes()...)
	return withText(c)
}

func (a *app) createToken(ctx context.Context, flags *tokenFlags) error {
	request := access.NewToken{Name: flags.name, Scope: flags.scope, By: a.user()}
	var err error
	if request.ExpiresAt, err = a.expiry(flags.expires); err != nil {
		return err
	}
	session, err := a.connect(ctx, roleLook)
	if err != nil {
		return err
	}
	// By try: asked twice it would be two tokens.
	answer, err := try(ctx, session, func(c *web.Client) (*web.TokenAnswer, error) { return c.CreateToken(ctx, request) })
	return a.tell(answer, inputAsUsage(errors.Join(err, session.close(nil))), func() {
		a.say("%s", answer.Token)
		until := "until it is removed"
		if answer.ExpiresAt != nil {
			until = "until " + a.times.Full(*answer.ExpiresAt)
		}
		a.note("token %s (%s), good %s; it is not shown again", answer.Name, answer.Scope, until)
		if a.onlySandboxServes(ctx) {
			a.note("the server that runs here is one of the sandbox, which has tokens of its own: `%s --sandbox`", a.commandText("tokens", "create"))
		}
	})
}

// onlySandboxServes reports whether a server of the sandbox runs beside the store
// of this command, and none of the store itself.
func (a *app) onlySandboxServes(ctx context.Context) bool {
	at, err := a.locate()
	if err != nil || a.sandbox || a.isRemote() {
		return false
	}
	return !serves(ctx, at.stateDir) && serves(ctx, filepath.Join(at.stateDir, sandboxFolder))
}

// serves reports whether a server owns the store of a state folder.
func serves(ctx context.Context, stateDir string) bool {
	client, info, err := web.Dial(ctx, stateDir)
	if err != nil {
		return false
	}
	client.Close()
	return info.Serve
}

// expiry reads a length of time or a point in time; "" is never.
func (a *app) expiry(text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if strings.Contains(text, "T") || strings.Count(text, "-") == 2 {
		at, err := time.Parse(time.RFC3339, text)
		if err != nil {
			if at, err = time.ParseInLocation(time.DateOnly, text, a.times.Location); err != nil {
				return time.Time{}, usageError(fmt.Errorf("--expires %q is no RFC 3339 time", text), "such as 2026-12-31T00:00:00Z, or a length such as 90d")
			}
		}
		return at, nil
	}
	length, err := duration.Parse(text)
	if err != nil || length <= 0 {
		return time.Time{}, usageError(fmt.Errorf("--expires %q is no length of time", text), "such as 90d, 12h, or an RFC 3339 time")
	}
	return a.sys.Now().Add(length), nil
}

func (a *app) listTokens(ctx context.Context) error {
	tokens, err := ask(ctx, a, func(c *web.Client) ([]access.TokenInfo, error) { return c.Tokens(ctx) })
	return printList(a, tokens, allowNoStore(err), "no tokens; `"+a.commandText("tokens", "create")+"` makes one", view.Page.Tokens)
}

func (a *app) removeToken(ctx context.Context, name string) error {
	var removed *web.RemovedToken
	err := a.visit(ctx, func(c *web.Client) (err error) { removed, err = c.RemoveToken(ctx, name); return err })
	if errors.Is(err, errNoStore) {
		return notFoundError(fmt.Errorf("there is no token %q: nothing has run here yet", name), "")
	}
	return a.tell(removed, err, func() {
		a.say("removed token %s", name)
		if len(removed.With) > 0 {
			a.say("and those that were made with it: %s", strings.Join(removed.With, ", "))
		}
	})
}

func (a *app) tokensLinkCommand() *cobra.Command {
	var scope string
	c := &cobra.Command{
		Use: "link", Short: "Print a link that logs a browser in to the web page, once", Args: exactArgs(),
		Example: "  flowrun tokens link\n  flowrun tokens link --scope viewer",
		Long:    "Link asks the `flowrun serve` that owns the store for a login link. It is good once, for 15 minutes.",
		RunE:    func(c *cobra.Command, _ []string) error { return a.printLink(c.Context(), scope) },
	}
	c.Flags().StringVar(&scope, "scope", "admin", "what the session allows: viewer, operator or admin")
	completeFlag(c, "scope", access.TokenScopes()...)
	return withText(c)
}

func (a *app) printLink(ctx context.Context, scope string) error {
	at, err := a.locate()
	if err != nil {
		return err
	}
	client, info, err := web.Dial(ctx, at.stateDir)
	var gone *web.GoneError
	if errors.As(err, &gone) || err == nil && !info.Serve {
		hint := "`" + a.commandText("serve") + "` starts one"
		if a.onlySandboxServes(ctx) {
			hint = "one of the sandbox does: `" + a.commandText("tokens", "link") + " --sandbox`"
		}
		return &codedError{code: exitNoServer, err: errors.New("no `flowrun serve` runs here"), hint: hint}
	}
	if err != nil {
		return err
	}
	link, err := client.LoginLink(ctx, web.LinkRequest{Scope: scope, By: a.user()})
	if err != nil {
		if problem, ok := errors.AsType[*web.Problem](err); ok && problem.Code == wire.CodeInvalidInput {
			return usageError(fmt.Errorf("--scope takes viewer, operator or admin, not %q", scope), diag.DidYouMean(scope, access.TokenScopes()).Text)
		}
		return err
	}
	return a.print(map[string]string{"link": link}, func() { a.say("%s", link) })
}
