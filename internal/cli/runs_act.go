package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/internal/cli/view"
	"github.com/flowrun/flowrun/internal/web"
)

func (a *app) watchRun(ctx context.Context, id string) error {
	session, err := a.connectTo(ctx, id, roleWork)
	if err != nil {
		return err
	}
	if _, err := session.client.ResultInShort(ctx, id); err != nil {
		return session.abandon(err)
	}
	follower, end := session.newFollower(id, a.newView())
	defer end()
	follower.watching, follower.drive, follower.records = true, session.owner == nil, a.output == "jsonl"
	return follower.finish(ctx, nil)
}

func (a *app) runsCancelCommand() *cobra.Command {
	var noWait bool
	c := &cobra.Command{
		Use: "cancel RUN", Short: "Cancel a run; its finally steps run", Args: runArgs(1, "RUN"),
		RunE: func(c *cobra.Command, args []string) error { return a.cancelRun(c.Context(), args[0], noWait) },
	}
	c.Flags().BoolVar(&noWait, "no-wait", false, "do not wait for its end")
	return withText(a.liveFlags(c))
}

func (a *app) cancelRun(ctx context.Context, id string, noWait bool) error {
	session, err := a.connectTo(ctx, id, roleWork)
	if err != nil {
		return err
	}
	run, err := try(ctx, session, func(c *web.Client) (*runs.Run, error) { return c.Cancel(ctx, id, a.user()) })
	if err != nil {
		return session.abandon(err)
	}
	if !noWait || session.owner != nil { // an owner drives its finally steps itself
		follower, end := session.newFollower(id, view.NewQuiet(a.noteText))
		defer end()
		follower.watching = true
		result, err := follower.follow(ctx)
		if err != nil {
			return session.broken(err)
		}
		run = &result.Run
	}
	if err := session.close(nil); err != nil {
		return err
	}
	return a.print(map[string]any{"run": run}, func() { a.say("run %s is %s", run.ID, run.Status) })
}

func (a *app) runsResumeCommand() *cobra.Command {
	plugins := new(pluginFlags)
	flags, request := new(followFlags), engine.ResumeRequest{Dir: a.sys.Dir, By: a.user()}
	c := &cobra.Command{
		Use: "resume RUN", Short: "Go on with a run where it stopped", Args: runArgs(1, "RUN"),
		Long: "Resume goes on with a run that failed, was canceled or paused, or whose process died.\n" +
			"What succeeded is not done again. With --with-latest it goes on by the workflow's file as it is now:\n" +
			"steps that have run must stand there unchanged, those that failed or never began may be others.",
		RunE: func(c *cobra.Command, args []string) error {
			stop, err := a.usePlugins(plugins)
			if err != nil {
				return err
			}
			defer stop()
			return a.resumeRun(c.Context(), args[0], request, flags)
		},
	}
	plugins.add(c)
	c.Flags().BoolVar(&request.DiscardWrites, "discard-writes", false, "write no state and no cursors, which may have moved since")
	c.Flags().BoolVar(&request.Latest, "with-latest", false, "go on by the workflow's file as it is now; what has run must stand there unchanged")
	return flags.add(a.liveFlags(c))
}

func (a *app) resumeRun(ctx context.Context, id string, request engine.ResumeRequest, flags *followFlags) error {
	session, err := a.connectTo(ctx, id, flags.role())
	if err != nil {
		return err
	}
	return session.start(ctx, try, flags, nil, func(ctx context.Context, c *web.Client) (*runs.Run, error) { return c.Resume(ctx, id, request) })
}

// rerunFlags are the flags of rerun.
type rerunFlags struct {
	followFlags
	inputFlags
	from string
}

func (a *app) runsRerunCommand() *cobra.Command {
	flags := new(rerunFlags)
	c := &cobra.Command{
		Use: "rerun RUN", Short: "Start a new run of the same definition, linked to the old one", Args: runArgs(1, "RUN"),
		Long: "Rerun starts a new run with the inputs of the old one, unless they are given anew. With --from it begins\n" +
			"at a step: the results of the steps before it are taken over, and so are those of others that ended well\n" +
			"and do not depend on it. State and cursors are today's.",
		Example: "  flowrun runs rerun 01jq… -i site=B\n  flowrun runs rerun 01jq… --from report",
		RunE:    func(c *cobra.Command, args []string) error { return a.rerun(c.Context(), args[0], flags) },
	}
	c.Flags().StringVar(&flags.from, "from", "", "begin at this step, and take over the results of those before it")
	flags.inputFlags.add(c, "another input", "other inputs")
	return flags.followFlags.add(a.liveFlags(c))
}

func (a *app) rerun(ctx context.Context, id string, flags *rerunFlags) error {
	inputs, err := a.readInputs(flags.inputs, flags.inputsFile)
	if err != nil {
		return err
	}
	session, err := a.connectTo(ctx, id, flags.role())
	if err != nil {
		return err
	}
	return session.start(ctx, try, &flags.followFlags, nil, func(ctx context.Context, c *web.Client) (*runs.Run, error) {
		run, _, err := c.Rerun(ctx, id, engine.RerunRequest{From: flags.from, Inputs: inputs, By: a.user()})
		return run, inputError(err)
	})
}
