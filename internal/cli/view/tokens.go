package view

import (
	"io"

	"github.com/flowrun/flowrun/engine/access"
	"github.com/flowrun/flowrun/internal/cli/term"
)

// Tokens prints the tokens of the server, one a line.
func (p Page) Tokens(out io.Writer, tokens []access.TokenInfo) {
	table := Table{Head: []string{"TOKEN", "SCOPE", "CREATED", "LAST USED", "EXPIRES", "ID"}}
	for _, token := range tokens {
		used, expires := "never", "never"
		if token.LastUsedAt != nil {
			used = p.Times.Short(*token.LastUsedAt)
		}
		if token.ExpiresAt != nil {
			expires = p.Times.Short(*token.ExpiresAt)
		}
		if token.Expired {
			expires = "expired"
		}
		table.Add(term.Clean(token.Name), token.Scope, p.Times.Short(token.CreatedAt), used, expires, token.ID)
	}
	table.Paint = func(row, column int, cell string) string {
		if column == 4 && tokens[row].Expired {
			return p.Style.Red(cell)
		}
		return cell
	}
	table.Write(out)
}
