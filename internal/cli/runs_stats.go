package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/runstats"
	"github.com/flowrun/flowrun/internal/web"
)

// statsRuns is how many runs are summed up where nobody says how many.
const statsRuns = 100

func (a *app) runsStatsCommand() *cobra.Command {
	var flags pageFlags
	var workflow string
	c := &cobra.Command{
		Use: "stats", Short: "Sum up the runs of a workflow: how long they take, which steps fail and why", Args: exactArgs(),
		Long: "Stats sums up the newest runs of a workflow: how they ended, how long those took that succeeded (p50, p95),\n" +
			"and which steps failed with which kind of error. The line of blocks has a run each, the newest last.",
		Example: "  flowrun runs stats -w weekly\n  flowrun runs stats -w weekly --since 7d -n 1000 -o json",
		RunE: func(c *cobra.Command, _ []string) error {
			return a.showStats(c.Context(), workflow, &flags)
		},
	}
	c.Flags().StringVarP(&workflow, "workflow", "w", "", "the workflow")
	sinceFlag(c, &flags.since, "runs started")
	c.Flags().IntVarP(&flags.limit, "limit", "n", statsRuns, "of how many runs, at most 1000")
	return withText(c)
}

func (a *app) showStats(ctx context.Context, workflow string, flags *pageFlags) error {
	if workflow == "" {
		return usageError(errors.New("-w is missing: the workflow to sum up"), "`"+a.commandText("runs", "summary")+"` counts the runs of all workflows")
	}
	if err := flags.checkLimit(); err != nil {
		return err
	}
	since, err := a.parseSince("--since", flags.since, "7d")
	if err != nil {
		return err
	}
	page, err := ask(ctx, a, func(c *web.Client) (*web.Page[runs.Run], error) {
		return fullPage(ctx, c, runs.Filter{Workflow: workflow, Since: since, Limit: flags.limit})
	})
	if err = allowNoStore(err); err != nil {
		return err
	}
	if page == nil || len(page.Items) == 0 {
		return a.noneOf(fmt.Errorf("there is no such run of workflow %q", workflow), runs.Filter{Workflow: workflow})
	}
	stats := runstats.Of(workflow, page.Items)
	return a.print(stats, func() {
		a.page(a.sys.Stdout).Stats(a.sys.Stdout, stats)
		if len(stats.Failures) > 0 {
			a.next("look at the newest of a kind:", "runs", "show", stats.Failures[0].Last)
		}
	})
}
