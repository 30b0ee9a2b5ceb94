package pluginhost

import (
	"cmp"
	"encoding/json"
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/quota"
	"github.com/flowrun/flowrun/engine/runs"
	pluginv1 "github.com/flowrun/flowrun/sdk/proto/pluginv1"
)

// excess is a part of a plugin's message that is larger than its quota.
type excess struct {
	quota string // of quota.All
	field string // as the protocol names it
	size  int64
	limit int64
	event *pluginv1.ExecuteEvent // that it is a part of; nil = of another message
}

func (e *excess) Error() string {
	if e.quota == quota.StateKeys {
		return fmt.Sprintf("its state %d keys, the limit is %d", e.size, e.limit)
	}
	return fmt.Sprintf("a %s of %d bytes, the limit is %d", e.field, e.size, e.limit)
}

// failure is that of the call which the plugin answered so.
func (e *excess) failure(plugin string, applied runs.Applied) *runs.Error {
	failure := &runs.Error{
		Kind: plan.KindInvalid, Reason: quota.ReasonLimit, Applied: applied,
		Message: fmt.Sprintf("plugin %s gave %v", plugin, e),
		Hint:    diag.Say("the plugin should keep less in it; `limits: {" + e.quota + ": ...}` in flowrun.yaml allows more"),
	}
	failure.Details, _ = json.Marshal(map[string]any{"limit": e.quota, "field": e.field, "size": e.size, "max": e.limit}) // texts and numbers
	return failure
}

// part is one measured part of a message.
type part struct {
	quota, field string
	size         int
}

// exceeded returns the first part of a message that is above its quota, nil when
// none is. All that a plugin's answers bring to be stored is measured here, as it
// was sent, before it passes the gate: what follows may mask, cut for the eye, or seal it.
func exceeded(quotas quota.Values, m proto.Message) *excess {
	for _, p := range partsOf(m) {
		if limit := quotas.Of(p.quota); int64(p.size) > limit {
			event, _ := m.(*pluginv1.ExecuteEvent)
			return &excess{quota: p.quota, field: p.field, size: int64(p.size), limit: limit, event: event}
		}
	}
	return nil
}

func partsOf(m proto.Message) []part {
	switch m := m.(type) {
	case *pluginv1.ExecuteEvent:
		return partsOfEvent(m)
	case *pluginv1.ReconcileResponse:
		return []part{{quota.ErrorText, "note", len(m.GetNote())}}
	case *pluginv1.CheckConnectionResponse:
		return append(partsOfError(m.GetError()), part{quota.ErrorText, "account", len(m.GetAccount()) + len(m.GetNote())})
	}
	return nil
}

func partsOfEvent(m *pluginv1.ExecuteEvent) []part {
	switch end := m.GetEvent().(type) {
	case *pluginv1.ExecuteEvent_Completed:
		c := end.Completed
		return []part{
			{quota.Cursor, "next_cursor", len(c.GetNextCursor())},
			{quota.Watermark, "watermark", len(c.GetWatermark())},
			{quota.Meta, "meta", len(c.GetMeta())},
			{quota.PageNote, "page_note", len(c.GetPageNote())},
		}
	case *pluginv1.ExecuteEvent_Pending:
		p, prompt := end.Pending, end.Pending.GetPrompt()
		return []part{
			{quota.Checkpoint, "checkpoint", len(p.GetCheckpoint())},
			{quota.ErrorText, "message", len(p.GetMessage())},
			{quota.Prompt, "prompt", len(prompt.GetTitle()) + len(prompt.GetUrl()) + len(prompt.GetUserCode()) + len(prompt.GetMessage())},
		}
	case *pluginv1.ExecuteEvent_Failed:
		return partsOfError(end.Failed)
	case *pluginv1.ExecuteEvent_Progress:
		return []part{{quota.ErrorText, "progress.message", len(end.Progress.GetMessage())}}
	}
	return nil
}

func partsOfError(e *pluginv1.Error) []part {
	return []part{
		{quota.ErrorText, "error.message", len(e.GetMessage())},
		{quota.ErrorText, "error.reason", len(e.GetReason())},
		{quota.ErrorText, "error.pointer", len(e.GetPointer())},
		{quota.ErrorText, "error.limiter", len(e.GetLimiter())},
		{quota.ErrorDetails, "error.details", len(e.GetDetails())},
	}
}

// quotaFailure is the failure of a call by an event that is above a quota.
func (e *execution) quotaFailure(over *excess) *runs.Error {
	switch end := over.event.GetEvent().(type) {
	case *pluginv1.ExecuteEvent_Pending, *pluginv1.ExecuteEvent_Progress:
		return over.failure(e.contract.Name, runs.AppliedPartly)
	case *pluginv1.ExecuteEvent_Failed:
		return e.failedAbove(over, &runs.Error{Kind: kindOf(end.Failed.GetCode()), Applied: appliedOf(end.Failed.GetApplied())})
	}
	return over.failure(e.contract.Name, runs.AppliedFully)
}

// failedAbove is the failure of a call that has failed and broke a quota. What the
// plugin says of the effect stands.
func (e *execution) failedAbove(over *excess, own *runs.Error) *runs.Error {
	failure := over.failure(e.contract.Name, cmp.Or(own.Applied, runs.AppliedUnknown))
	if failure.Applied == runs.AppliedUnknown && e.action.Effect.Writes() {
		failure.Kind = own.Kind // whether it took effect is as unknown as before
	}
	return failure
}

// brokenOff says what is known of the effect of a call that is ended before its
// answer.
func (e *execution) brokenOff() runs.Applied {
	if e.action.Effect.Writes() {
		return runs.AppliedPartly
	}
	return runs.AppliedUnknown
}
