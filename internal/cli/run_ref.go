package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/runquery"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/internal/web"
)

// The words that name a run in the place of its id.
const (
	refLast    = "last"
	refFailed  = "@failed"
	refWaiting = "@waiting"
)

// refWord is one of them, with what it names.
type refWord struct{ word, means string }

var refWords = []refWord{
	{refLast, "the newest run"}, {refFailed, "the newest run that failed or ran out of time"}, {refWaiting, "the newest run that asks or waits for a person"},
}

func isRefWord(text string) bool { return text == refLast || text == refFailed || text == refWaiting }

// runRef is how a command line names a run, and the run once it is found.
type runRef struct {
	text     string                                   // "" = none is named
	workflow string                                   // of -w; "" = none
	fit      runFit                                   // what is taken where none is named
	again    func(id string, rest ...string) []string // this command, word for word, with that run and what stands behind it
	id       string                                   // the whole id; "" = it is not found yet
}

// runFit are the runs that a command takes where none is named.
type runFit struct {
	of      string        // such a run, behind "no run": "that goes on"
	filters []runs.Filter // the newest of all that they select
	acts    bool          // the command changes something: without a name it takes the only one alone
}

// topLevel leaves out the runs of sub-workflows.
const topLevel = "parent == nil"

// The runs that commands take.

func anyRun() runFit {
	return runFit{filters: []runs.Filter{{Query: topLevel}}}
}

func goingRun() runFit {
	return runFit{of: "that goes on", filters: withStatus("", runs.RunQueued, runs.RunRunning, runs.RunWaiting)}
}

func doneRun() runFit {
	return runFit{of: "with outputs", filters: withStatus(topLevel, runs.RunSucceeded)}
}

func cancelRun() runFit {
	return runFit{of: "that goes on", filters: withStatus(topLevel, runs.RunQueued, runs.RunRunning, runs.RunWaiting, runs.RunPaused), acts: true}
}

func resumeRun() runFit {
	return runFit{of: "that stopped", filters: stoppedRuns(), acts: true}
}

func endedRun() runFit {
	return runFit{of: "that has ended", filters: withStatus(topLevel, runs.RunSucceeded, runs.RunFailed, runs.RunCanceled, runs.RunTimedOut), acts: true}
}

func deliverRun() runFit {
	return runFit{of: "that has succeeded", filters: withStatus("", runs.RunSucceeded), acts: true}
}

func askingRun() runFit {
	return runFit{of: "that asks a person", filters: []runs.Filter{{Attention: true, Query: "asks > 0"}}, acts: true}
}

func signalRun() runFit {
	return runFit{of: "that waits", filters: withStatus("", runs.RunWaiting), acts: true}
}

func unknownRun() runFit {
	return runFit{of: "with a call of unknown outcome", filters: []runs.Filter{{Status: runs.RunPaused, Query: `paused == "unknown_outcome"`}}, acts: true}
}

func unlookedRuns() runFit {
	return runFit{of: "that failed and nobody has looked at", filters: []runs.Filter{{Attention: true, Query: `status in ["failed", "timed_out"]`}}, acts: true}
}

func withStatus(query string, statuses ...runs.Status) []runs.Filter {
	filters := make([]runs.Filter, len(statuses))
	for i, status := range statuses {
		filters[i] = runs.Filter{Status: status, Query: query}
	}
	return filters
}

// stoppedRuns are those that a resume goes on with.
func stoppedRuns() []runs.Filter {
	return append(withStatus(topLevel, runs.RunPaused, runs.RunFailed, runs.RunCanceled, runs.RunTimedOut),
		withStatus("undriven && "+topLevel, runs.RunQueued, runs.RunRunning, runs.RunWaiting)...)
}

// onRun makes a command that takes a run, and behind it what names say: all of it may be
// left out.
func (a *app) onRun(c *cobra.Command, fit runFit, do func(ctx context.Context, run *runRef, rest []string) error, names ...string) *cobra.Command {
	workflow := runFlag(c)
	c.Args = func(c *cobra.Command, args []string) error {
		_, rest, err := readRef(c, args, *workflow, fit)
		if err == nil && len(rest) > len(names) {
			err = usageError(fmt.Errorf("unexpected argument %q", rest[len(names)]), "usage: "+c.UseLine())
		}
		return err
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		run, rest, err := readRef(c, args, *workflow, fit)
		if err != nil {
			return err
		}
		return do(c.Context(), run, rest)
	}
	return c
}

// runFlag adds -w to a command that takes a run.
func runFlag(c *cobra.Command) (workflow *string) {
	workflow = new(string)
	c.Flags().StringVarP(workflow, "workflow", "w", "", "the newest run of this workflow, in the place of RUN")
	return workflow
}

// readRef reads the run of a command line, and returns the arguments behind it.
func readRef(c *cobra.Command, args []string, workflow string, fit runFit) (run *runRef, rest []string, err error) {
	run, rest = &runRef{workflow: workflow, fit: fit}, args
	if len(args) > 0 && (workflow == "" || isRefWord(args[0])) {
		run.text, rest = args[0], args[1:]
	}
	run.again = func(id string, more ...string) []string {
		return commandWith(c, slices.Concat([]string{id}, rest, more))
	}
	switch {
	case workflow != "" && len(rest) > 0 && web.ValidRunID(rest[0]):
		return nil, nil, usageError(fmt.Errorf("--workflow names a run, and so does %s: one of the two", rest[0]), "usage: "+c.UseLine())
	case run.text == "":
		return run, rest, nil
	}
	return run, rest, checkRef(run.text)
}

// runNamed is the reference of a flag; words are the command before it.
func runNamed(text string, words ...string) (*runRef, error) {
	run := &runRef{text: text, fit: anyRun(), again: func(id string, _ ...string) []string { return append(slices.Clone(words), id) }}
	return run, checkRef(text)
}

// checkRef refuses what can name no run: it goes nowhere.
func checkRef(text string) error {
	if isRefWord(text) || web.ValidID(strings.ToLower(text)) {
		return nil
	}
	return noSuchRef(text)
}

// noSuchRef says that a text names no run, and what would.
func noSuchRef(text string) error {
	switch {
	case strings.HasPrefix(text, "@"), diag.Nearest(text, refNames()) != "":
		return notFoundError(fmt.Errorf("%q names no run", text), diag.DidYouMean(text, refNames()).Or(diag.Say("last, @failed and @waiting do, and 4 letters of an id")).Text)
	case len(text) < runquery.LeastLetters:
		return notFoundError(fmt.Errorf("there is no run %q: %d letters of its id name it, the first or the last ones", text, runquery.LeastLetters), "`flowrun runs` lists the runs")
	}
	return notFoundError(fmt.Errorf("there is no run %q", text), "run ids look like 01k8zq4c0vdx3y6t7k9m2n5p8r; `flowrun runs` lists them")
}

func refNames() []string { return texts(refWords, func(w refWord) string { return w.word }) }

// manyRefs are the runs of a command that takes several.
func manyRefs(c *cobra.Command, args []string, workflow string, fit runFit) ([]*runRef, error) {
	if len(args) == 0 || workflow != "" {
		run, rest, err := readRef(c, args, workflow, fit)
		if err == nil && len(rest) > 0 {
			err = usageError(errors.New("name runs, or give --workflow: one of the two"), "usage: "+c.UseLine())
		}
		return []*runRef{run}, err
	}
	list := make([]*runRef, len(args))
	for i, text := range args {
		if err := checkRef(text); err != nil {
			return nil, err
		}
		list[i] = &runRef{text: text, fit: fit, again: func(id string, _ ...string) []string {
			words := append([]string{}, args...)
			words[i] = id
			return commandWith(c, words)
		}}
	}
	return list, nil
}

// onRuns makes a command that takes several runs.
func (a *app) onRuns(c *cobra.Command, fit runFit, workflow *string, do func(ctx context.Context, list []*runRef) error) {
	c.Args = func(c *cobra.Command, args []string) error {
		_, err := manyRefs(c, args, *workflow, fit)
		return err
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		list, err := manyRefs(c, args, *workflow, fit)
		if err != nil {
			return err
		}
		return do(c.Context(), list)
	}
}

// commandWith are the words of a command, with other arguments and the flags that it
// was given.
func commandWith(c *cobra.Command, args []string) []string {
	words := append(strings.Fields(c.CommandPath())[1:], args...)
	c.Flags().Visit(func(flag *pflag.Flag) {
		switch list, many := flag.Value.(pflag.SliceValue); {
		case flag.Name == "workflow" || isSandboxFlag(flag.Name) || c.InheritedFlags().Lookup(flag.Name) != nil:
		case many:
			for _, value := range list.GetSlice() {
				words = append(words, "--"+flag.Name, value)
			}
		case flag.Value.Type() == "bool":
			words = append(words, "--"+flag.Name)
		default:
			words = append(words, "--"+flag.Name, flag.Value.String())
		}
	})
	return words
}

// isSandboxFlag reports whether commandText adds a flag by itself.
func isSandboxFlag(name string) bool {
	switch name {
	case "sandbox", "live", "mocks", "approve-after":
		return true
	}
	return false
}
