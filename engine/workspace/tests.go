package workspace

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/fault"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/testrun"
)

// TestFile is a file of tests to run. Name is as problems shall name it; the
// workflow's path in it is read as seen from its folder.
type TestFile struct {
	Name   string
	Source []byte
}

// TestResult is what became of one file of tests.
type TestResult = testrun.FileResult

// TestCase is what became of one case of it.
type TestCase = testrun.CaseResult

// The statuses of tests.
const (
	TestPassed  = testrun.Passed
	TestFailed  = testrun.Failed
	TestStale   = testrun.Stale
	TestInvalid = testrun.Invalid
)

// MaxTestFile is how large a test file may be in bytes.
const MaxTestFile = testrun.MaxFile

// TestOptions choose what is run and where workflows are read from.
type TestOptions struct {
	// Read returns the bytes of a workflow's file, by the name that follows from
	// that of the test file.
	Read func(name string) ([]byte, error)
	// File returns the bytes of a file that stands for a large value, by the name that
	// follows from that of the test file. nil = Read does.
	File func(name string) ([]byte, error)
	// Case selects cases by name; nil = all.
	Case func(name string) bool
	// Dir is the folder that names start from; "" = the configuration's.
	Dir string
	// TextOnly says that the workflows are texts: they lead to no file.
	TextOnly bool
}

// Test runs files of tests, several at a time: no plugin is called but for its
// description and Validate, nothing is sent and nothing is stored. The results
// stand in the order of the files.
func (p *Workspace) Test(ctx context.Context, files []TestFile, options TestOptions) []TestResult {
	host := &testHost{project: p, options: options}
	results := make([]TestResult, len(files))
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	var group sync.WaitGroup
	for i, file := range files {
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			results[i] = testrun.Run(ctx, host, file.Name, file.Source, options.Case)
		})
	}
	group.Wait()
	return results
}

// TestSummary counts the cases of tests; Invalid counts files. It is what
// `flowrun test -o json` prints.
type TestSummary struct {
	Files   []TestResult `json:"files"`
	Passed  int          `json:"passed"`
	Failed  int          `json:"failed"`
	Stale   int          `json:"stale"`
	Invalid int          `json:"invalid_files"`
}

// SummarizeTests counts what became of tests.
func SummarizeTests(results []TestResult) TestSummary {
	summary := TestSummary{Files: results}
	for _, file := range results {
		if file.Status == TestInvalid {
			summary.Invalid++
		}
		for _, c := range file.Cases {
			switch c.Status {
			case TestPassed:
				summary.Passed++
			case TestStale:
				summary.Stale++
			default:
				summary.Failed++
			}
		}
	}
	return summary
}

// TestBeside reads the test file beside a workflow of the project, whose name is
// relative to the project's root, as is that of the test. *fault.UnknownError.
func (p *Workspace) TestBeside(workflow string) (TestFile, error) {
	extension := path.Ext(workflow)
	name := strings.TrimSuffix(workflow, extension) + ".test" + extension
	source, err := p.ReadFile(name, MaxTestFile)
	if errors.Is(err, fs.ErrNotExist) {
		return TestFile{}, &fault.UnknownError{What: "test", Name: name, Hint: diag.Say("write one: it mocks the answers of the steps that call a plugin")}
	}
	return TestFile{Name: name, Source: source}, err
}

// ReadFile reads a file of the project by its name, relative to the root, which no
// link leads out of. One of more than limit bytes is an error.
func (p *Workspace) ReadFile(name string, limit int64) ([]byte, error) {
	root, err := os.OpenRoot(p.config.Dir)
	if err != nil {
		return nil, fmt.Errorf("open the project's folder: %w", err)
	}
	defer func() { _ = root.Close() }() // it was read alone
	if info, err := root.Stat(filepath.FromSlash(name)); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("read %s: it is no regular file", name) // to open a pipe would wait for its writer
	}
	file, err := root.Open(filepath.FromSlash(name))
	if err != nil {
		return nil, fmt.Errorf("read a file of the project: %w", err)
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, limit+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read %s: %w", name, err)
	case int64(len(data)) > limit:
		return nil, fmt.Errorf("read %s: it is larger than %d bytes", name, limit)
	}
	return data, nil
}

// testHost is a project as its tests see it.
type testHost struct {
	project *Workspace
	options TestOptions
}

var _ testrun.Host = (*testHost)(nil)

// Workflow reads and checks a workflow's file.
func (h *testHost) Workflow(ctx context.Context, file string) (*plan.Workflow, diag.List, error) {
	src, err := h.options.Read(file)
	if err != nil {
		return nil, nil, err
	}
	if h.options.TextOnly {
		workflow, problems := h.project.CheckText(ctx, file, src)
		return workflow, problems, nil
	}
	checked, problems := h.project.CheckedIn(ctx, file, h.options.Dir, src)
	if checked == nil {
		return nil, problems, nil
	}
	return checked.Workflow, problems, nil
}

// File reads a file that stands for a large value.
func (h *testHost) File(name string) ([]byte, error) {
	if h.options.File != nil {
		return h.options.File(name)
	}
	return h.options.Read(name)
}

// Validate asks the plugin about the input of a call. Sub-workflows and built-in
// actions have no plugin.
func (h *testHost) Validate(ctx context.Context, action string, input json.RawMessage) ([]testrun.Refusal, error) {
	diagnostics, _, err := h.project.askPlugin(ctx, action, input, nil)
	if err != nil {
		return nil, fmt.Errorf("ask the plugin of %s: %w", action, err)
	}
	var refusals []testrun.Refusal
	for _, d := range diagnostics {
		if d.Error {
			refusals = append(refusals, testrun.Refusal{Summary: d.Summary, Detail: d.Detail, Pointer: d.Pointer})
		}
	}
	return refusals, nil
}

// Now is the engine's clock.
func (h *testHost) Now() time.Time { return h.project.config.Now() }
