package cli

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/flowrun/flowrun/engine/fault"
	"github.com/flowrun/flowrun/engine/memory"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/preview"
	"github.com/flowrun/flowrun/engine/workspace"
	"github.com/flowrun/flowrun/internal/cli/view"
	"github.com/flowrun/flowrun/internal/sandbox"
	"github.com/flowrun/flowrun/internal/web"
)

func (a *app) planCommand() *cobra.Command {
	flags := new(inputFlags)
	c := &cobra.Command{
		Use: "plan WORKFLOW", Short: "Show what a run would do, without calling a service", Args: exactArgs("WORKFLOW"), ValidArgsFunction: completeWorkflows,
		Long: "Plan shows the order of the steps, the values that are known before the run, what is written, which plugins,\n" +
			"connections, secrets and hosts are used, where cursors stand, and how many calls and minutes the rate limits\n" +
			"allow. No service is called. Inputs that are not given stay unknown. -o json is the same for the same workflow,\n" +
			"so that two plans can be compared in a review.",
		Example: "  flowrun plan workflows/report.yaml -i site=A\n  flowrun plan report -o json > plan.json",
		RunE:    func(c *cobra.Command, args []string) error { return a.plan(c.Context(), args[0], flags) },
	}
	c.Flags().StringArrayVarP(&flags.inputs, "input", "i", nil, "an input: NAME=VALUE, NAME:=JSON or NAME=@FILE with JSON; @@ is a literal @")
	c.Flags().StringVar(&flags.inputsFile, "inputs", "", "a file with inputs, YAML or JSON")
	a.sandboxFlag(c, "plan a sandbox run: its limits, and its cursors")
	return withText(a.liveFlags(c))
}

func (a *app) plan(ctx context.Context, file string, flags *inputFlags) error {
	file, source, err := a.workflowSource(ctx, file)
	if err != nil {
		return err
	}
	inputs, err := a.readInputs(flags.inputs, flags.inputsFile)
	if err != nil {
		return err
	}
	project, err := a.loadProject(ctx)
	if err != nil {
		return err
	}
	defer project.Close()
	if err := a.planSandbox(ctx, project); err != nil {
		return err
	}
	name := slashed(file)
	workflow, problems := project.Check(ctx, name, source)
	a.printProblemsOf(problems, map[string][]byte{name: source})
	if workflow == nil {
		return exitWith(exitInvalid)
	}
	result, err := preview.Of(project, workflow, preview.Options{Inputs: inputs, Positions: memory.CursorPositions(a.storedCursors(ctx, workflow))})
	var wrong *fault.InputError
	switch {
	case errors.As(err, &wrong):
		return usageError(err, wrong.Hint.Text)
	case err != nil:
		return err
	case a.output == "json":
		return view.IndentedJSON(a.sys.Stdout, result)
	}
	a.page(a.sys.Stdout).Plan(a.sys.Stdout, result)
	return nil
}

// planSandbox lets what would be started stand for the services, which a plan does
// not call.
func (a *app) planSandbox(ctx context.Context, project *workspace.Workspace) error {
	if !a.sandbox {
		return nil
	}
	if err := project.CheckLive(); err != nil {
		return a.refusedSandbox(err)
	}
	for _, name := range bundledNames() {
		simulator := workspace.Simulator{Plugin: name, Config: []byte("{}"), Rate: sandbox.Rate}
		if own, ok := sandbox.Local(name); ok {
			simulator.Config, simulator.Keep, simulator.Rate = own.Config, own.Keep, own.Rate
		}
		project.Simulate(simulator)
	}
	for _, c := range project.SimulatorCommands() {
		project.Simulate(workspace.Simulator{Plugin: c.Plugin, Connection: c.Connection, Config: []byte("{}"), By: c.Command[0]})
	}
	return a.mock(ctx, project)
}

// storedCursors asks the store how far the workflow has read. nil says that it
// was not asked: the workflow has no cursor, or the store can't be reached.
func (a *app) storedCursors(ctx context.Context, workflow *plan.Workflow) []memory.CursorItem {
	if !isIncremental(workflow.Steps) {
		return nil
	}
	items, err := ask(ctx, a, func(c *web.Client) ([]memory.CursorItem, error) { return c.StateCursors(ctx, workflow.Name) })
	switch {
	case errors.Is(err, errNoStore):
		return []memory.CursorItem{}
	case err != nil:
		a.note("cursors are not shown: %v", err)
		return nil
	}
	return items
}

func isIncremental(steps []plan.Step) bool {
	for i := range steps {
		if steps[i].Incremental != "" || steps[i].Loop != nil && isIncremental(steps[i].Loop.Steps) {
			return true
		}
	}
	return false
}
