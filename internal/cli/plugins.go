package cli

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/internal/cli/view"
	"github.com/flowrun/flowrun/internal/web"
)

func (a *app) pluginsCommand() *cobra.Command {
	list := a.pluginsListCommand()
	c := &cobra.Command{Use: "plugins", Short: "List plugins and their actions", PreRunE: list.PreRunE, RunE: list.RunE}
	c.Flags().AddFlagSet(list.Flags())
	group(c)
	c.AddCommand(list, a.pluginsActionsCommand(), &cobra.Command{
		Use: "serve NAME", Short: "Serve a bundled plugin: what the engine runs", Args: exactArgs("NAME"), Hidden: true,
		RunE: func(_ *cobra.Command, args []string) error { return exitWith(servePlugin(args, a.sys.Stderr)) },
	})
	return c
}

func (a *app) pluginsListCommand() *cobra.Command {
	var output string
	c := &cobra.Command{
		Use: "list", Short: "List the plugins that workflows may use", Args: exactArgs(),
		RunE: func(c *cobra.Command, _ []string) error {
			project, err := a.loadProject(c.Context())
			if err != nil {
				return err
			}
			defer project.Close()
			plugins := project.Plugins(c.Context())
			if output == "json" {
				return view.JSON(a.sys.Stdout, web.Page[engine.PluginInfo]{Items: append([]engine.PluginInfo{}, plugins...)})
			}
			a.page(a.sys.Stdout).Plugins(a.sys.Stdout, plugins)
			a.page(a.sys.Stderr).Next(a.sys.Stderr, "what they can do:", "plugins", "actions")
			return nil
		},
	}
	outputFlag(c, &output, "text", "json")
	return c
}

func (a *app) pluginsActionsCommand() *cobra.Command {
	var output string
	c := &cobra.Command{
		Use: "actions [PLUGIN]", Short: "List the actions of one plugin, or of all", Args: rangeArgs(0, "PLUGIN"),
		RunE: func(c *cobra.Command, args []string) error {
			project, err := a.loadProject(c.Context())
			if err != nil {
				return err
			}
			defer project.Close()
			name := ""
			if len(args) > 0 {
				name = args[0]
			}
			actions, err := project.Actions(c.Context(), name)
			switch {
			case errors.Is(err, engine.ErrUnknownPlugin):
				return notFoundError(err, diag.DidYouMean(name, bundledNames()))
			case err != nil:
				return &codedError{code: exitPlugin, err: err}
			}
			if output == "text" {
				a.page(a.sys.Stdout).Actions(a.sys.Stdout, actions)
				return nil
			}
			items := make([]web.ActionItem, len(actions))
			for i, action := range actions {
				items[i] = web.NewActionItem(action)
			}
			return view.JSON(a.sys.Stdout, web.Page[web.ActionItem]{Items: items})
		},
	}
	outputFlag(c, &output, "text", "json")
	return c
}
