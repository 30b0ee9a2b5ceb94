package simkit

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// ControlPrefix is the path below which a simulator is steered from outside.
const ControlPrefix = "/_sim/"

// maxFaultBody bounds what POST /_sim/faults takes.
const maxFaultBody = 1 << 20

// Journal is what GET /_sim/requests answers.
type Journal struct {
	Total    int            `json:"total"`
	Counts   map[string]int `json:"counts"` // by path
	Requests []Request      `json:"requests"`
}

func isControl(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, ControlPrefix) }

// control returns the handler of the endpoints below ControlPrefix:
//
//	GET    requests    the journal; ?path=P only that path's requests
//	GET    faults      the faults that are set
//	POST   faults      one fault, or a list of them
//	DELETE faults      removes all faults
//	POST   reset       removes faults and journal, and the limiter starts anew
func (k *Kit) control() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+ControlPrefix+"requests", k.getRequests)
	mux.HandleFunc("GET "+ControlPrefix+"faults", func(w http.ResponseWriter, _ *http.Request) {
		WriteJSON(w, http.StatusOK, map[string]any{"faults": k.Faults()})
	})
	mux.HandleFunc("POST "+ControlPrefix+"faults", k.postFaults)
	mux.HandleFunc("DELETE "+ControlPrefix+"faults", func(w http.ResponseWriter, _ *http.Request) {
		k.ClearFaults()
		w.WriteHeader(http.StatusNoContent)
	})
	mux.HandleFunc("POST "+ControlPrefix+"reset", func(w http.ResponseWriter, _ *http.Request) {
		k.Reset()
		w.WriteHeader(http.StatusNoContent)
	})
	return mux
}

func (k *Kit) getRequests(w http.ResponseWriter, r *http.Request) {
	only := r.URL.Query().Get("path")
	j := Journal{Total: k.Count(""), Counts: k.Counts(), Requests: []Request{}}
	for _, req := range k.Requests() {
		if only == "" || req.Path == only {
			j.Requests = append(j.Requests, req)
		}
	}
	WriteJSON(w, http.StatusOK, j)
}

func (k *Kit) postFaults(w http.ResponseWriter, r *http.Request) {
	var raw json.RawMessage
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxFaultBody)).Decode(&raw); err != nil {
		WriteJSON(w, http.StatusBadRequest, map[string]string{"error": fmt.Sprintf("read faults: %v", err)})
		return
	}
	faults, err := decodeFaults(raw)
	if err == nil {
		err = k.Add(faults...)
	}
	if err != nil {
		WriteJSON(w, http.StatusBadRequest, map[string]string{"error": err.Error()})
		return
	}
	WriteJSON(w, http.StatusCreated, map[string]any{"faults": k.Faults()})
}

// decodeFaults reads one fault or a list; unknown keys are errors, since a
// misspelt one would make a test pass for the wrong reason.
func decodeFaults(raw json.RawMessage) ([]Fault, error) {
	dec := json.NewDecoder(strings.NewReader(string(raw)))
	dec.DisallowUnknownFields()
	if len(raw) > 0 && raw[0] == '[' {
		var list []Fault
		if err := dec.Decode(&list); err != nil {
			return nil, fmt.Errorf("read faults: %w", err)
		}
		return list, nil
	}
	var f Fault
	if err := dec.Decode(&f); err != nil {
		return nil, fmt.Errorf("read fault: %w", err)
	}
	return []Fault{f}, nil
}

// WriteJSON answers with v as JSON. An already set Content-Type stays. HTML
// signs are not escaped, so that texts arrive as they are.
func WriteJSON(w http.ResponseWriter, status int, v any) {
	if w.Header().Get("Content-Type") == "" {
		w.Header().Set("Content-Type", "application/json")
	}
	w.WriteHeader(status)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v) // a client that went away is no trouble of a simulator
}
