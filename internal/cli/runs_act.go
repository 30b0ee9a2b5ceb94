package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/internal/cli/view"
	"github.com/flowrun/flowrun/internal/web"
)

func (a *app) watchRun(ctx context.Context, run *runRef) error {
	session, err := a.connectTo(ctx, run, roleWork)
	if err != nil {
		return err
	}
	if _, err := session.client.ResultInShort(ctx, run.id); err != nil {
		return session.abandon(err)
	}
	follower, end := session.newFollower(run.id, a.newView())
	defer end()
	follower.watching, follower.drive, follower.records = true, session.owner == nil, a.output == "jsonl"
	return follower.finish(ctx, nil)
}

// actHelp is runHelp for commands that change something.
const actHelp = "RUN is an id, its first or last letters (4 or more), last, @failed or @waiting; -w WORKFLOW names the newest run\n" +
	"of a workflow. Without it you choose in a terminal; else the only run that fits is taken, and its id is said."

func (a *app) runsCancelCommand() *cobra.Command {
	var noWait bool
	c := a.onRun(&cobra.Command{Use: "cancel [RUN]", Short: "Cancel a run; its finally steps run",
		Example: "  flowrun runs cancel r5f8\n  flowrun runs cancel -w weekly --no-wait",
		Long:    "Cancel lets no new step begin, ends the calls in flight and runs the finally steps.\n" + actHelp}, cancelRun(),
		func(ctx context.Context, run *runRef, _ []string) error { return a.cancelRun(ctx, run, noWait) })
	c.Flags().BoolVar(&noWait, "no-wait", false, "do not wait for its end")
	return withText(a.liveFlags(c))
}

func (a *app) cancelRun(ctx context.Context, ref *runRef, noWait bool) error {
	session, err := a.connectTo(ctx, ref, roleWork)
	if err != nil {
		return err
	}
	run, err := try(ctx, session, func(c *web.Client) (*runs.Run, error) { return c.Cancel(ctx, ref.id, a.user()) })
	if err != nil {
		return session.abandon(err)
	}
	if !noWait || session.owner != nil { // an owner drives its finally steps itself
		follower, end := session.newFollower(ref.id, view.NewQuiet(a.noteText))
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
	c := a.onRun(&cobra.Command{
		Use: "resume [RUN]", Short: "Go on with a run where it stopped",
		Example: "  flowrun runs resume @failed\n  flowrun runs resume r5f8 --with-latest",
		Long: "Resume goes on with a run that failed, was canceled or paused, or whose process died.\n" +
			"What succeeded is not done again. With --with-latest it goes on by the workflow's file as it is now:\n" +
			"steps that have run must stand there unchanged, those that failed or never began may be others.\n" + actHelp,
	}, resumeRun(), func(ctx context.Context, run *runRef, _ []string) error {
		stop, err := a.usePlugins(plugins)
		if err != nil {
			return err
		}
		defer stop()
		return a.resumeRun(ctx, run, request, flags)
	})
	plugins.add(c)
	c.Flags().BoolVar(&request.DiscardWrites, "discard-writes", false, "write no state and no cursors, which may have moved since")
	c.Flags().BoolVar(&request.Latest, "with-latest", false, "go on by the workflow's file as it is now; what has run must stand there unchanged")
	return flags.add(a.liveFlags(c))
}

func (a *app) resumeRun(ctx context.Context, ref *runRef, request engine.ResumeRequest, flags *followFlags) error {
	if a.isRemote() { // the workflow's file is the server's
		request.Dir = ""
	}
	session, err := a.connectTo(ctx, ref, flags.role())
	if err != nil {
		return err
	}
	return session.start(ctx, try, flags, nil, func(ctx context.Context, c *web.Client) (*runs.Run, error) { return c.Resume(ctx, ref.id, request) })
}

// rerunFlags are the flags of rerun.
type rerunFlags struct {
	followFlags
	inputFlags
	from string
}

func (a *app) runsRerunCommand() *cobra.Command {
	flags := new(rerunFlags)
	c := a.onRun(&cobra.Command{
		Use: "rerun [RUN]", Short: "Start a new run of the same definition, linked to the old one",
		Long: "Rerun starts a new run with the inputs of the old one, unless they are given anew. With --from it begins\n" +
			"at a step: the results of the steps before it are taken over, and so are those of others that ended well\n" +
			"and do not depend on it. State and cursors are today's.\n" + actHelp,
		Example: "  flowrun runs rerun last -i site=B\n  flowrun runs rerun @failed --from report",
	}, endedRun(), func(ctx context.Context, run *runRef, _ []string) error { return a.rerun(ctx, run, flags) })
	c.Flags().StringVar(&flags.from, "from", "", "begin at this step, and take over the results of those before it")
	flags.inputFlags.add(c, "another input", "other inputs")
	return flags.followFlags.add(a.liveFlags(c))
}

func (a *app) rerun(ctx context.Context, ref *runRef, flags *rerunFlags) error {
	inputs, err := a.readInputs(flags.inputs, flags.inputsFile)
	if err != nil {
		return err
	}
	session, err := a.connectTo(ctx, ref, flags.role())
	if err != nil {
		return err
	}
	return session.start(ctx, try, &flags.followFlags, nil, func(ctx context.Context, c *web.Client) (*runs.Run, error) {
		run, _, err := c.Rerun(ctx, ref.id, engine.RerunRequest{From: flags.from, Inputs: inputs, By: a.user()})
		return run, inputError(err)
	})
}
