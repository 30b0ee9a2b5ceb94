package pluginhost

import (
	"context"
	"encoding/json"
	"errors"
	"io"

	"google.golang.org/protobuf/proto"

	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/schema"
	pluginv1 "github.com/flowrun/flowrun/sdk/proto/pluginv1"
)

// execution is one Execute: a stream of logs and progress with one end.
type execution struct {
	unit     *unit
	contract *contract
	action   *actionContract
	req      runs.Request
	input    clearDocument
	sink     runs.Sink

	connection string     // that it was sent through
	rejected   string     // id of the token that the service refused to the attempt before
	clear      bool       // the output stays in this process, with its secrets in clear
	blobs      *callBlobs // nil = the call has no large values
}

// run sends the request and reads the stream to its end. A failure tells what kind of
// call it was.
func (e *execution) run(ctx context.Context, p *process, connection string, tokens *callTokens) runs.Answer {
	answer := e.attempt(ctx, p, connection, tokens)
	if answer.Failed != nil {
		answer.Failed.Effect = e.action.Effect
	}
	return answer
}

func (e *execution) attempt(ctx context.Context, p *process, connection string, tokens *callTokens) runs.Answer {
	h := e.unit.host
	e.connection = connection
	req, failure := h.openRequest(e.action.Plugin, connection, e.req)
	if failure != nil {
		return failed(failure)
	}
	input, failure := h.openInput(e.action, connection, e.input)
	if failure != nil {
		return failed(failure)
	}
	request := executeRequestOf(req, e.action, connection, input)
	request.Blobs = e.blobs != nil
	size := proto.Size(request)
	if size > h.options.Limits.Message {
		return failed(invalid("", "the input has %d bytes, the limit is %d", size, h.options.Limits.Message))
	}
	if failure := contextFailure(ctx); failure != nil {
		failure.Applied = runs.NotApplied // nothing was sent
		return failed(failure)
	}
	said, err := p.open(ctx, e, tokens, request, size)
	if closing, ok := errors.AsType[*PluginError](err); ok {
		return failed(h.failureOf(ctx, closing))
	}
	if err != nil {
		return failed(p.brokenCall(ctx, err))
	}
	defer said.Close()
	meter := newMeter(h.options, e.req.Step, e.sink)
	defer meter.close()
	end, failure := e.read(ctx, p, said, meter)
	if failure != nil {
		return failed(failure)
	}
	return e.answer(ctx, end)
}

// read passes on what the call says before its end, and returns the end.
func (e *execution) read(ctx context.Context, p *process, said events, meter *meter) (*pluginv1.ExecuteEvent, *runs.Error) {
	var end *pluginv1.ExecuteEvent
	for {
		event, err := said.Recv()
		switch {
		case errors.Is(err, io.EOF) && end == nil:
			return nil, runs.Failure(plan.KindCrashed, runs.AppliedUnknown, "plugin %s ended the call without an answer", e.contract.Name)
		case errors.Is(err, io.EOF), err != nil && end != nil:
			// The answer stands, whatever broke after it.
			return end, nil
		case err != nil:
			if over := excessIn(err); over != nil {
				said.Close()
				return nil, e.quotaFailure(over)
			}
			return nil, p.brokenAnswer(ctx, e.action, err)
		}
		switch payload := event.GetEvent().(type) {
		case *pluginv1.ExecuteEvent_Log:
			if over := meter.log(payload.Log); over != nil {
				said.Close()
				return nil, over.failure(e.contract.Name, e.brokenOff())
			}
		case *pluginv1.ExecuteEvent_Progress:
			meter.progress(payload.Progress)
		case nil: // an event of a later minor version
		default:
			if end != nil {
				said.Close()
				return nil, runs.Failure(plan.KindUnexpectedResponse, runs.AppliedUnknown, "plugin %s answered the call twice", e.contract.Name)
			}
			end = event
		}
	}
}

// answer checks the end of a stream and takes it over.
func (e *execution) answer(ctx context.Context, end *pluginv1.ExecuteEvent) runs.Answer {
	switch end := end.GetEvent().(type) {
	case *pluginv1.ExecuteEvent_Completed:
		completed := completedOf(end.Completed)
		output, failure := e.output(ctx, end.Completed.GetOutput())
		if failure != nil {
			return failed(failure)
		}
		completed.Output = output
		if failure := e.unit.host.sealCompleted(e.action.Plugin, e.connection, completed); failure != nil {
			return failed(failure)
		}
		return runs.Answer{Completed: completed}
	case *pluginv1.ExecuteEvent_Pending:
		pending := pendingOf(end.Pending)
		var failure *runs.Error
		if pending.Checkpoint, failure = e.unit.host.sealBytes(e.action.Plugin, e.connection, opaqueCheckpoint, pending.Checkpoint); failure != nil {
			return failed(failure)
		}
		return runs.Answer{Pending: pending}
	}
	return failed(errorOf(end.GetFailed(), e.action.Limiters))
}

// output checks the output of the call and takes its secrets out, unless it
// stays with the host.
func (e *execution) output(ctx context.Context, value *pluginv1.Value) (json.RawMessage, *runs.Error) {
	if e.clear {
		return e.unit.host.fitOutput(e.action, value)
	}
	output, failure := e.unit.host.checkOutput(ctx, e.action, e.connection, e.req, value)
	if failure == nil {
		failure = e.blobs.admit(output, e.action)
	}
	return output, failure
}

// checkOutput holds an output against the action's schema and takes its secrets
// out. A plugin that sends a secret reference of its own making is refused: the
// engine would put a secret in its place later.
func (h *Host) checkOutput(ctx context.Context, a *actionContract, connection string, req runs.Request, value *pluginv1.Value) (json.RawMessage, *runs.Error) {
	doc, failure := h.fitOutput(a, value)
	if failure != nil {
		return nil, failure
	}
	if doc, failure = h.sealNext(a, connection, doc); failure != nil {
		return nil, failure
	}
	return h.sealOutput(ctx, req, doc, a.output, value.GetSensitive())
}

// fitOutput returns an output that fits the action's schema.
func (h *Host) fitOutput(a *actionContract, value *pluginv1.Value) (json.RawMessage, *runs.Error) {
	doc := json.RawMessage(value.GetJson())
	if len(doc) == 0 {
		doc = json.RawMessage("{}")
	}
	if err := a.clearOutput.Check(doc); err != nil { // part by part: a page may be long
		failure := runs.Failure(plan.KindUnexpectedResponse, runs.AppliedUnknown, "the answer does not fit the output that %s declares: %v", a.FullName(), err)
		if mismatch, ok := errors.AsType[*schema.Mismatch](err); ok && mismatch.Pointer != "" {
			failure.Details, _ = json.Marshal(map[string]string{"output_pointer": h.gate.Text(mismatch.Pointer)}) // texts only
		}
		return nil, failure
	}
	return doc, nil
}
