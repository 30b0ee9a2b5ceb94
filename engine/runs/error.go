package runs

import (
	"encoding/json"
	"fmt"

	"github.com/flowrun/flowrun/engine/diag"

	"github.com/flowrun/flowrun/engine/plan"
)

// Applied tells whether the effect of a failed call happened.
type Applied string

// The answers to "did the effect happen?"; the empty one means unknown.
const (
	AppliedUnknown Applied = "unknown"
	NotApplied     Applied = "not_applied"
	AppliedFully   Applied = "applied"
	AppliedPartly  Applied = "partly"
)

var appliedWords = map[Applied]string{
	NotApplied: "nothing was changed", AppliedUnknown: "it may have been done", AppliedFully: "it was done", AppliedPartly: "a part of it was done",
}

// AppliedWords tell people whether the failed call changed anything; "" where it was not
// said, and of a read, which changes nothing.
func (e *Error) AppliedWords() string {
	if e.Effect == plan.EffectRead && e.Applied != NotApplied {
		return ""
	}
	return appliedWords[e.Applied]
}

// Error is the failure of a call, a step or a run. Message is safe to show and
// store. Pointer is a JSON Pointer into the step's `with`.
type Error struct {
	Kind        plan.ErrorKind `json:"kind"`
	Action      string         `json:"action,omitempty"`
	Step        string         `json:"step,omitempty"`
	Attempt     int            `json:"attempt,omitempty"`
	Message     string         `json:"message"`
	Reason      string         `json:"reason,omitempty"`
	HTTPStatus  int            `json:"http_status,omitempty"`
	Applied     Applied        `json:"applied,omitempty"`
	Effect      plan.Effect    `json:"effect,omitempty"` // of the action that failed; "" = not known
	Pointer     string         `json:"pointer,omitempty"`
	RetryAfterS float64        `json:"retry_after_s,omitempty"` // seconds
	diag.Hint
	Limiter string          `json:"limiter,omitempty"` // with rate_limited: the limiter that is closed
	Details json.RawMessage `json:"details,omitempty"`
}

// ReasonTooLarge is the reason of an unexpected response that is larger than the limit
// of a message: asked again it is as large.
const ReasonTooLarge = "too_large"

// Failure is a failure that says no more than its kind, its effect and why.
func Failure(kind plan.ErrorKind, applied Applied, format string, args ...any) *Error {
	return &Error{Kind: kind, Applied: applied, Message: fmt.Sprintf(format, args...)}
}

// Error returns kind and message on one line.
func (e *Error) Error() string {
	if e.Action != "" {
		return fmt.Sprintf("%s: %s: %s", e.Action, e.Kind, e.Message)
	}
	return fmt.Sprintf("%s: %s", e.Kind, e.Message)
}
