package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/internal/cli/view"
	"github.com/flowrun/flowrun/internal/web"
)

// logFlags select lines of a run's log.
type logFlags struct {
	web.LogsAsked
	since          string
	failed, follow bool
}

func (a *app) runsLogsCommand() *cobra.Command {
	flags := new(logFlags)
	var c *cobra.Command
	c = a.onRun(&cobra.Command{
		Use: "logs [RUN] [STEP]", Short: "Print the log lines of a run, or of one of its steps",
		Long: "Logs prints the log lines of a run, or of one of its steps, the oldest first, and in text among them which\n" +
			"attempts and steps failed. With --follow it goes on until the run has ended.\n" + runHelp,
		Example: "  flowrun runs logs last --level warn --tail 50\n  flowrun runs logs -f -w weekly\n  flowrun runs logs @failed --failed\n" +
			"  flowrun runs logs r5f8 'domains[example.com].whois' --grep timeout",
	}, anyRun(), func(ctx context.Context, run *runRef, rest []string) error {
		if err := a.readLogFlags(c, flags, argument(rest, 0)); err != nil {
			return err
		}
		if flags.follow {
			return a.followLogs(ctx, run, flags)
		}
		return a.showLogs(ctx, run, flags)
	}, "STEP")
	c.Flags().StringVar(&flags.Level, "level", "", "only lines of this level and above: debug, info, warn or error")
	c.Flags().StringVar(&flags.Text, "grep", "", "only lines that hold this text, in letters of either case")
	c.Flags().StringVar(&flags.Step, "step", "", "only lines of this step, as the argument STEP")
	c.Flags().BoolVar(&flags.failed, "failed", false, "only lines of steps that failed")
	c.Flags().BoolVarP(&flags.follow, "follow", "f", false, "go on with the lines that come until the run has ended")
	sinceFlag(c, &flags.since, "lines written")
	c.Flags().IntVarP(&flags.Tail, "tail", "n", 0, "only the newest N lines of those that fit")
	return withOutput(c, "text", "json", "jsonl")
}

// readLogFlags checks what the server would refuse, in the words of the flags.
func (a *app) readLogFlags(c *cobra.Command, flags *logFlags, step string) (err error) {
	switch {
	case flags.Level != "" && !slices.Contains(engine.LogLevels(), flags.Level):
		return usageError(fmt.Errorf("--level takes debug, info, warn or error, not %q", flags.Level), "")
	case c.Flags().Changed("tail") && flags.Tail < 1:
		return usageError(fmt.Errorf("--tail takes a number from 1 on, not %d", flags.Tail), "")
	case len([]rune(flags.Text)) > 200:
		return usageError(fmt.Errorf("--grep takes at most 200 letters"), "")
	case step != "" && flags.Step != "" && step != flags.Step:
		return usageError(fmt.Errorf("STEP says %s, and --step %s", step, flags.Step), "give one of them")
	case flags.follow && flags.failed:
		return usageError(errors.New("--follow and --failed exclude each other"), "which steps fail is known when they have ended")
	case flags.follow && a.output == "json":
		return usageError(errors.New("--follow prints lines as they come, which is no document"), "take -o jsonl")
	}
	if step != "" {
		flags.Step = step
	}
	flags.Since, err = a.parseSince("--since", flags.since, "24h")
	return err
}

// filter is what a line must be like.
func (f *logFlags) filter() engine.LogFilter {
	return engine.LogFilter{Step: f.Step, Level: f.Level, Since: f.Since, Text: f.Text}
}

// showLogs prints lines as they come: a log may be longer than what one wants to
// hold.
func (a *app) showLogs(ctx context.Context, run *runRef, flags *logFlags) error {
	page, count := web.Page[runs.Log]{Items: []runs.Log{}}, 0
	show := func(lines []runs.Log) error {
		count += len(lines)
		if a.output == "json" {
			page.Items = append(page.Items, lines...)
			return nil
		}
		return a.printLogs(lines)
	}
	err := a.visitRun(ctx, run, func(c *web.Client) error {
		told, err := a.logMarks(ctx, c, run.id, flags)
		if err != nil {
			return err
		}
		shown := count // of an owner that went away meanwhile
		return eachLogWith(ctx, c, run.id, flags, told, func(lines []runs.Log) error {
			again := min(shown, len(lines))
			shown -= again
			return show(lines[again:])
		})
	})
	if err == nil && count == 0 && flags.Step != "" {
		_, err = a.readStep(ctx, run, flags.Step) // it wrote nothing, or the run does not have it
	}
	if err != nil || a.output == "jsonl" {
		return err
	}
	return a.print(page, func() {
		if count == 0 {
			a.note("no log lines")
		}
	})
}

// printLogs prints lines as text or one JSON document each.
func (a *app) printLogs(lines []runs.Log) error {
	if a.output != "jsonl" {
		a.page(a.sys.Stdout).Logs(a.sys.Stdout, lines)
		return nil
	}
	for i := range lines {
		if err := view.JSON(a.sys.Stdout, &lines[i]); err != nil {
			return err
		}
	}
	return nil
}

// followLogs prints lines until the run has ended. A signal ends it, not the run.
func (a *app) followLogs(ctx context.Context, run *runRef, flags *logFlags) error {
	session, err := a.connectTo(ctx, run, roleWork)
	if err != nil {
		return err
	}
	told, err := a.logMarks(ctx, session.client, run.id, flags)
	if err != nil {
		return session.abandon(err)
	}
	var marks view.Marks
	if a.output == "text" {
		marks = a.page(a.sys.Stdout).Marks(told.lines)
	}
	lines := view.NewLogLines(marks, flags.filter().Selects, flags.Tail, a.printLogs, a.noteText)
	follower, end := session.newFollower(run.id, lines)
	defer end()
	follower.watching, follower.drive = true, session.owner == nil
	if _, err := follower.follow(ctx); err != nil {
		return session.broken(err)
	}
	return session.leaveNow()
}
