package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/flowrun/flowrun/engine/workspace"
	"github.com/flowrun/flowrun/internal/cli/view"
	"github.com/flowrun/flowrun/internal/web"
)

// pluginDocs prints the references of plugins. One that can't be described hides only its
// own.
func (a *app) pluginDocs(_ context.Context, project *workspace.Workspace, args []string) error {
	names := args
	if len(names) == 0 {
		names = project.PluginNames()
	}
	docs := []workspace.PluginDoc{}
	var broken []error
	for _, name := range names {
		doc, err := project.PluginDoc(name)
		switch {
		case errors.Is(err, workspace.ErrUnknownPlugin):
			return err
		case err != nil:
			broken = append(broken, err)
		default:
			docs = append(docs, doc)
		}
	}
	err := a.print(web.Page[workspace.PluginDoc]{Items: docs}, func() {
		for i, doc := range docs {
			if i > 0 {
				fmt.Fprintln(a.sys.Stdout)
			}
			view.PluginMarkdown(a.sys.Stdout, doc)
		}
	})
	if err == nil && len(broken) > 0 {
		return &codedError{code: exitPlugin, err: errors.Join(broken...)}
	}
	return err
}
