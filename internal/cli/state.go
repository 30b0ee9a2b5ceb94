package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/flowrun/flowrun/engine/memory"
	"github.com/flowrun/flowrun/engine/workspace"
	"github.com/flowrun/flowrun/internal/cli/view"
	"github.com/flowrun/flowrun/internal/web"
)

func (a *app) stateCommand() *cobra.Command {
	return group(&cobra.Command{Use: "state", Short: "What workflows keep between runs: values and cursors"}, append(a.inSandbox("the state of the sandbox",
		withText(&cobra.Command{
			Use: "get WORKFLOW [NAME]", Short: "Show the values of a workflow's state, or one of them", Args: rangeArgs(1, "WORKFLOW", "NAME"),
			Long: "Get shows the values that the next run reads. One value alone is printed as JSON.",
			RunE: func(c *cobra.Command, args []string) error {
				return a.getState(c.Context(), args[0], argument(args, 1))
			},
		}),
		withText(&cobra.Command{
			Use: "set WORKFLOW NAME VALUE", Short: "Set a value of a workflow's state", Args: exactArgs("WORKFLOW", "NAME", "VALUE"),
			Long: "Set stores a value, typed as the workflow declares it; lists and objects are JSON, @FILE reads JSON from a file.\n" +
				"A run that goes on meanwhile and sets the same value ends with a conflict. The change stays in the history.",
			Example: "  flowrun state set weekly-digest last_total 10\n  flowrun state set weekly-digest offset -- -5\n  flowrun state set weekly-digest seen @seen.json",
			RunE:    func(c *cobra.Command, args []string) error { return a.setState(c.Context(), args[0], args[1], args[2]) },
		}),
		withText(&cobra.Command{
			Use: "reset WORKFLOW [NAME]", Short: "Put the default in the place of a value; let a cursor begin anew", Args: rangeArgs(1, "WORKFLOW", "NAME"),
			Long: "Reset takes the name of a value or of a cursor; without a name it resets all of the workflow. A cursor that is\n" +
				"reset reads everything again.",
			RunE: func(c *cobra.Command, args []string) error {
				return a.resetState(c.Context(), args[0], argument(args, 1))
			},
		}),
		withText(&cobra.Command{
			Use: "cursors [WORKFLOW]", Short: "List the cursors: how far `incremental` steps have read", Args: rangeArgs(0, "WORKFLOW"),
			Long: "Cursors lists the stored cursors. Several of one name belong to different parameters of their step.",
			RunE: func(c *cobra.Command, args []string) error { return a.listCursors(c.Context(), argument(args, 0)) },
		}),
		withText(&cobra.Command{
			Use: "history WORKFLOW NAME", Short: "Show what changed a value or a cursor, and who", Args: exactArgs("WORKFLOW", "NAME"),
			RunE: func(c *cobra.Command, args []string) error { return a.stateHistory(c.Context(), args[0], args[1]) },
		}),
	), a.statePluginsCommand())...)
}

func (a *app) getState(ctx context.Context, workflow, name string) error {
	items, err := ask(ctx, a, func(c *web.Client) ([]memory.StateItem, error) { return c.State(ctx, workflow, name) })
	if err != nil || name == "" {
		return printList(a, items, a.noState(workflow, err), "workflow "+workflow+" keeps no state", view.Page.State)
	}
	return a.print(items[0], func() { a.say("%s", items[0].Value) })
}

// noState names the workflow where there is no store to look into.
func (a *app) noState(workflow string, err error) error {
	return a.notYet(err, fmt.Sprintf("there is no state of workflow %q: nothing has run here yet", workflow))
}

func (a *app) setState(ctx context.Context, workflow, name, text string) error {
	request := memory.StateRequest{Workflow: workflow, Name: name, Value: workspace.Input{Text: text}, By: a.user()}
	if strings.HasPrefix(text, "@") {
		var err error
		if _, request.Value, err = a.parseAssignment("-i", name+"="+text, inputExample); err != nil {
			return err
		}
	}
	item, err := act(ctx, a, func(c *web.Client) (*memory.StateItem, error) { return c.SetState(ctx, request) })
	return a.tell(item, inputAsUsage(err), func() { a.say("%s %s = %s", item.Workflow, item.Name, item.Value) })
}

func (a *app) resetState(ctx context.Context, workflow, name string) error {
	answer, err := ask(ctx, a, func(c *web.Client) (*web.ResetAnswer, error) {
		return c.ResetState(ctx, memory.StateRequest{Workflow: workflow, Name: name, By: a.user()})
	})
	return a.tell(answer, a.noState(workflow, err), func() {
		if len(answer.Reset) == 0 {
			a.say("nothing to reset")
		} else {
			a.say("reset %s", strings.Join(answer.Reset, ", "))
		}
	})
}

func (a *app) listCursors(ctx context.Context, workflow string) error {
	items, err := ask(ctx, a, func(c *web.Client) ([]memory.CursorItem, error) { return c.StateCursors(ctx, workflow) })
	return printList(a, items, allowNoStore(err), "no cursors: an `incremental` step makes one when its run succeeds", view.Page.Cursors)
}

func (a *app) stateHistory(ctx context.Context, workflow, name string) error {
	changes, err := ask(ctx, a, func(c *web.Client) ([]memory.StateChange, error) { return c.StateHistory(ctx, workflow, name) })
	return printList(a, changes, a.noState(workflow, err), "nothing has changed it yet", view.Page.StateChanges)
}
