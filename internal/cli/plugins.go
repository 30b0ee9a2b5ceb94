package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/workspace"
	"github.com/flowrun/flowrun/internal/web"
)

func (a *app) pluginsCommand() *cobra.Command {
	return listGroup(&cobra.Command{Use: "plugins", Short: "The plugins and their actions"}, append([]*cobra.Command{
		withText(&cobra.Command{
			Use: "list", Short: "List the plugins", Args: exactArgs(),
			Example: "  flowrun plugins\n  flowrun plugins list -o json",
			Long: "List asks the server of this store, where one runs: it shows the plugins in force there. One whose file has\n" +
				"changed and that a workflow would break by waits; why, and where, stands below the list and in `waiting` of\n" +
				"-o json. Without a server the files are in force as they are.",
			RunE: func(c *cobra.Command, _ []string) error { return a.listPlugins(c.Context()) },
		}),
		withText(&cobra.Command{
			Use: "show NAME", Short: "Show a plugin: what it asks for, what it is given, what holds it", Args: exactArgs("NAME"),
			Long: "Show tells where a plugin comes from, what it asks to be granted, what flowrun.yaml grants it\n" +
				"(`plugins: {NAME: {grants: {paths: [..], hosts: [..], env: [..], commands: [..]}}}`), and which parts of the\n" +
				"sandbox this system holds.",
			Example: "  flowrun plugins show netinfo\n  flowrun plugins show netinfo -o json",
			RunE:    a.onProject(a.showPlugin),
		}),
		withText(&cobra.Command{
			Use: "actions [PLUGIN]", Short: "List the actions of the plugins, or of one", Args: rangeArgs(0, "PLUGIN"),
			Example: "  flowrun plugins actions netinfo\n  flowrun plugins actions core -o json",
			RunE:    a.onProject(a.listActions),
		}),
		a.pluginNewCommand(),
		withOutput(&cobra.Command{
			Use: "docs [NAME]", Short: "Write the reference of a plugin, or of all", Args: rangeArgs(0, "NAME"),
			Long: "Docs writes what a plugin says of itself as Markdown: the settings of its connections, its limits, and of each\n" +
				"action inputs, outputs, effect, faults and examples. Nothing but the description is asked for.",
			Example: "  flowrun plugins docs netinfo > netinfo.md\n  flowrun plugins docs netinfo -o json",
			RunE:    a.onProject(a.pluginDocs),
		}, "markdown", "json"),
		a.pluginsTestCommand(),
		a.pluginLogsCommand(),
		a.pluginUpgradeCommand(),
		// It stands here for the help alone: Run serves plugins before commands are built.
		{
			Use: "serve NAME", Short: "Be a bundled plugin; the engine runs this", Args: exactArgs("NAME"),
			Example: "  flowrun plugins serve netinfo",
			RunE: func(_ *cobra.Command, args []string) error {
				return usageError(fmt.Errorf("plugins serve %s takes no flags before it", args[0]), "type `flowrun plugins serve NAME`")
			},
		},
	}, append(a.pluginAddCommands(), a.pluginLockCommands()...)...))
}

// onProject is what a command does that works on the project alone.
func (a *app) onProject(do func(context.Context, *workspace.Workspace, []string) error) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, args []string) error {
		project, err := a.loadProject(c.Context())
		if err != nil {
			return err
		}
		defer project.Close()
		return do(c.Context(), project, args)
	}
}

func (a *app) listPlugins(ctx context.Context) error {
	plugins, err := a.readPlugins(ctx)
	if err != nil {
		return err
	}
	err = a.print(web.Page[workspace.PluginInfo]{Items: plugins}, func() {
		a.page(a.sys.Stdout).Plugins(a.sys.Stdout, plugins)
		for _, plugin := range plugins {
			if len(plugin.Stderr) > 0 {
				a.note("%s wrote last:", plugin.Name)
				a.page(a.sys.Stderr).LastWords(a.sys.Stderr, plugin.Stderr)
			}
			if waiting := plugin.Waiting; waiting != nil {
				a.note("%s %s is not in force: %s", plugin.Name, waitingName(waiting), waiting.Reason)
			}
		}
	})
	if err == nil && slices.ContainsFunc(plugins, func(p workspace.PluginInfo) bool { return p.Error != "" }) {
		return exitWith(exitPlugin)
	}
	return err
}

// waitingName tells a revision from the one in force: by its version, and its digest, since
// a rebuild often keeps the version.
func waitingName(waiting *workspace.WaitingPlugin) string {
	digest := waiting.Digest
	if len(digest) > 12 {
		digest = digest[:12]
	}
	switch {
	case digest == "":
		return "as its file is now"
	case waiting.Version == "":
		return "(" + digest + ")"
	}
	return waiting.Version + " (" + digest + ")"
}

// readPlugins asks the server of the store, or, where none runs, the project's files.
func (a *app) readPlugins(ctx context.Context) ([]workspace.PluginInfo, error) {
	at, err := a.locate()
	if err != nil {
		return nil, err
	}
	if client, info, err := web.Dial(ctx, at.stateDir); err == nil {
		defer client.Close()
		if info.Serve {
			return client.Plugins(ctx)
		}
	}
	return inProject(ctx, a, func(project *workspace.Workspace) ([]workspace.PluginInfo, error) { return project.Plugins(ctx), nil })
}

func (a *app) listActions(ctx context.Context, project *workspace.Workspace, args []string) error {
	actions, broken := allActions(ctx, project, argument(args, 0))
	if len(actions) == 0 && broken != nil {
		return broken
	}
	items := make([]web.ActionItem, len(actions))
	for i, action := range actions {
		items[i] = web.NewActionItem(action)
	}
	err := a.print(web.Page[web.ActionItem]{Items: items}, func() {
		a.page(a.sys.Stdout).Actions(a.sys.Stdout, actions)
		if len(actions) > 0 && actions[0].Plugin != "core" {
			a.note("the engine's own: flowrun plugins actions core")
		}
	})
	if err != nil {
		return err
	}
	return broken
}

// allActions returns the actions of one plugin, or of all plugins; the engine's
// own are listed as those of core. A plugin that does not start hides only its
// own: the error tells of it.
func allActions(ctx context.Context, project *workspace.Workspace, plugin string) ([]*plan.Action, error) {
	names := []string{plugin}
	if plugin == "" {
		names = nil
		for _, info := range project.Plugins(ctx) {
			names = append(names, info.Name)
		}
	}
	var all []*plan.Action
	var broken []error
	for _, name := range names {
		actions, err := project.Actions(ctx, name)
		switch {
		case errors.Is(err, workspace.ErrUnknownPlugin):
			return nil, err
		case err != nil:
			broken = append(broken, err)
		}
		all = append(all, actions...)
	}
	if len(broken) == 0 {
		return all, nil
	}
	return all, &codedError{code: exitPlugin, err: errors.Join(broken...)}
}
