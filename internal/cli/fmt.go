package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/workspace"
)

type fmtFlags struct{ check, diff bool }

func (a *app) fmtCommand() *cobra.Command {
	flags := new(fmtFlags)
	c := &cobra.Command{
		Use: "fmt [PATH|NAME|-...]", Short: "Write workflows in one form",
		Long: "Fmt rewrites workflows and their tests, in folders too; without a path the project's own. It indents by two,\n" +
			"takes off quotes that are not needed and the ${{ }} of `if` and `until`. Comments, order and what a file says\n" +
			"stay. With - it reads stdin and writes stdout. With --check or --diff nothing is written; --check exits with 3\n" +
			"when a file is not in form. A file that is not YAML is told and left alone (3).",
		Example: "  flowrun fmt\n  flowrun fmt report\n  flowrun fmt --check --diff workflows",
		RunE:    func(c *cobra.Command, args []string) error { return a.format(c.Context(), args, flags) },
	}
	c.Flags().BoolVar(&flags.check, "check", false, "write nothing; exit with 3 and list the files that are not in form")
	c.Flags().BoolVar(&flags.diff, "diff", false, "write nothing; show what would change")
	return withText(c)
}

// formattedFiles is what `flowrun fmt -o json` prints.
type formattedFiles struct {
	Items   []string `json:"items"` // files that were not in form
	Files   int      `json:"files"`
	Written bool     `json:"written"`
}

func (a *app) format(ctx context.Context, paths []string, flags *fmtFlags) error {
	if slices.Contains(paths, "-") {
		if err := onlyStdin(paths); err != nil {
			return err
		}
		if a.output == "json" {
			return usageError(errors.New("- writes the workflow to stdout: -o json would stand in it"), "name the file")
		}
		return a.formatStdin(flags)
	}
	files, err := a.formatFiles(ctx, paths)
	if err != nil {
		return err
	}
	changed, wrong := []string{}, false
	for _, file := range files {
		source, err := a.readWorkflow(file)
		if err != nil {
			return err
		}
		result, ok := a.formatOne(file, source)
		if !ok {
			wrong = true
			continue
		}
		if bytes.Equal(source, result) {
			continue
		}
		changed = append(changed, file)
		if err := a.formatted(file, source, result, flags); err != nil {
			return err
		}
	}
	if a.output == "json" {
		if err := a.print(formattedFiles{changed, len(files), !flags.check && !flags.diff}, nil); err != nil {
			return err
		}
	} else if !flags.diff {
		a.note("%s, %d %s", diag.Count(len(files), "file"), len(changed), map[bool]string{true: "not in form", false: "changed"}[flags.check])
	}
	if wrong || flags.check && len(changed) > 0 {
		return exitWith(exitInvalid)
	}
	return nil
}

// formatOne formats one file; what is wrong with it is printed.
func (a *app) formatOne(file string, source []byte) ([]byte, bool) {
	name := slashed(file)
	result, problems, err := workspace.Format(name, source)
	a.printProblemsOf(problems, map[string][]byte{name: source})
	if err != nil {
		a.printError(err)
	}
	return result, err == nil && !problems.HasErrors()
}

// formatted writes a file that is not in form, or tells of it.
func (a *app) formatted(file string, source, result []byte, flags *fmtFlags) error {
	if flags.diff {
		if a.output == "text" {
			a.page(a.sys.Stdout).Diff(a.sys.Stdout, filepath.ToSlash(file), source, result)
		}
		return nil
	}
	if !flags.check {
		if err := writeFile(realPath(a.abs(file)), result); err != nil {
			return fmt.Errorf("write %s: %w", safePath(file), err)
		}
	}
	if a.output == "text" {
		a.say("%s", safePath(file))
	}
	return nil
}

func (a *app) formatStdin(flags *fmtFlags) error {
	source, err := a.readStdin()
	if err != nil {
		return err
	}
	result, ok := a.formatOne(stdinFile, source)
	switch {
	case !ok:
		return exitWith(exitInvalid)
	case flags.diff:
		a.page(a.sys.Stdout).Diff(a.sys.Stdout, "stdin", source, result)
	case !flags.check:
		_, err = a.sys.Stdout.Write(result)
	}
	if err == nil && flags.check && !bytes.Equal(source, result) {
		return exitWith(exitInvalid)
	}
	return err
}

// formatFiles lists the files to format: those named, all YAML files in folders,
// or the project's workflows with the tests beside them.
func (a *app) formatFiles(ctx context.Context, paths []string) ([]string, error) {
	var files []string
	if len(paths) == 0 {
		workflows, err := inProject(ctx, a, func(project *workspace.Workspace) ([]string, error) { return a.workflowFiles(ctx, project, nil) })
		if err != nil {
			return nil, err
		}
		for _, file := range workflows {
			files = append(files, file)
			if test := testNameOf(file); a.isFile(test) {
				files = append(files, test)
			}
		}
		return files, nil
	}
	paths, err := a.workflowsNamed(ctx, nil, paths)
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		below, err := a.expandPath(path, "YAML file", isYAML)
		if err != nil {
			return nil, err
		}
		if len(below) > 0 && below[0] != path {
			below = a.withoutDocuments(ctx, path, below)
		}
		files = append(files, below...)
	}
	return files, nil
}

// withoutDocuments is withoutTold of the project around; where there is none, or none
// that can be read, all files stay.
func (a *app) withoutDocuments(ctx context.Context, folder string, files []string) []string {
	kept, err := inProject(ctx, a, func(project *workspace.Workspace) ([]string, error) {
		return a.withoutTold(project, folder, slices.Clone(files)), nil
	})
	if err != nil {
		return files
	}
	return kept
}

func (a *app) isFile(path string) bool {
	info, err := os.Stat(a.abs(path))
	return err == nil && info.Mode().IsRegular()
}
