package view

import (
	"io"

	"github.com/flowrun/flowrun/engine/access"
	"github.com/flowrun/flowrun/internal/cli/term"
)

// Tokens prints the tokens of the server, one a line.
func (p Page) Tokens(out io.Writer, tokens []access.TokenInfo) {
	list(out, []string{"TOKEN", "SCOPE", "CREATED", "LAST USED", "EXPIRES", "ID"}, tokens, func(token access.TokenInfo) []string {
		expires := p.shortTime(token.ExpiresAt, "never")
		if token.Expired {
			expires = p.Style.Red("expired")
		}
		return []string{term.Clean(token.Name), token.Scope, p.Times.Short(token.CreatedAt), p.shortTime(token.LastUsedAt, "never"), expires, token.ID}
	})
}
