package cli

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"github.com/flowrun/flowrun/engine/workspace"
	"github.com/flowrun/flowrun/internal/cli/term"
)

// pluginSheet is what `plugins show` prints.
type pluginSheet struct {
	workspace.PluginInfo
	Wants   workspace.Grants        `json:"wants"`   // what it asks for
	Grants  workspace.Grants        `json:"grants"`  // what flowrun.yaml gives it
	Sandbox []workspace.Confinement `json:"sandbox"` // what this system holds it to

	Settings []workspace.FieldDoc `json:"settings,omitempty"` // what flowrun.yaml can tell it (`with`)
}

func (a *app) showPlugin(ctx context.Context, project *workspace.Workspace, args []string) (err error) {
	name := args[0]
	if _, err := project.Actions(ctx, name); err != nil {
		if errors.Is(err, workspace.ErrUnknownPlugin) {
			return err
		}
		return &codedError{code: exitPlugin, err: err}
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
	if sheet.Settings, err = project.SettingsDoc(name); err != nil {
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
	for i, setting := range sheet.Settings {
		label := ""
		if i == 0 {
			label = "takes"
		}
		text := setting.Name + ", " + setting.Type
		if setting.Required {
			text += ", required"
		}
		line(label, text+": "+setting.Doc)
	}
	if !sheet.Missing.Empty() {
		line("", "not granted, it runs without: "+sheet.Missing.String())
	}
	if sheet.Grants.Hosts == nil && len(sheet.Missing.Hosts) == 0 { // who is locked has its connections' alone
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
