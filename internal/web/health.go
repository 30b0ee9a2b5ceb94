package web

import "net/http"

// health says that the process answers. It does so until it is gone.
func (s *server) health(w http.ResponseWriter, _ *http.Request) *Problem {
	writeJSON(w, http.StatusOK, HealthAnswer{Status: "ok"})
	return nil
}

// ready says whether a request that changes something would be taken: not while
// the owner ends, not after its store has failed, and not while there is no room
// for a run.
func (s *server) ready(w http.ResponseWriter, _ *http.Request) *Problem {
	select {
	case <-s.Gate.Done():
		return newProblem(CodeClosing, closingText)
	default:
	}
	if s.Ready != nil {
		if err := s.Ready(); err != nil {
			return newProblem(CodeUnavailable, "nothing can be taken: "+problemOf(err).Detail)
		}
	}
	writeJSON(w, http.StatusOK, HealthAnswer{Status: "ok"})
	return nil
}
