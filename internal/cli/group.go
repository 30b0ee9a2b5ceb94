package cli

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/flowrun/flowrun/engine/diag"
)

// group makes a command that only holds others: an unknown one is a usage error
// with a near match, none shows the help.
func group(command *cobra.Command) {
	command.Args = subcommandArgs
	if command.RunE == nil {
		command.RunE = func(c *cobra.Command, _ []string) error {
			if c.HasParent() {
				return usageError(fmt.Errorf("%s needs a command", c.CommandPath()), "one of: "+strings.Join(subcommandNames(c), ", "))
			}
			return c.Help()
		}
	}
}

func subcommandArgs(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	hint := diag.DidYouMean(args[0], subcommandNames(c)).Text
	if hint == "" {
		hint = fmt.Sprintf("`%s --help` lists the commands", c.CommandPath())
	}
	return usageError(fmt.Errorf("%s has no command %q", c.CommandPath(), args[0]), hint)
}

func subcommandNames(c *cobra.Command) []string {
	var names []string
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, sub.Name())
		}
	}
	slices.Sort(names)
	return names
}

// helpCommand prints the help of a command; one that does not exist is a usage
// error like anywhere else.
func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use: "help [COMMAND..]", Short: "Help about any command",
		RunE: func(c *cobra.Command, args []string) error {
			named := c.Root()
			for _, name := range args {
				next := slices.IndexFunc(named.Commands(), func(sub *cobra.Command) bool { return sub.Name() == name })
				if next < 0 {
					return subcommandArgs(named, []string{name})
				}
				named = named.Commands()[next]
			}
			return named.Help()
		},
	}
}

// exactArgs takes exactly the named arguments.
func exactArgs(names ...string) cobra.PositionalArgs { return rangeArgs(len(names), names...) }

// rangeArgs takes at least least of the named arguments, and no more than all.
func rangeArgs(least int, names ...string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			return usageError(fmt.Errorf("%s is missing", names[len(args)]), "usage: "+c.UseLine())
		case len(args) > len(names):
			return usageError(fmt.Errorf("unexpected argument %q", args[len(names)]), "usage: "+c.UseLine())
		}
		return nil
	}
}

var unknownFlag = regexp.MustCompile(`^unknown (?:shorthand )?flag: (?:--([a-zA-Z0-9-]+)|.*)$`)

// flagError makes a usage error of what the flag parser says, with a near match
// for a flag that does not exist.
func flagError(c *cobra.Command, err error) error {
	hint := fmt.Sprintf("`%s --help` lists the flags", c.CommandPath())
	if match := unknownFlag.FindStringSubmatch(err.Error()); match != nil && match[1] != "" {
		var names []string
		c.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		if near := diag.Nearest(match[1], names); near != "" {
			hint = "did you mean `--" + near + "`?"
		}
	}
	var wrong *pflag.InvalidValueError
	if errors.As(err, &wrong) {
		return usageError(fmt.Errorf("--%s takes %s, not %q", wrong.GetFlag().Name, valueOf(wrong.GetFlag()), wrong.GetValue()), hint)
	}
	return usageError(err, hint)
}

// valueOf says what a flag takes.
func valueOf(flag *pflag.Flag) string {
	switch kind := flag.Value.Type(); {
	case kind == "bool":
		return "true or false"
	case kind == "duration":
		return "a length of time, such as 30s"
	case strings.HasPrefix(kind, "int"), strings.HasPrefix(kind, "uint"):
		return "a whole number"
	case strings.HasPrefix(kind, "float"):
		return "a number"
	}
	return "another value"
}

// outputFlag adds -o with its choices; the first one is the default.
func outputFlag(c *cobra.Command, into *string, choices ...string) {
	c.Flags().StringVarP(into, "output", "o", choices[0], "output: "+strings.Join(choices, ", "))
	completeFlag(c, "output", choices...)
	check := c.PreRunE
	c.PreRunE = func(c *cobra.Command, args []string) error {
		if !slices.Contains(choices, *into) {
			return usageError(fmt.Errorf("-o takes %s, not %q", strings.Join(choices, ", "), *into), diag.DidYouMean(*into, choices).Text)
		}
		if check != nil {
			return check(c, args)
		}
		return nil
	}
}

// completeFlag lets a shell complete the values of a flag, which must be there.
func completeFlag(c *cobra.Command, flag string, values ...string) {
	if err := c.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(fmt.Sprintf("complete --%s of %s: %v", flag, c.Name(), err)) // a mistake in this package
	}
}

// completeWorkflows lets a shell complete the names of workflow files.
func completeWorkflows(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return []string{"yaml", "yml"}, cobra.ShellCompDirectiveFilterFileExt
}
