package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/plan"
)

// outFile is one --out NAME=FILE.
type outFile struct{ name, file string }

func parseOuts(texts []string) ([]outFile, error) {
	var outs []outFile
	for _, text := range texts {
		name, file, found := strings.Cut(text, "=")
		switch {
		case !found || name == "" || file == "":
			return nil, usageError(fmt.Errorf("--out %s is not NAME=FILE", quoteWord(text)), "such as --out table=report.md")
		case file == "-":
			return nil, usageError(fmt.Errorf("--out %s writes into a file, not to stdout", name), "-o json prints all outputs; a file of that name is ./-")
		}
		outs = append(outs, outFile{name, file})
	}
	return outs, nil
}

// checkOuts refuses, before anything runs, names that the workflow has no output
// for and folders that do not exist.
func (a *app) checkOuts(ctx context.Context, request engine.StartRequest, outs []outFile) error {
	if len(outs) == 0 {
		return nil
	}
	workflow, problems, err := a.checkWorkflow(ctx, request.File, request.Source)
	if err != nil {
		return err
	}
	if workflow == nil {
		a.printProblemsOf(problems, map[string][]byte{request.File: request.Source})
		return exitWith(exitInvalid)
	}
	var names []string
	for _, output := range workflow.Outputs {
		names = append(names, output.Name)
	}
	for _, out := range outs {
		if !slices.Contains(names, out.name) {
			return usageError(fmt.Errorf("--out: workflow %s has no output %q", workflow.Name, out.name), diag.DidYouMean(out.name, names))
		}
		if info, err := os.Stat(filepath.Dir(a.abs(out.file))); err != nil || !info.IsDir() {
			return usageError(fmt.Errorf("--out %s: there is no folder %s", out.name, safePath(filepath.Dir(out.file))), "")
		}
		if info, err := os.Stat(a.abs(out.file)); err == nil && info.IsDir() {
			return usageError(fmt.Errorf("--out %s: %s is a folder", out.name, safePath(out.file)), "name a file in it")
		}
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
func (a *app) loadProject(ctx context.Context) (*engine.Project, error) {
	at, err := a.locate()
	if err != nil {
		return nil, err
	}
	return engine.LoadProject(ctx, a.engineConfig(at, nil))
}

// writeOuts writes the outputs that --out names. A run that failed has none, so
// nothing is written then.
func (a *app) writeOuts(result *plan.Result, outs []outFile) error {
	if result.Run.Status != plan.RunSucceeded {
		return nil
	}
	var errs []error
	for _, out := range outs {
		if err := writeFile(a.abs(out.file), outBytes(result.Outputs[out.name])); err != nil {
			errs = append(errs, fmt.Errorf("--out %s: %w", out.name, err))
		}
	}
	return errors.Join(errs...)
}

// outBytes is an output's text as it is, any other value as JSON and a line feed.
func outBytes(raw json.RawMessage) []byte {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return []byte(text)
	}
	return append(append([]byte{}, raw...), '\n')
}

// writeFile replaces a file in one step, so that a reader never sees half of it.
func writeFile(path string, data []byte) error {
	temp, err := os.CreateTemp(filepath.Dir(path), ".flowrun-out-")
	if err != nil {
		return err
	}
	_, err = temp.Write(data)
	err = errors.Join(err, temp.Chmod(0o644), temp.Close())
	if err == nil {
		err = os.Rename(temp.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(temp.Name()))
	}
	return nil
}
