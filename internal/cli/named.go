package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/workspace"
)

// stdinFile is how a workflow from stdin is called in messages.
const stdinFile = "stdin"

// workflowNamed returns the file of a workflow that an argument names, as a user in the
// working directory would write it: a file that is there, else the workflow of the
// project that has the name.
func (a *app) workflowNamed(ctx context.Context, name string) (string, error) {
	if a.isFile(name) || strings.ContainsAny(name, `/\`) {
		return name, nil // reading it tells what is wrong
	}
	return inProject(ctx, a, func(project *workspace.Workspace) (string, error) { return a.workflowIn(project, name) })
}

// workflowsNamed does the same for arguments that may be folders too.
func (a *app) workflowsNamed(ctx context.Context, project *workspace.Workspace, names []string) ([]string, error) {
	files := slices.Clone(names)
	for i, name := range names {
		if exists(a.abs(name)) || strings.ContainsAny(name, `/\`) {
			continue
		}
		var err error
		if project == nil {
			files[i], err = a.workflowNamed(ctx, name)
		} else {
			files[i], err = a.workflowIn(project, name)
		}
		if err != nil {
			return nil, err
		}
	}
	return files, nil
}

// workflowIn looks for a workflow of a project by its name.
func (a *app) workflowIn(project *workspace.Workspace, name string) (string, error) {
	files, err := project.NamedWorkflows()
	if err != nil {
		return "", notFoundError(fmt.Errorf("there is no workflow %s: no file here has the name, and those of the project can't be listed: %w", diag.ShellWord(safePath(name)), err),
			"name a file, or make a workflow: `flowrun new workflow NAME`")
	}
	if file, ok := files[name]; ok {
		return a.shownPath(filepath.Join(project.Root(), file)), nil
	}
	if exists(a.abs(name)) { // a folder
		return name, nil
	}
	shown := make([]string, 0, len(files))
	for _, file := range files {
		shown = append(shown, a.shownPath(filepath.Join(project.Root(), file)))
	}
	return "", a.noWorkflow(project, name, slices.Sorted(maps.Keys(files)), shown)
}

// maxNamed is how many names of workflows an error lists.
const maxNamed = 12

// noWorkflow says that nothing is called so, where that was looked for, and what there is.
func (a *app) noWorkflow(project *workspace.Workspace, name string, names, files []string) error {
	if isYAML(name) {
		hint := nearFile(a.abs(name))
		for _, file := range files {
			if filepath.Base(file) == name {
				hint = "did you mean `" + file + "`?"
			}
		}
		return notFoundError(fmt.Errorf("there is no workflow file %s", safePath(name)), hint)
	}
	where := "the folder workflows"
	if project.File() != "" {
		where = a.shownPath(project.File())
	}
	err := fmt.Errorf("there is no workflow %s: no file here has the name, and no workflow of %s", diag.ShellWord(safePath(name)), where)
	near := diag.DidYouMean(name, names).Text
	switch {
	case near != "":
		return notFoundError(err, near)
	case len(names) == 0 && project.File() == "":
		return notFoundError(err, "name a file, or make a project: `flowrun init`")
	case len(names) == 0:
		return notFoundError(err, "name a file, or make a workflow: `flowrun new workflow NAME`")
	}
	more := ""
	if len(names) > maxNamed {
		names, more = names[:maxNamed], ", …"
	}
	return notFoundError(err, "the project has "+strings.Join(names, ", ")+more+"; `flowrun workflows` tells of them")
}

// workflowSource reads the workflow that an argument names, or stdin for -. file is how
// the problems of it name it.
func (a *app) workflowSource(ctx context.Context, name string) (file string, source []byte, err error) {
	if name == "-" {
		source, err = a.readStdin()
		return stdinFile, source, err
	}
	if file, err = a.workflowNamed(ctx, name); err != nil {
		return "", nil, err
	}
	source, err = a.readWorkflow(file)
	return file, source, err
}

// readStdin reads a workflow from stdin, which is nothing else then.
func (a *app) readStdin() ([]byte, error) {
	source, err := io.ReadAll(io.LimitReader(a.sys.Stdin, maxWorkflow+1))
	if err != nil {
		return nil, fmt.Errorf("read stdin: %w", err)
	}
	if len(source) > maxWorkflow {
		return nil, usageError(fmt.Errorf("stdin is larger than %d bytes", maxWorkflow), "")
	}
	a.stdinIsWorkflow = true
	return source, nil
}

// onlyStdin refuses - beside others.
func onlyStdin(paths []string) error {
	if len(paths) > 1 {
		return usageError(errors.New("- stands for stdin alone"), "name files, or -")
	}
	return nil
}
