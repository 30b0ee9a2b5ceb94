package web

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/internal/web/wire"
)

// Decide answers for the one run; what it was asked stands in its result's step.
func (f *fakeRuns) Decide(_ context.Context, id, step string, act engine.Act, r engine.DecideRequest) (*engine.DecideResult, error) {
	if err := f.fail(id); err != nil {
		return nil, err
	}
	row := f.row()
	return &engine.DecideResult{Run: &row, Step: strings.Join([]string{string(act), step, r.Comment}, "|"), Held: r.Hold}, nil
}

func TestDecideReachesEveryStepWhateverItsName(t *testing.T) {
	handler := NewSocketHandler(Options{Runs: &fakeRuns{}, Gate: NewGate()})
	client := NewClient(InProcess(handler))
	for _, act := range []engine.Act{engine.ActApprove, engine.ActReject, engine.ActSignal, engine.ActResolve} {
		for _, step := range []string{"ask", "each[example.com].ask", "each[a b].ask", "each[https://x.example/a?b=c#d].ask", "each[..].ask", "each[ä%25].ask", "..x"} {
			got, err := client.Decide(t.Context(), knownRun, step, act, engine.DecideRequest{Comment: "fine", Hold: true})
			if err != nil {
				t.Errorf("%s %s: %v", act, step, err)
				continue
			}
			if want := string(act) + "|" + step + "|fine"; got.Step != want || !got.Held {
				t.Errorf("%s %s: got %+v, want %s", act, step, got, want)
			}
		}
	}
}

func TestDecideRefusesWhatIsNoStep(t *testing.T) {
	handler := NewSocketHandler(Options{Runs: &fakeRuns{}, Gate: NewGate()})
	for target, want := range map[string]int{
		Prefix + "/runs/" + knownRun + "/steps/ask/destroy":     http.StatusNotFound,
		Prefix + "/runs/" + knownRun + "/steps//approve":        http.StatusNotFound,
		Prefix + "/runs/%2e%2e/steps/ask/approve":               http.StatusNotFound,
		Prefix + "/runs/" + knownRun + "/%73teps/ask/approve":   http.StatusNotFound,
		Prefix + "/runs/nobody/steps/ask/approve":               http.StatusNotFound,
		Prefix + "/runs/" + knownRun + "/steps/ask%2Fb/approve": http.StatusAccepted,
	} {
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, httptest.NewRequest(http.MethodPost, target, nil))
		if answer.Code != want {
			t.Errorf("%s: status %d, want %d", target, answer.Code, want)
		}
	}
	client := NewClient(InProcess(handler))
	_, err := client.Decide(t.Context(), "nobody", "ask", engine.ActApprove, engine.DecideRequest{})
	var problem *Problem
	if !errors.As(err, &problem) || problem.Code != wire.CodeNotFound {
		t.Errorf("an unknown run: %v", err)
	}
}
