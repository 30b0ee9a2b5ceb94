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
)

// Access is what the API needs of an engine to act on connections and secrets.
type Access interface {
	ListConnections(ctx context.Context) []workspace.ConnectionStatus
	TestConnection(ctx context.Context, connection string) (connections.Test, error)
	Login(ctx context.Context, connection string, r connections.LoginRequest, sink runs.Sink) (calls.Result, error)
	Logout(ctx context.Context, connection string) (connections.LogoutResult, error)
	ListSecrets(ctx context.Context) ([]workspace.SecretInfo, error)
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
	register(t, ScopeViewer, huma.Operation{
		OperationID: "listConnections", Method: http.MethodGet, Path: Prefix + "/connections", Tags: []string{"connections"},
		Summary: "List the connections with what is known of their logins",
	}, s.connections)
	register(t, ScopeOperator, huma.Operation{
		OperationID: "testConnection", Method: http.MethodPost, Path: Prefix + "/connections/{name}/test", Tags: []string{"connections"},
		Summary:  "Let the plugin of a connection try it",
		Metadata: map[string]any{refuses: []Code{CodeConflict}},
	}, s.testConnection)
	registerWhole(t, ScopeOperator, huma.Operation{
		OperationID: "loginConnection", Method: http.MethodPost, Path: Prefix + "/connections/{name}/login", Tags: []string{"connections"},
		Metadata: map[string]any{refuses: []Code{CodeConflict}, longAnswers: true, responses: responsesOf(loginResponses)}, Summary: "Log in to a connection",
		Description: "The answer comes line by line while the person logs in: what to do there (`prompt`: address and code), and last the `result` " +
			"or the `problem`. A client that goes away ends the login.",
	}, s.login)
	register(t, ScopeOperator, huma.Operation{
		OperationID: "logoutConnection", Method: http.MethodPost, Path: Prefix + "/connections/{name}/logout", Tags: []string{"connections"},
		Summary:  "Withdraw the token of a connection and forget it",
		Metadata: map[string]any{refuses: []Code{CodeConflict}},
	}, s.logout)
}

func loginResponses(schema func(reflect.Type) *huma.Schema) map[string]*huma.Response {
	return map[string]*huma.Response{"200": {
		Description: "One JSON value a line.",
		Content:     map[string]*huma.MediaType{linesType: {Schema: schema(reflect.TypeFor[CallLine]())}},
	}}
}

func (s *server) connections(ctx context.Context, _ *struct{}) (Page[workspace.ConnectionStatus], *Problem) {
	return newPage(s.Access.ListConnections(ctx), ""), nil
}

// ConnectionRef names a connection in a path.
type ConnectionRef struct {
	Name string `path:"name" doc:"The connection's name." example:"work"`
}

// check refuses a name that no connection can have.
func (r ConnectionRef) check() *Problem {
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

func (s *server) testConnection(ctx context.Context, in *connectionInput) (connections.Test, *Problem) {
	if problem := in.check(); problem != nil {
		return connections.Test{}, problem
	}
	test, err := s.Access.TestConnection(ctx, in.Name)
	if err != nil {
		return test, problemOf(err)
	}
	return test, nil
}

type loginInput struct {
	ConnectionRef
	Body *connections.LoginRequest
}

// login streams as a call does: an unknown connection is told before the stream
// begins.
func (s *server) login(ctx context.Context, in *loginInput) (*streamed, *Problem) {
	if problem := in.check(); problem != nil {
		return nil, problem
	}
	return &streamed{func(x huma.Context) {
		_, w := humago.Unwrap(x)
		lines := newLineSink(w)
		result, err := s.Access.Login(ctx, in.Name, orZero(in.Body), lines)
		var unknown *fault.UnknownError
		switch {
		case errors.As(err, &unknown):
			writeProblem(w, problemOf(err))
		case err != nil:
			lines.write(CallLine{Problem: problemOf(err)})
		default:
			lines.write(CallLine{Result: &result})
		}
	}}, nil
}

func (s *server) logout(ctx context.Context, in *connectionInput) (connections.LogoutResult, *Problem) {
	if problem := in.check(); problem != nil {
		return connections.LogoutResult{}, problem
	}
	result, err := s.Access.Logout(ctx, in.Name)
	if err != nil {
		return result, problemOf(err)
	}
	return result, nil
}

func (s *server) secrets(w http.ResponseWriter, r *http.Request) *Problem {
	list, err := s.Access.ListSecrets(r.Context())
	return replyWith(w, newPage(list, ""), err)
}

// secretPath returns the name in the path, which is not told again where it can
// be none: it may be a value in the wrong place.
func secretPath(r *http.Request) (string, *Problem) {
	name := r.PathValue("name")
	if !workspace.ValidSecretName(name) {
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
	return replyWith(w, info, err)
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
