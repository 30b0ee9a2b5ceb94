package cli

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/flowrun/flowrun/engine/diag"
)

//go:embed templates/flowrun.yaml
var projectTemplate string

//go:embed templates/hello.yaml
var helloTemplate string

//go:embed templates/hello.test.yaml
var helloTestTemplate string

//go:embed templates/workflow.yaml
var workflowTemplate string

func (a *app) initCommand() *cobra.Command {
	return &cobra.Command{
		Use: "init [DIR]", Short: "Make a project: flowrun.yaml and a first workflow", Args: rangeArgs(0, "DIR"),
		Long: "Init makes what is missing of a project and changes no file that is there.",
		RunE: func(c *cobra.Command, args []string) error { return a.initProject(c.Context(), append(args, ".")[0]) },
	}
}

func (a *app) initProject(ctx context.Context, dir string) error {
	files := []struct{ path, content string }{
		{projectFileName, projectTemplate},
		{filepath.Join("workflows", "hello.yaml"), helloTemplate},
		{filepath.Join("workflows", "hello.test.yaml"), helloTestTemplate},
		{".gitignore", ".flowrun/state/\n"},
	}
	for _, file := range files {
		path := filepath.Join(a.abs(dir), file.path)
		shown := safePath(filepath.Join(dir, file.path))
		switch err := createFile(path, file.content); {
		case errors.Is(err, fs.ErrExist):
			fmt.Fprintf(a.sys.Stdout, "kept     %s\n", shown)
		case err != nil:
			return err
		default:
			fmt.Fprintf(a.sys.Stdout, "created  %s\n", shown)
		}
	}
	a.initSchema(ctx, dir)
	next := "flowrun run --sandbox workflows/hello.yaml"
	if filepath.Clean(dir) != "." {
		next = "cd " + diag.ShellWord(dir) + " && " + next
	}
	fmt.Fprintf(a.sys.Stderr, "%s %s\n", a.style.Dim("try:"), a.style.Cyan(next))
	return nil
}

// initSchema writes the schema for editors. A project is one without it too.
func (a *app) initSchema(ctx context.Context, dir string) {
	root := a.abs(dir)
	at := place{root: root, projectFile: filepath.Join(root, projectFileName)}
	at.stateDir, at.stateSource = a.stateDir(at.projectFile)
	schema, err := a.schemaAt(ctx, at)
	what := ""
	if schema != nil {
		var failed error
		what, failed = writeSchema(filepath.Join(root, schemaFile), schema)
		err = errors.Join(err, failed)
	}
	if what != "" {
		fmt.Fprintf(a.sys.Stdout, "%-8s %s\n", what, safePath(filepath.Join(dir, schemaFile)))
	}
	if err != nil {
		first, _, _ := strings.Cut(err.Error(), "\n")
		a.note("the schema for editors is not whole: %s; `flowrun schema --write` makes it anew", first)
	}
}

// createFile makes a file and its folder. A file that is there is an
// fs.ErrExist.
func createFile(path, content string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("the folder %s can't be made: %w", safePath(filepath.Dir(path)), withoutPath(err))
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return fmt.Errorf("make a file: %w", err)
	}
	_, err = file.WriteString(content)
	if err := errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

func (a *app) newCommand() *cobra.Command {
	return group(&cobra.Command{Use: "new", Short: "Make a workflow"}, &cobra.Command{
		Use: "workflow NAME", Short: "Make workflows/NAME.yaml", Args: exactArgs("NAME"),
		RunE: func(_ *cobra.Command, args []string) error { return a.newWorkflow(args[0]) },
	})
}

var workflowName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z][a-z0-9_-]{0,62}$`) })

func (a *app) newWorkflow(name string) error {
	name = strings.TrimSuffix(name, ".yaml")
	if !workflowName().MatchString(name) {
		return usageError(fmt.Errorf("%q is no name for a workflow", name), "small letters, digits, - and _, beginning with a letter")
	}
	at, err := a.locate()
	if err != nil {
		return err
	}
	path := filepath.Join(at.root, "workflows", name+".yaml")
	shown := a.shownPath(path)
	switch err := createFile(path, strings.ReplaceAll(workflowTemplate, "NAME", name)); {
	case errors.Is(err, fs.ErrExist):
		return &codedError{code: exitConflict, err: fmt.Errorf("%s is there already", safePath(shown)), hint: "choose another name"}
	case err != nil:
		return err
	}
	fmt.Fprintf(a.sys.Stdout, "created  %s\n", safePath(shown))
	a.page(a.sys.Stderr).Next(a.sys.Stderr, "check it:", "validate", shown)
	return nil
}
