package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/flowrun/flowrun/engine/memory"
	"github.com/flowrun/flowrun/engine/workspace"
	"github.com/flowrun/flowrun/internal/cli/view"
	"github.com/flowrun/flowrun/internal/web"
)

func (a *app) stateCommand() *cobra.Command {
	c := &cobra.Command{Use: "state", Short: "What workflows keep between runs: values and cursors"}
	group(c)
	c.AddCommand(a.stateGetCommand(), a.stateSetCommand(), a.stateResetCommand(), a.stateCursorsCommand(), a.stateHistoryCommand())
	for _, sub := range c.Commands() {
		sub.ValidArgsFunction = cobra.NoFileCompletions
		a.sandboxFlag(sub, "the state of the sandbox")
	}
	c.AddCommand(a.statePluginsCommand())
	return c
}

func (a *app) stateGetCommand() *cobra.Command {
	var output string
	c := &cobra.Command{
		Use: "get WORKFLOW [NAME]", Short: "Show the values of a workflow's state, or one of them", Args: rangeArgs(1, "WORKFLOW", "NAME"),
		Long: "Get shows the values that the next run reads. One value alone is printed as JSON.",
		RunE: func(c *cobra.Command, args []string) error {
			return a.getState(c.Context(), args[0], second(args), output)
		},
	}
	outputFlag(c, &output, "text", "json")
	return c
}

// second returns the second argument, "" when there is none.
func second(args []string) string {
	if len(args) < 2 {
		return ""
	}
	return args[1]
}

func (a *app) getState(ctx context.Context, workflow, name, output string) error {
	items, err := ask(ctx, a, func(c *web.Client) ([]memory.StateItem, error) { return c.State(ctx, workflow, name) })
	switch {
	case err != nil:
		return a.noState(workflow, err)
	case output == "json" && name != "":
		return view.JSON(a.sys.Stdout, items[0])
	case output == "json":
		return view.JSON(a.sys.Stdout, web.Page[memory.StateItem]{Items: items})
	case name != "":
		fmt.Fprintf(a.sys.Stdout, "%s\n", items[0].Value)
	case len(items) == 0:
		a.note("workflow %s keeps no state", workflow)
	default:
		a.page(a.sys.Stdout).State(a.sys.Stdout, items)
	}
	return nil
}

// noState names the workflow where there is no store to look into.
func (a *app) noState(workflow string, err error) error {
	if !errors.Is(err, errNoStore) {
		return err
	}
	return notFoundError(fmt.Errorf("there is no state of workflow %q: nothing has run here yet", workflow), "`"+a.commandText("config", "paths")+"` shows where it is looked for")
}

func (a *app) stateSetCommand() *cobra.Command {
	var output string
	c := &cobra.Command{
		Use: "set WORKFLOW NAME VALUE", Short: "Set a value of a workflow's state", Args: exactArgs("WORKFLOW", "NAME", "VALUE"),
		Long: "Set stores a value, typed as the workflow declares it; lists and objects are JSON, @FILE reads JSON from a file.\n" +
			"A run that goes on meanwhile and sets the same value ends with a conflict. The change stays in the history.",
		Example: "  flowrun state set weekly-digest last_total 10\n  flowrun state set weekly-digest offset -- -5\n  flowrun state set weekly-digest seen @seen.json",
		RunE: func(c *cobra.Command, args []string) error {
			return a.setState(c.Context(), args[0], args[1], args[2], output)
		},
	}
	outputFlag(c, &output, "text", "json")
	return c
}

func (a *app) setState(ctx context.Context, workflow, name, text, output string) error {
	value := workspace.Input{Text: text}
	if strings.HasPrefix(text, "@") {
		var err error
		if _, value, err = a.parseInput(name + "=" + text); err != nil {
			return err
		}
	}
	session, err := a.connect(ctx, roleLook)
	if err != nil {
		return err
	}
	var item *memory.StateItem
	err = session.tryAnyway(ctx, func(c *web.Client) error {
		item, err = c.SetState(ctx, memory.StateRequest{Workflow: workflow, Name: name, Value: value, By: a.user()})
		return err
	})
	var problem *web.Problem
	if errors.As(err, &problem) && problem.Code == web.CodeInvalidInput {
		err = usageError(errors.New(problem.Detail), problem.Hint.Text)
	}
	if err := errors.Join(err, session.close(nil)); err != nil {
		return err
	}
	if output == "json" {
		return view.JSON(a.sys.Stdout, item)
	}
	fmt.Fprintf(a.sys.Stdout, "%s %s = %s\n", item.Workflow, item.Name, item.Value)
	return nil
}

func (a *app) stateResetCommand() *cobra.Command {
	var output string
	c := &cobra.Command{
		Use: "reset WORKFLOW [NAME]", Short: "Put the default in the place of a value; let a cursor begin anew", Args: rangeArgs(1, "WORKFLOW", "NAME"),
		Long: "Reset takes the name of a value or of a cursor; without a name it resets all of the workflow. A cursor that is\n" +
			"reset reads everything again.",
		RunE: func(c *cobra.Command, args []string) error {
			return a.resetState(c.Context(), args[0], second(args), output)
		},
	}
	outputFlag(c, &output, "text", "json")
	return c
}

func (a *app) resetState(ctx context.Context, workflow, name, output string) error {
	answer, err := ask(ctx, a, func(c *web.Client) (*web.ResetAnswer, error) {
		return c.ResetState(ctx, memory.StateRequest{Workflow: workflow, Name: name, By: a.user()})
	})
	switch {
	case err != nil:
		return a.noState(workflow, err)
	case output == "json":
		return view.JSON(a.sys.Stdout, answer)
	case len(answer.Reset) == 0:
		fmt.Fprintf(a.sys.Stdout, "nothing to reset\n")
	default:
		fmt.Fprintf(a.sys.Stdout, "reset %s\n", strings.Join(answer.Reset, ", "))
	}
	return nil
}

func (a *app) stateCursorsCommand() *cobra.Command {
	var output string
	c := &cobra.Command{
		Use: "cursors [WORKFLOW]", Short: "List the cursors: how far `incremental` steps have read", Args: rangeArgs(0, "WORKFLOW"),
		Long: "Cursors lists the stored cursors. Several of one name belong to different parameters of their step.",
		RunE: func(c *cobra.Command, args []string) error {
			workflow := ""
			if len(args) > 0 {
				workflow = args[0]
			}
			return a.listCursors(c.Context(), workflow, output)
		},
	}
	outputFlag(c, &output, "text", "json")
	return c
}

func (a *app) listCursors(ctx context.Context, workflow, output string) error {
	items := []memory.CursorItem{}
	err := a.visit(ctx, func(c *web.Client) (err error) {
		items, err = c.StateCursors(ctx, workflow)
		return err
	})
	switch {
	case err != nil && !errors.Is(err, errNoStore):
		return err
	case output == "json":
		return view.JSON(a.sys.Stdout, web.Page[memory.CursorItem]{Items: items})
	case len(items) == 0:
		a.note("no cursors: an `incremental` step makes one when its run succeeds")
	default:
		a.page(a.sys.Stdout).Cursors(a.sys.Stdout, items)
	}
	return nil
}

func (a *app) stateHistoryCommand() *cobra.Command {
	var output string
	c := &cobra.Command{
		Use: "history WORKFLOW NAME", Short: "Show what changed a value or a cursor, and who", Args: exactArgs("WORKFLOW", "NAME"),
		RunE: func(c *cobra.Command, args []string) error {
			return a.stateHistory(c.Context(), args[0], args[1], output)
		},
	}
	outputFlag(c, &output, "text", "json")
	return c
}

func (a *app) stateHistory(ctx context.Context, workflow, name, output string) error {
	changes, err := ask(ctx, a, func(c *web.Client) ([]memory.StateChange, error) { return c.StateHistory(ctx, workflow, name) })
	switch {
	case err != nil:
		return a.noState(workflow, err)
	case output == "json":
		return view.JSON(a.sys.Stdout, web.Page[memory.StateChange]{Items: changes})
	case len(changes) == 0:
		a.note("nothing has changed it yet")
	default:
		a.page(a.sys.Stdout).StateChanges(a.sys.Stdout, changes)
	}
	return nil
}
