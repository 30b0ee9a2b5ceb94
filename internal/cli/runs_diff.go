package cli

import (
	"cmp"
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/flowrun/flowrun/engine/rundiff"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/internal/web"
)

func (a *app) runsDiffCommand() *cobra.Command {
	return withText(a.onRun(&cobra.Command{
		Use: "diff [RUN] [OTHER]", Short: "Compare two runs: inputs, plan, steps with their times, outputs",
		Long: "Diff prints how OTHER differs from RUN. Without OTHER it prints how RUN differs from the run that it is a rerun\n" +
			"of, or else from the run of its workflow before it. OTHER is named as RUN is.\n" + runHelp,
		Example: "  flowrun runs diff\n  flowrun runs diff @failed last\n  flowrun runs diff -w weekly -o json",
	}, anyRun(), func(ctx context.Context, run *runRef, rest []string) error {
		if len(rest) == 0 {
			return a.diffRuns(ctx, run, nil)
		}
		other, err := runNamed(rest[0], "runs", "diff", cmp.Or(run.text, refLast))
		if err != nil {
			return err
		}
		return a.diffRuns(ctx, run, other)
	}, "OTHER"))
}

// diffRuns compares two runs; without other, a run with the one that it follows.
func (a *app) diffRuns(ctx context.Context, run, other *runRef) error {
	answer, err := askRun(ctx, a, run, func(c *web.Client) (*rundiff.Diff, error) {
		if other == nil {
			before, err := a.runBefore(ctx, c, run.id)
			if err != nil {
				return nil, err
			}
			return c.Diff(ctx, before, run.id)
		}
		if err := a.findRun(ctx, c, other); err != nil {
			return nil, err
		}
		if other.id == run.id {
			return nil, usageError(fmt.Errorf("both name the run %s", run.id), "`"+a.commandText("runs", "diff", run.id)+"` compares it with the one before it")
		}
		return c.Diff(ctx, run.id, other.id)
	})
	return a.tell(answer, err, func() { a.page(a.sys.Stdout).RunDiff(a.sys.Stdout, answer) })
}

// runBefore is the run that a run is a rerun of, or the one of its workflow before it.
func (a *app) runBefore(ctx context.Context, c *web.Client, id string) (string, error) {
	result, err := c.ResultOpen(ctx, id)
	if err != nil || result.Run.RerunOf != "" {
		if err != nil {
			return "", err
		}
		return result.Run.RerunOf, nil
	}
	before, err := first(newest(ctx, c, 1, runs.Filter{Workflow: result.Run.Workflow, Cursor: id}))
	if err != nil {
		return "", err
	}
	if before == nil {
		return "", a.noneOf(fmt.Errorf("run %s is the first one of its workflow: name the run to compare it with", id), runs.Filter{Workflow: result.Run.Workflow})
	}
	return before.ID, nil
}
