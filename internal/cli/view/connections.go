package view

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/flowrun/flowrun/engine/connections"
	"github.com/flowrun/flowrun/engine/duration"
	"github.com/flowrun/flowrun/engine/lastwords"
	"github.com/flowrun/flowrun/engine/workspace"
	"github.com/flowrun/flowrun/internal/cli/term"
)

// Connections prints connections, one a line.
func (p Page) Connections(out io.Writer, connections []workspace.ConnectionStatus) {
	list(out, []string{"CONNECTION", "PLUGIN", "URL", "RATE", "LOGIN"}, connections, func(c workspace.ConnectionStatus) []string {
		return []string{term.Clean(c.Name), term.Clean(c.Plugin), term.Truncate(cmp.Or(term.Clean(c.URL), "-"), 60), cmp.Or(c.Rate, "-"), p.paintLogin(c, p.loginText(c))}
	})
}

// loginText says who is logged in, or where the token comes from.
func (p Page) loginText(c workspace.ConnectionStatus) string {
	switch login := c.Login; {
	case c.Error != "":
		return "error: " + term.Clean(firstLine(c.Error))
	case login != nil && login.Error != "":
		return "unknown: " + term.Clean(firstLine(login.Error))
	case login != nil:
		return p.stateText(login)
	case c.TokenFrom != "":
		return "from " + term.Clean(c.TokenFrom)
	}
	return "-"
}

func (p Page) stateText(login *workspace.LoginState) string {
	text := strings.ReplaceAll(term.Clean(login.State), "auth_required", "login needed")
	if login.State == "none" {
		text = "not logged in"
	}
	if login.Reason != "" {
		text += " (" + term.Clean(login.Reason) + ")"
	}
	switch {
	case login.State == "valid" && login.Renewable && login.RefreshExpiresAt != nil:
		text += ", renews itself until " + p.Times.Short(*login.RefreshExpiresAt)
	case login.State == "valid" && login.Renewable:
		text += ", renews itself"
	case login.State == "valid" && login.ExpiresAt != nil:
		text += " until " + p.Times.Short(*login.ExpiresAt)
	}
	return text
}

func (p Page) paintLogin(c workspace.ConnectionStatus, cell string) string {
	switch {
	case c.Error != "" || c.Login != nil && c.Login.Error != "":
		return p.Style.Red(cell)
	case c.Login == nil:
		return cell
	case c.Login.State == "valid":
		return p.Style.Green(cell)
	case c.Login.State == "none":
		return p.Style.Dim(cell)
	}
	return p.Style.Yellow(cell)
}

// ConnectionTests prints what the tests of connections gave: a line each, with
// the error and what to do below it.
func (p Page) ConnectionTests(out io.Writer, tests []connections.Test) {
	names, plugins := 0, 0
	for _, test := range tests {
		names, plugins = max(names, term.Width(term.Clean(test.Name))), max(plugins, term.Width(term.Clean(test.Plugin)))
	}
	for _, test := range tests {
		line := fmt.Sprintf("%s  %s", term.Pad(term.Clean(test.Name), names), term.Pad(term.Clean(test.Plugin), plugins))
		if test.Error != nil {
			fmt.Fprintf(out, "%s %s  %s\n", p.Style.Red("✗"), line, p.Style.Red(term.Clean(errorLine(test.Error))))
			p.LastWords(out, lastwords.Of(test.Error.Details))
			p.belowError(out, test.Error)
			continue
		}
		took := duration.Brief(time.Duration(test.DurationMS) * time.Millisecond)
		text := "ok"
		if test.NotTried {
			text = term.Clean(test.Opened())
		}
		if test.Account != "" {
			text += " · " + term.Clean(test.Account)
		}
		fmt.Fprintf(out, "%s %s  %s %s\n", p.Style.Green("✓"), line, p.Style.Green(text), p.Style.Dim("· "+took))
	}
}

// LoggedIn prints what a login gave.
func (p Page) LoggedIn(out io.Writer, name string, scopes, missing []string, until *time.Time) {
	text := "logged in to " + term.Clean(name)
	if len(scopes) > 0 {
		text += " · " + term.Clean(strings.Join(scopes, " "))
	}
	if until != nil {
		text += " · the token is valid until " + p.Times.Full(*until)
	}
	fmt.Fprintf(out, "%s %s\n", p.Style.Green("✓"), text)
	if len(missing) > 0 {
		fmt.Fprintf(out, "%s not granted: %s\n", p.Style.Yellow("warning:"), term.Clean(strings.Join(missing, " ")))
	}
}

// Secrets prints secrets, one a line, without their values.
func (p Page) Secrets(out io.Writer, secrets []workspace.SecretInfo) {
	list(out, []string{"SECRET", "FROM", "USED BY"}, secrets, func(secret workspace.SecretInfo) []string {
		from := cmp.Or(strings.Join(secret.Sources, ", then "), p.Style.Red("missing"))
		needed := make([]string, len(secret.NeededBy))
		for i, need := range secret.NeededBy {
			needed[i] = need.Text()
		}
		return []string{term.Clean(secret.Name), from, cmp.Or(term.Clean(strings.Join(needed, ", ")), "-")}
	})
}
