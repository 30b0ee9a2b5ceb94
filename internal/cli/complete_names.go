package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/workspace"
)

// workflowNames are those of the project's files.
func workflowNames(q *question) (words []word) {
	for _, outline := range q.outlines() {
		words = append(words, word{outline.Name, outline.Description})
	}
	return words
}

// workflowFiles are the project's workflow files, as they are named from the working folder.
func workflowFiles(q *question) (words []word) {
	for _, outline := range q.outlines() {
		if name, ok := q.fromHere(outline.File); ok {
			words = append(words, word{name, strings.Trim(outline.Name+", "+outline.Description, ", ")})
		}
	}
	return words
}

// workflowsOrFiles are the names of workflows, and the files of those that are typed as a path.
func workflowsOrFiles(q *question) []word {
	return slices.Concat(workflowNames(q), workflowFiles(q))
}

func (q *question) fromHere(file string) (string, bool) {
	project := q.project()
	if project == nil {
		return "", false
	}
	name, err := filepath.Rel(q.app.sys.Dir, filepath.Join(project.Root(), filepath.FromSlash(file)))
	if strings.HasPrefix(q.typed, "./") {
		name = "./" + name
	}
	return name, err == nil
}

// outline is that of the workflow that the words before name: by its file, its name or its
// run.
func (q *question) outline() (found workspace.Outline, ok bool) {
	name := argument(q.args, 0)
	if takesRun(q.command) {
		run, known := q.run()
		if !known {
			return found, false
		}
		name = run.Workflow
	}
	for _, outline := range q.outlines() {
		if outline.Name == name && name != "" {
			return outline, true
		}
	}
	path := q.app.abs(name)
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() || info.Size() > maxWorkflow {
		return found, false
	}
	src, err := os.ReadFile(path)
	return workspace.OutlineOf(name, src), err == nil
}

// inputsOf are the inputs of the workflow at hand, and the values of the one that is typed.
func inputsOf(q *question) (words []word) {
	outline, ok := q.outline()
	if !ok {
		return nil
	}
	name, _, valued := strings.Cut(q.typed, "=")
	for _, input := range outline.Inputs {
		switch {
		case !valued:
			words = append(words, word{input.Name + "=", strings.Trim(input.Type+", "+input.Description, ", ")})
		case input.Name == name:
			for _, value := range input.Values {
				words = append(words, word{name + "=" + value, input.Description})
			}
		}
	}
	return words
}

// stateNames are the values that the workflow before it keeps.
func stateNames(q *question) (words []word) {
	outline, _ := q.outline()
	for _, name := range outline.State {
		words = append(words, word{name, "state of " + outline.Name})
	}
	return words
}

// schedules are the triggers by the clock, by WORKFLOW/TRIGGER.
func schedules(q *question) (words []word) {
	for _, outline := range q.outlines() {
		for _, trigger := range outline.Triggers {
			words = append(words, word{outline.Name + "/" + trigger, outline.Description})
		}
	}
	return words
}

// triggers are all triggers, by WORKFLOW/TRIGGER, behind the workflows that have one.
func triggers(q *question) (words []word) {
	for _, outline := range q.outlines() {
		for i, trigger := range slices.Concat(outline.Triggers, outline.Hooks) {
			if i == 0 {
				words = append(words, word{outline.Name, outline.Description})
			}
			words = append(words, word{outline.Name + "/" + trigger, outline.Description})
		}
	}
	return words
}

// actions are those that are known without starting a plugin.
func actions(q *question) (words []word) {
	project := q.project()
	if project == nil {
		return nil
	}
	for _, name := range project.RememberedActions() {
		words = append(words, word{name, ""})
	}
	return words
}

// callable are the actions of plugins: those of the engine itself stand in workflows alone.
func callable(q *question) []word {
	return slices.DeleteFunc(actions(q), func(w word) bool { return strings.HasPrefix(w.text, "core.") })
}

// pluginNames are the plugins of the project, and the bundled ones.
func pluginNames(q *question) (words []word) {
	project := q.project()
	if project == nil {
		return nil
	}
	for _, name := range project.PluginNames() {
		words = append(words, word{name, ""})
	}
	return words
}

// ownPlugins are the plugins that flowrun.yaml declares.
func ownPlugins(q *question) (words []word) {
	if project := q.project(); project != nil {
		for _, plugin := range project.Declared().Plugins {
			words = append(words, word{plugin.Name, plugin.Source})
		}
	}
	return words
}

// connectionNames are the declared connections, and those of simulators in a sandbox.
func connectionNames(q *question) (words []word) {
	project := q.project()
	if project == nil {
		return nil
	}
	for _, connection := range project.ConnectionNames() {
		words = append(words, word{connection.Name, "of plugin " + connection.Plugin})
	}
	return words
}

// secretNames are those that flowrun.yaml and the workflows name, and those that are stored.
// No value is read.
func secretNames(q *question) []word {
	known := map[string]string{}
	for _, name := range q.runs().secrets() {
		known[name] = "stored"
	}
	for _, outline := range q.outlines() {
		for _, name := range outline.Secrets {
			known[name] = strings.Trim(known[name]+", of workflow "+outline.Name, ", ")
		}
	}
	if project := q.project(); project != nil {
		for name := range project.DeclaredNeeds() {
			known[name] = strings.Trim(known[name]+", of flowrun.yaml", ", ")
		}
	}
	return sortedWords(known)
}

func sortedWords(known map[string]string) (words []word) {
	for name, about := range known {
		words = append(words, word{name, about})
	}
	slices.SortFunc(words, func(a, b word) int { return strings.Compare(a.text, b.text) })
	return words
}

func tokenNames(q *question) []word { return q.runs().tokens() }

// loginServers are the servers that somebody has logged in to from here.
func loginServers(q *question) (words []word) {
	kept, err := q.app.keptLogins()
	if err != nil {
		return nil
	}
	for _, one := range kept.list() {
		words = append(words, word{one.Server, one.Name + ", " + one.Scope})
	}
	return words
}

// settingKeys are the settings that config explains.
func settingKeys(*question) []word {
	known := map[string]string{}
	for key := range projectDefaults {
		known[key] = "of flowrun.yaml"
	}
	for _, own := range ownSettings {
		known[own.key] = own.doc
	}
	return sortedWords(known)
}

// topics are what explain tells of: codes, actions and functions of expressions.
func topics(q *question) (words []word) {
	for _, page := range diag.Pages() {
		words = append(words, word{page.Code, page.Title})
	}
	if q.typed == "" || strings.HasPrefix(q.typed, "FR") {
		return words
	}
	words = append(words, actions(q)...)
	for _, function := range workspace.Functions() {
		words = append(words, word{function.Name, function.Doc})
	}
	return words
}

// commandNames are the commands below the one that the words before name.
func commandNames(q *question) (words []word) {
	command, err := commandNamed(q.command.Root(), q.args)
	if err != nil {
		return nil
	}
	for _, sub := range command.Commands() {
		if sub.IsAvailableCommand() {
			words = append(words, word{sub.Name(), sub.Short})
		}
	}
	return words
}
