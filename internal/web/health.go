package web

import (
	"net/http"

	"github.com/flowrun/flowrun/internal/web/wire"
)

// HealthAnswer is what /healthz and /readyz say when all is well.
type HealthAnswer struct {
	Status string `json:"status"` // "ok"
}

// health says that the process answers. It does so until it is gone.
func (s *server) health(w http.ResponseWriter, _ *http.Request) error {
	return reply(w, http.StatusOK, HealthAnswer{Status: "ok"}, nil)
}

// ready says whether a request that changes something would be taken: not while
// the owner ends, not after its store has failed, and not while there is no room
// for a run.
func (s *server) ready(w http.ResponseWriter, _ *http.Request) error {
	select {
	case <-s.Gate.Done():
		return wire.NewProblem(wire.CodeClosing, closingText)
	default:
	}
	if s.Ready != nil {
		if err := s.Ready(); err != nil {
			return wire.NewProblem(wire.CodeUnavailable, "nothing can be taken: "+problemOf(err).Detail)
		}
	}
	return reply(w, http.StatusOK, HealthAnswer{Status: "ok"}, nil)
}
