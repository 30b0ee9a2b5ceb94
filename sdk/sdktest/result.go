package sdktest

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/flowrun/flowrun/sdk"
	pluginv1 "github.com/flowrun/flowrun/sdk/proto/pluginv1"
)

// Result is the end of one call and what came before it.
type Result struct {
	Output    json.RawMessage
	Next      string // cursor of the next page
	Watermark []byte
	Note      []byte // what the page leaves for the next
	Meta      map[string]any
	Sensitive []string // JSON Pointers of secret parts of Output

	Pending *sdk.Pending
	Err     *sdk.Error

	Logs     []Line
	Progress []float64
}

// Line is one line of the log.
type Line struct {
	Level   string // DEBUG, INFO, WARN, ERROR
	Message string
	Fields  map[string]any
}

// Decode decodes the output into a pointer; a failed call fails the test.
func (r Result) Decode(t testing.TB, into any) {
	t.Helper()
	if r.Err != nil {
		t.Fatalf("the call failed: %v", r.Err)
	}
	if err := json.Unmarshal(r.Output, into); err != nil {
		t.Fatalf("decode the output %s: %v", r.Output, err)
	}
}

// add notes an event and reports whether it was the last.
func (r *Result) add(event *pluginv1.ExecuteEvent) bool {
	switch e := event.GetEvent().(type) {
	case *pluginv1.ExecuteEvent_Log:
		line := Line{Level: strings.TrimPrefix(e.Log.GetLevel().String(), "LEVEL_"), Message: e.Log.GetMessage()}
		_ = json.Unmarshal(e.Log.GetFields(), &line.Fields)
		r.Logs = append(r.Logs, line)
		return false
	case *pluginv1.ExecuteEvent_Progress:
		r.Progress = append(r.Progress, e.Progress.GetFraction())
		return false
	case *pluginv1.ExecuteEvent_Completed:
		r.Output, r.Sensitive = e.Completed.GetOutput().GetJson(), e.Completed.GetOutput().GetSensitive()
		r.Next, r.Watermark = e.Completed.GetNextCursor(), e.Completed.GetWatermark()
		r.Note = e.Completed.GetPageNote()
		_ = json.Unmarshal(e.Completed.GetMeta(), &r.Meta)
	case *pluginv1.ExecuteEvent_Pending:
		r.Pending = sdkPending(e.Pending)
	case *pluginv1.ExecuteEvent_Failed:
		r.Err = sdkError(e.Failed)
	}
	return true
}

func sdkPending(p *pluginv1.Pending) *sdk.Pending {
	pending := &sdk.Pending{RetryAfter: p.GetRetryAfter().AsDuration(), Checkpoint: p.GetCheckpoint(), Message: p.GetMessage()}
	if prompt := p.GetPrompt(); prompt != nil {
		pending.Prompt = &sdk.Prompt{Title: prompt.GetTitle(), URL: prompt.GetUrl(), UserCode: prompt.GetUserCode(), Message: prompt.GetMessage()}
		if prompt.GetExpiresAt() != nil {
			pending.Prompt.ExpiresAt = prompt.GetExpiresAt().AsTime()
		}
	}
	return pending
}

// sdkError reads an error off the wire.
func sdkError(e *pluginv1.Error) *sdk.Error {
	if e == nil {
		return nil
	}
	failure := &sdk.Error{
		Code: sdk.Code(e.GetCode()), Message: e.GetMessage(), Reason: e.GetReason(), HTTPStatus: int(e.GetHttpStatus()),
		RetryAfter: e.GetRetryAfter().AsDuration(), Applied: sdk.Applied(e.GetApplied()), Pointer: e.GetPointer(), Limiter: e.GetLimiter(), Hint: e.GetHint(),
	}
	_ = json.Unmarshal(e.GetDetails(), &failure.Details)
	return failure
}

func problems(diagnostics []*pluginv1.Diagnostic) []sdk.Problem {
	var list []sdk.Problem
	for _, d := range diagnostics {
		list = append(list, sdk.Problem{
			Pointer: d.GetPointer(), Summary: d.GetSummary(), Detail: d.GetDetail(), Warning: d.GetSeverity() == pluginv1.Diagnostic_SEVERITY_WARNING,
		})
	}
	return list
}

// checkOutput fails the test when an output does not fit the declared schema,
// as it would fail the step in a run.
func (p *Plugin) checkOutput(action string, output json.RawMessage) {
	p.t.Helper()
	for _, problem := range p.plugin.CheckOutput(action, output) {
		if !problem.Warning {
			p.t.Errorf("action %s: its output does not fit its schema: %s %s\n%s", action, problem.Pointer, problem.Summary, output)
		}
	}
}
