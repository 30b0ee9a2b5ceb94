package content

import (
	"context"
	"errors"
	"io"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/quota"
	"github.com/flowrun/flowrun/engine/runs"
)

// Failure is the failure of a core.read: what is too large is invalid with the reason
// limit, what is not what the step says is an unexpected response, what the source says is
// internal.
func Failure(err error) *runs.Error {
	failed := &runs.Error{Kind: plan.KindUnexpectedResponse, Action: runs.CoreRead, Applied: runs.NotApplied, Message: "the large value can't be read: " + err.Error()}
	problem, wrong := errors.AsType[*Problem](err)
	switch {
	case wrong && problem.TooLarge:
		failed.Kind, failed.Reason, failed.Hint = plan.KindInvalid, quota.ReasonLimit, diag.Say(problem.Hint)
	case wrong:
		failed.Hint = diag.Say(problem.Hint)
	case errors.Is(err, context.DeadlineExceeded):
		failed.Kind = plan.KindTimeout
	case errors.Is(err, context.Canceled):
		failed.Kind = plan.KindCanceled
	case !errors.Is(err, io.ErrUnexpectedEOF):
		failed.Kind = plan.KindInternal
	}
	return failed
}
