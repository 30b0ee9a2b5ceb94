package cli

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/internal/web"
)

func (a *app) runsWatchCommand() *cobra.Command {
	flags := new(followFlags)
	c := &cobra.Command{
		Use: "watch RUN", Short: "Follow a run until its end", Args: exactArgs("RUN"),
		Long: "Watch shows a run as `flowrun run` does and exits as it would. Ctrl-C ends the watching, not the run.",
		RunE: func(c *cobra.Command, args []string) error { return a.runsWatch(c.Context(), args[0], flags.output) },
	}
	outputFlag(c, &flags.output, "text", "json", "jsonl")
	return c
}

func (a *app) runsWatch(ctx context.Context, id, output string) error {
	if err := runArg(id); err != nil {
		return err
	}
	session, err := a.connect(ctx, roleWork)
	if err != nil {
		return err
	}
	follower, end := session.newFollower(id, a.viewFor(output))
	defer end()
	follower.watching, follower.records = true, output == "jsonl"
	return follower.finish(ctx, output, nil)
}

func (a *app) runsCancelCommand() *cobra.Command {
	flags := new(followFlags)
	c := &cobra.Command{
		Use: "cancel RUN", Short: "Cancel a run: no new step, calls in flight end, its finally steps run", Args: exactArgs("RUN"),
		RunE: func(c *cobra.Command, args []string) error { return a.runsCancel(c.Context(), args[0], flags) },
	}
	flags.add(c)
	return c
}

func (a *app) runsCancel(ctx context.Context, id string, flags *followFlags) error {
	err := a.act(ctx, id, flags, func(c *web.Client) (*plan.Run, error) { return c.Cancel(ctx, id, a.user()) })
	var coded *codedError
	if errors.As(err, &coded) && coded.silent && coded.code == exitCanceled {
		return nil // that is what was asked for
	}
	return err
}

func (a *app) runsResumeCommand() *cobra.Command {
	flags := new(followFlags)
	request := new(engine.ResumeRequest)
	c := &cobra.Command{
		Use: "resume RUN", Short: "Go on with a run where it stopped", Args: exactArgs("RUN"),
		Long: "Resume goes on with a run that failed, timed out, was canceled, is paused, or whose process died. What ended well\n" +
			"is not done again; failed steps get fresh attempts.",
		RunE: func(c *cobra.Command, args []string) error {
			request.By = a.user()
			return a.act(c.Context(), args[0], flags, func(client *web.Client) (*plan.Run, error) {
				return client.Resume(c.Context(), args[0], *request)
			})
		},
	}
	flags.add(c)
	c.Flags().BoolVar(&request.DiscardWrites, "discard-writes", false, "do not write the state and cursors that moved meanwhile")
	c.Flags().StringArrayVar(&flags.outs, "out", nil, "write output NAME=FILE (repeatable)")
	return c
}

func (a *app) runsRerunCommand() *cobra.Command {
	flags := new(followFlags)
	var from, inputsFile string
	var inputs []string
	c := &cobra.Command{
		Use: "rerun RUN", Short: "Run the same definition again as a new, linked run", Args: exactArgs("RUN"),
		RunE: func(c *cobra.Command, args []string) error {
			given, err := a.readInputs(inputs, inputsFile)
			if err != nil {
				return err
			}
			return a.act(c.Context(), args[0], flags, func(client *web.Client) (*plan.Run, error) {
				run, warnings, err := client.Rerun(c.Context(), args[0], engine.RerunRequest{From: from, Inputs: given, By: a.user()})
				a.printProblemsOf(warnings, map[string][]byte{})
				return run, err
			})
		},
	}
	flags.add(c)
	c.Flags().StringVar(&from, "from", "", "begin with this step; the results before it are taken over")
	c.Flags().StringArrayVarP(&inputs, "input", "i", nil, "input NAME=VALUE instead of the old run's (repeatable)")
	c.Flags().StringVar(&inputsFile, "inputs", "", "inputs from a JSON or YAML file")
	c.Flags().StringArrayVar(&flags.outs, "out", nil, "write output NAME=FILE (repeatable)")
	return c
}

// act moves a run and follows it like `run`.
func (a *app) act(ctx context.Context, id string, flags *followFlags, ask func(*web.Client) (*plan.Run, error)) error {
	if err := runArg(id); err != nil {
		return err
	}
	outs, err := parseOuts(flags.outs)
	if err != nil {
		return err
	}
	session, err := a.connect(ctx, flags.role())
	if err != nil {
		return err
	}
	session.announceSandbox()
	var run *plan.Run
	err = session.try(ctx, func(c *web.Client) error {
		run, err = ask(c)
		return err
	})
	var problem *web.Problem
	if errors.As(err, &problem) && problem.Code == web.CodeInvalidInput {
		err = inputError(problem)
	}
	if err != nil {
		return session.abandon(err)
	}
	return session.attend(ctx, run, flags, outs)
}
