package pluginhost

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/grpc"

	"github.com/flowrun/flowrun/engine/plan"
	pluginv1 "github.com/flowrun/flowrun/proto/flowrun/plugin/v1"
)

// grow answers with so many bytes in one field: {"text":"next_cursor 17"}.
func (s *evilServer) grow(r *pluginv1.ExecuteRequest, stream grpc.ServerStreamingServer[pluginv1.ExecuteEvent]) error {
	var input struct{ Text string }
	if err := json.Unmarshal(r.GetInput().GetJson(), &input); err != nil {
		return err
	}
	var field string
	var size int
	if _, err := fmt.Sscan(input.Text, &field, &size); err != nil {
		return err
	}
	text := strings.Repeat("x", size)
	event := completed(`{}`)
	c, e := event.GetCompleted(), &pluginv1.Error{Code: pluginv1.Code_NOT_FOUND, Message: "gone", Applied: pluginv1.Error_NOT_APPLIED}
	p := &pluginv1.Pending{}
	switch field {
	case "next_cursor":
		c.NextCursor = text
	case "watermark":
		c.Watermark = []byte(text)
	case "meta":
		c.Meta = []byte(`"` + text[2:] + `"`)
	case "page_note":
		c.PageNote = []byte(text)
	case "checkpoint":
		p.Checkpoint = []byte(text)
	case "message":
		p.Message = text
	case "prompt":
		p.Prompt = &pluginv1.Prompt{Title: "t", Url: text[2:], UserCode: "c"}
	case "prompt.title":
		p.Prompt = &pluginv1.Prompt{Title: text}
	case "prompt.user_code":
		p.Prompt = &pluginv1.Prompt{UserCode: text}
	case "prompt.message":
		p.Prompt = &pluginv1.Prompt{Message: text}
	case "prompt.each": // a quarter in each
		n := size / 4
		p.Prompt = &pluginv1.Prompt{Title: text[:n], Url: text[:n], UserCode: text[:n], Message: text[3*n:]}
	case "error.message":
		e.Message = text
	case "error.reason":
		e.Reason = text
	case "error.pointer":
		e.Pointer = "/" + text[1:]
	case "error.limiter":
		e.Limiter = text
	case "error.details":
		e.Details = []byte(`"` + text[2:] + `"`)
	case "progress.message":
		if err := stream.Send(&pluginv1.ExecuteEvent{Event: &pluginv1.ExecuteEvent_Progress{Progress: &pluginv1.Progress{Message: text}}}); err != nil {
			return err
		}
	case "log":
		for range size {
			if err := stream.Send(logLine(strings.Repeat("y", 1000))); err != nil {
				return err
			}
		}
	}
	switch {
	case len(p.GetCheckpoint())+len(p.GetMessage()) > 0 || p.GetPrompt() != nil:
		return stream.Send(&pluginv1.ExecuteEvent{Event: &pluginv1.ExecuteEvent_Pending{Pending: p}})
	case strings.HasPrefix(field, "error."):
		return stream.Send(failure(e))
	}
	return stream.Send(event)
}

func (w *world) grow(field string, size int64) plan.Answer {
	w.t.Helper()
	return w.call("grow", fmt.Sprintf(`{"text":"%s %d"}`, field, size))
}

// TestIssue13_02EachFieldHasItsQuota: a byte too many ends the call for the limit,
// and names the field; what fits passes.
func TestIssue13_02EachFieldHasItsQuota(t *testing.T) {
	fields := map[string]string{
		"next_cursor": plan.QuotaCursor, "watermark": plan.QuotaWatermark, "meta": plan.QuotaMeta, "page_note": plan.QuotaPageNote,
		"checkpoint": plan.QuotaCheckpoint, "message": plan.QuotaErrorText, "prompt": plan.QuotaPrompt, "error.message": plan.QuotaErrorText,
		"error.reason": plan.QuotaErrorText, "error.pointer": plan.QuotaErrorText, "error.limiter": plan.QuotaErrorText,
		"error.details": plan.QuotaErrorDetails, "progress.message": plan.QuotaErrorText,
	}
	usual := newWorld(t, "good", nil)
	raised := newWorld(t, "good", func(o *Options) {
		o.Limits.Quotas = plan.QuotaValues{}
		for _, quota := range plan.Quotas() {
			o.Limits.Quotas[quota.Name] = quota.Ceiling
		}
	})
	for field, quota := range fields {
		limit := plan.QuotaValues{}.Of(quota)
		if answer := usual.grow(field, limit); isLimit(answer, field, quota) || answer.Failed != nil && answer.Failed.Message != "gone" && !strings.HasPrefix(field, "error.") {
			t.Errorf("%s of %d bytes: %v", field, limit, answer.Failed)
		}
		if answer := usual.grow(field, limit+1); !isLimit(answer, field, quota) {
			t.Errorf("%s of %d bytes: %+v", field, limit+1, answer)
		}
		if answer := raised.grow(field, limit+1); isLimit(answer, field, quota) {
			t.Errorf("%s of %d bytes, with a higher limit: %v", field, limit+1, answer.Failed)
		}
		if answer := raised.grow(field, raised.host.options.Limits.Quotas.Of(quota)+1); !isLimit(answer, field, quota) {
			t.Errorf("%s above its ceiling: %+v", field, answer)
		}
	}
}

// TestIssue13_02EachPartOfAPromptCounts: all that a person is shown shares one
// quota, whichever part of it is long.
func TestIssue13_02EachPartOfAPromptCounts(t *testing.T) {
	w := newWorld(t, "good", nil)
	limit := plan.QuotaValues{}.Of(plan.QuotaPrompt)
	for _, field := range []string{"prompt.title", "prompt.user_code", "prompt.message", "prompt.each"} {
		if answer := w.grow(field, limit); answer.Pending == nil {
			t.Errorf("%s of %d bytes: %+v", field, limit, answer.Failed)
		}
		if answer := w.grow(field, limit+1); !isLimit(answer, "prompt", plan.QuotaPrompt) {
			t.Errorf("%s of %d bytes: %+v", field, limit+1, answer)
		}
	}
}

// TestIssue13_02WhatTookEffectStands: an answer above a quota ends its call, and
// what it says of the effect is not lost with it. What completed has happened, what
// is pending has begun, and a failure says it itself.
func TestIssue13_02WhatTookEffectStands(t *testing.T) {
	w := newWorld(t, "good", nil)
	for field, test := range map[string]struct {
		quota string
		want  plan.Applied
	}{
		"next_cursor": {plan.QuotaCursor, plan.AppliedFully}, "watermark": {plan.QuotaWatermark, plan.AppliedFully},
		"meta": {plan.QuotaMeta, plan.AppliedFully}, "page_note": {plan.QuotaPageNote, plan.AppliedFully},
		"checkpoint": {plan.QuotaCheckpoint, plan.AppliedPartly}, "message": {plan.QuotaErrorText, plan.AppliedPartly},
		"prompt": {plan.QuotaPrompt, plan.AppliedPartly}, "progress.message": {plan.QuotaErrorText, plan.AppliedPartly},
		"error.message": {plan.QuotaErrorText, plan.NotApplied}, "error.details": {plan.QuotaErrorDetails, plan.NotApplied},
	} {
		answer := w.grow(field, plan.QuotaValues{}.Of(test.quota)+1)
		if !isLimit(answer, field, test.quota) || answer.Failed.Applied != test.want {
			t.Errorf("%s: applied is not %q: %+v", field, test.want, answer.Failed)
		}
	}
}

func isLimit(answer plan.Answer, field, quota string) bool {
	f := answer.Failed
	return f != nil && f.Reason == plan.ReasonLimit && strings.Contains(f.Message, " "+field+" of ") && strings.Contains(f.Hint, "limits: {"+quota+":") &&
		strings.Contains(string(f.Details), `"field":"`+field+`"`) && strings.Contains(string(f.Details), `"limit":"`+quota+`"`)
}

func TestIssue13_02TheLogOfACallHasAnEnd(t *testing.T) {
	w := newWorld(t, "good", func(o *Options) {
		o.Limits.Quotas = plan.QuotaValues{plan.QuotaLog: 100_000}
		o.Limits.LogRate, o.Limits.Events = 64<<20, 100_000
	})
	say := func(lines int) plan.Answer {
		return w.host.Call(t.Context(), plan.Request{
			Action: "evil.grow", RunID: "run-1", Step: "a", Operation: "a", Attempt: 1, Input: json.RawMessage(fmt.Sprintf(`{"text":"log %d"}`, lines)),
		}, Connection{Name: "main"}, &sinkOf{})
	}
	if answer := say(99); answer.Failed != nil {
		t.Errorf("99 lines: %v", answer.Failed)
	}
	if answer := say(102); !isLimit(answer, "log", plan.QuotaLog) {
		t.Errorf("102 lines: %+v", answer)
	}
}
