package web

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/plan"
)

// Access is what the API needs of an engine to act on connections and secrets.
type Access interface {
	ListConnections(ctx context.Context) []engine.ConnectionStatus
	TestConnection(ctx context.Context, connection string) (engine.ConnectionTest, error)
	Login(ctx context.Context, connection string, r engine.LoginRequest, sink plan.Sink) (engine.CallResult, error)
	Logout(ctx context.Context, connection string) (engine.LogoutResult, error)
	ListSecrets(ctx context.Context) ([]engine.SecretInfo, error)
	SetSecret(ctx context.Context, name, value string) (*engine.SecretInfo, error)
	RemoveSecret(ctx context.Context, name string) error
}

// secretValue is the body that sets a secret. It has no other way in, and none
// out.
type secretValue struct {
	Value string `json:"value"`
}

// secretBodyCap holds a value of engine.MaxSecret bytes, each of them escaped.
const secretBodyCap = 6*engine.MaxSecret + 1024

func (s *server) connections(w http.ResponseWriter, r *http.Request) *Problem {
	list := s.Access.ListConnections(r.Context())
	writeJSON(w, http.StatusOK, newPage(list, ""))
	return nil
}

// connectionName returns the name in the path. One that no connection can have
// is not found.
func connectionName(r *http.Request) (string, *Problem) {
	name := r.PathValue("name")
	if !ValidConnection(name) {
		return "", problemOf(&engine.UnknownError{What: "connection", Name: name, Hint: "`flowrun connections` lists the connections"})
	}
	return name, nil
}

func (s *server) testConnection(w http.ResponseWriter, r *http.Request) *Problem {
	name, problem := connectionName(r)
	if problem != nil {
		return problem
	}
	if problem := decodeBody(w, r, bodyCap, true, new(struct{})); problem != nil {
		return problem
	}
	test, err := s.Access.TestConnection(r.Context(), name)
	if err != nil {
		return problemOf(err)
	}
	writeJSON(w, http.StatusOK, test)
	return nil
}

// login streams as a call does: an unknown connection is told before the stream
// begins.
func (s *server) login(w http.ResponseWriter, r *http.Request) *Problem {
	name, problem := connectionName(r)
	if problem != nil {
		return problem
	}
	var request engine.LoginRequest
	if problem := decodeBody(w, r, bodyCap, true, &request); problem != nil {
		return problem
	}
	lines := newLineSink(w)
	result, err := s.Access.Login(r.Context(), name, request, lines)
	var unknown *engine.UnknownError
	switch {
	case errors.As(err, &unknown):
		return problemOf(err)
	case err != nil:
		lines.write(CallLine{Problem: problemOf(err)})
	default:
		lines.write(CallLine{Result: &result})
	}
	return nil
}

func (s *server) logout(w http.ResponseWriter, r *http.Request) *Problem {
	name, problem := connectionName(r)
	if problem != nil {
		return problem
	}
	if problem := decodeBody(w, r, bodyCap, true, new(struct{})); problem != nil {
		return problem
	}
	result, err := s.Access.Logout(r.Context(), name)
	if err != nil {
		return problemOf(err)
	}
	writeJSON(w, http.StatusOK, result)
	return nil
}

func (s *server) secrets(w http.ResponseWriter, r *http.Request) *Problem {
	list, err := s.Access.ListSecrets(r.Context())
	if err != nil {
		return problemOf(err)
	}
	writeJSON(w, http.StatusOK, newPage(list, ""))
	return nil
}

// secretPath returns the name in the path, which is not told again where it can
// be none: it may be a value in the wrong place.
func secretPath(r *http.Request) (string, *Problem) {
	name := r.PathValue("name")
	if !engine.ValidSecretName(name) {
		return "", newProblem(CodeBadRequest, "this is not the name of a secret: letters, digits and _")
	}
	return name, nil
}

func (s *server) setSecret(w http.ResponseWriter, r *http.Request) *Problem {
	name, problem := secretPath(r)
	if problem != nil {
		return problem
	}
	var body secretValue
	if problem := decodeBody(w, r, secretBodyCap, false, &body); problem != nil {
		problem.Detail = "the body is not {\"value\": TEXT} within its limits" // what was read may be the secret
		return problem
	}
	info, err := s.Access.SetSecret(r.Context(), name, body.Value)
	if err != nil {
		return problemOf(err)
	}
	writeJSON(w, http.StatusOK, info)
	return nil
}

func (s *server) removeSecret(w http.ResponseWriter, r *http.Request) *Problem {
	name, problem := secretPath(r)
	if problem != nil {
		return problem
	}
	if err := s.Access.RemoveSecret(r.Context(), name); err != nil {
		return problemOf(err)
	}
	writeJSON(w, http.StatusOK, struct{}{})
	return nil
}

// newLineSink begins an answer of one JSON value a line.
func newLineSink(w http.ResponseWriter) *lineSink {
	w.Header().Set("Content-Type", "application/x-ndjson")
	lines := &lineSink{encoder: json.NewEncoder(w), flusher: http.NewResponseController(w)}
	lines.encoder.SetEscapeHTML(false)
	return lines
}
