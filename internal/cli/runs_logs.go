package cli

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/internal/cli/view"
	"github.com/flowrun/flowrun/internal/web"
)

func (a *app) runsLogsCommand() *cobra.Command {
	var filter web.LogsAsked
	var since string
	var c *cobra.Command
	c = a.onRun(&cobra.Command{
		Use: "logs [RUN] [STEP]", Short: "Print the log lines of a run, or of one of its steps",
		Long:    "Logs prints the log lines of a run, or of one of its steps, the oldest first.\n" + runHelp,
		Example: "  flowrun runs logs last --level warn --tail 50\n  flowrun runs logs r5f8 'domains[example.com].whois' --grep timeout",
	}, anyRun(), func(ctx context.Context, run *runRef, rest []string) error {
		filter.Step = argument(rest, 0)
		if err := a.readLogFlags(c, &filter, since); err != nil {
			return err
		}
		return a.showLogs(ctx, run, filter)
	}, "STEP")
	c.Flags().StringVar(&filter.Level, "level", "", "only lines of this level and above: debug, info, warn or error")
	c.Flags().StringVar(&filter.Text, "grep", "", "only lines that hold this text, in letters of either case")
	sinceFlag(c, &since, "lines written")
	c.Flags().IntVarP(&filter.Tail, "tail", "n", 0, "only the newest N lines of those that fit")
	return withOutput(c, "text", "json", "jsonl")
}

// readLogFlags checks what the server would refuse, in the words of the flags.
func (a *app) readLogFlags(c *cobra.Command, filter *web.LogsAsked, since string) (err error) {
	switch {
	case filter.Level != "" && !slices.Contains(engine.LogLevels(), filter.Level):
		return usageError(fmt.Errorf("--level takes debug, info, warn or error, not %q", filter.Level), "")
	case c.Flags().Changed("tail") && filter.Tail < 1:
		return usageError(fmt.Errorf("--tail takes a number from 1 on, not %d", filter.Tail), "")
	case len([]rune(filter.Text)) > 200:
		return usageError(fmt.Errorf("--grep takes at most 200 letters"), "")
	}
	filter.Since, err = a.parseSince("--since", since, "24h")
	return err
}

// showLogs prints lines as they come: a log may be longer than what one wants to
// hold.
func (a *app) showLogs(ctx context.Context, run *runRef, filter web.LogsAsked) error {
	page, count := web.Page[runs.Log]{Items: []runs.Log{}}, 0
	err := a.visitRun(ctx, run, func(c *web.Client) error {
		shown := count // of an owner that went away meanwhile
		return c.EachLog(ctx, run.id, filter, func(lines []runs.Log) error {
			again := min(shown, len(lines))
			shown, lines = shown-again, lines[again:]
			count += len(lines)
			switch a.output {
			case "json":
				page.Items = append(page.Items, lines...)
			case "jsonl":
				for i := range lines {
					if err := view.JSON(a.sys.Stdout, &lines[i]); err != nil {
						return err
					}
				}
			default:
				a.page(a.sys.Stdout).Logs(a.sys.Stdout, lines)
			}
			return nil
		})
	})
	if err == nil && count == 0 && filter.Step != "" {
		_, err = a.readStep(ctx, run, filter.Step) // it wrote nothing, or the run does not have it
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
