package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/content"
	"github.com/flowrun/flowrun/engine/workspace"
	"github.com/flowrun/flowrun/internal/web"
)

func (a *app) runsOutputCommand() *cobra.Command {
	var out string
	c := a.onRun(&cobra.Command{
		Use: "output [RUN] [NAME]", Short: "Print one output of a run as a file would hold it",
		Long: "Output prints text as it is, rows of the format csv as CSV, a large value as its content, and every other\n" +
			"value as JSON; -o json prints the value with its format. A run has outputs when it has succeeded.\n" +
			"NAME may be left out where the run has one output.\n" + runHelp,
		Example: "  flowrun runs output last digest --out digest.md\n  flowrun runs output -w weekly rows | head",
	}, doneRun(), func(ctx context.Context, run *runRef, rest []string) error {
		return a.printOutput(ctx, run, argument(rest, 0), out)
	}, "NAME")
	c.Flags().StringVar(&out, "out", "", "write into this file, which is replaced as a whole")
	return withText(c)
}

func (a *app) printOutput(ctx context.Context, run *runRef, name, file string) error {
	if file != "" {
		if err := checkOutPath(outFile{name: "FILE", file: file}, realPath(a.abs(file))); err != nil {
			return err
		}
	}
	output, err := askRun(ctx, a, run, func(c *web.Client) (_ *engine.RunOutput, err error) {
		if name == "" {
			if name, err = a.onlyOutput(ctx, c, run.id); err != nil {
				return nil, err
			}
		}
		return c.Output(ctx, run.id, name)
	})
	if err != nil {
		return err
	}
	if a.output == "json" && file == "" {
		return a.print(output, nil)
	}
	if ref, large := content.ParseReference(output.Value); large {
		return a.printBlob(ctx, run, name, file, ref)
	}
	data, err := workspace.RenderOutput(output.Format, output.Columns, output.Value)
	if err != nil {
		return fmt.Errorf("output %s of run %s: %w", name, run.id, err)
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

// onlyOutput is the name of the output of a run that has one.
func (a *app) onlyOutput(ctx context.Context, c *web.Client, id string) (string, error) {
	result, err := c.ResultInShort(ctx, id)
	if err != nil {
		return "", err
	}
	names := slices.Sorted(maps.Keys(result.Outputs))
	switch len(names) {
	case 0:
		return "", notFoundError(fmt.Errorf("run %s has no outputs: it is %s", id, result.Run.Status), "`"+a.commandText("runs", "show", id)+"` shows it")
	case 1:
		return names[0], nil
	}
	return "", usageError(fmt.Errorf("run %s has several outputs: %s", id, strings.Join(names, ", ")), "name one: `"+a.commandText("runs", "output", id, names[0])+"`")
}
