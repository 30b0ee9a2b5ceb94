package web

import (
	"context"
	"errors"
	"net/http"

	"github.com/flowrun/flowrun/engine/fault"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/trigger"
	"github.com/flowrun/flowrun/internal/web/wire"
)

// Hooks is what the API needs of an engine to take webhooks.
type Hooks interface {
	Hook(ctx context.Context, workflow, trigger string, r trigger.HookRequest) (*trigger.HookAnswer, error)
}

// hook takes a webhook's request as it comes: what it may be, its trigger says.
func (s *server) hook(w http.ResponseWriter, r *http.Request) error {
	workflow, name := r.PathValue("workflow"), r.PathValue("trigger")
	if _, _, ok := runs.SplitTriggerID(runs.TriggerID(workflow, name)); !ok || len(workflow)+len(name) > maxScheduleID {
		return wire.NewProblem(wire.CodeNotFound, "there is no such webhook")
	}
	body, err := readWhole(w, r, bodyCap)
	if err != nil {
		return err
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
	return reply(w, status, answer, nil)
}

// hookProblem words why a webhook was not taken. Whoever sends it may be anybody:
// it hears no more than that, and not what else there is.
func hookProblem(err error) error {
	var unknown *fault.UnknownError
	var refused *trigger.HookRefusedError
	switch {
	case errors.As(err, &unknown):
		return wire.NewProblem(wire.CodeNotFound, "there is no such webhook")
	case !errors.As(err, &refused):
		return problemOf(err)
	}
	for _, code := range []wire.Code{wire.CodeUnauthorized, wire.CodeTooLarge, wire.CodeMediaType, wire.CodeInvalidInput, wire.CodeTooMany, wire.CodeConflict, wire.CodeNotFound, wire.CodeUnavailable} {
		if code.Status() == refused.Status {
			return wire.NewProblem(code, refused.Message)
		}
	}
	return wire.NewProblem(wire.CodeBadRequest, refused.Message)
}
