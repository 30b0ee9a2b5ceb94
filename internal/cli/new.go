package cli

import (
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
)

//go:embed templates/workflow.yaml
var workflowTemplate string

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
