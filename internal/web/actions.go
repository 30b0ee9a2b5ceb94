package web

import (
	"encoding/json"
	"net/http"
	"sync"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/plan"
)

// cancelRequest says who cancels.
type cancelRequest struct {
	By string `json:"by,omitempty"`
}

func (s *server) cancel(w http.ResponseWriter, r *http.Request) *Problem {
	id, problem := runID(r)
	if problem != nil {
		return problem
	}
	var request cancelRequest
	if problem := decodeBody(w, r, bodyCap, true, &request); problem != nil {
		return problem
	}
	if err := s.Runs.Cancel(r.Context(), id, request.By); err != nil {
		return runProblem(id, err)
	}
	result, err := s.Runs.Get(r.Context(), id)
	if err != nil {
		return runProblem(id, err)
	}
	writeJSON(w, http.StatusAccepted, RunAnswer{Run: &result.Run})
	return nil
}

func (s *server) resume(w http.ResponseWriter, r *http.Request) *Problem {
	id, problem := runID(r)
	if problem != nil {
		return problem
	}
	var request engine.ResumeRequest
	if problem := decodeBody(w, r, localBodyCap, true, &request); problem != nil {
		return problem
	}
	run, err := s.Runs.Resume(r.Context(), id, request)
	if err != nil {
		return runProblem(id, err)
	}
	writeJSON(w, http.StatusAccepted, RunAnswer{Run: run})
	return nil
}

func (s *server) rerun(w http.ResponseWriter, r *http.Request) *Problem {
	id, problem := runID(r)
	if problem != nil {
		return problem
	}
	var request engine.RerunRequest
	if problem := decodeBody(w, r, localBodyCap, true, &request); problem != nil {
		return problem
	}
	run, list, err := s.Runs.Rerun(r.Context(), id, request)
	if err != nil {
		return runProblem(id, err)
	}
	if run == nil {
		return invalidWorkflow(list)
	}
	writeJSON(w, http.StatusCreated, RunAnswer{Run: run, Problems: list})
	return nil
}

func (s *server) startLocal(w http.ResponseWriter, r *http.Request) *Problem {
	var request engine.StartRequest
	if problem := decodeBody(w, r, localBodyCap, false, &request); problem != nil {
		return problem
	}
	run, list, err := s.Runs.Start(r.Context(), request)
	if err != nil {
		return problemOf(err)
	}
	if run == nil {
		return invalidWorkflow(list)
	}
	writeJSON(w, http.StatusCreated, RunAnswer{Run: run, Problems: list})
	return nil
}

func (s *server) callLocal(w http.ResponseWriter, r *http.Request) *Problem {
	var request engine.CallRequest
	if problem := decodeBody(w, r, localBodyCap, false, &request); problem != nil {
		return problem
	}
	lines := newLineSink(w)
	result, err := s.Runs.Call(r.Context(), request, lines)
	if err != nil {
		lines.write(CallLine{Problem: problemOf(err)})
		return nil
	}
	lines.write(CallLine{Result: &result})
	return nil
}

// lineSink sends what a call says, one JSON value a line.
type lineSink struct {
	mu      sync.Mutex
	encoder *json.Encoder
	flusher *http.ResponseController
}

// Log sends one log line.
func (s *lineSink) Log(log plan.Log) { s.write(CallLine{Log: &log}) }

// Progress sends how far the call is.
func (s *lineSink) Progress(progress plan.Progress) { s.write(CallLine{Progress: &progress}) }

// Prompt sends what a person must do.
func (s *lineSink) Prompt(prompt plan.Prompt) { s.write(CallLine{Prompt: &prompt}) }

func (s *lineSink) write(line CallLine) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.encoder.Encode(line); err == nil {
		_ = s.flusher.Flush() // a client that is gone cancels the request's context
	}
}
