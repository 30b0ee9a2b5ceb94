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
	return withText(&cobra.Command{
		Use: "init [DIR]", Short: "Make a project: flowrun.yaml and a first workflow", Args: rangeArgs(0, "DIR"),
		Example: "  flowrun init\n  flowrun init reports",
		Long:    "Init makes what is missing of a project and changes no file that is there.",
		RunE:    func(c *cobra.Command, args []string) error { return a.initProject(c.Context(), append(args, ".")[0]) },
	})
}

func (a *app) initProject(ctx context.Context, dir string) error {
	files := []struct{ path, content string }{
		{projectFileName, projectTemplate},
		{filepath.Join("workflows", "hello.yaml"), helloTemplate},
		{filepath.Join("workflows", "hello.test.yaml"), helloTestTemplate},
		{".gitignore", ".flowrun/state/\n"},
	}
	made := initAnswer{Files: []initFile{}}
	for _, file := range files {
		path := filepath.Join(a.abs(dir), file.path)
		shown := safePath(filepath.Join(dir, file.path))
		switch err := createFile(path, file.content); {
		case errors.Is(err, fs.ErrExist):
			made.add("kept", shown)
		case err != nil:
			return err
		default:
			made.add("created", shown)
		}
	}
	a.initSchema(ctx, dir, &made)
	next := "flowrun run --sandbox workflows/hello.yaml"
	if filepath.Clean(dir) != "." {
		next = "cd " + diag.ShellWord(dir) + " && " + next
	}
	made.Next = next
	return a.print(made, func() {
		for _, file := range made.Files {
			a.say("%-8s %s", file.What, file.File)
		}
		fmt.Fprintf(a.sys.Stderr, "%s %s\n", a.style.Dim("try:"), a.style.Cyan(next))
	})
}

// initAnswer is what `flowrun init -o json` prints.
type initAnswer struct {
	Files []initFile `json:"files"`
	Next  string     `json:"next"` // the command to try
}

// initFile is a file of a project with what was done about it.
type initFile struct {
	File string `json:"file"`
	What string `json:"what"` // created, kept, updated
}

func (m *initAnswer) add(what, file string) { m.Files = append(m.Files, initFile{file, what}) }

// initSchema writes the schema for editors. A project is one without it too.
func (a *app) initSchema(ctx context.Context, dir string, made *initAnswer) {
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
		made.add(what, safePath(filepath.Join(dir, schemaFile)))
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
	return group(&cobra.Command{Use: "new", Short: "Make a workflow"}, withText(&cobra.Command{
		Use: "workflow NAME", Short: "Make workflows/NAME.yaml", Args: exactArgs("NAME"),
		Example: "  flowrun new workflow weekly-report",
		RunE:    func(_ *cobra.Command, args []string) error { return a.newWorkflow(args[0]) },
	}))
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
	return a.print(map[string]string{"name": name, "file": shown}, func() {
		a.say("created  %s", safePath(shown))
		a.next("check it:", "validate", shown)
	})
}
