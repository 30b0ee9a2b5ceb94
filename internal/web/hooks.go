package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/flowrun/flowrun/engine/fault"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/trigger"
)

// Hooks is what the API needs of an engine to take webhooks.
type Hooks interface {
	Hook(ctx context.Context, workflow, trigger string, r trigger.HookRequest) (*trigger.HookAnswer, error)
}

// hook takes a webhook's request as it comes: what it may be, its trigger says.
func (s *server) hook(w http.ResponseWriter, r *http.Request) *Problem {
	workflow, name := r.PathValue("workflow"), r.PathValue("trigger")
	if _, _, ok := runs.SplitTriggerID(runs.TriggerID(workflow, name)); !ok || len(workflow)+len(name) > maxScheduleID {
		return newProblem(CodeNotFound, "there is no such webhook")
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, bodyCap))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return newProblem(CodeTooLarge, fmt.Sprintf("the body is larger than %d bytes", bodyCap))
	case err != nil:
		return newProblem(CodeBadRequest, bodyCut)
	}
	answer, err := s.Hooks.Hook(r.Context(), workflow, name, trigger.HookRequest{
		Method: r.Method, Header: r.Header, Query: r.URL.Query(), Body: body, Remote: r.RemoteAddr,
	})
	if err != nil {
		return hookProblem(err)
	}
	status := http.StatusAccepted
	if answer.Repeated {
		status = http.StatusOK
	}
	writeJSON(w, status, answer)
	return nil
}

// hookProblem words why a webhook was not taken. Whoever sends it may be anybody:
// it hears no more than that, and not what else there is.
func hookProblem(err error) *Problem {
	var unknown *fault.UnknownError
	var refused *trigger.HookRefusedError
	switch {
	case errors.As(err, &unknown):
		return newProblem(CodeNotFound, "there is no such webhook")
	case !errors.As(err, &refused):
		return problemOf(err)
	}
	for _, code := range []Code{CodeUnauthorized, CodeTooLarge, CodeMediaType, CodeInvalidInput, CodeTooMany, CodeConflict, CodeNotFound, CodeUnavailable} {
		if statusOf[code] == refused.Status {
			return newProblem(code, refused.Message)
		}
	}
	return newProblem(CodeBadRequest, refused.Message)
}
