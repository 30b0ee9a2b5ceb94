package web

import (
	"encoding/json"
	"net/http"
	"sync"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/calls"
	"github.com/flowrun/flowrun/engine/runs"
)

func (s *server) owner(w http.ResponseWriter, _ *http.Request) *Problem {
	writeJSON(w, http.StatusOK, s.Owner)
	return nil
}

// runID returns the id in the path of a request that is not typed.
func runID(r *http.Request) (string, *Problem) {
	ref := RunRef{ID: r.PathValue("id")}
	return ref.ID, ref.check()
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
	var request calls.Request
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

// newLineSink begins an answer of one JSON value a line.
func newLineSink(w http.ResponseWriter) *lineSink {
	w.Header().Set("Content-Type", linesType)
	lines := &lineSink{encoder: json.NewEncoder(w), flusher: http.NewResponseController(w)}
	lines.encoder.SetEscapeHTML(false)
	return lines
}

// linesType is the media type of an answer of one JSON value a line.
const linesType = "application/x-ndjson"

// Log sends one log line.
func (s *lineSink) Log(log runs.Log) { s.write(CallLine{Log: &log}) }

// Progress sends how far the call is.
func (s *lineSink) Progress(progress runs.Progress) { s.write(CallLine{Progress: &progress}) }

// Prompt sends what a person must do.
func (s *lineSink) Prompt(prompt runs.Prompt) { s.write(CallLine{Prompt: &prompt}) }

func (s *lineSink) write(line CallLine) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.encoder.Encode(line); err == nil {
		_ = s.flusher.Flush() // a client that is gone cancels the request's context
	}
}
