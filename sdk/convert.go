package sdk

import (
	"encoding/json"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	pluginv1 "github.com/flowrun/flowrun/sdk/proto/pluginv1"
)

// protoDuration returns nil for 0: absent on the wire.
func protoDuration(d time.Duration) *durationpb.Duration {
	if d == 0 {
		return nil
	}
	return durationpb.New(d)
}

// protoTime returns nil for the zero time.
func protoTime(t time.Time) *timestamppb.Timestamp {
	if t.IsZero() {
		return nil
	}
	return timestamppb.New(t)
}

// goTime returns the zero time for nil.
func goTime(t *timestamppb.Timestamp) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.AsTime()
}

// protoError converts an error; its details name the service and the action.
func (c *core) protoError(e *Error) *pluginv1.Error {
	e = c.masks.now().error(e)
	details := map[string]any{"service": c.plugin.name}
	if c.action != nil {
		details["action"] = c.action.name
	}
	for key, value := range e.Details {
		details[key] = value
	}
	encoded, err := marshalJSON(details)
	if err != nil || len(encoded) > maxLogText {
		encoded, _ = json.Marshal(map[string]string{"service": c.plugin.name})
	}
	code := e.Code
	if code == 0 {
		code = CodeInternal
	}
	return &pluginv1.Error{
		Code:       pluginv1.Code(code),
		Message:    cut(plain(e.Message), 4096),
		RetryAfter: protoDuration(max(e.RetryAfter, 0)),
		Applied:    pluginv1.Error_Applied(e.Applied),
		Reason:     cut(plain(e.Reason), 256),
		HttpStatus: uint32(max(e.HTTPStatus, 0)),
		Pointer:    e.Pointer,
		Details:    encoded,
		Limiter:    c.limiterOf(e),
		Hint:       cut(plain(e.Hint), 4096),
	}
}

// limiterOf names the limiter that a rate-limited answer closes.
func (c *core) limiterOf(e *Error) string {
	if e.Code != CodeRateLimited || e.Limiter != "" || c.action == nil || len(c.action.limiters) != 1 {
		return e.Limiter
	}
	return c.action.limiters[0]
}

func (c *core) protoPending(p *Pending) *pluginv1.Pending {
	pending := &pluginv1.Pending{
		RetryAfter: protoDuration(max(p.RetryAfter, 0)),
		Checkpoint: p.Checkpoint,
		Message:    cut(c.masks.now().text(plain(p.Message)), 4096),
	}
	if p.Prompt != nil {
		pending.Prompt = &pluginv1.Prompt{
			Title: p.Prompt.Title, Url: p.Prompt.URL, UserCode: p.Prompt.UserCode,
			ExpiresAt: protoTime(p.Prompt.ExpiresAt), Message: p.Prompt.Message,
		}
	}
	return pending
}

func protoDiagnostics(problems []Problem) []*pluginv1.Diagnostic {
	var list []*pluginv1.Diagnostic
	for _, p := range problems {
		severity := pluginv1.Diagnostic_SEVERITY_ERROR
		if p.Warning {
			severity = pluginv1.Diagnostic_SEVERITY_WARNING
		}
		list = append(list, &pluginv1.Diagnostic{Severity: severity, Summary: p.Summary, Detail: p.Detail, Pointer: p.Pointer})
	}
	return list
}

func runInfo(run *pluginv1.RunContext) RunInfo {
	return RunInfo{
		Workflow: run.GetWorkflow(), RunID: run.GetRunId(), Step: run.GetStepId(),
		Attempt: int(run.GetAttempt()), IdempotencyKey: run.GetIdempotencyKey(),
		ScheduledAt: goTime(run.GetScheduledAt()), Traceparent: run.GetTraceparent(),
	}
}
