package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/services"
	"github.com/flowrun/flowrun/internal/cli/view"
	"github.com/flowrun/flowrun/internal/web"
)

func (a *app) statePluginsCommand() *cobra.Command {
	return listGroup(&cobra.Command{Use: "plugins", Short: "What plugins keep between calls: caches, logins, cursors of their own"},
		a.inSandbox("the state of the sandbox",
			withText(&cobra.Command{
				Use: "list [PLUGIN]", Short: "Show how much room the state of plugins takes", Args: rangeArgs(0, "PLUGIN"),
				Example: "  flowrun state plugins\n  flowrun state plugins list tasks",
				Long: "List shows each scope of a plugin's state: its own (plugin), a connection's, or a run's, which ends with the run.\n" +
					"The values are sealed and shown to nobody.",
				RunE: func(c *cobra.Command, args []string) error { return a.listPluginState(c.Context(), argument(args, 0)) },
			}),
			withText(&cobra.Command{
				Use: "rm PLUGIN [SCOPE]", Short: "Remove what a plugin keeps, in all scopes or in one", Args: rangeArgs(1, "PLUGIN", "SCOPE"),
				Long: "Rm removes a plugin's state. The plugin begins anew at its next call: a cache is filled again, a login that waits\n" +
					"for its person is given up. Logins that are done are not in it: `flowrun connections logout` removes those.",
				Example: "  flowrun state plugins rm tasks\n  flowrun state plugins rm tasks connection/work",
				RunE: func(c *cobra.Command, args []string) error {
					return a.removePluginState(c.Context(), services.PluginStateRequest{Plugin: args[0], Scope: argument(args, 1)})
				},
			}),
		))
}

func (a *app) listPluginState(ctx context.Context, plugin string) error {
	states, err := ask(ctx, a, func(c *web.Client) ([]services.PluginState, error) { return c.PluginStates(ctx, plugin) })
	return printList(a, states, allowNoStore(err), "no plugin keeps anything here", view.Page.PluginStates)
}

func (a *app) removePluginState(ctx context.Context, request services.PluginStateRequest) error {
	removed, err := act(ctx, a, func(c *web.Client) (*services.RemovedState, error) { return c.RemovePluginState(ctx, request) })
	return a.tell(removed, err, func() {
		for _, state := range removed.Removed {
			a.say("removed %s of %s, scope %s", diag.Count(state.Keys, "key"), state.Plugin, state.Scope)
		}
	})
}
