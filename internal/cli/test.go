package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/fault"
	"github.com/flowrun/flowrun/engine/workspace"
	"github.com/flowrun/flowrun/internal/cli/view"
	"github.com/flowrun/flowrun/internal/web"
)

// testFlags are the flags of test.
type testFlags struct {
	record, junit, only string
	force               bool
}

func (a *app) testCommand() *cobra.Command {
	flags := new(testFlags)
	c := &cobra.Command{
		Use:   "test [PATH|NAME...]",
		Short: "Run the tests of workflows: mocked answers, a virtual clock, no network",
		Long: "Test runs the *.test.yaml files named, those in folders, and those beside workflows that are named; without\n" +
			"a path the project's own. Nothing is sent: steps that call a plugin get the answers of the test, which are\n" +
			"checked against the plugin's schemas, and every wait passes at once. It exits with 3 when a test file or its\n" +
			"workflow is wrong, and with 5 when a case fails.\n\n" +
			"With --record RUN it writes a test file that tells a stored run again. PATH is then the run's workflow, or the\n" +
			"file to write; without one the workflow is found by its name and the test stands beside it.",
		Example: "  flowrun test\n  flowrun test report\n  flowrun test workflows/report.test.yaml --case 'no rows' -o junit\n  flowrun test --record 01jq… workflows/report.yaml",
		RunE: func(c *cobra.Command, args []string) error {
			if flags.record != "" {
				return a.recordTest(c.Context(), args, flags)
			}
			return a.test(c.Context(), args, flags)
		},
	}
	c.Flags().StringVar(&flags.record, "record", "", "write a test that tells this stored run again")
	c.Flags().StringVar(&flags.junit, "junit", "", "write a JUnit report to this file too")
	c.Flags().StringVar(&flags.only, "case", "", "run only the cases whose name holds this text")
	c.Flags().BoolVar(&flags.force, "force", false, "with --record: replace a test file that is there")
	a.sandboxFlag(c, "with --record: a run of the sandbox")
	return withOutput(c, "text", "json", "junit")
}

func (a *app) test(ctx context.Context, paths []string, flags *testFlags) error {
	project, err := a.loadProject(ctx)
	if err != nil {
		return err
	}
	defer project.Close()
	names, err := a.testFiles(project, paths)
	if err != nil {
		return err
	}
	results, sources, err := a.runTests(ctx, project, names, flags.only)
	if err != nil {
		return err
	}
	if flags.junit != "" {
		if err := a.writeJUnit(flags.junit, results); err != nil {
			return err
		}
	}
	if a.output == "junit" {
		err = view.JUnit(a.sys.Stdout, results)
	} else {
		err = a.print(workspace.SummarizeTests(results), func() { a.page(a.sys.Stdout).Tests(a.sys.Stdout, results) })
	}
	if err != nil {
		return err
	}
	problems := diag.List{}
	for _, result := range results {
		problems = append(problems, result.Problems...)
	}
	a.printProblemsOf(problems, sources)
	if flags.only != "" && !problems.HasErrors() && !slices.ContainsFunc(results, func(r workspace.TestResult) bool { return len(r.Cases) > 0 }) {
		return notFoundError(fmt.Errorf("no case has a name with %q in it", flags.only), "")
	}
	return exitWith(exitOfTestFiles(results))
}

// exitOfTestFiles is 3 for a wrong file, 5 for a case that failed, else 0.
func exitOfTestFiles(results []workspace.TestResult) int {
	code := exitOK
	for _, result := range results {
		switch result.Status {
		case workspace.TestInvalid:
			return exitInvalid
		case workspace.TestFailed, workspace.TestStale:
			code = exitFailed
		}
	}
	return code
}

// runTests runs test files; sources gains their bytes, for snippets.
func (a *app) runTests(ctx context.Context, project *workspace.Workspace, names []string, only string) ([]workspace.TestResult, map[string][]byte, error) {
	sources := map[string][]byte{}
	var files []workspace.TestFile
	for _, name := range names {
		source, err := a.readTest(name)
		if err != nil {
			return nil, nil, err
		}
		shown := slashed(name)
		sources[shown] = source
		files = append(files, workspace.TestFile{Name: shown, Source: source})
	}
	options := workspace.TestOptions{Read: func(name string) ([]byte, error) { return a.readWorkflow(filepath.FromSlash(name)) }, File: a.readTestFile}
	if only != "" {
		options.Case = func(name string) bool { return strings.Contains(name, only) }
	}
	return project.Test(ctx, files, options), sources, nil
}

// readTest reads a test file.
func (a *app) readTest(file string) ([]byte, error) {
	return a.readWhole(file, "test", workspace.MaxTestFile, func(err error) error {
		return usageError(fmt.Errorf("the test %s can't be read: %w", safePath(file), withoutPath(err)), "")
	})
}

// maxTestContent bounds a file that stands for a large value in a test, in bytes.
const maxTestContent = 64 << 20

// readTestFile reads a file that stands for a large value in a test.
func (a *app) readTestFile(name string) ([]byte, error) {
	return a.readWhole(filepath.FromSlash(name), "test", maxTestContent, withoutPath)
}

func (a *app) writeJUnit(file string, results []workspace.TestResult) error {
	var report bytes.Buffer
	if err := view.JUnit(&report, results); err != nil {
		return err
	}
	if err := writeFile(realPath(a.abs(file)), report.Bytes()); err != nil {
		return fmt.Errorf("--junit %s: %w", safePath(file), err)
	}
	return nil
}

// testFiles lists the test files of what was named, as paths from the working
// directory, each once.
func (a *app) testFiles(project *workspace.Workspace, paths []string) ([]string, error) {
	if len(paths) == 0 {
		files, err := a.projectTests(project)
		if err == nil && len(files) == 0 {
			err = notFoundError(errors.New("the project has no tests"), "write workflows/NAME.test.yaml, or record one: `"+a.commandText("test", "--record", "RUN")+"`")
		}
		return files, err
	}
	var files []string
	paths, err := a.workflowsNamed(context.Background(), project, paths)
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		tests, err := a.testsOf(path)
		if err != nil {
			return nil, err
		}
		for _, file := range tests {
			if !slices.Contains(files, file) {
				files = append(files, file)
			}
		}
	}
	return files, nil
}

// projectTests are the test files in the folders that hold the project's
// workflows.
func (a *app) projectTests(project *workspace.Workspace) ([]string, error) {
	names, err := project.Workflows()
	if err != nil {
		return nil, fmt.Errorf("list the project's workflows: %w", err)
	}
	var files []string
	folders := map[string]bool{}
	for _, name := range names {
		folder := filepath.Dir(filepath.Join(project.Root(), name))
		if folders[folder] {
			continue
		}
		folders[folder] = true
		entries, err := os.ReadDir(folder)
		if err != nil {
			return nil, fmt.Errorf("look for tests: %w", err)
		}
		for _, entry := range entries {
			if !entry.IsDir() && isTestName(entry.Name()) {
				files = append(files, a.shownPath(filepath.Join(folder, entry.Name())))
			}
		}
	}
	slices.Sort(files)
	return files, nil
}

// testsOf returns the test files in a folder, the test beside a workflow, or the
// test file itself.
func (a *app) testsOf(path string) ([]string, error) {
	info, err := os.Stat(a.abs(path))
	switch {
	case err != nil, isTestName(path):
		return []string{path}, nil // reading it tells what is wrong
	case !info.IsDir():
		beside := testNameOf(path)
		if _, err := os.Stat(a.abs(beside)); err != nil {
			return nil, notFoundError(fmt.Errorf("there is no test beside %s", safePath(path)), "it would be "+safePath(beside))
		}
		return []string{beside}, nil
	}
	return a.filesBelow(path, "test", "tests are files named NAME.test.yaml", isTestName)
}

func isTestName(name string) bool {
	return strings.HasSuffix(name, ".test.yaml") || strings.HasSuffix(name, ".test.yml")
}

// testNameOf is the name of the test beside a workflow.
func testNameOf(workflow string) string {
	extension := filepath.Ext(workflow)
	return strings.TrimSuffix(workflow, extension) + ".test" + extension
}

// recordTest writes the test that a stored run gives, and runs it.
func (a *app) recordTest(ctx context.Context, paths []string, flags *testFlags) error {
	if len(paths) > 1 {
		return usageError(errors.New("--record takes one PATH: the workflow, or the test to write"), "")
	}
	request, err := a.recordedRun(ctx, flags.record)
	if err != nil {
		return err
	}
	project, err := a.loadProject(ctx)
	if err != nil {
		return err
	}
	defer project.Close()
	workflow, err := a.recordedWorkflow(ctx, project, paths, request)
	if err != nil {
		return err
	}
	if request.Source, err = a.readWorkflow(workflow); err != nil {
		return err
	}
	request.File, request.TestFile = slashed(workflow), slashed(request.TestFile)
	target := realPath(a.abs(filepath.FromSlash(request.TestFile)))
	if _, err := os.Stat(target); err == nil && !flags.force {
		return &codedError{
			code: exitConflict, err: fmt.Errorf("%s is there already", safePath(request.TestFile)),
			hint: "name another file, such as " + safePath(strings.TrimSuffix(testNameOf(workflow), ".test.yaml")+"-recorded.test.yaml") + ", or replace it with --force",
		}
	}
	text, err := project.RecordTest(ctx, *request)
	if conflict, ok := errors.AsType[*fault.ConflictError](err); ok {
		return &codedError{code: exitConflict, err: err, hint: conflict.Hint.Text}
	}
	if err != nil {
		return err
	}
	if formatted, problems, err := workspace.Format(request.TestFile, text); err == nil && !problems.HasErrors() {
		text = formatted
	}
	if err := writeFile(target, text); err != nil {
		return fmt.Errorf("write the test: %w", err)
	}
	a.note("wrote %s", safePath(request.TestFile))
	return a.test(ctx, []string{filepath.FromSlash(request.TestFile)}, &testFlags{junit: flags.junit})
}

// recordedRun reads a stored run with its journal.
func (a *app) recordedRun(ctx context.Context, id string) (*workspace.RecordRequest, error) {
	run, err := runNamed(id, "test", "--record")
	if err != nil {
		return nil, err
	}
	request := new(workspace.RecordRequest)
	err = a.visitRun(ctx, run, func(c *web.Client) (err error) {
		if request.Result, err = c.Result(ctx, run.id); err != nil {
			return err
		}
		request.Records, err = allEvents(ctx, c, run.id, 1)
		return err
	})
	return request, err
}

// recordedWorkflow returns the workflow's file, and settles the name of the test.
func (a *app) recordedWorkflow(ctx context.Context, project *workspace.Workspace, paths []string, request *workspace.RecordRequest) (string, error) {
	if len(paths) == 1 && !isTestName(paths[0]) {
		file, err := a.workflowNamed(ctx, paths[0])
		request.TestFile = testNameOf(file)
		return file, err
	}
	name := request.Result.Run.Workflow
	names, err := project.Workflows()
	if err != nil {
		return "", fmt.Errorf("list the project's workflows: %w", err)
	}
	for _, file := range names {
		shown := a.shownPath(filepath.Join(project.Root(), file))
		source, err := a.readWorkflow(shown)
		if err != nil {
			return "", err
		}
		if workflow, _ := project.Check(ctx, filepath.ToSlash(shown), source); workflow != nil && workflow.Name == name {
			request.TestFile = testNameOf(shown)
			if len(paths) == 1 {
				request.TestFile = paths[0]
			}
			return shown, nil
		}
	}
	return "", notFoundError(fmt.Errorf("no workflow of the project has the name %s", safePath(name)), "name its file: `"+a.commandText("test", "--record", request.Result.Run.ID, "FILE")+"`")
}
