package cli

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/graph"
)

func (a *app) graphCommand() *cobra.Command {
	var format string
	c := &cobra.Command{
		Use: "graph WORKFLOW", Short: "Show the steps of a workflow and what waits for what", Args: exactArgs("WORKFLOW"), ValidArgsFunction: completeWorkflows,
		Example: "  flowrun graph workflows/report.yaml\n  flowrun graph workflows/report.yaml -f mermaid > report.mmd",
		RunE:    func(c *cobra.Command, args []string) error { return a.graph(c.Context(), args[0], format) },
	}
	c.Flags().StringVarP(&format, "format", "f", "text", "text or mermaid")
	return c
}

func (a *app) graph(ctx context.Context, file, format string) error {
	if format != "text" && format != "mermaid" {
		return usageError(fmt.Errorf("-f takes text or mermaid, not %q", format), diag.DidYouMean(format, []string{"text", "mermaid"}))
	}
	source, err := a.readWorkflow(file)
	if err != nil {
		return err
	}
	name := filepath.ToSlash(filepath.Clean(file))
	workflow, problems, err := a.checkWorkflow(ctx, name, source)
	if err != nil {
		return err
	}
	a.printProblemsOf(problems, map[string][]byte{name: source})
	if workflow == nil {
		return exitWith(exitInvalid)
	}
	text := graph.Text(workflow)
	if format == "mermaid" {
		text = graph.Mermaid(workflow)
	}
	fmt.Fprint(a.sys.Stdout, text)
	return nil
}
