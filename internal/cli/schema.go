package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/flowrun/flowrun/engine"
)

// schemaFile is where editors look for the schema, in the project's root; the
// first line of a workflow names it.
var schemaFile = filepath.Join(".flowrun", "workflow.schema.json")

func (a *app) schemaCommand() *cobra.Command {
	var write bool
	c := &cobra.Command{
		Use: "schema", Short: "Print the JSON Schema of workflows for editors", Args: exactArgs(),
		Long: "Schema prints the JSON Schema (draft-07) of workflows with every action that is installed. Editors with a YAML\n" +
			"language server complete and check by it, when a workflow's first line is\n" +
			"  # yaml-language-server: $schema=../.flowrun/workflow.schema.json",
		Example: "  flowrun schema > workflow.schema.json\n  flowrun schema --write           after plugins or connections have changed",
		RunE:    func(c *cobra.Command, _ []string) error { return a.schema(c.Context(), write) },
	}
	c.Flags().BoolVar(&write, "write", false, "write .flowrun/workflow.schema.json beside flowrun.yaml")
	return c
}

func (a *app) schema(ctx context.Context, write bool) error {
	at, err := a.locate()
	if err != nil {
		return err
	}
	schema, broken := a.schemaAt(ctx, at)
	if schema == nil {
		return broken
	}
	if !write {
		if _, err := a.sys.Stdout.Write(schema); err != nil {
			return fmt.Errorf("print the schema: %w", err)
		}
		return broken
	}
	path := filepath.Join(at.root, schemaFile)
	what, err := writeSchema(path, schema)
	if err != nil {
		return err
	}
	fmt.Fprintf(a.sys.Stdout, "%-8s %s\n", what, safePath(a.shownPath(path)))
	return broken
}

// schemaAt makes the schema of the project at a place. A plugin that does not
// start is left out: the schema comes with an error then.
func (a *app) schemaAt(ctx context.Context, at place) ([]byte, error) {
	project, err := engine.LoadProject(ctx, a.engineConfig(at))
	if err != nil {
		return nil, err
	}
	defer project.Close()
	schema, err := project.WorkflowSchema(ctx)
	if schema != nil {
		schema = append(schema, '\n')
	}
	if err != nil {
		err = &codedError{code: exitPlugin, err: err, hint: "the actions of the other plugins are in the schema"}
	}
	return schema, err
}

// writeSchema writes the file where it says something else; it returns "created",
// "updated" or "kept".
func writeSchema(path string, schema []byte) (string, error) {
	old, err := os.ReadFile(path)
	what := "updated"
	switch {
	case errors.Is(err, fs.ErrNotExist):
		what = "created"
	case err != nil:
		return "", fmt.Errorf("read the schema: %w", err)
	case bytes.Equal(old, schema):
		return "kept", nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", fmt.Errorf("make the schema's folder: %w", err)
	}
	if err := writeFile(path, schema); err != nil {
		return "", fmt.Errorf("write %s: %w", safePath(path), err)
	}
	return what, nil
}
