package web

import (
	"cmp"
	"context"
	"errors"

	"github.com/flowrun/flowrun/engine/access"
	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/internal/web/guard"
	"github.com/flowrun/flowrun/internal/web/wire"
)

// Tokens is what the API needs of an engine to act on the tokens of its TCP side.
type Tokens interface {
	CreateAccessToken(ctx context.Context, r access.NewToken) (*access.TokenInfo, string, error)
	ListAccessTokens(ctx context.Context) ([]access.TokenInfo, error)
	RemoveAccessToken(ctx context.Context, name string) (with []string, err error)
	CheckAccessToken(ctx context.Context, text string) (*access.TokenInfo, error)
	AccessTokenHolds(ctx context.Context, id string) bool
}

// TokenAnswer is a token that was made. Token is its text, which is told this
// once.
type TokenAnswer struct {
	access.TokenInfo
	Token string `json:"token"`
}

// LinkRequest asks for a login link.
type LinkRequest struct {
	Scope string `json:"scope,omitempty"` // "" = admin
	By    string `json:"by,omitempty"`
}

// LinkAnswer is a login link, good once and for 15 minutes.
type LinkAnswer struct {
	URL string `json:"url"`
}

// nameRequest names a thing whose name a path can't hold.
type nameRequest struct {
	Name string `json:"name"`
}

func (s *server) createToken(ctx context.Context, request access.NewToken) (TokenAnswer, error) {
	request.By = by(ctx, request.By)
	if caller, remote := guard.CallerOf(ctx); remote {
		request.MadeWith = caller.ID
	}
	token, text, err := s.Tokens.CreateAccessToken(ctx, request)
	if err != nil {
		return TokenAnswer{}, err
	}
	return TokenAnswer{TokenInfo: *token, Token: text}, nil
}

// RemovedToken names a token that was removed, and those that were made with it and are
// gone as well.
type RemovedToken struct {
	Removed string   `json:"removed"`
	With    []string `json:"with,omitempty"`
}

func (s *server) removeToken(ctx context.Context, request nameRequest) (RemovedToken, error) {
	with, err := s.Tokens.RemoveAccessToken(ctx, request.Name)
	if err != nil {
		return RemovedToken{}, err
	}
	if s.TokenRemoved != nil {
		s.TokenRemoved(ctx)
	}
	return RemovedToken{Removed: request.Name, With: with}, nil
}

func (s *server) loginLink(ctx context.Context, request LinkRequest) (LinkAnswer, error) {
	scope := cmp.Or(guard.Scope(request.Scope), guard.Admin)
	if !guard.Admin.Allows(scope) {
		return LinkAnswer{}, wire.NewProblem(wire.CodeInvalidInput, "this is not a scope").With(diag.Say("it is one of viewer, operator, admin"))
	}
	link, err := "", error(nil)
	if s.LoginLink != nil {
		name := request.By
		if sender := peerOf(ctx); sender != nil {
			name = sender.Account(name)
		}
		link, err = s.LoginLink(name, scope)
	}
	if err == nil && link == "" {
		err = wire.NewProblem(wire.CodeConflict, "the process that owns the store serves no web page").With(diag.Sayf("%s does", diag.Command{"serve"}))
	}
	return LinkAnswer{URL: link}, err
}

// Tokens returns the tokens of the server, by name.
func (c *Client) Tokens(ctx context.Context) ([]access.TokenInfo, error) {
	return fetchAll[access.TokenInfo](ctx, c, "/local/tokens")
}

// CreateToken makes a token.
func (c *Client) CreateToken(ctx context.Context, r access.NewToken) (*TokenAnswer, error) {
	return post[TokenAnswer](ctx, c, "/local/tokens", r)
}

// RemoveToken removes a token by its name or id, and those that were made with it.
func (c *Client) RemoveToken(ctx context.Context, name string) (*RemovedToken, error) {
	return post[RemovedToken](ctx, c, "/local/tokens/remove", nameRequest{Name: name})
}

// LoginLink returns a login link of the server.
func (c *Client) LoginLink(ctx context.Context, r LinkRequest) (string, error) {
	answer, err := post[LinkAnswer](ctx, c, "/local/login-link", r)
	return answer.URL, err
}

// Close gives back the connections that are not in use. The client stays usable.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// authority lets the guard ask an engine for tokens.
type authority struct{ tokens Tokens }

// Token implements guard.Authority.
func (a authority) Token(ctx context.Context, text string) (guard.Grant, error) {
	token, err := a.tokens.CheckAccessToken(ctx, text)
	switch {
	case errors.Is(err, access.ErrNoToken):
		return guard.Grant{}, guard.ErrNoToken
	case err != nil:
		return guard.Grant{}, err
	}
	return guard.Grant{ID: token.ID, Name: token.Name, Scope: guard.Scope(token.Scope)}, nil
}

// Holds implements guard.Authority.
func (a authority) Holds(ctx context.Context, id string) bool {
	return a.tokens.AccessTokenHolds(ctx, id)
}
