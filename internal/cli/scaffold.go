package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
)

// The files of a new project. hello.yaml runs with --sandbox as it stands.
const (
	skeletonProject = `# The project's settings. Workflows lie in workflows/, runs are kept in .flowrun/.
workflows: [workflows]

# Connections say where services are and how to log in. A plugin's own name is
# its default connection.
# connections:
#   netinfo:
#     plugin: netinfo
#     config: {base_url: https://netinfo.example}
#     rate: 60/1m
`
	skeletonHello = `# Try it without any service:  flowrun run --sandbox workflows/hello.yaml
flowrun: v1
name: hello
description: Looks up a domain and says what it found.

inputs:
  domain: {type: string, default: example.com, minLength: 1}

steps:
  - id: whois
    uses: netinfo.whois
    with:
      domain: ${{ inputs.domain }}

  - id: say
    uses: core.log
    with:
      text: "${{ inputs.domain }} is registered with ${{ steps.whois.outputs.registrar ?? 'nobody' }}"

outputs:
  domain: ${{ inputs.domain }}
  registrar: ${{ steps.whois.outputs.registrar }}
`
	skeletonIgnore   = ".flowrun/\n"
	skeletonWorkflow = `flowrun: v1
name: %s
description: What this workflow is for.

inputs:
  name: {type: string, default: world}

steps:
  - id: greet
    let:
      text: hello, ${{ inputs.name }}

  - id: say
    uses: core.log
    with:
      text: ${{ steps.greet.outputs.text }}

outputs:
  text: ${{ steps.greet.outputs.text }}
`
)

func (a *app) initCommand() *cobra.Command {
	return &cobra.Command{
		Use: "init [DIR]", Short: "Make a project: flowrun.yaml, a first workflow, .gitignore", Args: rangeArgs(0, "DIR"),
		Long: "Init writes what is missing and never overwrites a file.",
		RunE: func(_ *cobra.Command, args []string) error {
			dir := "."
			if len(args) > 0 {
				dir = args[0]
			}
			return a.init(dir)
		},
	}
}

func (a *app) init(dir string) error {
	files := []struct{ name, content string }{
		{projectFileName, skeletonProject}, {filepath.Join("workflows", "hello.yaml"), skeletonHello}, {".gitignore", skeletonIgnore},
	}
	for _, file := range files {
		path := filepath.Join(dir, file.name)
		switch err := a.writeNew(path, file.content); {
		case errors.Is(err, fs.ErrExist) && file.name == ".gitignore":
			if err := a.addIgnore(path); err != nil {
				return err
			}
		case errors.Is(err, fs.ErrExist):
			a.note("kept  %s", path)
		case err != nil:
			return err
		default:
			a.note("wrote %s", path)
		}
	}
	enter := ""
	if filepath.Clean(dir) != "." {
		enter = "cd " + quoteWord(dir) + " && "
	}
	fmt.Fprintf(a.sys.Stderr, "next: %s\n", a.style.Cyan(enter+"flowrun run --sandbox workflows/hello.yaml"))
	return nil
}

// addIgnore says what to add to a .gitignore that is there already.
func (a *app) addIgnore(path string) error {
	data, err := os.ReadFile(a.abs(path))
	if err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	for line := range strings.SplitSeq(string(data), "\n") {
		if line = strings.TrimSpace(line); line == ".flowrun/" || line == ".flowrun" || line == "/.flowrun/" {
			a.note("kept  %s", path)
			return nil
		}
	}
	a.note("kept  %s; add the line .flowrun/ to it", path)
	return nil
}

// writeNew writes a file that does not exist, and the folders above it.
func (a *app) writeNew(name, content string) error {
	path := a.abs(name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("make the folder of %s: %w", name, err)
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	_, err = file.WriteString(content)
	if err := errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

func (a *app) newCommand() *cobra.Command {
	c := &cobra.Command{Use: "new", Short: "Begin a workflow"}
	group(c)
	c.AddCommand(&cobra.Command{
		Use: "workflow NAME", Short: "Write workflows/NAME.yaml to begin with", Args: exactArgs("NAME"),
		RunE: func(_ *cobra.Command, args []string) error { return a.newWorkflow(args[0]) },
	})
	return c
}

var workflowName = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,62}$`)

func (a *app) newWorkflow(name string) error {
	if !workflowName.MatchString(name) {
		return usageError(fmt.Errorf("%q can't name a workflow", name), "use lower-case letters, digits, - and _, such as weekly-report")
	}
	at, err := a.locate()
	if err != nil {
		return err
	}
	path := a.displayPath(filepath.Join(at.root, "workflows", name+".yaml"))
	switch err := a.writeNew(path, fmt.Sprintf(skeletonWorkflow, name)); {
	case errors.Is(err, fs.ErrExist):
		return &codedError{code: exitConflict, err: fmt.Errorf("%s is there already", path), hint: "choose another name"}
	case err != nil:
		return err
	}
	a.note("wrote %s", path)
	a.page(a.sys.Stderr).Next(a.sys.Stderr, "next:", "run", path)
	return nil
}
