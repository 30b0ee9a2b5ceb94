package pluginhost

import (
	"encoding/json"
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/flowrun/flowrun/engine/plan"
	pluginv1 "github.com/flowrun/flowrun/proto/flowrun/plugin/v1"
)

// excess is a part of a plugin's message that is larger than its quota.
type excess struct {
	quota string // of plan.Quotas
	field string // as the protocol names it
	size  int64
	limit int64
	event *pluginv1.ExecuteEvent // that it is a part of; nil = of another message
}

func (e *excess) Error() string {
	if e.quota == plan.QuotaStateKeys {
		return fmt.Sprintf("its state %d keys, the limit is %d", e.size, e.limit)
	}
	return fmt.Sprintf("a %s of %d bytes, the limit is %d", e.field, e.size, e.limit)
}

// failure is that of the call which the plugin answered so.
func (e *excess) failure(plugin string, applied plan.Applied) *plan.Error {
	failure := &plan.Error{
		Kind: plan.KindInvalid, Reason: plan.ReasonLimit, Applied: applied,
		Message: fmt.Sprintf("plugin %s gave %v", plugin, e),
		Hint:    "the plugin should keep less in it; `limits: {" + e.quota + ": ...}` in flowrun.yaml allows more",
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
func exceeded(quotas plan.QuotaValues, m proto.Message) *excess {
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
		return []part{{plan.QuotaErrorText, "note", len(m.GetNote())}}
	case *pluginv1.CheckConnectionResponse:
		return append(partsOfError(m.GetError()), part{plan.QuotaErrorText, "account", len(m.GetAccount()) + len(m.GetNote())})
	}
	return nil
}

func partsOfEvent(m *pluginv1.ExecuteEvent) []part {
	switch end := m.GetEvent().(type) {
	case *pluginv1.ExecuteEvent_Completed:
		c := end.Completed
		return []part{
			{plan.QuotaCursor, "next_cursor", len(c.GetNextCursor())},
			{plan.QuotaWatermark, "watermark", len(c.GetWatermark())},
			{plan.QuotaMeta, "meta", len(c.GetMeta())},
			{plan.QuotaPageNote, "page_note", len(c.GetPageNote())},
		}
	case *pluginv1.ExecuteEvent_Pending:
		p, prompt := end.Pending, end.Pending.GetPrompt()
		return []part{
			{plan.QuotaCheckpoint, "checkpoint", len(p.GetCheckpoint())},
			{plan.QuotaErrorText, "message", len(p.GetMessage())},
			{plan.QuotaPrompt, "prompt", len(prompt.GetTitle()) + len(prompt.GetUrl()) + len(prompt.GetUserCode()) + len(prompt.GetMessage())},
		}
	case *pluginv1.ExecuteEvent_Failed:
		return partsOfError(end.Failed)
	case *pluginv1.ExecuteEvent_Progress:
		return []part{{plan.QuotaErrorText, "progress.message", len(end.Progress.GetMessage())}}
	}
	return nil
}

func partsOfError(e *pluginv1.Error) []part {
	return []part{
		{plan.QuotaErrorText, "error.message", len(e.GetMessage())},
		{plan.QuotaErrorText, "error.reason", len(e.GetReason())},
		{plan.QuotaErrorText, "error.pointer", len(e.GetPointer())},
		{plan.QuotaErrorText, "error.limiter", len(e.GetLimiter())},
		{plan.QuotaErrorDetails, "error.details", len(e.GetDetails())},
	}
}

// quotaFailure is the failure of a call by an event that is above a quota. What
// the event says of the effect stands.
func (e *execution) quotaFailure(over *excess) *plan.Error {
	failure := over.failure(e.contract.Name, plan.AppliedFully)
	switch end := over.event.GetEvent().(type) {
	case *pluginv1.ExecuteEvent_Pending, *pluginv1.ExecuteEvent_Progress:
		failure.Applied = plan.AppliedPartly
	case *pluginv1.ExecuteEvent_Failed:
		failure.Applied = appliedOf(end.Failed.GetApplied())
		if failure.Applied == plan.AppliedUnknown && e.action.Effect.Writes() {
			failure.Kind = kindOf(end.Failed.GetCode()) // whether it took effect is as unknown as before
		}
	}
	return failure
}

// brokenOff says what is known of the effect of a call that is ended before its
// answer.
func (e *execution) brokenOff() plan.Applied {
	if e.action.Effect.Writes() {
		return plan.AppliedPartly
	}
	return plan.AppliedUnknown
}
