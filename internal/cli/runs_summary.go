package cli

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/internal/web"
)

// summaryRuns is how many runs that need somebody a summary names.
const summaryRuns = 100

func (a *app) runsSummaryCommand() *cobra.Command {
	var workflow string
	c := &cobra.Command{
		Use: "summary", Short: "Count the stored runs, and name those that need somebody", Args: exactArgs(),
		Long: "Summary counts all stored runs, by workflow and status, and names those that failed, ran out of time, are\n" +
			"paused or ask a person. A failure stays until somebody has acknowledged it or a later run of its workflow\n" +
			"has succeeded.",
		Example: "  flowrun runs summary\n  flowrun runs summary --workflow weekly -o json",
		RunE:    func(c *cobra.Command, _ []string) error { return a.summarise(c.Context(), workflow) },
	}
	c.Flags().StringVarP(&workflow, "workflow", "w", "", "only runs of this workflow")
	return withText(c)
}

func (a *app) summarise(ctx context.Context, workflow string) error {
	summary, err := ask(ctx, a, func(c *web.Client) (*engine.RunsSummary, error) {
		return c.Summary(ctx, engine.SummaryRequest{Workflow: workflow, Limit: summaryRuns})
	})
	if errors.Is(err, errNoStore) {
		summary, err = engine.NoRuns(), nil
	}
	return a.tell(summary, err, func() {
		if len(summary.Workflows) == 0 {
			a.note("no runs")
			return
		}
		a.page(a.sys.Stdout).Summary(a.sys.Stdout, summary)
		if summary.Attention > 0 {
			a.next("when you have looked at failures:", "runs", "ack", "--all")
		}
	})
}

func (a *app) runsAcknowledgeCommand() *cobra.Command {
	var workflow string
	var all bool
	c := &cobra.Command{
		Use: "ack [RUN..]", Short: "Say that you have looked at failed runs", Args: cobra.ArbitraryArgs,
		Long: "Ack notes that somebody has looked at runs that failed or ran out of time: the first page, `runs summary` and\n" +
			"`runs list --attention` name them no more. Runs that are paused or ask a person wait for an act and stay.",
		Example: "  flowrun runs ack @failed\n  flowrun runs ack --workflow weekly\n  flowrun runs ack --all",
		RunE: func(c *cobra.Command, args []string) error {
			return a.acknowledge(c.Context(), c, args, engine.AcknowledgeRequest{Workflow: workflow, By: a.user()}, all)
		},
	}
	c.Flags().StringVarP(&workflow, "workflow", "w", "", "all failed runs of this workflow")
	c.Flags().BoolVar(&all, "all", false, "all failed runs")
	return withText(c)
}

func (a *app) acknowledge(ctx context.Context, c *cobra.Command, args []string, r engine.AcknowledgeRequest, all bool) error {
	given := 0
	for _, one := range []bool{len(args) > 0, r.Workflow != "", all} {
		if one {
			given++
		}
	}
	if given != 1 {
		return usageError(errors.New("name runs, or give --workflow or --all: one of the three"), "usage: "+c.UseLine())
	}
	var list []*runRef
	if len(args) > 0 {
		var err error
		if list, err = manyRefs(c, args, "", unlookedRuns()); err != nil {
			return err
		}
	}
	n, err := ask(ctx, a, func(client *web.Client) (n int, err error) {
		if r.Runs, err = a.findAll(ctx, client, list); err != nil {
			return 0, err
		}
		if len(list) == 0 {
			newest, err := client.Runs(ctx, runs.Filter{Workflow: r.Workflow, Attention: true, Limit: 1})
			if err != nil || len(newest.Items) == 0 {
				return 0, err
			}
			r.UpTo = newest.Items[0].ID
		}
		return client.Acknowledge(ctx, r)
	})
	if len(list) > 0 {
		err = a.noRunYet(list[0], err)
	}
	return a.tell(web.AcknowledgeAnswer{Acknowledged: n}, allowNoStore(err), func() {
		if n == 0 {
			a.note("nothing to acknowledge")
			return
		}
		a.say("acknowledged %s", diag.Count(n, "run"))
	})
}
