package cli

import (
	"fmt"
	"strings"

	"github.com/flowrun/flowrun/engine/workspace"
	"github.com/flowrun/flowrun/internal/cli/term"
	"github.com/flowrun/flowrun/internal/cli/view"
)

// explainKeys prints keys of workflow files: a path may name several.
func (a *app) explainKeys(keys []workspace.KeyDoc, output string) error {
	if output == "json" {
		return view.JSON(a.sys.Stdout, map[string]any{"items": keys, "next_cursor": nil})
	}
	for i, key := range keys {
		if i > 0 {
			fmt.Fprintln(a.sys.Stdout)
		}
		a.page(a.sys.Stdout).Key(a.sys.Stdout, key)
	}
	return nil
}

// alsoKeys tells of keys that have the name of a function.
func (a *app) alsoKeys(keys []workspace.KeyDoc, output string) {
	var paths []string
	for _, key := range keys {
		if strings.Contains(key.Path, ".") {
			paths = append(paths, "`flowrun explain "+key.Path+"`")
		}
	}
	if output == "text" && len(paths) > 0 {
		fmt.Fprintf(a.sys.Stdout, "\n%s\n", a.styleOf(a.sys.Stdout).Dim(term.Clean("a key of workflow files too: "+strings.Join(paths, ", "))))
	}
}
