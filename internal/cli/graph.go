package cli

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/graph"
	"github.com/flowrun/flowrun/engine/plan"
)

var graphFormats = []string{"text", "mermaid", "svg", "dot"}

func (a *app) graphCommand() *cobra.Command {
	var format string
	c := &cobra.Command{
		Use: "graph WORKFLOW", Short: "Show the steps of a workflow and what waits for what", Args: exactArgs("WORKFLOW"), ValidArgsFunction: completeWorkflows,
		Example: "  flowrun graph workflows/report.yaml\n  flowrun graph workflows/report.yaml -f svg > report.svg",
		RunE:    func(c *cobra.Command, args []string) error { return a.graph(c.Context(), args[0], format) },
	}
	c.Flags().StringVarP(&format, "format", "f", "text", "text, mermaid, svg or dot")
	completeFlag(c, "format", graphFormats...)
	return c
}

func (a *app) graph(ctx context.Context, file, format string) error {
	if !slices.Contains(graphFormats, format) {
		return usageError(fmt.Errorf("-f takes text, mermaid, svg or dot, not %q", format), diag.DidYouMean(format, graphFormats).Text)
	}
	source, err := a.readWorkflow(file)
	if err != nil {
		return err
	}
	name := slashed(file)
	workflow, problems, err := a.checkWorkflow(ctx, name, source)
	if err != nil {
		return err
	}
	a.printProblemsOf(problems, map[string][]byte{name: source})
	if workflow == nil {
		return exitWith(exitInvalid)
	}
	draw := map[string]func(*plan.Workflow) string{"text": graph.Text, "mermaid": graph.Mermaid, "svg": graph.SVG, "dot": graph.Dot}[format]
	fmt.Fprint(a.sys.Stdout, draw(workflow))
	return nil
}
