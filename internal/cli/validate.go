package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/internal/cli/view"
)

// validateFlags are the flags of validate.
type validateFlags struct {
	strict bool
	output string
}

func (a *app) validateCommand() *cobra.Command {
	flags := new(validateFlags)
	c := &cobra.Command{
		Use:   "validate [PATH...]",
		Short: "Check workflows and tell all problems at once",
		Long: "Validate checks workflow files, and every workflow in folders; without a path the project's own.\n" +
			"It exits with 3 when a workflow can't run.",
		Example: "  flowrun validate\n  flowrun validate workflows/report.yaml --strict -o json",
		RunE:    func(c *cobra.Command, args []string) error { return a.validate(c.Context(), args, flags) },
	}
	c.Flags().BoolVar(&flags.strict, "strict", false, "warnings fail too, and values of unknown type are refused")
	outputFlag(c, &flags.output, "text", "json", "sarif", "github")
	return c
}

func (a *app) validate(ctx context.Context, paths []string, flags *validateFlags) error {
	project, err := a.loadProject(ctx)
	if err != nil {
		return err
	}
	defer project.Close()
	files, err := a.workflowFiles(project, paths)
	if err != nil {
		return err
	}
	problems := diag.List{}
	sources := map[string][]byte{}
	for _, file := range files {
		source, err := a.readWorkflow(file)
		if err != nil {
			return err
		}
		name := filepath.ToSlash(filepath.Clean(file))
		var found diag.List
		if flags.strict {
			found = project.CheckStrict(ctx, name, source)
		} else {
			_, found = project.Check(ctx, name, source)
		}
		sources[name] = source
		problems = append(problems, found...)
	}
	if len(paths) == 0 {
		problems = append(problems, engine.NameClashes(sources)...)
	}
	if err := a.printFindings(problems, sources, len(files), flags.output); err != nil {
		return err
	}
	if problems.HasErrors() || flags.strict && len(problems) > 0 {
		return exitWith(exitInvalid)
	}
	return nil
}

// workflowFiles lists what to check, as paths from the working directory.
func (a *app) workflowFiles(project *engine.Project, paths []string) ([]string, error) {
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
		return paths, nil
	}
	var files []string
	for _, path := range paths {
		found, err := a.expandPath(path)
		if err != nil {
			return nil, err
		}
		files = append(files, found...)
	}
	return files, nil
}

// expandPath returns the workflow files in a folder, or the file itself.
func (a *app) expandPath(path string) ([]string, error) {
	info, err := os.Stat(a.abs(path))
	if err != nil || !info.IsDir() {
		return []string{path}, nil // reading it tells what is wrong
	}
	return a.filesBelow(path, "workflow", "", isWorkflowName)
}

func isWorkflowName(name string) bool {
	extension := filepath.Ext(name)
	return (extension == ".yaml" || extension == ".yml") && !strings.HasSuffix(name, ".test"+extension) && name != projectFileName
}

// shownPath is a path as a user in the working directory would write it.
func (a *app) shownPath(path string) string {
	if relative, err := filepath.Rel(a.sys.Dir, path); err == nil && !strings.HasPrefix(relative, "..") {
		return relative
	}
	return path
}

func (a *app) printFindings(problems diag.List, sources map[string][]byte, files int, output string) error {
	switch output {
	case "json":
		return diag.WriteJSON(a.sys.Stdout, problems, files)
	case "sarif":
		return view.JSON(a.sys.Stdout, sarif(problems, a.sys.Version))
	case "github":
		for _, problem := range problems {
			fmt.Fprintln(a.sys.Stdout, githubLine(problem))
		}
		return nil
	}
	a.printProblemsOf(problems, sources)
	if !problems.HasErrors() {
		fmt.Fprintf(a.sys.Stdout, "%s valid\n", count(files, "workflow"))
	}
	return nil
}
