package cli

import (
	"cmp"
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/flowrun/flowrun/engine/workspace"
	"github.com/flowrun/flowrun/internal/cli/term"
)

// pluginSheet is what `plugins show` prints.
type pluginSheet struct {
	workspace.PluginInfo
	Wants   workspace.Grants        `json:"wants"`   // what it asks for
	Grants  workspace.Grants        `json:"grants"`  // what flowrun.yaml gives it
	Sandbox []workspace.Confinement `json:"sandbox"` // what this system holds it to
}

func (a *app) pluginsShowCommand() *cobra.Command {
	return withText(&cobra.Command{
		Use: "show NAME", Short: "Show a plugin: what it asks for, what it is given, what holds it", Args: exactArgs("NAME"),
		Long: "Show tells where a plugin comes from, what it asks to be granted, what flowrun.yaml grants it\n" +
			"(`plugins: {NAME: {grants: {paths: [..], hosts: [..], env: [..], commands: [..]}}}`), and which parts of the\n" +
			"sandbox this system holds.",
		Example: "  flowrun plugins show netinfo\n  flowrun plugins show netinfo -o json",
		RunE:    func(c *cobra.Command, args []string) error { return a.showPlugin(c.Context(), args[0]) },
	})
}

func (a *app) showPlugin(ctx context.Context, name string) error {
	project, err := a.loadProject(ctx)
	if err != nil {
		return err
	}
	defer project.Close()
	if _, err := project.Actions(ctx, name); err != nil {
		return err
	}
	sheet := pluginSheet{Sandbox: project.Confinement()}
	for _, info := range project.Plugins(ctx) {
		if info.Name == name {
			sheet.PluginInfo = info
		}
	}
	if sheet.Wants, sheet.Grants, err = project.PluginGrants(name); err != nil {
		return err
	}
	return a.print(sheet, func() { a.printSheet(sheet) })
}

func (a *app) printSheet(sheet pluginSheet) {
	line := func(label, text string) { a.say("%-10s %s", label, term.Clean(text)) }
	line("plugin", strings.TrimSpace(sheet.Name+" "+sheet.Version))
	line("source", sheet.Source)
	line("digest", sheet.Digest)
	line("asks for", cmp.Or(sheet.Wants.String(), "nothing"))
	line("granted", cmp.Or(sheet.Grants.String(), "nothing"))
	if sheet.Grants.Hosts == nil {
		line("", "hosts are not bounded: it may connect to all")
	}
	for _, part := range sheet.Sandbox {
		if part.Held {
			line("held", part.Part)
		} else {
			line("not held", part.Part+": "+part.Why)
		}
	}
}
