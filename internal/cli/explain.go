package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/workspace"
	"github.com/flowrun/flowrun/internal/cli/term"
	"github.com/flowrun/flowrun/internal/cli/view"
	"github.com/flowrun/flowrun/internal/web"
)

var problemCode = regexp.MustCompile(`^(?i:fr)[0-9]+$`)

func (a *app) explainCommand() *cobra.Command {
	var output string
	c := &cobra.Command{
		Use: "explain CODE|ACTION|FUNCTION|KEY", Short: "Explain a problem's code, an action, a function of expressions or a key of workflow files",
		Args: exactArgs("CODE|ACTION|FUNCTION|KEY"),
		Long: "Explain tells what a code of validate means, what an action takes and gives, with a step to paste, what a\n" +
			"function of expressions does, or what a key of workflow files is for, with its values, bounds and default.\n" +
			"With -o json an action is printed as `plugins actions -o json` lists it.",
		Example: "  flowrun explain FR2004\n  flowrun explain netinfo.whois\n  flowrun explain formatTime\n  flowrun explain retry.attempts",
		RunE:    func(c *cobra.Command, args []string) error { return a.explain(c.Context(), args[0], output) },
	}
	outputFlag(c, &output, "text", "json")
	return c
}

func (a *app) explain(ctx context.Context, name, output string) error {
	if problemCode.MatchString(name) {
		return a.explainProblem(strings.ToUpper(name), output)
	}
	name = strings.TrimSuffix(name, "()")
	keys, near := workspace.ExplainKey(name)
	for _, function := range workspace.Functions() {
		if function.Name == name {
			defer a.alsoKeys(keys, output)
			return a.explainFunction(function, output)
		}
	}
	if len(keys) > 0 && strings.Count(name, ".") != 1 {
		return a.explainKeys(keys, output)
	}
	project, err := a.loadProject(ctx)
	if err != nil && len(keys) > 0 {
		return a.explainKeys(keys, output)
	}
	if err != nil {
		return err
	}
	defer project.Close()
	actions, broken := everyAction(ctx, project)
	for _, action := range actions {
		if action.FullName() == name {
			return a.explainAction(action, output)
		}
	}
	if len(keys) > 0 { // not before: an action has the first right to a name with one dot
		return a.explainKeys(keys, output)
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
	for _, action := range actions {
		if action.Plugin == plugin {
			return true
		}
	}
	return false
}

// unknownTopic names what is nearest among all that can be explained.
func unknownTopic(name, near string, actions []*plan.Action) error {
	err := fmt.Errorf("there is no code, action, function or key %q", name)
	if hasActions(actions, name) {
		return notFoundError(err, "`flowrun plugins actions "+name+"` lists the actions of this plugin")
	}
	var names []string
	for _, function := range workspace.Functions() {
		names = append(names, function.Name)
	}
	for _, action := range actions {
		names = append(names, action.FullName())
		if action.Name == name {
			return notFoundError(err, "did you mean `"+action.FullName()+"`?")
		}
	}
	if near != "" {
		names = append(names, near)
	}
	hint := diag.DidYouMean(name, names).Text
	if hint == "" {
		hint = "`flowrun plugins actions` lists the actions"
	}
	return notFoundError(err, hint)
}

func (a *app) explainProblem(code, output string) error {
	text, ok := explainCode(code)
	if !ok {
		var codes []string
		for _, page := range diag.Pages() {
			codes = append(codes, page.Code)
		}
		return notFoundError(fmt.Errorf("there is no code %s", code), cmp.Or(diag.DidYouMean(code, codes).Text, "codes look like FR2004, as `flowrun validate` prints them"))
	}
	if output == "json" {
		return view.JSON(a.sys.Stdout, map[string]string{"code": code, "text": text})
	}
	fmt.Fprintln(a.sys.Stdout, strings.TrimRight(text, "\n"))
	return nil
}

func (a *app) explainFunction(function workspace.FunctionDoc, output string) error {
	if output == "json" {
		return view.JSON(a.sys.Stdout, map[string]string{
			"function": function.Name, "signature": function.Signature, "doc": function.Doc, "example": function.Example,
		})
	}
	a.page(a.sys.Stdout).Function(a.sys.Stdout, function)
	return nil
}

func (a *app) explainAction(action *plan.Action, output string) error {
	if output == "json" {
		return view.JSON(a.sys.Stdout, web.NewActionItem(action))
	}
	doc, err := workspace.DescribeAction(action)
	if err != nil {
		return errors.New(term.Clean(err.Error()))
	}
	a.page(a.sys.Stdout).Action(a.sys.Stdout, action, doc)
	return nil
}
