package web

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"time"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/internal/web/guard"
	"github.com/flowrun/flowrun/internal/web/wire"
)

// Bounds of a request that starts a run.
const (
	maxWait = 10 * time.Minute
	maxKey  = 255 // letters of an Idempotency-Key
)

// StartBody says how a run of a workflow begins.
type StartBody struct {
	GivenInputs
	ScheduledAt time.Time `json:"scheduled_at,omitzero" doc:"What run.scheduled_at is; now where it is not given. The run begins at once."`
	By          string    `json:"by,omitempty" doc:"Who asks. Over TCP it is ignored."`
}

type startInput struct {
	WorkflowRef
	KeyHeader
	Wait string `query:"wait" doc:"How long to wait for the end: 30s, at most 10m." example:"30s"`
	Body *StartBody
}

// KeyHeader makes a request that is sent again the same request.
type KeyHeader struct {
	Key string `header:"Idempotency-Key" doc:"1 to 255 visible ASCII characters. The same key and body again is the run that the first request has made; with another body it is refused."`
}

// requestID is what the store knows a request by: a key counts for the token that
// gives it and for one workflow or schedule. named is the key of a body, where it
// can have one; "" = none.
func (h KeyHeader) requestID(ctx context.Context, of, named string) (string, error) {
	key := cmp.Or(h.Key, named)
	if key == "" {
		return "", nil
	}
	if len(key) > maxKey || strings.ContainsFunc(key, func(r rune) bool { return r < '!' || r > '~' }) {
		return "", wire.NewProblem(wire.CodeBadRequest, fmt.Sprintf("Idempotency-Key is not 1 to %d visible ASCII characters", maxKey))
	}
	caller, _ := guard.CallerOf(ctx)
	return strings.Join([]string{"api", caller.ID, of, key}, "/"), nil
}

// StartAnswer is a run that was started. Of one that has ended while the request
// waited it is the whole result, as `flowrun run -o json` prints it.
type StartAnswer struct {
	Run      *runs.Run                  `json:"run"`
	Outputs  map[string]json.RawMessage `json:"outputs" required:"false"`
	Steps    map[string]runs.Step       `json:"steps" required:"false"`
	Error    *runs.Error                `json:"error" required:"false"`
	Problems diag.List                  `json:"problems,omitempty"`
	ended    bool
}

// MarshalJSON leaves out what is not known before the end.
func (a StartAnswer) MarshalJSON() ([]byte, error) {
	if !a.ended {
		return json.Marshal(RunAnswer{Run: a.Run, Problems: a.Problems})
	}
	type whole StartAnswer
	return json.Marshal(whole(a))
}

func (s *server) startNamed(ctx context.Context, in *startInput) (*creation[StartAnswer], error) {
	wait, err := parseWait(in.Wait)
	if err != nil {
		return nil, err
	}
	body := orZero(in.Body)
	key, err := in.identify(ctx, in.Name, "", body.GivenInputs, body.ScheduledAt)
	if err != nil {
		return nil, err
	}
	run, list, err := s.Workflows.StartNamed(ctx, in.Name, engine.NamedStart{
		Inputs: body.merged(), ScheduledAt: body.ScheduledAt, By: by(ctx, body.By),
		RequestID: key.id, Digest: key.digest, Replayed: key.replay(),
	})
	switch {
	case err != nil:
		return nil, body.placed(err)
	case run == nil:
		return nil, invalidWorkflow(list)
	}
	answer := &creation[StartAnswer]{Location: runLocation(run.ID), Replayed: key.replayed, Body: StartAnswer{Run: run, Problems: list}}
	if wait > 0 {
		return answer, s.addResult(ctx, answer, wait)
	}
	return answer, nil
}

// addResult waits for the end of a run and adds what it gave; one that takes
// longer is accepted and no more.
func (s *server) addResult(ctx context.Context, answer *creation[StartAnswer], wait time.Duration) error {
	body := &answer.Body
	if err := s.waitForEnd(ctx, body.Run.ID, wait); err != nil {
		return ofRun(body.Run.ID, err)
	}
	result, err := s.Runs.Get(ctx, body.Run.ID)
	if err != nil {
		return ofRun(body.Run.ID, err)
	}
	body.Run = &result.Run
	if !result.Run.Status.Ended() {
		answer.Status = http.StatusAccepted
		return nil
	}
	body.ended, body.Outputs, body.Steps, body.Error = true, result.Outputs, result.Steps, result.Error
	if body.Outputs == nil {
		body.Outputs = map[string]json.RawMessage{}
	}
	if body.Steps == nil {
		body.Steps = map[string]runs.Step{}
	}
	return nil
}

var startResponse = also{"202", "The run was started, and has not ended within `wait`.", "application/json", []reflect.Type{reflect.TypeFor[RunAnswer]()}}

// waitForEnd returns when a run is over or paused, after wait, or when the owner
// ends.
func (s *server) waitForEnd(ctx context.Context, id string, wait time.Duration) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	updates, err := s.Runs.WatchTogether(ctx, id, 1<<62) // none of the records: only the end matters
	if err != nil {
		return err
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for {
		select {
		case _, open := <-updates:
			if !open {
				return nil
			}
		case <-timer.C:
			return nil
		case <-s.Gate.Done():
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func parseWait(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	wait, err := time.ParseDuration(text)
	if err != nil || wait < 0 || wait > maxWait {
		return 0, wire.NewProblem(wire.CodeBadRequest, fmt.Sprintf("wait %q is not a duration of at most 10m, such as 30s", shorten(text)))
	}
	return wait, nil
}
