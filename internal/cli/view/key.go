package view

import (
	"fmt"
	"io"
	"strings"

	"github.com/flowrun/flowrun/engine/workspace"
	"github.com/flowrun/flowrun/internal/cli/term"
)

// Key prints what a key of workflow files is for and what its value may be.
func (p Page) Key(out io.Writer, key workspace.KeyDoc) {
	fmt.Fprintf(out, "%s  %s\n", p.Style.Bold(key.Path), p.Style.Dim(key.Value))
	if key.Doc != "" {
		fmt.Fprintf(out, "\n%s\n", strings.Join(wrap(key.Doc, p.textWidth()), "\n"))
	}
	required := ""
	if key.Required {
		required = "it must be there"
	}
	values := ""
	if len(key.Words) > 6 {
		values = strings.Join(key.Words, " | ")
	}
	fmt.Fprintln(out)
	for _, line := range [][2]string{
		{"required", required}, {"values", values}, {"default", key.Default}, {"of", strings.Join(key.Kinds, ", ")}, {"keys", strings.Join(key.Keys, ", ")},
		{"also", strings.Join(key.Also, ", ")}, {"page", key.Page},
	} {
		if line[1] != "" {
			p.hanging(out, "  "+term.Pad(line[0], 10), line[1])
		}
	}
	if key.Example != "" {
		fmt.Fprintf(out, "\n%s\n  %s\n", p.Style.Dim("example"), key.Example)
	}
}
