package cli

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/flowrun/flowrun/engine/diag"
)

// group makes a command that holds others: an unknown one is a usage error with a
// near match, none shows the help where the command does nothing by itself. Those
// without flags of their own stand where their group is made.
func group(command *cobra.Command, subs ...*cobra.Command) *cobra.Command {
	giveAliases(subs)
	command.AddCommand(subs...)
	command.Args = subcommandArgs
	if command.RunE == nil {
		command.RunE = func(c *cobra.Command, _ []string) error {
			if c.HasParent() {
				return usageError(fmt.Errorf("%s needs a command", c.CommandPath()), "one of: "+strings.Join(subcommandNames(c), ", "))
			}
			return c.Help()
		}
	}
	return command
}

// listGroup is group for a command that by itself does what the first one of
// those that it holds does: it lists.
func listGroup(command *cobra.Command, subs []*cobra.Command) *cobra.Command {
	list := subs[0]
	command.RunE, command.Annotations = list.RunE, list.Annotations
	command.Flags().AddFlagSet(list.Flags())
	return group(command, subs...)
}

// inSandbox adds --sandbox, which means what, to commands that take no file names.
func (a *app) inSandbox(what string, subs ...*cobra.Command) []*cobra.Command {
	for _, sub := range subs {
		sub.ValidArgsFunction = cobra.NoFileCompletions
		a.sandboxFlag(sub, what)
	}
	return subs
}

func subcommandArgs(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	names := subcommandNames(c)
	if !c.HasParent() {
		names = append(names, shortcutNames()...)
	}
	return usageError(fmt.Errorf("%s has no command %q", c.CommandPath(), args[0]),
		cmp.Or(diag.DidYouMean(args[0], names).Text, "`"+c.CommandPath()+" --help` lists the commands"))
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
	names := topicNames()
	return &cobra.Command{
		Use: "help [COMMAND..|TOPIC]", Short: "Help about a command, or about " + strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1],
		Example: "  flowrun help runs list\n  flowrun help exit-codes",
		RunE: func(c *cobra.Command, args []string) error {
			for _, topic := range helpTopics() {
				if len(args) == 1 && args[0] == topic.name {
					topic.write(c.OutOrStdout())
					return nil
				}
			}
			command, err := commandNamed(c.Root(), args)
			if err != nil {
				return err
			}
			return command.Help()
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
		case len(args) > len(names) && isAssignment(args[len(names)]) && c.Flags().Lookup("input") != nil:
			return usageError(fmt.Errorf("%s stands alone: an input is given with -i", diag.ShellWord(args[len(names)])),
				"`"+strings.Join(append([]string{c.CommandPath()}, texts(slices.Concat(args[:len(names)], inputFlagsOf(args[len(names):])), diag.ShellWord)...), " ")+"`")
		case len(args) > len(names):
			return usageError(fmt.Errorf("unexpected argument %q", args[len(names)]), "usage: "+c.UseLine())
		}
		return nil
	}
}

// isAssignment reports whether an argument is NAME=VALUE or NAME:=JSON.
func isAssignment(text string) bool {
	name, _, ok := strings.Cut(text, "=")
	return ok && name != "" && !strings.ContainsAny(name, "/. ")
}

// inputFlagsOf puts -i before each NAME=VALUE.
func inputFlagsOf(args []string) []string {
	var words []string
	for _, arg := range args {
		if isAssignment(arg) {
			words = append(words, "-i")
		}
		words = append(words, arg)
	}
	return words
}

var unknownFlag = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^unknown (?:shorthand )?flag: (?:--([a-zA-Z0-9-]+)|.*)$`)
})

// flagError makes a usage error of what the flag parser says, with a near match
// for a flag that does not exist.
func flagError(c *cobra.Command, err error) error {
	hint := fmt.Sprintf("`%s --help` lists the flags", c.CommandPath())
	if match := unknownFlag().FindStringSubmatch(err.Error()); match != nil && match[1] != "" {
		var names []string
		c.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		if near := diag.Nearest(match[1], names); near != "" {
			hint = "did you mean `--" + near + "`?"
		}
	}
	if wrong, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
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

// texts takes a part, such as a text, of each of several things.
func texts[T, U any](things []T, of func(T) U) []U {
	all := make([]U, len(things))
	for i, thing := range things {
		all[i] = of(thing)
	}
	return all
}

// argument is the argument at a place, "" where there are fewer.
func argument(args []string, place int) string {
	if place < len(args) {
		return args[place]
	}
	return ""
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
