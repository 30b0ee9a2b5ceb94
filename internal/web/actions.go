package web

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/workspace"
	"github.com/flowrun/flowrun/internal/web/guard"
	"github.com/flowrun/flowrun/internal/web/wire"
)

// by returns who sends a request: the caller that the guard knows; on the socket
// the process that connected, by the kernel's word, with the name that it gives
// itself beside. Within the owner's own process whom the body names holds.
func by(ctx context.Context, named string) string {
	if caller, ok := guard.CallerOf(ctx); ok {
		return caller.By()
	}
	if sender := peerOf(ctx); sender != nil {
		return sender.By(named)
	}
	return named
}

// GivenInputs are the inputs of a run in a body: values as JSON, or texts that the
// types of the inputs convert, as the command line does it.
type GivenInputs struct {
	Inputs map[string]json.RawMessage `json:"inputs,omitempty" doc:"The inputs by name, each as JSON."`
	Texts  map[string]string          `json:"input_texts,omitempty" doc:"Inputs as the command line has them: the input's type converts the text."`
}

// placed is what err says, with the faults of the inputs pointed to where they stand in
// the body.
func (g GivenInputs) placed(err error) *Problem {
	return placed(err, "inputs", g.Texts, "input_texts")
}

// merged are the inputs by name, whatever they were given as.
func (g GivenInputs) merged() map[string]workspace.Input { return inputsOf(g.Inputs, g.Texts) }

func inputsOf(values map[string]json.RawMessage, texts map[string]string) map[string]workspace.Input {
	merged := map[string]workspace.Input{}
	for name, value := range values {
		merged[name] = workspace.Input{JSON: value}
	}
	for name, text := range texts {
		merged[name] = workspace.Input{Text: text}
	}
	return merged
}

// splitInputs is the reverse of inputsOf.
func splitInputs(inputs map[string]workspace.Input) (values map[string]json.RawMessage, texts map[string]string) {
	values, texts = map[string]json.RawMessage{}, map[string]string{}
	for name, input := range inputs {
		if len(input.JSON) > 0 {
			values[name] = input.JSON
		} else {
			texts[name] = input.Text
		}
	}
	return values, texts
}

// orZero returns what an optional body holds.
func orZero[T any](body *T) T {
	if body == nil {
		return *new(T)
	}
	return *body
}

func registerActs(t *typed, s *server) {
	register(t, guard.Operator, "POST /runs/{id}/cancel", huma.Operation{
		OperationID: "cancelRun", Tags: []string{"runs"}, DefaultStatus: http.StatusAccepted, Summary: "Ask a run to end", Description: "Its `finally` still runs.",
	}, s.cancel, wire.CodeConflict)
	register(t, guard.Operator, "POST /runs/{id}/resume", huma.Operation{
		OperationID: "resumeRun", Tags: []string{"runs"}, DefaultStatus: http.StatusAccepted, MaxBodyBytes: localBodyCap,
		Summary: "Go on with a run where it stopped",
	}, s.resume, wire.CodeConflict, wire.CodePlugin, wire.CodeInvalidWorkflow, wire.CodeInvalidInput)
	registerDeliveries(t, s)
	registerWhole(t, guard.Operator, "POST /runs/{id}/rerun", huma.Operation{
		OperationID: "rerunRun", Tags: []string{"runs"}, DefaultStatus: http.StatusCreated, MaxBodyBytes: localBodyCap,
		Summary:     "Start a new run that is linked to this one",
		Description: "With `from` the results before that step are taken over. Inputs that are given replace the old ones.",
	}, s.rerun, wire.CodeConflict, wire.CodePlugin, wire.CodeInvalidInput, wire.CodeInvalidWorkflow, wire.CodeReusedKey)
}

// CancelBody says who cancels.
type CancelBody struct {
	By string `json:"by,omitempty" doc:"Who asks. Over TCP it is ignored."`
}

type cancelInput struct {
	RunRef
	Body *CancelBody
}

func (s *server) cancel(ctx context.Context, in *cancelInput) (RunAnswer, error) {
	if err := s.Runs.Cancel(ctx, in.ID, by(ctx, orZero(in.Body).By)); err != nil {
		return RunAnswer{}, ofRun(in.ID, err)
	}
	result, err := s.Runs.Get(ctx, in.ID)
	if err != nil {
		return RunAnswer{}, ofRun(in.ID, err)
	}
	return RunAnswer{Run: &result.Run}, nil
}

type resumeInput struct {
	RunRef
	Body *engine.ResumeRequest
}

func (s *server) resume(ctx context.Context, in *resumeInput) (RunAnswer, error) {
	request := orZero(in.Body)
	request.By = by(ctx, request.By)
	if _, remote := guard.CallerOf(ctx); remote && (request.Dir != "" || request.WithLatest != nil) {
		return RunAnswer{}, wire.NewProblem(wire.CodeBadRequest, "the body is not what this path takes: dir and with_latest are for the socket alone")
	}
	run, err := s.Runs.Resume(ctx, in.ID, request)
	return RunAnswer{Run: run}, ofRun(in.ID, err)
}

// RerunBody says what the new run does otherwise.
type RerunBody struct {
	GivenInputs
	From string `json:"from,omitempty" doc:"The step to begin at; the results before it are taken over."`
	By   string `json:"by,omitempty" doc:"Who asks. Over TCP it is ignored."`
}

type rerunInput struct {
	RunRef
	KeyHeader
	Body *RerunBody
}

func (s *server) rerun(ctx context.Context, in *rerunInput) (*creation[RunAnswer], error) {
	body := orZero(in.Body)
	key, err := in.identify(ctx, "rerun of "+in.ID, "", body.GivenInputs, body.From)
	if err != nil {
		return nil, err
	}
	run, list, err := s.Runs.Rerun(ctx, in.ID, engine.RerunRequest{
		From: body.From, Inputs: body.merged(), By: by(ctx, body.By), RequestID: key.id, Digest: key.digest, Replayed: key.replay(),
	})
	if err != nil {
		return nil, body.placed(ofRun(in.ID, err))
	}
	if run == nil {
		return nil, invalidWorkflow(list)
	}
	return &creation[RunAnswer]{Location: runLocation(run.ID), Replayed: key.replayed, Body: RunAnswer{Run: run, Problems: list}}, nil
}

func runLocation(id string) string { return Prefix + "/runs/" + id }
