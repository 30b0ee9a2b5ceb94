package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/flowrun/flowrun/engine/workspace"
	"github.com/flowrun/flowrun/internal/cli/term"
	"github.com/flowrun/flowrun/internal/cli/view"
)

// pluginSheet is what `plugins show` prints.
type pluginSheet struct {
	workspace.PluginInfo
	Wants   workspace.Grants        `json:"wants"`   // what it asks for
	Grants  workspace.Grants        `json:"grants"`  // what flowrun.yaml gives it
	Sandbox []workspace.Confinement `json:"sandbox"` // what this system holds it to
}

func (a *app) pluginsShowCommand() *cobra.Command {
	var output string
	c := &cobra.Command{
		Use: "show NAME", Short: "Show a plugin: what it asks for, what it is given, what holds it", Args: exactArgs("NAME"),
		Long: "Show tells where a plugin comes from, what it asks to be granted, what flowrun.yaml grants it\n" +
			"(`plugins: {NAME: {grants: {paths: [..], hosts: [..], env: [..], commands: [..]}}}`), and which parts of the\n" +
			"sandbox this system holds.",
		Example: "  flowrun plugins show netinfo\n  flowrun plugins show netinfo -o json",
		RunE:    func(c *cobra.Command, args []string) error { return a.showPlugin(c.Context(), args[0], output) },
	}
	outputFlag(c, &output, "text", "json")
	return c
}

func (a *app) showPlugin(ctx context.Context, name, output string) error {
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
	if output == "json" {
		return view.JSON(a.sys.Stdout, sheet)
	}
	line := func(label, text string) { fmt.Fprintf(a.sys.Stdout, "%-10s %s\n", label, term.Clean(text)) }
	line("plugin", strings.TrimSpace(sheet.Name+" "+sheet.Version))
	line("source", sheet.Source)
	line("digest", sheet.Digest)
	line("asks for", orNothing(sheet.Wants.String()))
	line("granted", orNothing(sheet.Grants.String()))
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
	return nil
}

func orNothing(text string) string {
	if text == "" {
		return "nothing"
	}
	return text
}
