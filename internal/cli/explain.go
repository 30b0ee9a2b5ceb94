package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/workspace"
	"github.com/flowrun/flowrun/internal/cli/term"
	"github.com/flowrun/flowrun/internal/cli/view"
	"github.com/flowrun/flowrun/internal/web"
)

var problemCode = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(?i:fr)[0-9]+$`) })

func (a *app) explainCommand() *cobra.Command {
	return withText(&cobra.Command{
		Use: "explain CODE|ACTION|FUNCTION|KEY", Short: "Explain a problem's code, an action, a function of expressions or a key of workflow files",
		Args: exactArgs("CODE|ACTION|FUNCTION|KEY"),
		Long: "Explain tells what a code of validate means, what an action takes and gives, with a step to paste, what a\n" +
			"function of expressions does, or what a key of workflow files is for, with its values, bounds and default.\n" +
			"With -o json an action is printed as `plugins actions -o json` lists it.",
		Example: "  flowrun explain FR2004\n  flowrun explain netinfo.whois\n  flowrun explain formatTime\n  flowrun explain retry.attempts",
		RunE:    func(c *cobra.Command, args []string) error { return a.explain(c.Context(), args[0]) },
	})
}

func (a *app) explain(ctx context.Context, name string) error {
	if problemCode().MatchString(name) {
		return a.explainProblem(strings.ToUpper(name))
	}
	name = strings.TrimSuffix(name, "()")
	keys, near := workspace.ExplainKey(name)
	for _, function := range workspace.Functions() {
		if function.Name == name {
			defer a.alsoKeys(keys)
			return a.explainFunction(function)
		}
	}
	if len(keys) > 0 && strings.Count(name, ".") != 1 {
		return a.explainKeys(keys)
	}
	project, err := a.loadProject(ctx)
	if err != nil && len(keys) > 0 {
		return a.explainKeys(keys)
	}
	if err != nil {
		return err
	}
	defer project.Close()
	actions, broken := everyAction(ctx, project)
	for _, action := range actions {
		if action.FullName() == name {
			if action, err = project.Action(name); err != nil {
				return refusedPlugin(err)
			}
			return a.explainAction(action)
		}
	}
	if len(keys) > 0 { // not before: an action has the first right to a name with one dot
		return a.explainKeys(keys)
	}
	if plugin, _, dotted := strings.Cut(name, "."); broken != nil && (dotted || !hasActions(actions, plugin)) {
		return broken // it may be one of those that can't be listed
	}
	return unknownTopic(name, near, actions)
}

// everyAction returns the actions of all plugins and the engine's own.
func everyAction(ctx context.Context, project *workspace.Workspace) ([]*plan.Action, error) {
	actions, broken := allActions(ctx, project, "")
	core, err := project.Actions(ctx, "core")
	return append(actions, core...), errors.Join(broken, err)
}

func hasActions(actions []*plan.Action, plugin string) bool {
	return slices.ContainsFunc(actions, func(action *plan.Action) bool { return action.Plugin == plugin })
}

// unknownTopic names what is nearest among all that can be explained.
func unknownTopic(name, near string, actions []*plan.Action) error {
	err := fmt.Errorf("there is no code, action, function or key %q", name)
	if hasActions(actions, name) {
		return notFoundError(err, "`flowrun plugins actions "+name+"` lists the actions of this plugin")
	}
	names := texts(workspace.Functions(), func(function workspace.FunctionDoc) string { return function.Name })
	for _, action := range actions {
		names = append(names, action.FullName())
		if action.Name == name {
			return notFoundError(err, "did you mean `"+action.FullName()+"`?")
		}
	}
	if near != "" {
		names = append(names, near)
	}
	return notFoundError(err, cmp.Or(diag.DidYouMean(name, names).Text, "`flowrun plugins actions` lists the actions"))
}

func (a *app) explainProblem(code string) error {
	text, ok := diag.Explain(code)
	if !ok {
		codes := texts(diag.Pages(), func(page diag.Page) string { return page.Code })
		return notFoundError(fmt.Errorf("there is no code %s", code), cmp.Or(diag.DidYouMean(code, codes).Text, "codes look like FR2004, as `flowrun validate` prints them"))
	}
	return a.print(map[string]string{"code": code, "text": text}, func() { a.say("%s", strings.TrimRight(text, "\n")) })
}

func (a *app) explainFunction(function workspace.FunctionDoc) error {
	answer := map[string]string{"function": function.Name, "signature": function.Signature, "doc": function.Doc, "example": function.Example}
	return a.print(answer, func() { a.page(a.sys.Stdout).Function(a.sys.Stdout, function) })
}

func (a *app) explainAction(action *plan.Action) error {
	if a.output == "json" {
		return view.JSON(a.sys.Stdout, web.NewActionItem(action))
	}
	doc, err := workspace.DescribeAction(action)
	if err != nil {
		return errors.New(term.Clean(err.Error()))
	}
	a.page(a.sys.Stdout).Action(a.sys.Stdout, action, doc)
	return nil
}

// explainKeys prints keys of workflow files: a path may name several.
func (a *app) explainKeys(keys []workspace.KeyDoc) error {
	return a.print(map[string]any{"items": keys, "next_cursor": nil}, func() {
		for i, key := range keys {
			if i > 0 {
				a.say("")
			}
			a.page(a.sys.Stdout).Key(a.sys.Stdout, key)
		}
	})
}

// alsoKeys tells of keys that have the name of a function.
func (a *app) alsoKeys(keys []workspace.KeyDoc) {
	var paths []string
	for _, key := range keys {
		if strings.Contains(key.Path, ".") {
			paths = append(paths, "`flowrun explain "+key.Path+"`")
		}
	}
	if a.output == "text" && len(paths) > 0 {
		a.say("\n%s", a.styleOf(a.sys.Stdout).Dim(term.Clean("a key of workflow files too: "+strings.Join(paths, ", "))))
	}
}
