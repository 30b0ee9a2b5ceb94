package cli

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/order"
)

//go:embed all:templates/init
var initTemplates embed.FS

// initTemplate is a project that `flowrun init` makes. Its files are those of
// templates/init/NAME.
type initTemplate struct {
	name, about string
	next        string // the command to try
	connects    bool   // its workflow needs what its flowrun.yaml says
}

// projectTemplates are all of them, the simplest first.
func projectTemplates() []initTemplate {
	return []initTemplate{
		{name: "hello", about: "one call of a service and a line of the log: to look around", next: "flowrun run --sandbox workflows/hello.yaml"},
		{name: "schedule", about: "a check that runs every working day, by the clock", next: "flowrun run --sandbox workflows/morning-check.yaml"},
		{name: "api", about: "reads an HTTP API page by page, and reports to it", next: "flowrun run --sandbox workflows/open-orders.yaml", connects: true},
		{name: "approval", about: "waits until a person has said yes", next: "flowrun run workflows/release.yaml"},
		{name: "etl", about: "reads a CSV file, works on its rows, writes a report", next: "flowrun run workflows/sales.yaml", connects: true},
	}
}

// templateNames are the names of the templates, as a flag takes them.
func templateNames() []string {
	return texts(projectTemplates(), func(t initTemplate) string { return t.name })
}

// templateNamed finds a template.
func templateNamed(name string) (initTemplate, error) {
	all := projectTemplates()
	if at := slices.Index(templateNames(), name); at >= 0 {
		return all[at], nil
	}
	hint := "one of: " + strings.Join(templateNames(), ", ")
	if near := diag.DidYouMean(name, templateNames()).Text; near != "" {
		hint = near
	}
	return initTemplate{}, usageError(fmt.Errorf("there is no template %q", name), hint)
}

// initFlags are the flags of init.
type initFlags struct {
	template string
	noInput  bool
}

func (a *app) initCommand() *cobra.Command {
	flags := new(initFlags)
	c := withText(&cobra.Command{
		Use: "init [DIR]", Short: "Make a project: flowrun.yaml, a first workflow and its test", Args: rangeArgs(0, "DIR"),
		Example: "  flowrun init\n  flowrun init reports --template schedule",
		Long: "Init makes what is missing of a project and changes no file that is there. In a terminal it asks for the template\n" +
			"and the folder where they are not given; elsewhere these are hello and the working directory. Templates:\n\n" + templateLines(),
		RunE: func(c *cobra.Command, args []string) error {
			template, dir, err := a.askInit(flags, argument(args, 0))
			if err != nil {
				return err
			}
			return a.initProject(c.Context(), template, dir)
		},
	})
	c.Flags().StringVar(&flags.template, "template", "", "what the first workflow is like: "+strings.Join(templateNames(), ", "))
	c.Flags().BoolVar(&flags.noInput, "no-input", false, "ask nothing, also in a terminal")
	completeFlag(c, "template", texts(projectTemplates(), func(t initTemplate) string { return cobra.CompletionWithDesc(t.name, t.about) })...)
	return c
}

// templateLines tell of the templates, one a line.
func templateLines() string {
	return strings.Join(texts(projectTemplates(), func(t initTemplate) string { return fmt.Sprintf("  %-9s %s", t.name, t.about) }), "\n")
}

func (a *app) initProject(ctx context.Context, template initTemplate, dir string) error {
	files, err := template.files()
	if err != nil {
		return err
	}
	made := initAnswer{Template: template.name, Files: []initFile{}, Next: template.next}
	for _, file := range append(files, projectFile{".gitignore", ".flowrun/state/\n"}) {
		if err := a.initOne(&made, template, dir, file); err != nil {
			return err
		}
	}
	a.initSchema(ctx, dir, &made)
	if filepath.Clean(dir) != "." {
		made.Next = "cd " + diag.ShellWord(dir) + " && " + made.Next
	}
	return a.print(made, func() {
		for _, file := range made.Files {
			a.say("%-8s %s", file.What, file.File)
		}
		fmt.Fprintf(a.sys.Stderr, "%s %s\n", a.style.Dim("try:"), a.style.Cyan(made.Next))
	})
}

// initOne makes a file of a project where it is missing. A flowrun.yaml that is there
// may lack what the template's workflow needs.
func (a *app) initOne(made *initAnswer, template initTemplate, dir string, file projectFile) error {
	shown := safePath(filepath.Join(dir, file.path))
	switch err := createFile(filepath.Join(a.abs(dir), file.path), file.content); {
	case errors.Is(err, fs.ErrExist):
		made.add("kept", shown)
		if file.path == projectFileName && template.connects {
			a.note("%s is kept; the workflow of %s needs this in it:\n%s", shown, template.name, file.content)
		}
		return nil
	case err != nil:
		return err
	}
	made.add("created", shown)
	return nil
}

// projectFile is one of a template: its path in the project, and what it holds.
type projectFile struct{ path, content string }

// files returns the files of a template: flowrun.yaml first, a workflow before its test.
func (t initTemplate) files() ([]projectFile, error) {
	return filesOfTemplate(initTemplates, "templates/init/"+t.name)
}

// filesOfTemplate returns the files below a folder of templates.
func filesOfTemplate(of fs.ReadFileFS, root string) ([]projectFile, error) {
	var files []projectFile
	err := fs.WalkDir(of, root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := of.ReadFile(name)
		files = append(files, projectFile{filepath.FromSlash(strings.TrimPrefix(name, root+"/")), string(content)})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the template %s: %w", path.Base(root), err)
	}
	rank := func(f projectFile) string {
		if f.path == projectFileName {
			return ""
		}
		return strings.Replace(f.path, ".test.", "~", 1)
	}
	order.Sort(files, func(a, b projectFile) int { return strings.Compare(rank(a), rank(b)) })
	return files, nil
}

// initAnswer is what `flowrun init -o json` prints.
type initAnswer struct {
	Template string     `json:"template"`
	Files    []initFile `json:"files"`
	Next     string     `json:"next"` // the command to try
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
