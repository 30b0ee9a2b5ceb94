package web

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"

	"github.com/danielgtaylor/huma/v2"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/internal/web/guard"
	"github.com/flowrun/flowrun/internal/web/wire"
)

// maxStepPath bounds the path of a step in a request.
const maxStepPath = 4096

// registerDecisions adds the four acts of people on steps.
func registerDecisions(t *typed, s *server) {
	for _, act := range []struct {
		name          engine.Act
		summary, text string
	}{
		{engine.ActApprove, "Approve a step that waits for it", "`form` holds the fields of the step's form."},
		{engine.ActReject, "Reject a step that waits for an approval", ""},
		{engine.ActSignal, "Send a step the signal that it waits for", "`payload` is the signal's value. One that comes before the step waits is kept."},
		{engine.ActResolve, "Say what became of a step whose outcome is unknown", "`outcome` is needed; `payload` then holds the outputs of a step that happened."},
	} {
		register(t, guard.Operator, "POST /runs/{id}/steps/{step}/"+string(act.name), huma.Operation{
			OperationID: string(act.name) + "Step", Tags: []string{"runs"}, DefaultStatus: http.StatusAccepted, Summary: act.summary, Description: act.text,
		}, func(ctx context.Context, in *decideInput) (*engine.DecideResult, error) {
			return s.decide(ctx, act.name, in)
		}, wire.CodeConflict, wire.CodeInvalidInput)
	}
}

// DecideBody is what a person, or whoever sends a signal, says to a step.
type DecideBody struct {
	Form    map[string]json.RawMessage `json:"form,omitempty" doc:"The fields of the answer, each as JSON."`
	Texts   map[string]string          `json:"form_texts,omitempty" doc:"Fields as the command line has them: the field's type converts the text."`
	Payload json.RawMessage            `json:"payload,omitempty" doc:"The whole answer, in place of its fields."`
	Outcome string                     `json:"outcome,omitempty" enum:"happened,did_not,skip" doc:"Of resolve alone: happened, did_not or skip."`
	Comment string                     `json:"comment,omitempty" doc:"Stands beside the decision."`
	By      string                     `json:"by,omitempty" doc:"Who decides. Over TCP it is ignored."`
	Hold    bool                       `json:"hold,omitempty" doc:"Only record it when no process drives the run."`
}

// check refuses what an act would not look at.
func (b DecideBody) check(act engine.Act) error {
	refuse := func(field, hint string) error {
		answer := wire.NewProblem(wire.CodeBadRequest, fmt.Sprintf("the body is not what this path takes: %s is not for %s", field, act)).With(diag.Say(hint))
		answer.Input = field
		answer.Faults = []wire.InputFault{{Input: field, Pointer: "/" + field, Detail: answer.Detail, Hint: diag.Say(hint)}}
		return answer
	}
	switch {
	case act != engine.ActResolve && b.Outcome != "":
		return refuse("outcome", "only resolve has an outcome")
	case act == engine.ActResolve && len(b.Form) > 0:
		return refuse("form", "payload holds the outputs")
	case act == engine.ActResolve && len(b.Texts) > 0:
		return refuse("form_texts", "payload holds the outputs")
	}
	return nil
}

// placed is what err says, with the faults of the answer pointed to where they stand
// in the body.
func (b DecideBody) placed(err error) *Problem {
	if len(b.Payload) > 0 {
		return placed(err, "payload", nil, "")
	}
	return placed(err, "form", b.Texts, "form_texts")
}

type decideInput struct {
	RunRef
	Step string `path:"step" doc:"The step, percent-encoded: each[example.com].ask is each%5Bexample.com%5D.ask." example:"ask"`
	Body *DecideBody
}

func (s *server) decide(ctx context.Context, act engine.Act, in *decideInput) (*engine.DecideResult, error) {
	if in.Step == "" || len(in.Step) > maxStepPath {
		return nil, wire.NewProblem(wire.CodeNotFound, "there is no such step")
	}
	body := orZero(in.Body)
	if err := body.check(act); err != nil {
		return nil, err
	}
	result, err := s.Runs.Decide(ctx, in.ID, in.Step, act, engine.DecideRequest{
		Form: inputsOf(body.Form, body.Texts), Payload: body.Payload, Outcome: body.Outcome, Comment: body.Comment, By: by(ctx, body.By), Hold: body.Hold,
	})
	if err != nil {
		return nil, body.placed(ofRun(in.ID, err))
	}
	return result, nil
}

// Decide gives a step of a run what a person decided.
func (c *Client) Decide(ctx context.Context, id, step string, act engine.Act, r engine.DecideRequest) (*engine.DecideResult, error) {
	body := DecideBody{Payload: r.Payload, Outcome: r.Outcome, Comment: r.Comment, By: r.By, Hold: r.Hold}
	body.Form, body.Texts = splitInputs(r.Form)
	return post[engine.DecideResult](ctx, c, runPath(id, "/steps/"+url.PathEscape(step)+"/"+string(act)), body)
}
