package workspace

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/flowrun/flowrun/engine/diag"
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
	// Case selects cases by name; nil = all.
	Case func(name string) bool
}

// Test runs files of tests, several at a time: no plugin is called but for its
// description and Validate, nothing is sent and nothing is stored. The results
// stand in the order of the files.
func (p *Workspace) Test(ctx context.Context, files []TestFile, options TestOptions) []TestResult {
	host := &testHost{project: p, read: options.Read}
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

// testHost is a project as its tests see it.
type testHost struct {
	project *Workspace
	read    func(name string) ([]byte, error)
}

var _ testrun.Host = (*testHost)(nil)

// Workflow reads and checks a workflow's file.
func (h *testHost) Workflow(ctx context.Context, file string) (*plan.Workflow, diag.List, error) {
	src, err := h.read(file)
	if err != nil {
		return nil, nil, err
	}
	workflow, problems := h.project.Check(ctx, file, src)
	return workflow, problems, nil
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
