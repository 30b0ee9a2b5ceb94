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
	"github.com/flowrun/flowrun/internal/web/wire"
)

func (a *app) stateCommand() *cobra.Command {
	return listGroup(&cobra.Command{Use: "state", Short: "What workflows keep between runs: values and cursors"}, append(a.inSandbox("the state of the sandbox",
		withText(&cobra.Command{
			Use: "list", Short: "List what the workflows of the project keep", Args: exactArgs(),
			Example: "  flowrun state\n  flowrun state list -o json",
			RunE:    func(c *cobra.Command, _ []string) error { return a.listState(c.Context()) },
		}),
		withText(&cobra.Command{
			Use: "get WORKFLOW [NAME]", Short: "Show the values of a workflow's state, or one of them", Args: rangeArgs(1, "WORKFLOW", "NAME"),
			Example: "  flowrun state get weekly-digest\n  flowrun state get weekly-digest last_total",
			Long:    "Get shows the values that the next run reads. One value alone is printed as JSON.",
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
			Example: "  flowrun state reset weekly-digest last_total",
			Long: "Reset takes the name of a value or of a cursor; without a name it resets all of the workflow. A cursor that is\n" +
				"reset reads everything again.",
			RunE: func(c *cobra.Command, args []string) error {
				return a.resetState(c.Context(), args[0], argument(args, 1))
			},
		}),
		withText(&cobra.Command{
			Use: "cursors [WORKFLOW]", Short: "List the cursors: how far `incremental` steps have read", Args: rangeArgs(0, "WORKFLOW"),
			Example: "  flowrun state cursors\n  flowrun state cursors weekly-digest -o json",
			Long:    "Cursors lists the stored cursors. Several of one name belong to different parameters of their step.",
			RunE:    func(c *cobra.Command, args []string) error { return a.listCursors(c.Context(), argument(args, 0)) },
		}),
		withText(&cobra.Command{
			Use: "history WORKFLOW NAME", Short: "Show what changed a value or a cursor, and who", Args: exactArgs("WORKFLOW", "NAME"),
			Example: "  flowrun state history weekly-digest last_total",
			RunE:    func(c *cobra.Command, args []string) error { return a.stateHistory(c.Context(), args[0], args[1]) },
		}),
	), a.statePluginsCommand()))
}

// listState asks for the values of each workflow of the project.
func (a *app) listState(ctx context.Context) error {
	items, err := ask(ctx, a, func(c *web.Client) ([]memory.StateItem, error) {
		workflows, err := c.Workflows(ctx)
		if err != nil {
			return nil, err
		}
		all := []memory.StateItem{}
		for _, workflow := range workflows {
			if workflow.Name == "" {
				continue
			}
			items, err := c.State(ctx, workflow.Name, "")
			if problem, ok := errors.AsType[*web.Problem](err); ok && problem.Code == wire.CodeNotFound {
				continue // its file never was good
			}
			if err != nil {
				return nil, err
			}
			all = append(all, items...)
		}
		return all, nil
	})
	return printList(a, items, allowNoStore(err), "no workflow keeps a value between runs: `state` of a workflow declares them", view.Page.StateOfAll)
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
