package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/flowrun/flowrun/internal/cli/term"
)

// usage writes how a command is used: its form, examples, the commands below it by
// their groups, and its flags.
func usage(c *cobra.Command) error {
	out := c.OutOrStderr()
	fmt.Fprintf(out, "Usage:\n  %s\n", useOf(c))
	if len(c.Aliases) > 0 {
		fmt.Fprintf(out, "\nAliases:\n  %s\n", strings.Join(append([]string{c.Name()}, c.Aliases...), ", "))
	}
	if c.HasExample() {
		fmt.Fprintf(out, "\nExamples:\n%s\n", strings.TrimRight(c.Example, "\n"))
	}
	writeCommands(out, c)
	writeFlags(out, "Flags", c.LocalFlags())
	writeFlags(out, "Flags of all commands", c.InheritedFlags())
	switch {
	case !c.HasParent():
		fmt.Fprintf(out, "\nMore: `flowrun COMMAND --help`, `flowrun help %s`\n", strings.Join(topicNames(), "|"))
	case c.HasAvailableSubCommands():
		fmt.Fprintf(out, "\nMore: `%s COMMAND --help`\n", c.CommandPath())
	}
	return nil
}

// useOf is the form of a command line.
func useOf(c *cobra.Command) string {
	if !c.HasAvailableSubCommands() {
		return c.UseLine()
	}
	return c.CommandPath() + " COMMAND [flags]"
}

// writeCommands lists the commands below one, those of a group together.
func writeCommands(out io.Writer, c *cobra.Command) {
	width := 0
	var subs []*cobra.Command
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() || sub.Name() == "help" {
			subs, width = append(subs, sub), max(width, len(sub.Name()))
		}
	}
	write := func(title, id string) {
		isFirst := true
		for _, sub := range subs {
			if sub.GroupID != id {
				continue
			}
			if isFirst {
				fmt.Fprintf(out, "\n%s:\n", title)
				isFirst = false
			}
			fmt.Fprintf(out, "  %s  %s\n", term.Pad(sub.Name(), width), sub.Short)
		}
	}
	for _, g := range c.Groups() {
		write(g.Title, g.ID)
	}
	title := "Commands"
	if len(c.Groups()) > 0 {
		title = "Other commands"
	}
	write(title, "")
}

// writeFlags lists flags with what they take and what they are for.
func writeFlags(out io.Writer, title string, flags *pflag.FlagSet) {
	type row struct{ name, text string }
	var rows []row
	width := 0
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		name := "    --" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", --" + f.Name
		}
		if word := valueWord(f); word != "" {
			name += " " + word
		}
		width = max(width, len(name))
		rows = append(rows, row{name, f.Usage + defaultOf(f)})
	})
	if len(rows) == 0 {
		return
	}
	fmt.Fprintf(out, "\n%s:\n", title)
	for _, row := range rows {
		fmt.Fprintf(out, "  %s  %s\n", term.Pad(row.name, width), row.text)
	}
}

// defaultOf tells what a flag is where nobody gives it, unless that is nothing.
func defaultOf(f *pflag.Flag) string {
	if slices.Contains([]string{"", "false", "0", "[]", "0s"}, f.DefValue) {
		return ""
	}
	return " (default: " + f.DefValue + ")"
}

// valueWords are what flags take, by the name of the flag.
var valueWords = sync.OnceValue(func() map[string]string {
	return map[string]string{
		"accept-key": "KEY", "allow": "run|approve", "approve-after": "DURATION", "at": "TIME", "attach": "NAME=ADDR", "by": "KIND", "ca-file": "FILE", "case": "NAME", "checksums": "URL",
		"color": "WHEN", "config": "FILE", "connection": "NAME", "cursor": "CURSOR", "digest": "sha256:HEX", "dir": "FOLDER", "env": "NAME",
		"expires": "DURATION|TIME", "form": "NAME=VALUE", "format": "FORMAT", "from": "TIME", "from-file": "FILE", "input": "NAME=VALUE", "inputs": "FILE",
		"junit": "FILE", "label": "NAME=VALUE", "lang": "LANGUAGE", "level": "LEVEL", "listen": "HOST:PORT", "live": "NAME", "log-format": "FORMAT",
		"log-level": "LEVEL", "mocks": "FILE", "module": "PATH", "name": "NAME", "out": "FILE", "output": "FORMAT", "outputs": "JSON|@FILE",
		"payload": "JSON|@FILE", "plugin-log": "NAME", "query": "EXPR", "releases": "URL", "record": "RUN", "run": "RUN", "scheduled-at": "TIME", "scope": "SCOPE", "sdk": "VERSION|FOLDER", "server": "URL",
		"since": "TIME|DURATION", "state": "FOLDER", "status": "STATUS", "template": "NAME", "to": "SOURCE", "token-env": "NAME", "token-file": "FILE", "until": "TIME", "with": "JSON|@FILE|-",
		"step": "STEP", "workflow": "NAME", "write": "FILE",
	}
})

// fromProduct marks a --from that takes the name of a product; others take a time or a step.
const fromProduct = "product"

// valueWord is what a flag takes, in one word; "" for one that takes nothing.
func valueWord(f *pflag.Flag) string {
	kind := f.Value.Type()
	if kind == "bool" {
		return ""
	}
	if f.Name == "from" && f.Annotations[fromProduct] != nil {
		return "PRODUCT"
	}
	switch word := valueWords()[f.Name]; {
	case strings.HasPrefix(kind, "int"), strings.HasPrefix(kind, "uint"), strings.HasPrefix(kind, "float"):
		return "N"
	case kind == "duration":
		return "DURATION"
	case word != "":
		return word
	}
	return "TEXT"
}
