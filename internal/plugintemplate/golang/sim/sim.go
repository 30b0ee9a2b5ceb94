// Package sim stands for the service: in the tests, and in a sandbox.
package sim

import (
	"encoding/json"
	"net/http"
	"strconv"
	"sync"
)

// Key is what the service takes.
const Key = "simulated"

// Service keeps notes in memory.
type Service struct {
	mu    sync.Mutex
	notes []map[string]any
	added map[string]map[string]any // by idempotency key
}

// New returns a service without notes.
func New() *Service { return &Service{notes: []map[string]any{}, added: map[string]map[string]any{}} }

func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case r.Header.Get("Authorization") != "Bearer "+Key:
		reply(w, http.StatusUnauthorized, map[string]any{"message": "who are you?"})
	case r.Method == http.MethodGet && r.URL.Path == "/v1/notes":
		reply(w, http.StatusOK, map[string]any{"notes": s.notes})
	case r.Method == http.MethodPost && r.URL.Path == "/v1/notes":
		s.add(w, r)
	default:
		reply(w, http.StatusNotFound, map[string]any{"message": "there is no " + r.URL.Path})
	}
}

// add adds a note, once for each idempotency key.
func (s *Service) add(w http.ResponseWriter, r *http.Request) {
	key := r.Header.Get("Idempotency-Key")
	made, known := s.added[key]
	if !known || key == "" {
		made = nil
		if json.NewDecoder(r.Body).Decode(&made) != nil {
			reply(w, http.StatusBadRequest, map[string]any{"message": "that is no note"})
			return
		}
		made["id"] = "n" + strconv.Itoa(len(s.notes)+1)
		s.notes = append(s.notes, made)
		s.added[key] = made
	}
	reply(w, http.StatusCreated, made)
}

func reply(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // who has gone away needs no answer
}
