package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// shortcuts are the short names of commands that people look for at the first place
// (ADR 88).
func shortcuts(name string) []string {
	switch name {
	case "lint":
		return []string{"validate"}
	case "logs":
		return []string{"runs", "logs"}
	case "ls":
		return []string{"workflows", "list"}
	case "ps":
		return []string{"runs", "list"}
	case "view":
		return []string{"runs", "show"}
	}
	return nil
}

// shortcutNames are those that shortcuts knows.
func shortcutNames() []string { return []string{"lint", "logs", "ls", "ps", "view"} }

// shortcut writes a short name out where the command line begins with one, be it
// after flags that all commands have.
func shortcut(args []string) []string {
	place := 0
	if len(args) > 0 && strings.HasPrefix(args[0], "__complete") {
		place = 1
	}
	for place < len(args) && strings.HasPrefix(args[place], "-") {
		if takesNext(args[place]) {
			place++
		}
		place++
	}
	if place >= len(args) {
		return args
	}
	long := shortcuts(args[place])
	if long == nil {
		return args
	}
	return slices.Concat(args[:place], long, args[place+1:])
}

// takesNext reports whether a flag of all commands has its value in the next word.
func takesNext(word string) bool {
	return slices.Contains([]string{"--config", "--state", "--color"}, word)
}

// aliasOf is the second name of a command that stands below another; "" = it has none.
func aliasOf(name string) string {
	switch name {
	case "list":
		return "ls"
	case "show":
		return "view"
	case "rm":
		return "remove"
	case "remove":
		return "rm"
	}
	return ""
}

// giveAliases gives the commands of a group their second names.
func giveAliases(subs []*cobra.Command) {
	for _, sub := range subs {
		alias := aliasOf(sub.Name())
		if alias != "" && !slices.ContainsFunc(subs, func(other *cobra.Command) bool { return other.Name() == alias }) {
			sub.Aliases = append(sub.Aliases, alias)
		}
	}
}
