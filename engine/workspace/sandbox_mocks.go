package workspace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/testrun"
)

// MockFile is a test file whose answers stand for the services in a sandbox.
type MockFile struct {
	Name   string // as problems shall name it; relative ones start from Config.WorkDir
	Source []byte
	Case   string // "" = the first one
}

// mocks are the answers of one test file.
type mocks = testrun.Mocks

// Mock lets steps be answered by test files. It must be called before Open. What is
// wrong with a file, or with its workflow, comes as a list.
func (p *Workspace) Mock(ctx context.Context, files ...MockFile) diag.List {
	var all diag.List
	for _, file := range files {
		host := &testHost{project: p, options: TestOptions{Read: p.readBeside}}
		loaded, problems := testrun.LoadMocks(ctx, host, file.Name, file.Source, file.Case)
		if all = append(all, problems...); loaded == nil || p.sandbox == nil {
			continue
		}
		p.sandbox.mocks = append(p.sandbox.mocks, loaded)
	}
	return all
}

// readBeside reads a workflow's file by the name that follows from a test file's.
func (p *Workspace) readBeside(name string) ([]byte, error) {
	path := filepath.FromSlash(name)
	if !filepath.IsAbs(path) {
		path = filepath.Join(p.config.WorkDir, path)
	}
	src, err := ReadWorkflowFile(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, fmt.Errorf("there is no workflow file `%s`", name)
	case errors.Is(err, os.ErrInvalid):
		return nil, fmt.Errorf("`%s` is larger than %d bytes", name, MaxWorkflowFile)
	}
	return src, err
}

// mocked finds the answers for the calls of a step, whatever its item.
func (p *Workspace) mocked(workflow, step string) *mocks {
	return p.mocksWhere(func(m *mocks) bool { return m.Covers(workflow, step) })
}

// answering finds the answers for one call of a step.
func (p *Workspace) answering(workflow, step string) *mocks {
	return p.mocksWhere(func(m *mocks) bool { return m.Answers(workflow, step) })
}

func (p *Workspace) mocksWhere(answers func(*mocks) bool) *mocks {
	if p.sandbox == nil {
		return nil
	}
	if at := slices.IndexFunc(p.sandbox.mocks, answers); at >= 0 {
		return p.sandbox.mocks[at]
	}
	return nil
}

// mockDigest tells runs with other answers apart, for what is kept between runs.
func (p *Workspace) mockDigest() string {
	var digests []string
	for _, m := range p.sandbox.mocks {
		digests = append(digests, m.Digest)
	}
	return strings.Join(digests, " ")
}

// mockedCaller answers the calls of steps that a test file has answers for, and
// hands on all others.
type mockedCaller struct {
	project *Workspace
	journal recordReader
}

// recordReader reads the journals of runs.
type recordReader interface {
	EachRecord(runID string, from uint64, visit func(*journal.Record) error) error
}

// NewMockedCaller returns what answers or sends the calls of a project's runs.
func NewMockedCaller(p *Workspace, journal recordReader) mockedCaller {
	return mockedCaller{project: p, journal: journal}
}

// Call gives the next answer of the step. One that has no more is a failure: the
// call goes nowhere else.
func (c mockedCaller) Call(ctx context.Context, request runs.Request, sink runs.Sink) runs.Answer {
	answers := c.project.answering(request.Workflow, request.Step)
	if answers == nil {
		return c.project.Call(ctx, request, sink)
	}
	if request.Timeout > 0 {
		bounded, cancel := context.WithTimeout(ctx, request.Timeout)
		defer cancel()
		ctx = bounded
	}
	if refused := c.refused(ctx, request); refused != nil {
		return runs.Answer{Failed: refused}
	}
	answer := c.take(ctx, answers, request.RunID, request.Step, request.PageCursor)
	if answer.Completed != nil {
		if err := c.keepBlobs(answers, request, answer.Completed.Output); err != nil {
			return runs.Answer{Failed: runs.Failure(plan.KindInternal, runs.NotApplied, "keep the large values of %s: %v", answers.File, err)}
		}
	}
	if failed := answer.Failed; failed != nil {
		own := *failed // the file's answer may serve many calls
		own.Action, own.Step, own.Attempt = request.Action, request.Step, request.Attempt
		answer.Failed = &own
	}
	return answer
}

// refused asks the plugin about the input, as it would be asked before a real call.
func (c mockedCaller) refused(ctx context.Context, request runs.Request) *runs.Error {
	if runs.IsCore(request.Action) {
		return nil
	}
	refusals, err := (&testHost{project: c.project}).Validate(ctx, request.Action, request.Input)
	if err != nil {
		return &runs.Error{Kind: plan.KindCrashed, Action: request.Action, Step: request.Step, Attempt: request.Attempt, Applied: runs.NotApplied, Message: err.Error()}
	}
	if len(refusals) == 0 {
		return nil
	}
	return &runs.Error{
		Kind: plan.KindInvalid, Action: request.Action, Step: request.Step, Attempt: request.Attempt, Applied: runs.NotApplied,
		Message: refusals[0].Summary, Hint: diag.Say(refusals[0].Detail), Pointer: refusals[0].Pointer,
	}
}

// AnswerChild answers a step that calls a sub-workflow.
func (c mockedCaller) AnswerChild(ctx context.Context, parent runs.Run, start journal.ChildStart) *journal.Child {
	answers := c.project.answering(parent.Workflow, start.Step)
	if answers == nil {
		return nil
	}
	answer := c.take(ctx, answers, parent.ID, start.Step, "")
	end := &journal.Child{RunID: start.RunID, Attempt: 1, Failed: answer.Failed}
	switch {
	case answer.Completed != nil:
		end.Outputs = answer.Completed.Output
	case answer.Failed == nil:
		end.Failed = &runs.Error{Kind: plan.KindInternal, Message: "a sub-workflow answers with outputs or an error"}
	}
	return end
}

// Reconcile has nobody to ask about a mocked call.
func (c mockedCaller) Reconcile(ctx context.Context, request runs.Request) (runs.Outcome, error) {
	if c.project.answering(request.Workflow, request.Step) != nil {
		return runs.Outcome{Applied: runs.AppliedUnknown, Note: "a test file has no service to look into"}, nil
	}
	return c.project.Reconcile(ctx, request)
}

// take waits as long as the answer says, and gives it.
func (c mockedCaller) take(ctx context.Context, m *mocks, run, step, cursor string) runs.Answer {
	answer, ok, err := m.Take(run, step, cursor, func() ([]*journal.Record, error) { return c.history(run) })
	switch {
	case err != nil:
		return runs.Answer{Failed: runs.Failure(plan.KindInternal, runs.NotApplied, "%v", err)}
	case !ok:
		return runs.Answer{Failed: &runs.Error{
			Kind: plan.KindInternal, Applied: runs.NotApplied, Reason: "mocks",
			Message: fmt.Sprintf("%s has no answer more for step %s", m.File, step),
			Hint:    diag.Say("add one more answer to the list of case `" + m.Case + "`, or write a single answer for all calls"),
		}}
	}
	var over <-chan time.Time
	if !answer.Never {
		if answer.After <= 0 {
			return answer.Answer
		}
		timer := time.NewTimer(answer.After)
		defer timer.Stop()
		over = timer.C
	}
	select {
	case <-over:
		return answer.Answer
	case <-ctx.Done():
		kind, text := plan.KindCanceled, "canceled"
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			kind, text = plan.KindTimeout, "no answer in time, as the test file says"
		}
		return runs.Answer{Failed: &runs.Error{Kind: kind, Applied: runs.AppliedUnknown, Message: text}}
	}
}

func (c mockedCaller) history(run string) (all []*journal.Record, err error) {
	err = c.journal.EachRecord(run, 1, func(record *journal.Record) error {
		all = append(all, record)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the calls of run %s: %w", run, err)
	}
	return all, nil
}
