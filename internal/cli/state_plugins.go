package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/flowrun/flowrun/engine/services"
	"github.com/flowrun/flowrun/internal/cli/view"
	"github.com/flowrun/flowrun/internal/web"
)

func (a *app) statePluginsCommand() *cobra.Command {
	c := &cobra.Command{Use: "plugins", Short: "What plugins keep between calls: caches, logins, cursors of their own"}
	group(c)
	c.AddCommand(a.statePluginsListCommand(), a.statePluginsRemoveCommand())
	for _, sub := range c.Commands() {
		sub.ValidArgsFunction = cobra.NoFileCompletions
		a.sandboxFlag(sub, "the state of the sandbox")
	}
	return c
}

func (a *app) statePluginsListCommand() *cobra.Command {
	var output string
	c := &cobra.Command{
		Use: "list [PLUGIN]", Short: "Show how much room the state of plugins takes", Args: rangeArgs(0, "PLUGIN"),
		Long: "List shows each scope of a plugin's state: its own (plugin), a connection's, or a run's, which ends with the run.\n" +
			"The values are sealed and shown to nobody.",
		RunE: func(c *cobra.Command, args []string) error {
			plugin := ""
			if len(args) > 0 {
				plugin = args[0]
			}
			return a.listPluginState(c.Context(), plugin, output)
		},
	}
	outputFlag(c, &output, "text", "json")
	return c
}

func (a *app) listPluginState(ctx context.Context, plugin, output string) error {
	states := []services.PluginState{}
	err := a.visit(ctx, func(c *web.Client) (err error) {
		states, err = c.PluginStates(ctx, plugin)
		return err
	})
	switch {
	case err != nil && !errors.Is(err, errNoStore):
		return err
	case output == "json":
		return view.JSON(a.sys.Stdout, web.Page[services.PluginState]{Items: states})
	case len(states) == 0:
		a.note("no plugin keeps anything here")
	default:
		a.page(a.sys.Stdout).PluginStates(a.sys.Stdout, states)
	}
	return nil
}

func (a *app) statePluginsRemoveCommand() *cobra.Command {
	var output string
	c := &cobra.Command{
		Use: "rm PLUGIN [SCOPE]", Short: "Remove what a plugin keeps, in all scopes or in one", Args: rangeArgs(1, "PLUGIN", "SCOPE"),
		Long: "Rm removes a plugin's state. The plugin begins anew at its next call: a cache is filled again, a login that waits\n" +
			"for its person is given up. Logins that are done are not in it: `flowrun connections logout` removes those.",
		Example: "  flowrun state plugins rm tasks\n  flowrun state plugins rm tasks connection/work",
		RunE: func(c *cobra.Command, args []string) error {
			return a.removePluginState(c.Context(), services.PluginStateRequest{Plugin: args[0], Scope: second(args)}, output)
		},
	}
	outputFlag(c, &output, "text", "json")
	return c
}

func (a *app) removePluginState(ctx context.Context, request services.PluginStateRequest, output string) error {
	session, err := a.connect(ctx, roleLook)
	if errors.Is(err, errNoStore) {
		return notFoundError(fmt.Errorf("plugin %s keeps nothing: nothing has run here yet", request.Plugin), "")
	}
	if err != nil {
		return err
	}
	var removed *services.RemovedState
	err = session.tryAnyway(ctx, func(c *web.Client) error {
		removed, err = c.RemovePluginState(ctx, request)
		return err
	})
	if err := errors.Join(err, session.close(nil)); err != nil {
		return err
	}
	if output == "json" {
		return view.JSON(a.sys.Stdout, removed)
	}
	for _, state := range removed.Removed {
		fmt.Fprintf(a.sys.Stdout, "removed %s of %s, scope %s\n", count(state.Keys, "key"), state.Plugin, state.Scope)
	}
	return nil
}
