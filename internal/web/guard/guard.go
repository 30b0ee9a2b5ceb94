// Package guard decides who may use a route of the server, before the route is
// reached: hosts, origins, tokens, sessions and their scopes. What is not
// allowed is refused; the zero value of every type here allows nothing.
package guard

import (
	"context"
	"net/http"
)

// Scope is what a caller must be allowed to use a route. A higher scope holds
// the lower ones: admin > operator > viewer.
type Scope string

// The scopes. The empty one is nobody's.
const (
	Viewer   Scope = "viewer"
	Operator Scope = "operator"
	Admin    Scope = "admin"
)

// Allows reports whether a caller of scope s may use a route that needs need.
func (s Scope) Allows(need Scope) bool {
	rank := map[Scope]int{Viewer: 1, Operator: 2, Admin: 3}
	return rank[need] > 0 && rank[s] >= rank[need]
}

// Face says which authority a route asks for. The empty one lets nobody in.
type Face string

// The faces.
const (
	FaceOpen Face = "open" // anybody: /healthz, /readyz, the login form
	FaceAPI  Face = "api"  // a bearer token; never a session
	FacePage Face = "page" // a session's cookie; never a token
	FaceHook Face = "hook" // the workflow's own `auth`
)

// Route is one line of the server's table: what stands in none does not exist.
type Route struct {
	Pattern string // of net/http's ServeMux: method and path
	Face    Face
	Scope   Scope // of FaceAPI and FacePage
	Handler http.Handler
}

// Caller is who sends a request.
type Caller struct {
	ID     string // of the token; "" = a session
	Name   string // of the token or session: "token ci", "page of ann"
	Scope  Scope
	Remote string // the address
	CSRF   string // of a session
	Grant  string // of a session: the id of the token that it was made with; "" = a login link
}

// By is how events name the caller: who, and from where.
func (c Caller) By() string {
	if c.Name == "" {
		return ""
	}
	return c.Name + " from " + c.Remote
}

type callerKey struct{}

// WithCaller returns a context that carries the caller.
func WithCaller(ctx context.Context, c Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

// CallerOf returns the caller of a request; the zero value on the unix socket,
// where `by` of the body holds.
func CallerOf(ctx context.Context) (Caller, bool) {
	c, ok := ctx.Value(callerKey{}).(Caller)
	return c, ok
}
