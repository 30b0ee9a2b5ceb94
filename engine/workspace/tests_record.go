package workspace

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/fault"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/testrun"
)

// RecordRequest asks for the test that a stored run gives.
type RecordRequest struct {
	Result   *runs.Result
	Records  []Event // its whole journal
	File     string  // of the workflow, as problems shall name it
	Source   []byte
	TestFile string // that is to be written
}

// RecordTest makes a test file of a stored run: its inputs, the answers that its
// calls got and how it ended. The workflow is the one of today; what is wrong
// with it is a diag.List error. A run that can't be recorded is a
// *ConflictError, and so is a recording that would hold a secret.
func (p *Workspace) RecordTest(ctx context.Context, request RecordRequest) ([]byte, error) {
	workflow, problems := p.Check(ctx, request.File, request.Source)
	if workflow == nil {
		return nil, problems
	}
	recording := testrun.Recording{
		Run: request.Result.Run, Error: request.Result.Error, Outputs: request.Result.Outputs, Workflow: workflow, File: request.TestFile,
	}
	for _, event := range request.Records {
		recording.Records = append(recording.Records, *event.record())
	}
	text, err := testrun.Record(recording)
	if refused, ok := errors.AsType[*testrun.RefusedError](err); ok {
		return nil, &fault.ConflictError{Message: refused.Message, Hint: diag.Say(refused.Hint)}
	}
	if err != nil {
		return nil, err
	}
	if line := p.secretLine(ctx, workflow, string(text)); line > 0 {
		return nil, &fault.ConflictError{
			Message: fmt.Sprintf("the recording would hold the value of a secret in its line %d, so it is not written", line),
			Hint:    diag.Say("the service sent the secret back in a field that its plugin does not mark as secret: write the test by hand"),
		}
	}
	return text, nil
}

// secretLine returns the first line of a text that holds the value of a secret
// of the workflow's connections; 0 when none does.
func (p *Workspace) secretLine(ctx context.Context, workflow *plan.Workflow, text string) int {
	for _, u := range uses(workflow) {
		connection, err := p.Connection(u.Plugin, u.Name)
		if err != nil {
			continue // there is nothing to be revealed
		}
		for _, name := range SecretNames(connection.Config) {
			_, _ = p.services.Reveal(ctx, name) // what it reveals is told to the redactor
		}
	}
	masked := strings.Split(p.redactor.Redact(text), "\n")
	for i, line := range strings.Split(text, "\n") {
		if i >= len(masked) || masked[i] != line {
			return i + 1
		}
	}
	return 0
}
