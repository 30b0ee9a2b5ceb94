package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/content"
	"github.com/flowrun/flowrun/engine/workspace"
	"github.com/flowrun/flowrun/internal/web"
)

func (a *app) runsOutputCommand() *cobra.Command {
	var out string
	c := &cobra.Command{
		Use: "output RUN NAME", Short: "Print one output of a run as a file would hold it", Args: runArgs(2, "RUN", "NAME"),
		Long: "Output prints text as it is, rows of the format csv as CSV, a large value as its content, and every other\n" +
			"value as JSON; -o json prints the value with its format. A run has outputs when it has succeeded.",
		Example: "  flowrun runs output 01jq… digest --out digest.md\n  flowrun runs output 01jq… rows | head",
		RunE:    func(c *cobra.Command, args []string) error { return a.printOutput(c.Context(), args[0], args[1], out) },
	}
	c.Flags().StringVar(&out, "out", "", "write into this file, which is replaced as a whole")
	return withText(c)
}

func (a *app) printOutput(ctx context.Context, id, name, file string) error {
	if file != "" {
		if err := checkOutPath(outFile{name: "FILE", file: file}, realPath(a.abs(file))); err != nil {
			return err
		}
	}
	output, err := askRun(ctx, a, id, func(c *web.Client) (*engine.RunOutput, error) { return c.Output(ctx, id, name) })
	if err != nil {
		return err
	}
	if a.output == "json" && file == "" {
		return a.print(output, nil)
	}
	if ref, large := content.ParseReference(output.Value); large {
		return a.printBlob(ctx, id, name, file, ref)
	}
	data, err := workspace.RenderOutput(output.Format, output.Columns, output.Value)
	if err != nil {
		return fmt.Errorf("output %s of run %s: %w", name, id, err)
	}
	if file == "" {
		_, err := a.sys.Stdout.Write(data)
		return err
	}
	if err := writeFile(realPath(a.abs(file)), data); err != nil {
		return fmt.Errorf("write output %s into %s: %w", name, safePath(file), withoutPath(err))
	}
	a.note("wrote output %s to %s", name, safePath(file))
	return nil
}
