package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/flowrun/flowrun/engine/graph"
	"github.com/flowrun/flowrun/engine/plan"
)

var graphFormats = []string{"text", "mermaid", "svg", "dot"}

func (a *app) graphCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "graph WORKFLOW", Short: "Show the steps of a workflow and what waits for what", Args: exactArgs("WORKFLOW"), ValidArgsFunction: completeWorkflows,
		Example: "  flowrun graph report\n  flowrun graph workflows/report.yaml -o svg > report.svg",
		RunE:    func(c *cobra.Command, args []string) error { return a.graph(c.Context(), args[0]) },
	}
	withOutput(c, graphFormats...)
	a.oldFlag(c, "format", "f", "output")
	return c
}

func (a *app) graph(ctx context.Context, file string) error {
	file, source, err := a.workflowSource(ctx, file)
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
	draw := map[string]func(*plan.Workflow) string{"text": graph.Text, "mermaid": graph.Mermaid, "svg": graph.SVG, "dot": graph.Dot}[a.output]
	fmt.Fprint(a.sys.Stdout, draw(workflow))
	return nil
}
