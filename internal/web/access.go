package web

import (
	"context"
	"errors"
	"net/http"
	"reflect"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/calls"
	"github.com/flowrun/flowrun/engine/connections"
	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/fault"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/workspace"
	"github.com/flowrun/flowrun/internal/web/guard"
	"github.com/flowrun/flowrun/internal/web/wire"
)

// Access is what the API needs of an engine to act on connections and secrets.
type Access interface {
	ListConnections(ctx context.Context) []workspace.ConnectionStatus
	TestConnection(ctx context.Context, connection string) (connections.Test, error)
	Login(ctx context.Context, connection string, r connections.LoginRequest, sink runs.Sink) (calls.Result, error)
	Logout(ctx context.Context, connection string) (connections.LogoutResult, error)
	ListSecrets(ctx context.Context) ([]workspace.SecretInfo, error)
	StoredSecretNames(ctx context.Context) ([]string, error)
	SetSecret(ctx context.Context, name, value string) (*workspace.SecretInfo, error)
	RemoveSecret(ctx context.Context, name string) error
}

// secretValue is the body that sets a secret. It has no other way in, and none
// out.
type secretValue struct {
	Value string `json:"value"`
}

// secretBodyCap holds a value of engine.MaxSecret bytes, each of them escaped.
const secretBodyCap = 6*engine.MaxSecret + 1024

func registerAccess(t *typed, s *server) {
	register(t, guard.Viewer, "GET /connections", huma.Operation{
		OperationID: "listConnections", Tags: []string{"connections"}, Summary: "List the connections with what is known of their logins",
	}, s.connections)
	register(t, guard.Operator, "POST /connections/{name}/test", huma.Operation{
		OperationID: "testConnection", Tags: []string{"connections"}, Summary: "Let the plugin of a connection try it",
	}, s.testConnection, wire.CodeConflict)
	registerWhole(t, guard.Operator, "POST /connections/{name}/login", huma.Operation{
		OperationID: "loginConnection", Tags: []string{"connections"}, Metadata: map[string]any{longAnswers: true, responses: loginResponse},
		Summary: "Log in to a connection",
		Description: "The answer comes line by line while the person logs in: what to do there (`prompt`: address and code), and last the `result` " +
			"or the `problem`. A client that goes away ends the login.",
	}, s.login, wire.CodeConflict)
	register(t, guard.Operator, "POST /connections/{name}/logout", huma.Operation{
		OperationID: "logoutConnection", Tags: []string{"connections"}, Summary: "Withdraw the token of a connection and forget it",
	}, s.logout, wire.CodeConflict)
}

var loginResponse = also{"200", "One JSON value a line.", linesType, []reflect.Type{reflect.TypeFor[CallLine]()}}

func (s *server) connections(ctx context.Context, _ *struct{}) (Page[workspace.ConnectionStatus], error) {
	return newPage(s.Access.ListConnections(ctx), ""), nil
}

// ConnectionRef names a connection in a path.
type ConnectionRef struct {
	Name string `path:"name" doc:"The connection's name." example:"work"`
}

// check refuses a name that no connection can have.
func (r ConnectionRef) check() error {
	if !ValidConnection(r.Name) {
		return problemOf(&fault.UnknownError{What: "connection", Name: shorten(r.Name), Hint: diag.Sayf("%s lists the connections", diag.Command{"connections"})})
	}
	return nil
}

// NoBody is the body of a request that has nothing to say.
type NoBody struct{}

type connectionInput struct {
	ConnectionRef
	Body *NoBody
}

func (s *server) testConnection(ctx context.Context, in *connectionInput) (connections.Test, error) {
	return s.Access.TestConnection(ctx, in.Name)
}

type loginInput struct {
	ConnectionRef
	Body *connections.LoginRequest
}

// login streams as a call does: an unknown connection is told before the stream
// begins.
func (s *server) login(ctx context.Context, in *loginInput) (*streamed, error) {
	return &streamed{func(x huma.Context) {
		_, w := humago.Unwrap(x)
		lines := newLineSink(w)
		result, err := s.Access.Login(ctx, in.Name, orZero(in.Body), lines)
		if unknown := (*fault.UnknownError)(nil); errors.As(err, &unknown) {
			problemOf(err).Write(w)
			return
		}
		lines.end(result, err)
	}}, nil
}

func (s *server) logout(ctx context.Context, in *connectionInput) (connections.LogoutResult, error) {
	return s.Access.Logout(ctx, in.Name)
}

// secretPath returns the name in the path, which is not told again where it can
// be none: it may be a value in the wrong place.
func secretPath(r *http.Request) (string, error) {
	name := r.PathValue("name")
	if !workspace.ValidSecretName(name) {
		return "", wire.NewProblem(wire.CodeBadRequest, "this is not the name of a secret: letters, digits and _")
	}
	return name, nil
}

func (s *server) setSecret(w http.ResponseWriter, r *http.Request) error {
	name, err := secretPath(r)
	if err != nil {
		return err
	}
	var body secretValue
	if err := decodeBody(w, r, secretBodyCap, false, &body); err != nil {
		problem := problemOf(err)
		problem.Detail = "the body is not {\"value\": TEXT} within its limits" // what was read may be the secret
		return problem
	}
	info, err := s.Access.SetSecret(r.Context(), name, body.Value)
	return reply(w, http.StatusOK, info, err)
}

func (s *server) removeSecret(w http.ResponseWriter, r *http.Request) error {
	name, err := secretPath(r)
	if err == nil {
		err = decodeBody(w, r, bodyCap, true, new(NoBody))
	}
	if err == nil {
		err = s.Access.RemoveSecret(r.Context(), name)
	}
	return reply(w, http.StatusOK, struct{}{}, err)
}
