package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"sync"

	"github.com/spf13/cobra"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/inforce"
	"github.com/flowrun/flowrun/engine/workspace"
	"github.com/flowrun/flowrun/internal/cli/view"
)

func (a *app) validateCommand() *cobra.Command {
	var strict, fix bool
	c := &cobra.Command{
		Use:   "validate [PATH|NAME|-...]",
		Short: "Check workflows and tell all problems at once",
		Long: "Validate checks workflow files and the *.test.yaml beside them, and all of both in folders, workflows of the\n" +
			"project by their names, or stdin (-); without a path the project's own, with its connections. It exits with 3\n" +
			"when a workflow can't run; what only this machine lacks, such as a secret that is not set here, is a warning.\n" +
			"With --fix it writes the mends that are certain into the files, says which, and tells what is left: quotes, ids,\n" +
			"near names, forgotten signs, layouts. All else of a file stays.",
		Example: "  flowrun validate\n  flowrun validate report --strict -o json\n  flowrun validate --fix workflows\n" +
			"  git show HEAD:workflows/report.yaml | flowrun validate -",
		RunE: func(c *cobra.Command, args []string) error { return a.validate(c.Context(), args, strict, fix) },
	}
	c.Flags().BoolVar(&strict, "strict", false, "warnings fail too, and values of unknown type are refused")
	c.Flags().BoolVar(&fix, "fix", false, "write the mends that are certain into the files")
	return withOutput(c, "text", "json", "sarif", "github")
}

func (a *app) validate(ctx context.Context, paths []string, strict, fix bool) error {
	project, err := a.loadProject(ctx)
	if wrong, ok := errors.AsType[diag.List](err); ok && a.output != "text" {
		return errors.Join(a.printFindings(wrong, validated{}), exitWith(exitInvalid))
	}
	if err != nil {
		return err
	}
	defer project.Close()
	files, err := a.workflowFiles(ctx, project, paths)
	if err != nil {
		return err
	}
	if fix && slices.Contains(files, "-") {
		return usageError(errors.New("--fix writes into files, and stdin is none"), "name the file")
	}
	read := validated{sources: map[string][]byte{}}
	problems, workflows := project.CheckConnections(), map[string][]byte{}
	ready := readiness{app: a, project: project}
	for _, file := range files {
		name := slashed(file)
		if file == "-" {
			name = stdinFile
		}
		source, isTest, err := a.readChecked(file)
		if err != nil {
			return err
		}
		read.sources[name] = source
		if isTest {
			read.tests++
			problems = append(problems, a.checkTest(ctx, project, name, source)...)
			continue
		}
		read.workflows++
		if fix {
			if source, err = a.fix(ctx, project, file, source, &read); err != nil {
				return err
			}
			read.sources[name] = source
		}
		workflows[name] = source
		workflow, list := project.Check(ctx, name, source)
		if strict {
			list = project.CheckStrict(ctx, name, source)
		}
		if !list.HasErrors() {
			list = append(list, project.Advise(name, source)...)
		}
		if workflow != nil && project.File() != "" { // a file that stands alone may be meant for any project
			list = append(list, asWarnings(ready.lacking(ctx, workflow), workflow)...)
		}
		problems = append(problems, list...)
	}
	if len(paths) == 0 {
		problems = append(problems, inforce.NameClashes(workflows)...)
	}
	problems = once(problems)
	if err := a.printFindings(problems, read); err != nil {
		return err
	}
	strictly := strict && slices.ContainsFunc(problems, func(p diag.Problem) bool { return !ofThisMachine(p) })
	if problems.HasErrors() || strictly {
		return exitWith(exitInvalid)
	}
	return nil
}

// validated is what validate has read: sources by the names that problems carry.
type validated struct {
	sources          map[string][]byte
	workflows, tests int
	fixed            []diag.Fix
}

// summary says what was found to be valid.
func (v validated) summary() string {
	switch {
	case v.tests == 0:
		return diag.Count(v.workflows, "workflow") + " valid"
	case v.workflows == 0:
		return diag.Count(v.tests, "test file") + " valid"
	}
	return diag.Count(v.workflows, "workflow") + " and " + diag.Count(v.tests, "test file") + " valid"
}

// readChecked reads a file that validate checks, and says whether it is one of
// tests: by its name, or by what it begins with.
func (a *app) readChecked(file string) (source []byte, isTest bool, err error) {
	if isTestName(filepath.Base(file)) {
		source, err = a.readTest(file)
		return source, true, err
	}
	if file == "-" {
		source, err = a.readStdin()
	} else {
		source, err = a.readWorkflow(file)
	}
	return source, err == nil && testContent().Match(source), err
}

// testContent is the key that only files of tests have.
var testContent = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^["']?flowrun_test["']?\s*:`) })

// checkTest checks a file of tests and what its answers and events say of its
// workflow, without running a case.
func (a *app) checkTest(ctx context.Context, project *workspace.Workspace, name string, source []byte) diag.List {
	options := workspace.TestOptions{
		Read: func(name string) ([]byte, error) { return a.readWorkflow(filepath.FromSlash(name)) }, File: a.readTestFile,
		Case: func(string) bool { return false },
	}
	return project.Test(ctx, []workspace.TestFile{{Name: name, Source: source}}, options)[0].Problems
}

// fix writes the certain mends of a workflow into its file and says which.
func (a *app) fix(ctx context.Context, project *workspace.Workspace, file string, source []byte, read *validated) ([]byte, error) {
	fixed := project.Fix(ctx, slashed(file), source)
	if bytes.Equal(fixed.Source, source) {
		return source, nil
	}
	if now, err := a.readWorkflow(file); err != nil || !bytes.Equal(now, source) {
		return nil, errors.Join(fmt.Errorf("fix %s: the file was changed meanwhile", safePath(file)), err)
	}
	if err := writeFile(realPath(a.abs(file)), fixed.Source); err != nil {
		return nil, fmt.Errorf("write %s: %w", safePath(file), err)
	}
	for _, p := range fixed.Made {
		made := diag.FixOf(p)
		read.fixed = append(read.fixed, made)
		if a.output == "text" {
			a.say("fixed %s", safePath(made.String()))
		}
	}
	return fixed.Source, nil
}

// once leaves out what was told before: a test tells the problems of its
// workflow too.
func once(problems diag.List) diag.List {
	seen := map[string]bool{}
	return slices.DeleteFunc(problems, func(p diag.Problem) bool {
		key := p.String()
		ok := seen[key]
		seen[key] = true
		return ok
	})
}

// workflowFiles lists what to check, as paths from the working directory.
func (a *app) workflowFiles(ctx context.Context, project *workspace.Workspace, paths []string) ([]string, error) {
	if len(paths) == 0 {
		names, err := project.Workflows()
		if err != nil {
			return nil, fmt.Errorf("list the project's workflows: %w", err)
		}
		if len(names) == 0 {
			return nil, notFoundError(fmt.Errorf("the project has no workflows"), "name a file, or make one with `flowrun new workflow NAME`")
		}
		for _, name := range names {
			paths = append(paths, a.shownPath(filepath.Join(project.Root(), name)))
		}
		tests, err := a.projectTests(project)
		return append(paths, tests...), err
	}
	if slices.Contains(paths, "-") {
		return paths, onlyStdin(paths)
	}
	paths, err := a.workflowsNamed(ctx, project, paths)
	if err != nil {
		return nil, err
	}
	var files []string
	for _, path := range paths {
		below, err := a.expandPath(path, "workflow", func(name string) bool { return isWorkflowName(name) || isTestName(name) })
		if err != nil {
			return nil, err
		}
		files = append(files, a.withoutTold(project, path, below)...)
	}
	return files, nil
}

// withoutTold leaves out of the files of a folder those that plugins are told, which are
// documents of services. A file that is named itself stays.
func (a *app) withoutTold(project *workspace.Workspace, folder string, files []string) []string {
	return slices.DeleteFunc(files, func(file string) bool { return file != folder && project.Told(a.abs(file)) })
}

func isWorkflowName(name string) bool {
	return isYAML(name) && !isTestName(name) && name != projectFileName
}

// shownPath is a path as a user in the working directory would write it.
func (a *app) shownPath(path string) string {
	if relative, err := filepath.Rel(a.sys.Dir, path); err == nil && filepath.IsLocal(relative) {
		return relative
	}
	return path
}

// filesWithErrors counts the files in which an error lies.
func filesWithErrors(problems diag.List) int {
	files := map[string]bool{}
	for _, problem := range problems {
		if problem.Severity == diag.Error {
			files[problem.File] = true
		}
	}
	return len(files)
}

func (a *app) printFindings(problems diag.List, read validated) error {
	switch a.output {
	case "json":
		return diag.WriteJSON(a.sys.Stdout, problems, len(read.sources), read.fixed...)
	case "sarif":
		return view.JSON(a.sys.Stdout, sarif(problems, a.sys.Version))
	case "github":
		for _, problem := range problems {
			fmt.Fprintln(a.sys.Stdout, githubLine(problem))
		}
		return nil
	}
	a.printProblemsOf(problems, read.sources)
	if wrong := filesWithErrors(problems); wrong > 0 && read.workflows+read.tests > 1 {
		a.note("%d of %s with errors", wrong, diag.Count(read.workflows+read.tests, "file"))
	}
	if !problems.HasErrors() {
		a.say("%s", read.summary())
	}
	return nil
}
