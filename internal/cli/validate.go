package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/graph"
	"github.com/flowrun/flowrun/internal/cli/view"
	"github.com/flowrun/flowrun/internal/web"
)

func (a *app) validateCommand() *cobra.Command {
	var output string
	c := &cobra.Command{
		Use:     "validate [PATH..]",
		Short:   "Check workflows and show all their problems at once",
		Long:    "Validate checks files, or all workflows of folders, or without a PATH those of the project. It asks no\nservice and needs no secret. It exits with 3 when there are errors.",
		Example: "  flowrun validate\n  flowrun validate workflows/report.yaml -o json",
		RunE:    func(c *cobra.Command, args []string) error { return a.validate(c.Context(), args, output) },
	}
	a.sandboxFlag(c, "accepted as everywhere; validate calls no service anyway")
	outputFlag(c, &output, "text", "json", "sarif", "github")
	return c
}

func (a *app) validate(ctx context.Context, paths []string, output string) error {
	project, err := a.loadProject(ctx)
	var found diag.List
	switch {
	case errors.As(err, &found): // a wrong project file is a finding as well
		return a.reportProblems(found, map[string][]byte{}, 0, output)
	case err != nil:
		return err
	}
	defer project.Close()
	files, err := a.workflowFiles(project, paths)
	if err != nil {
		return err
	}
	sources := map[string][]byte{}
	for _, file := range files {
		source, err := a.readWorkflow(file)
		if err != nil {
			return err
		}
		name := filepath.ToSlash(filepath.Clean(file))
		sources[name] = source
		_, problems := project.Check(ctx, name, source)
		found = append(found, problems...)
	}
	return a.reportProblems(found, sources, len(files), output)
}

// workflowFiles resolves what validate shall look at.
func (a *app) workflowFiles(project *engine.Project, paths []string) ([]string, error) {
	if len(paths) == 0 {
		files, err := project.Workflows()
		if err != nil {
			return nil, fmt.Errorf("list the project's workflows: %w", err)
		}
		if len(files) == 0 {
			return nil, notFoundError(errors.New("the project has no workflows"), "name a file, or begin with `flowrun new workflow NAME`")
		}
		for i, file := range files {
			files[i] = a.displayPath(filepath.Join(project.Root(), filepath.FromSlash(file)))
		}
		return files, nil
	}
	var files []string
	for _, path := range paths {
		info, err := os.Stat(a.abs(path))
		if err != nil || !info.IsDir() {
			files = append(files, path) // what is wrong with it is said when it is read
			continue
		}
		inside, err := yamlFiles(a.abs(path))
		if err != nil {
			return nil, err
		}
		for _, file := range inside {
			files = append(files, filepath.Join(path, file))
		}
	}
	return files, nil
}

// displayPath is path relative to the working directory where it lies below it.
func (a *app) displayPath(path string) string {
	if relative, err := filepath.Rel(a.sys.Dir, path); err == nil && !strings.HasPrefix(relative, "..") {
		return relative
	}
	return path
}

// yamlFiles lists the workflow files below dir, without tests and hidden ones.
func yamlFiles(dir string) ([]string, error) {
	var files []string
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case path != "." && strings.HasPrefix(entry.Name(), "."):
			if entry.IsDir() {
				return fs.SkipDir
			}
		case entry.Type().IsRegular() && isWorkflowFile(entry.Name()):
			files = append(files, path)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list the workflows of %s: %w", dir, err)
	}
	return files, nil
}

func isWorkflowFile(name string) bool {
	extension := filepath.Ext(name)
	if extension != ".yaml" && extension != ".yml" || name == projectFileName {
		return false
	}
	return !strings.HasSuffix(strings.TrimSuffix(name, extension), ".test")
}

// reportProblems prints findings and exits with 3 when one is an error.
func (a *app) reportProblems(list diag.List, sources map[string][]byte, files int, output string) error {
	var err error
	switch output {
	case "json":
		err = view.JSON(a.sys.Stdout, web.ValidateAnswer{Problems: slices.Concat(diag.List{}, list), Files: files})
	case "sarif":
		err = view.SARIF(a.sys.Stdout, list, a.sys.Version)
	case "github":
		view.GitHub(a.sys.Stdout, list)
	default:
		for _, problem := range list {
			a.readSource(sources, problem.File)
		}
		a.printProblemsOf(list, sources)
		if len(list) == 0 {
			fmt.Fprintf(a.sys.Stderr, "%s %s\n", a.style.Green("✓"), count(files, "workflow")+" without problems")
		}
	}
	if err == nil && list.HasErrors() {
		err = exitWith(exitInvalid)
	}
	return err
}

func (a *app) graphCommand() *cobra.Command {
	var format string
	c := &cobra.Command{
		Use:   "graph WORKFLOW",
		Short: "Draw a workflow's steps and what they wait for",
		Args:  exactArgs("WORKFLOW"),
		RunE: func(c *cobra.Command, args []string) error {
			return a.graph(c.Context(), args[0], format)
		},
	}
	c.Flags().StringVarP(&format, "format", "f", "text", "format: text, mermaid")
	return c
}

func (a *app) graph(ctx context.Context, file, format string) error {
	if !slices.Contains([]string{"text", "mermaid"}, format) {
		return usageError(fmt.Errorf("-f takes text or mermaid, not %q", format), diag.DidYouMean(format, []string{"text", "mermaid"}))
	}
	source, err := a.readWorkflow(file)
	if err != nil {
		return err
	}
	name := filepath.ToSlash(filepath.Clean(file))
	workflow, problems, err := a.checkWorkflow(ctx, name, source)
	if err != nil {
		return err
	}
	a.printProblemsOf(problems, map[string][]byte{name: source})
	if workflow == nil {
		return exitWith(exitInvalid)
	}
	text := graph.Text(workflow)
	if format == "mermaid" {
		text = graph.Mermaid(workflow)
	}
	fmt.Fprint(a.sys.Stdout, text)
	return nil
}
