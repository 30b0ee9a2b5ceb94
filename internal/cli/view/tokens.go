package view

import (
	"cmp"
	"io"

	"github.com/flowrun/flowrun/engine/access"
	"github.com/flowrun/flowrun/internal/cli/term"
)

// Tokens prints the tokens of the server, one a line.
func (p Page) Tokens(out io.Writer, tokens []access.TokenInfo) {
	heads, makers := []string{"TOKEN", "SCOPE", "CREATED", "LAST USED", "EXPIRES", "ID"}, map[string]string{}
	for _, token := range tokens {
		makers[token.ID] = token.Name
		if token.MadeWith != "" && len(heads) == 6 {
			heads = append(heads, "MADE WITH")
		}
	}
	list(out, heads, tokens, func(token access.TokenInfo) []string {
		expires := p.shortTime(token.ExpiresAt, "never")
		if token.Expired {
			expires = p.Style.Red("expired")
		}
		cells := []string{term.Clean(token.Name), token.Scope, p.Times.Short(token.CreatedAt), p.shortTime(token.LastUsedAt, "never"), expires, token.ID}
		if len(heads) > len(cells) {
			cells = append(cells, term.Clean(cmp.Or(makers[token.MadeWith], token.MadeWith)))
		}
		return cells
	})
}
