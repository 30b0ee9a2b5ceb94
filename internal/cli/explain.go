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
		Use: "explain CODE|ACTION|PLUGIN|FUNCTION|KEY", Short: "Explain a problem's code, an action, a plugin, a function of expressions or a key of workflow files",
		Args: exactArgs("CODE|ACTION|PLUGIN|FUNCTION|KEY"),
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
	if hasActions(actions, name) {
		return a.explainPlugin(ctx, project, name, actions)
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
	names := texts(workspace.Functions(), func(function workspace.FunctionDoc) string { return function.Name })
	for _, action := range actions {
		names = append(names, action.Plugin)
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
	if more := moreOfAction(action.FullName()); more != "" {
		a.say("\n%s", more)
	}
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
			if i == 0 || !slices.Equal(keys[i-1].Keys, key.Keys) { // the same keys are told once
				a.page(a.sys.Stdout).Keys(a.sys.Stdout, "its keys", keysBelow(key))
			}
			a.page(a.sys.Stdout).Keys(a.sys.Stdout, "goes with", keysBeside(key))
		}
	})
}

// keysBelow are the keys that a map has, unless they all mean the same.
func keysBelow(key workspace.KeyDoc) []workspace.KeyDoc {
	var below []workspace.KeyDoc
	differ := false
	for _, name := range key.Keys {
		below = append(below, keysAt(key.Path+"."+name)...)
	}
	for _, one := range below {
		differ = differ || one.Doc != below[0].Doc
	}
	if !differ {
		return nil
	}
	return below
}

// keysBeside are the other keys that the same kinds of steps or triggers alone have.
func keysBeside(key workspace.KeyDoc) []workspace.KeyDoc {
	at := strings.LastIndexByte(key.Path, '.')
	if at < 0 || len(key.Kinds) == 0 || slices.Contains(key.Kinds, "action") { // those of an action are nearly all
		return nil
	}
	parents, _ := workspace.ExplainKey(key.Path[:at])
	var beside []workspace.KeyDoc
	for _, parent := range parents {
		for _, name := range parent.Keys {
			for _, other := range keysAt(key.Path[:at] + "." + name) {
				isOfKind := len(other.Kinds) > 0 && slices.ContainsFunc(other.Kinds, func(kind string) bool { return slices.Contains(key.Kinds, kind) })
				known := func(one workspace.KeyDoc) bool { return one.Path == other.Path && one.Doc == other.Doc }
				if isOfKind && other.Path != key.Path && !slices.ContainsFunc(beside, known) {
					beside = append(beside, other)
				}
			}
		}
	}
	return beside
}

// keysAt are the keys of a path, and of no longer one.
func keysAt(path string) []workspace.KeyDoc {
	keys, _ := workspace.ExplainKey(path)
	return slices.DeleteFunc(slices.Clone(keys), func(key workspace.KeyDoc) bool { return key.Path != path })
}

// explainPlugin tells what a plugin is, and lists its actions.
func (a *app) explainPlugin(ctx context.Context, project *workspace.Workspace, name string, actions []*plan.Action) error {
	own := slices.DeleteFunc(slices.Clone(actions), func(action *plan.Action) bool { return action.Plugin != name })
	about := workspace.PluginInfo{Name: name, Source: "the engine's own", Doc: "What the engine does itself."}
	for _, info := range project.Plugins(ctx) {
		if info.Name == name {
			about = info
		}
	}
	items := texts(own, func(action *plan.Action) web.ActionItem { return web.NewActionItem(action) })
	return a.print(map[string]any{"plugin": name, "version": about.Version, "source": about.Source, "doc": about.Doc, "actions": items}, func() {
		out, style := a.sys.Stdout, a.styleOf(a.sys.Stdout)
		a.say("%s  %s", style.Bold(name), style.Dim(term.Clean(strings.TrimPrefix(about.Version+", "+about.Source, ", "))))
		if about.Doc != "" {
			a.say("\n%s", term.CleanText(about.Doc))
		}
		a.say("")
		a.page(out).Actions(out, own)
		a.note("more: flowrun explain %s, flowrun plugins docs %s", own[0].FullName(), name)
	})
}

// moreOfAction is what schemas do not say of an action of the engine.
func moreOfAction(name string) string {
	if name != "core.approve" {
		return ""
	}
	return "The outputs are the fields of the form, with the types that they have there, and `by`, `at` and `comment` stand in the\n" +
		"run's history. Answer it with `flowrun runs approve RUN STEP --form NAME=VALUE` or `flowrun runs reject RUN STEP`,\n" +
		"or on the page of `flowrun serve`. `timeout` of the step bounds the wait, and `on_error: {denied: .., timeout: ..}`\n" +
		"says what follows. docs/people.md has the rest."
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
