package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/content"
	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/workspace"
	"github.com/flowrun/flowrun/internal/web"
)

// outFile is one --out NAME=FILE.
type outFile struct {
	name, file string
	output     plan.Output // once the workflow was checked
}

func parseOuts(texts []string) ([]outFile, error) {
	var outs []outFile
	for _, text := range texts {
		name, file, ok := strings.Cut(text, "=")
		switch {
		case !ok || name == "" || file == "":
			return nil, usageError(fmt.Errorf("--out %s is not NAME=FILE", diag.ShellWord(text)), "such as --out table=report.md")
		case file == "-":
			return nil, usageError(fmt.Errorf("--out %s writes into a file, not to stdout", name), "-o json prints all outputs; a file of that name is ./-")
		}
		outs = append(outs, outFile{name: name, file: file})
	}
	return outs, nil
}

// checkOuts refuses, before anything runs, names that the workflow has no output
// for and files that can't be written.
func (a *app) checkOuts(ctx context.Context, request engine.StartRequest, outs []outFile) error {
	if len(outs) == 0 {
		return nil
	}
	if a.isRemote() { // the plugins and connections that decide the outputs are the server's
		return usageError(errors.New("--out does not go with a server on another machine"), "`flowrun runs output RUN NAME` writes an output when the run has ended")
	}
	workflow, problems, err := a.checkWorkflow(ctx, request.File, request.Source)
	if err != nil {
		return err
	}
	if workflow == nil {
		a.printProblemsOf(problems, map[string][]byte{request.File: request.Source})
		return exitWith(exitInvalid)
	}
	names := texts(workflow.Outputs, func(output plan.Output) string { return output.Name })
	taken := map[string]string{}
	for i, out := range outs {
		place := slices.Index(names, out.name)
		if place < 0 {
			return usageError(fmt.Errorf("--out: workflow %s has no output %q", workflow.Name, out.name), nearOutput(out.name, names))
		}
		outs[i].output = workflow.Outputs[place]
		path := realPath(a.abs(out.file))
		if before, twice := taken[path]; twice {
			return usageError(fmt.Errorf("--out: %s and %s go into the same file %s", before, out.name, safePath(out.file)), "")
		}
		taken[path] = out.name
		if err := checkOutPath(out, path); err != nil {
			return err
		}
	}
	return nil
}

func nearOutput(name string, names []string) string {
	if len(names) == 0 {
		return "it has no outputs at all"
	}
	return diag.MeantOr(name, names, "its outputs are ").Text
}

// realPath follows links, so that what they point at is replaced, not they.
func realPath(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}

// checkOutPath finds out whether a file can be written as writeFile does.
func checkOutPath(out outFile, path string) error {
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return usageError(fmt.Errorf("--out %s: %s is a folder", out.name, safePath(out.file)), "name a file in it")
	case err == nil && !info.Mode().IsRegular():
		return nil // a device or a pipe is written to as it is
	}
	folder := filepath.Dir(path)
	if info, err := os.Stat(folder); err != nil || !info.IsDir() {
		return usageError(fmt.Errorf("--out %s: there is no folder %s", out.name, safePath(filepath.Dir(out.file))), "make it first, or name a file elsewhere")
	}
	probe, err := os.CreateTemp(folder, tempPattern)
	if err == nil {
		err = errors.Join(probe.Close(), os.Remove(probe.Name()))
	}
	if err != nil {
		return usageError(fmt.Errorf("--out %s: nothing can be written in the folder %s: %w", out.name, safePath(filepath.Dir(out.file)), withoutPath(err)), "name a file elsewhere")
	}
	return nil
}

// checkWorkflow checks a workflow without touching the store.
func (a *app) checkWorkflow(ctx context.Context, file string, source []byte) (*plan.Workflow, diag.List, error) {
	project, err := a.loadProject(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer project.Close()
	workflow, problems := project.Check(ctx, file, source)
	return workflow, problems, nil
}

// loadProject loads the project for commands that need no store.
func (a *app) loadProject(ctx context.Context) (*workspace.Workspace, error) {
	at, err := a.locate()
	if err != nil {
		return nil, err
	}
	return engine.LoadProject(ctx, a.engineConfig(at))
}

// writeOuts writes the outputs that --out names and says so. A run that failed
// has none, so nothing is written then.
func (a *app) writeOuts(ctx context.Context, c *web.Client, result *runs.Result, outs []outFile) error {
	if result.Run.Status != runs.RunSucceeded {
		return nil
	}
	var errs []error
	for _, out := range outs {
		if err := a.writeOut(ctx, c, result, out); err != nil {
			errs = append(errs, fmt.Errorf("--out %s: %w", out.name, err))
			continue
		}
		a.note("wrote output %s to %s", out.name, safePath(out.file))
	}
	return errors.Join(errs...)
}

// writeOut writes one output into its file: a large value as its content.
func (a *app) writeOut(ctx context.Context, c *web.Client, result *runs.Result, out outFile) error {
	path, value := realPath(a.abs(out.file)), result.Outputs[out.name]
	if ref, large := content.ParseReference(value); large {
		return a.writeBlob(ctx, c, result.Run.ID, ref, path)
	}
	data, err := workspace.RenderOutput(out.output.Format, out.output.Columns, value)
	if err != nil {
		return err
	}
	return writeFile(path, data)
}

// tempPattern names the files that outputs are written to before they are put
// in place.
const tempPattern = ".flowrun-out-"

// writeFile replaces a file in one step, so that a reader never sees half of it.
// It keeps the permissions that the file had.
func writeFile(path string, data []byte) error {
	mode := os.FileMode(0o644)
	if info, err := os.Stat(path); err == nil {
		if !info.Mode().IsRegular() {
			return writeInto(path, data)
		}
		mode = info.Mode().Perm()
	}
	temp, err := os.CreateTemp(filepath.Dir(path), tempPattern)
	if err != nil {
		return err
	}
	_, err = temp.Write(data)
	return replaceBy(temp, path, errors.Join(err, temp.Chmod(mode)))
}

// replaceBy puts a file that was written in the place of another, unless writing
// it failed: then it is removed.
func replaceBy(temp *os.File, path string, err error) error {
	if err = errors.Join(err, temp.Close()); err == nil {
		err = os.Rename(temp.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(temp.Name()))
	}
	return nil
}

// writeInto writes to a device or a pipe, which must not be replaced.
func writeInto(path string, data []byte) error {
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	return errors.Join(err, file.Close())
}
