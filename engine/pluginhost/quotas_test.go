package pluginhost

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/grpc"

	"github.com/flowrun/flowrun/engine/quota"
	"github.com/flowrun/flowrun/engine/runs"
	pluginv1 "github.com/flowrun/flowrun/sdk/proto/pluginv1"
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
	c, e := event.GetCompleted(), &pluginv1.Error{Code: pluginv1.Code_CODE_NOT_FOUND, Message: "gone", Applied: pluginv1.Error_APPLIED_NOT_APPLIED}
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

func (w *world) grow(field string, size int64) runs.Answer {
	w.t.Helper()
	return w.call("grow", fmt.Sprintf(`{"text":"%s %d"}`, field, size))
}

// TestIssue13_02EachFieldHasItsQuota: a byte too many ends the call for the limit,
// and names the field; what fits passes.
func TestIssue13_02EachFieldHasItsQuota(t *testing.T) {
	fields := map[string]string{
		"next_cursor": quota.Cursor, "watermark": quota.Watermark, "meta": quota.Meta, "page_note": quota.PageNote,
		"checkpoint": quota.Checkpoint, "message": quota.ErrorText, "prompt": quota.Prompt, "error.message": quota.ErrorText,
		"error.reason": quota.ErrorText, "error.pointer": quota.ErrorText, "error.limiter": quota.ErrorText,
		"error.details": quota.ErrorDetails, "progress.message": quota.ErrorText,
	}
	usual := newWorld(t, "good", nil)
	raised := newWorld(t, "good", func(o *Options) {
		o.Limits.Quotas = quota.Values{}
		for _, quota := range quota.All() {
			o.Limits.Quotas[quota.Name] = quota.Ceiling
		}
	})
	for field, name := range fields {
		limit := quota.Values{}.Of(name)
		if answer := usual.grow(field, limit); isLimit(answer, field, name) || answer.Failed != nil && answer.Failed.Message != "gone" && !strings.HasPrefix(field, "error.") {
			t.Errorf("%s of %d bytes: %v", field, limit, answer.Failed)
		}
		if answer := usual.grow(field, limit+1); !isLimit(answer, field, name) {
			t.Errorf("%s of %d bytes: %+v", field, limit+1, answer)
		}
		if answer := raised.grow(field, limit+1); isLimit(answer, field, name) {
			t.Errorf("%s of %d bytes, with a higher limit: %v", field, limit+1, answer.Failed)
		}
		if answer := raised.grow(field, raised.host.options.Limits.Quotas.Of(name)+1); !isLimit(answer, field, name) {
			t.Errorf("%s above its ceiling: %+v", field, answer)
		}
	}
}

// TestIssue13_02EachPartOfAPromptCounts: all that a person is shown shares one
// quota, whichever part of it is long.
func TestIssue13_02EachPartOfAPromptCounts(t *testing.T) {
	w := newWorld(t, "good", nil)
	limit := quota.Values{}.Of(quota.Prompt)
	for _, field := range []string{"prompt.title", "prompt.user_code", "prompt.message", "prompt.each"} {
		if answer := w.grow(field, limit); answer.Pending == nil {
			t.Errorf("%s of %d bytes: %+v", field, limit, answer.Failed)
		}
		if answer := w.grow(field, limit+1); !isLimit(answer, "prompt", quota.Prompt) {
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
		want  runs.Applied
	}{
		"next_cursor": {quota.Cursor, runs.AppliedFully}, "watermark": {quota.Watermark, runs.AppliedFully},
		"meta": {quota.Meta, runs.AppliedFully}, "page_note": {quota.PageNote, runs.AppliedFully},
		"checkpoint": {quota.Checkpoint, runs.AppliedPartly}, "message": {quota.ErrorText, runs.AppliedPartly},
		"prompt": {quota.Prompt, runs.AppliedPartly}, "progress.message": {quota.ErrorText, runs.AppliedPartly},
		"error.message": {quota.ErrorText, runs.NotApplied}, "error.details": {quota.ErrorDetails, runs.NotApplied},
	} {
		answer := w.grow(field, quota.Values{}.Of(test.quota)+1)
		if !isLimit(answer, field, test.quota) || answer.Failed.Applied != test.want {
			t.Errorf("%s: applied is not %q: %+v", field, test.want, answer.Failed)
		}
	}
}

func isLimit(answer runs.Answer, field, name string) bool {
	f := answer.Failed
	return f != nil && f.Reason == quota.ReasonLimit && strings.Contains(f.Message, " "+field+" of ") && strings.Contains(f.Hint.Text, "limits: {"+name+":") &&
		strings.Contains(string(f.Details), `"field":"`+field+`"`) && strings.Contains(string(f.Details), `"limit":"`+name+`"`)
}

func TestIssue13_02TheLogOfACallHasAnEnd(t *testing.T) {
	w := newWorld(t, "good", func(o *Options) {
		o.Limits.Quotas = quota.Values{quota.Log: 100_000}
		o.Limits.LogRate, o.Limits.Events = 64<<20, 100_000
	})
	say := func(lines int) runs.Answer {
		return w.host.Call(t.Context(), runs.Request{
			Action: "evil.grow", RunID: "run-1", Step: "a", Operation: "a", Attempt: 1, Input: json.RawMessage(fmt.Sprintf(`{"text":"log %d"}`, lines)),
		}, Connection{Name: "main"}, &sinkOf{})
	}
	if answer := say(99); answer.Failed != nil {
		t.Errorf("99 lines: %v", answer.Failed)
	}
	if answer := say(102); !isLimit(answer, "log", quota.Log) {
		t.Errorf("102 lines: %+v", answer)
	}
}
