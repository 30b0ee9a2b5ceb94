package web

import (
	"context"
	"errors"
	"net/http"

	"github.com/flowrun/flowrun/engine/access"
	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/internal/web/guard"
)

// Tokens is what the API needs of an engine to act on the tokens of its TCP side.
type Tokens interface {
	CreateAccessToken(ctx context.Context, r access.NewToken) (*access.TokenInfo, string, error)
	ListAccessTokens(ctx context.Context) ([]access.TokenInfo, error)
	RemoveAccessToken(ctx context.Context, name string) error
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

func (s *server) tokens(w http.ResponseWriter, r *http.Request) *Problem {
	tokens, err := s.Tokens.ListAccessTokens(r.Context())
	return replyWith(w, newPage(tokens, ""), err)
}

func (s *server) createToken(w http.ResponseWriter, r *http.Request) *Problem {
	var request access.NewToken
	if problem := decodeBody(w, r, bodyCap, false, &request); problem != nil {
		return problem
	}
	request.By = by(r.Context(), request.By)
	token, text, err := s.Tokens.CreateAccessToken(r.Context(), request)
	if err != nil {
		return problemOf(err)
	}
	writeJSON(w, http.StatusOK, TokenAnswer{TokenInfo: *token, Token: text})
	return nil
}

func (s *server) removeToken(w http.ResponseWriter, r *http.Request) *Problem {
	var request nameRequest
	if problem := decodeBody(w, r, bodyCap, false, &request); problem != nil {
		return problem
	}
	if err := s.Tokens.RemoveAccessToken(r.Context(), request.Name); err != nil {
		return problemOf(err)
	}
	if s.TokenRemoved != nil {
		s.TokenRemoved(r.Context())
	}
	writeJSON(w, http.StatusOK, map[string]string{"removed": request.Name})
	return nil
}

func (s *server) loginLink(w http.ResponseWriter, r *http.Request) *Problem {
	var request LinkRequest
	if problem := decodeBody(w, r, bodyCap, true, &request); problem != nil {
		return problem
	}
	scope := guard.Scope(request.Scope)
	if scope == "" {
		scope = guard.Admin
	}
	if !guard.Admin.Allows(scope) {
		answer := newProblem(CodeInvalidInput, "this is not a scope")
		answer.Hint = diag.Say("it is one of viewer, operator, admin")
		return answer
	}
	link, err := "", error(nil)
	if s.LoginLink != nil {
		name := request.By
		if sender := peerOf(r.Context()); sender != nil {
			name = sender.Account(name)
		}
		link, err = s.LoginLink(name, scope)
	}
	switch {
	case err != nil:
		return problemOf(err)
	case link == "":
		answer := newProblem(CodeConflict, "the process that owns the store serves no web page")
		answer.Hint = diag.Sayf("%s does", diag.Command{"serve"})
		return answer
	}
	writeJSON(w, http.StatusOK, LinkAnswer{URL: link})
	return nil
}

// Tokens returns the tokens of the server, by name.
func (c *Client) Tokens(ctx context.Context) ([]access.TokenInfo, error) {
	var page Page[access.TokenInfo]
	err := c.get(ctx, "/local/tokens", &page)
	return page.Items, err
}

// CreateToken makes a token.
func (c *Client) CreateToken(ctx context.Context, r access.NewToken) (*TokenAnswer, error) {
	answer := new(TokenAnswer)
	return answer, c.post(ctx, "/local/tokens", r, answer)
}

// RemoveToken removes a token by its name or id.
func (c *Client) RemoveToken(ctx context.Context, name string) error {
	return c.post(ctx, "/local/tokens/remove", nameRequest{Name: name}, &struct{}{})
}

// LoginLink returns a login link of the server.
func (c *Client) LoginLink(ctx context.Context, r LinkRequest) (string, error) {
	var answer LinkAnswer
	err := c.post(ctx, "/local/login-link", r, &answer)
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
