package web

import (
	"context"
	"net/http"
	"net/url"
	"path"
	"strings"

	"github.com/flowrun/flowrun/engine"
)

// maxStepPath bounds the path of a step in a request.
const maxStepPath = 4096

// decide serves POST /runs/{id}/steps/{step}/approve, reject, signal and resolve.
func decide(act engine.Act) func(*server, http.ResponseWriter, *http.Request) *Problem {
	return func(s *server, w http.ResponseWriter, r *http.Request) *Problem {
		id, problem := runID(r)
		if problem != nil {
			return problem
		}
		step := r.PathValue("step")
		if step == "" || len(step) > maxStepPath {
			return newProblem(CodeNotFound, "there is no such step")
		}
		var request engine.DecideRequest
		if problem := decodeBody(w, r, bodyCap, true, &request); problem != nil {
			return problem
		}
		result, err := s.Runs.Decide(r.Context(), id, step, act, request)
		if err != nil {
			return runProblem(id, err)
		}
		writeJSON(w, http.StatusAccepted, result)
		return nil
	}
}

// Decide gives a step of a run what a person decided.
func (c *Client) Decide(ctx context.Context, id, step string, act engine.Act, r engine.DecideRequest) (*engine.DecideResult, error) {
	result := new(engine.DecideResult)
	err := c.post(ctx, runPath(id, "/steps/"+url.PathEscape(step)+"/"+string(act)), r, result)
	return result, err
}

// isPlain reports whether a path is one that routes are made of: clean, and
// without escapes but in the name of a step, where a loop's key may be any text.
func isPlain(u *url.URL) bool {
	escaped := u.EscapedPath()
	if escaped == u.Path {
		return u.Path == path.Clean(u.Path)
	}
	parts := strings.Split(escaped, "/")
	const step = 6 // of "", "api", "v1", "runs", ID, "steps", STEP, ACT
	if len(parts) != step+2 || parts[step-1] != "steps" || parts[step] == "" {
		return false
	}
	parts[step] = "step"
	plain := strings.Join(parts, "/")
	return plain == path.Clean(plain) && !strings.Contains(plain, "%")
}
