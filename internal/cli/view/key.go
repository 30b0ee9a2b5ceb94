package view

import (
	"fmt"
	"io"
	"strings"

	"github.com/flowrun/flowrun/engine/workspace"
	"github.com/flowrun/flowrun/internal/cli/term"
)

// Keys prints keys that belong to another one, one a line; none is nothing.
func (p Page) Keys(out io.Writer, title string, keys []workspace.KeyDoc) {
	if len(keys) == 0 {
		return
	}
	fmt.Fprintf(out, "\n%s\n", p.Style.Dim(title))
	width := 0
	for _, key := range keys {
		width = max(width, len(lastPart(key.Path)))
	}
	for _, key := range keys {
		text := key.Value
		if key.Default != "" {
			text += ", default " + key.Default
		}
		p.hanging(out, "  "+term.Pad(lastPart(key.Path), width+2), strings.TrimSpace(text+". "+key.Doc))
	}
}

func lastPart(path string) string { return path[strings.LastIndexByte(path, '.')+1:] }

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
