package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/importer"
	"github.com/flowrun/flowrun/internal/cli/view"
)

type importFlags struct{ from, write string }

func (a *app) importCommand() *cobra.Command {
	flags := new(importFlags)
	c := withText(&cobra.Command{
		Use: "import FILE", Short: "Write the workflow for a file of GitHub Actions, Dagu, Argo Workflows or Kestra", Args: exactArgs("FILE"),
		Long: "Import writes the flowrun workflow for what it can of a file of another product, to stdout or with --write to a\n" +
			"file. What it can't take over leaves a comment `# import:` at its place, which says what stood there and what\n" +
			"to do; stderr has the same list. Scripts of steps become commands of the plugin exec: --write makes files of\n" +
			"them below scripts/. No file that is there is changed. With - it reads stdin.",
		Example: "  flowrun import .github/workflows/nightly.yml\n" +
			"  flowrun import .github/workflows/nightly.yml --write workflows/nightly.yaml\n" +
			"  flowrun import --from argo workflow.yaml",
		RunE: func(_ *cobra.Command, args []string) error { return a.importFile(args[0], flags) },
	})
	c.Flags().StringVar(&flags.from, "from", "", "whose file it is: github-actions, dagu, argo or kestra (default: found out)")
	c.Flags().Lookup("from").Annotations = map[string][]string{fromProduct: {"true"}}
	c.Flags().StringVar(&flags.write, "write", "", "write this file, or files into this folder, instead of stdout")
	completeFlag(c, "from", diag.Words(importer.Products()...)...)
	return c
}

func (a *app) importFile(file string, flags *importFlags) error {
	products := diag.Words(importer.Products()...)
	if flags.from != "" && !slices.Contains(products, flags.from) {
		return usageError(fmt.Errorf("--from takes no %q", flags.from), diag.MeantOr(flags.from, products, "one of ").Text)
	}
	name, source, err := a.foreignFile(file)
	if err != nil {
		return err
	}
	result, problems, err := importer.Import(name, source, importer.Product(flags.from))
	var unknown *importer.UnknownError
	switch {
	case errors.As(err, &unknown):
		return &codedError{code: exitInvalid, err: err, hint: unknown.Hint()}
	case err != nil:
		return &codedError{code: exitInvalid, err: err}
	case problems.HasErrors():
		a.printProblemsOf(problems, map[string][]byte{name: source})
		return exitWith(exitInvalid)
	}
	if flags.write != "" {
		if err := a.writeImported(result, flags.write); err != nil {
			return err
		}
	} else if err := a.printImported(result); err != nil {
		return err
	}
	a.tellImported(name, result)
	return nil
}

// foreignFile reads a file of another product, or stdin for `-`.
func (a *app) foreignFile(file string) (name string, source []byte, err error) {
	if file != "-" {
		source, err = a.readWhole(file, "workflow", maxWorkflow, func(err error) error { return fmt.Errorf("read %s: %w", safePath(file), withoutPath(err)) })
		return slashed(file), source, err
	}
	source, err = io.ReadAll(io.LimitReader(a.sys.Stdin, maxWorkflow+1))
	if err != nil {
		return "", nil, fmt.Errorf("read stdin: %w", err)
	}
	if len(source) > maxWorkflow {
		return "", nil, usageError(fmt.Errorf("stdin is larger than %d bytes", maxWorkflow), "")
	}
	return importer.Stdin, source, nil
}

// printImported prints the workflow to stdout. Several are no YAML file of flowrun's.
func (a *app) printImported(result importer.Result) error {
	if a.output == "json" {
		return view.JSON(a.sys.Stdout, importedItems(result))
	}
	if len(result.Workflows) > 1 {
		return usageError(fmt.Errorf("the file holds %d workflows, and each is a file of its own", len(result.Workflows)), "name a folder for them: --write workflows")
	}
	for _, w := range result.Workflows {
		if _, err := io.WriteString(a.sys.Stdout, w.Alone()); err != nil {
			return err
		}
	}
	return nil
}

// importedItems is the JSON of what was imported.
func importedItems(result importer.Result) any {
	type item struct {
		Name    string            `json:"name"`
		Text    string            `json:"text"`
		Taken   int               `json:"taken"`
		Notes   []importer.Note   `json:"notes"`
		Scripts map[string]string `json:"scripts"`
	}
	items := make([]item, 0, len(result.Workflows))
	for _, w := range result.Workflows {
		scripts := map[string]string{}
		for _, script := range w.Scripts {
			scripts[script.Name] = script.Text
		}
		items = append(items, item{Name: w.Name, Text: w.Text, Taken: w.Taken, Notes: append([]importer.Note{}, w.Notes...), Scripts: scripts})
	}
	return map[string]any{"from": result.Product, "items": items, "next_cursor": nil}
}

// writeImported makes the files of an import. None may be there before: then nothing is
// written.
func (a *app) writeImported(result importer.Result, target string) error {
	at, err := a.locate()
	if err != nil {
		return err
	}
	type made struct{ path, content string }
	var files []made
	for _, w := range result.Workflows {
		path := a.abs(target)
		if !isYAML(target) {
			path = filepath.Join(path, w.Name+".yaml")
		} else if len(result.Workflows) > 1 {
			return usageError(fmt.Errorf("the file holds %d workflows, and each is a file of its own", len(result.Workflows)), "name a folder for them: --write workflows")
		}
		files = append(files, made{path, w.Text})
		for _, script := range w.Scripts {
			files = append(files, made{filepath.Join(at.root, filepath.FromSlash(script.Name)), script.Text})
		}
	}
	for _, file := range files {
		if a.isFile(file.path) {
			return importConflict(a.shownPath(file.path))
		}
	}
	for _, file := range files {
		shown := safePath(a.shownPath(file.path))
		switch err := createFile(file.path, file.content); {
		case errors.Is(err, fs.ErrExist):
			return importConflict(a.shownPath(file.path))
		case err != nil:
			return err
		}
		if a.output != "json" {
			fmt.Fprintf(a.sys.Stdout, "created  %s\n", shown)
		}
	}
	if a.output == "json" {
		return view.JSON(a.sys.Stdout, importedItems(result))
	}
	return nil
}

func importConflict(shown string) error {
	return &codedError{code: exitConflict, err: fmt.Errorf("%s is there already", safePath(shown)), hint: "choose another name, or move it away"}
}

// tellImported says on stderr what was taken over, and what was not.
func (a *app) tellImported(name string, result importer.Result) {
	for _, w := range result.Workflows {
		for _, note := range w.Notes {
			fmt.Fprintf(a.sys.Stderr, "%s:%d: %s\n", safePath(name), note.Line, note.Text)
		}
		fmt.Fprintf(a.sys.Stderr, "%s: %s of %s taken over, %s to look at (# import:)\n", w.Name, diag.Count(w.Taken, "part"), result.Product.Title(), diag.Count(len(w.Notes), "place"))
	}
}
