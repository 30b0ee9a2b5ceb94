package cli

import (
	"context"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/workspace"
	"github.com/flowrun/flowrun/internal/cli/term"
)

// completeWithin is how long the owner of a store is asked for what completes a word. Who
// types must not wait: nothing is said then.
const completeWithin = 90 * time.Millisecond

// mostCompletions is how many words complete a word at most.
const mostCompletions = 200

// isCompletion reports whether a shell asks what completes a word.
func isCompletion(args []string) bool {
	return len(args) > 0 && (args[0] == cobra.ShellCompRequestCmd || args[0] == cobra.ShellCompNoDescRequestCmd)
}

// quietly keeps everything but the answer from the shell of who types.
func (s System) quietly() System {
	s.Stderr = io.Discard
	return s
}

// word is one that completes what is typed.
type word struct{ text, about string }

// noun gives the words that may stand at a place.
type noun func(q *question) []word

// place is where nouns stand: the arguments of a command, in order.
type places struct {
	nouns []noun
	many  bool // the last one may stand again and again
	order bool // the order of the words means something
	files []string
}

// question is what a shell asks: what completes a word behind others. It reads files and the
// store, starts no plugin, waits for no lock and writes nothing.
type question struct {
	app     *app
	ctx     context.Context
	command *cobra.Command
	args    []string
	typed   string

	project  func() *workspace.Workspace // nil where it can't be read
	outlines func() []workspace.Outline
	runs     func() runLooker
}

// addCompletions lets shells complete the arguments and flags of all commands.
func (a *app) addCompletions(root *cobra.Command) {
	arguments, flags := a.completedArguments(), a.completedFlags()
	var visit func(c *cobra.Command)
	visit = func(c *cobra.Command) {
		path := strings.TrimPrefix(c.CommandPath(), root.Name()+" ")
		if at, known := arguments[path]; known {
			c.ValidArgsFunction = func(c *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
				return a.completeArgument(c, at, args, typed)
			}
		}
		c.LocalFlags().VisitAll(func(flag *pflag.Flag) {
			at, known := flags[path+" --"+flag.Name]
			if !known {
				at, known = flags["--"+flag.Name]
			}
			if _, has := c.GetFlagCompletionFunc(flag.Name); !known || has {
				return
			}
			_ = c.RegisterFlagCompletionFunc(flag.Name, func(c *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
				return a.complete(c, at, at.nouns[0], args, typed)
			}) // it fails for a flag that is not there, or has one
		})
		for _, sub := range c.Commands() {
			visit(sub)
		}
	}
	visit(root)
}

func (a *app) completeArgument(c *cobra.Command, at places, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	place := len(args)
	if workflow := c.Flags().Lookup("workflow"); workflow != nil && workflow.Changed && takesRun(c) && (len(args) == 0 || !isRefWord(args[0])) {
		place++ // -w stands for RUN
	}
	if place >= len(at.nouns) {
		if !at.many {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		place = len(at.nouns) - 1
	}
	return a.complete(c, at, at.nouns[place], args, typed)
}

// takesRun reports whether the first argument of a command is a run.
func takesRun(c *cobra.Command) bool { return strings.Contains(c.Use, "[RUN") }

// complete answers a question. What goes wrong is no answer.
func (a *app) complete(c *cobra.Command, at places, of noun, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	ctx, cancel := context.WithTimeout(context.Background(), completeWithin)
	defer cancel()
	q := &question{app: a, ctx: ctx, command: c, args: args, typed: typed}
	defer q.open()()
	directive := cobra.ShellCompDirectiveNoFileComp
	if at.order {
		directive |= cobra.ShellCompDirectiveKeepOrder
	}
	var words []string
	for _, word := range of(q) {
		if len(words) == mostCompletions || !strings.HasPrefix(word.text, typed) || term.Clean(word.text) != word.text || word.text == "" {
			continue
		}
		if strings.HasSuffix(word.text, "=") {
			directive |= cobra.ShellCompDirectiveNoSpace
		}
		words = append(words, cobra.CompletionWithDesc(word.text, about(word.about)))
	}
	if len(words) == 0 && at.files != nil {
		return at.files, cobra.ShellCompDirectiveFilterFileExt
	}
	return words, directive
}

// about is a description as a shell shows it: one short line.
func about(text string) string { return term.Truncate(term.Clean(firstLineOf(text)), 80) }

func firstLineOf(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line
}

// open prepares what is read when it is asked for first; the answer ends it.
func (q *question) open() (end func()) {
	a := q.app
	if err := a.loadSettings(); err != nil {
		a.settings = nil // the defaults hold
	}
	at, located := a.locate()
	var loaded *workspace.Workspace
	q.project = sync.OnceValue(func() *workspace.Workspace {
		if located == nil {
			loaded, _ = engine.LoadProject(q.ctx, a.engineConfig(at))
		}
		return loaded
	})
	q.outlines = sync.OnceValue(func() []workspace.Outline {
		if project := q.project(); project != nil {
			return project.Outlines()
		}
		return nil
	})
	var close func()
	q.runs = sync.OnceValue(func() runLooker {
		if located != nil {
			return noRuns{}
		}
		looker, end := a.lookAtRuns(q.ctx, at)
		close = end
		return looker
	})
	return func() {
		if loaded != nil {
			loaded.Close()
		}
		if close != nil {
			close()
		}
	}
}
