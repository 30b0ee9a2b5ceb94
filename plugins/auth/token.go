package auth

import (
	"context"
	"math"
	"net/url"
	"time"

	"github.com/flowrun/flowrun/sdk"
)

// TokenInput is the input of token.
type TokenInput struct {
	MinTTLS int64 `json:"min_ttl_s" min:"0" max:"31536000" default:"60" doc:"For how many seconds the token must be good at least."`
}

// TokenOutput is the output of token.
type TokenOutput struct {
	Token     string     `json:"token" secret:"true" doc:"Access token."`
	TokenType string     `json:"token_type" doc:"Bearer."`
	ExpiresAt *time.Time `json:"expires_at" doc:"When it ends, with some reserve; null when the service does not say."`
	Scopes    []string   `json:"scopes" doc:"What was granted."`
	Refreshed bool       `json:"refreshed" doc:"Whether this call renewed it."`
}

// RefreshOutput is the output of refresh.
type RefreshOutput struct {
	ExpiresAt *time.Time `json:"expires_at" doc:"When the new access token ends, with some reserve; null when the service does not say."`
	Scopes    []string   `json:"scopes" doc:"What is granted."`
}

// StatusOutput is the output of status.
type StatusOutput struct {
	State            string     `json:"state" enum:"none,valid,expired,auth_required" doc:"valid: there is a good access token, or a refresh token that gets one. expired: neither is left."`
	Renewable        bool       `json:"renewable" doc:"Whether there is a refresh token: the access token is renewed by itself."`
	ExpiresAt        *time.Time `json:"expires_at,omitempty" doc:"When the access token ends."`
	RefreshExpiresAt *time.Time `json:"refresh_expires_at,omitempty" doc:"When the refresh token ends, where the service says it."`
	Scopes           *[]string  `json:"scopes,omitempty" doc:"What was granted."`
}

// token is action auth.token: the stored token, renewed where it must be (A3).
func (p *plugin) token(c *sdk.Call[Config], in TokenInput) (TokenOutput, error) {
	token, refreshed, err := p.acquire(c, sdk.TokenRequest{MinTTL: time.Duration(in.MinTTLS) * time.Second})
	if err != nil {
		return TokenOutput{}, err
	}
	return TokenOutput{
		Token: token.AccessToken, TokenType: token.TokenType, ExpiresAt: timeOrNil(token.ExpiresAt),
		Scopes: grantOf(token.Extra).Scopes, Refreshed: refreshed,
	}, nil
}

// refresh is action auth.refresh: A3 now.
func (p *plugin) refresh(c *sdk.Call[Config], _ sdk.NoInput) (RefreshOutput, error) {
	token, _, err := p.acquire(c, sdk.TokenRequest{Force: true})
	if err != nil {
		return RefreshOutput{}, err
	}
	return RefreshOutput{ExpiresAt: timeOrNil(token.ExpiresAt), Scopes: grantOf(token.Extra).Scopes}, nil
}

// status is action auth.status. It sends nothing.
func (p *plugin) status(c *sdk.Call[Config], _ sdk.NoInput) (StatusOutput, error) {
	stored, err := c.StoredToken()
	if err != nil {
		return StatusOutput{}, err
	}
	out := StatusOutput{State: stored.State, Renewable: p.renewable(stored)}
	if out.Renewable {
		out.State = sdk.TokenValid
	}
	if stored.State == sdk.TokenValid || stored.State == sdk.TokenExpired {
		g := grantOf(stored.Extra)
		out.ExpiresAt, out.RefreshExpiresAt, out.Scopes = timeOrNil(stored.ExpiresAt), g.RefreshExpiresAt, &g.Scopes
	}
	if stored.Reason != "" {
		c.Meta("reason", stored.Reason)
	}
	return out, nil
}

// renewable reports that there is a refresh token whose end, where it is known,
// has not come.
func (p *plugin) renewable(stored sdk.StoredToken) bool {
	ends := grantOf(stored.Extra).RefreshExpiresAt
	return stored.Renewable && (ends == nil || p.now().Before(*ends))
}

// acquire gets the connection's token from the host, which lets one call at a
// time renew it and stores the new one before anybody uses it.
func (p *plugin) acquire(c *sdk.Call[Config], request sdk.TokenRequest) (token *sdk.Token, refreshed bool, err error) {
	request.Refresh = func(_ context.Context, stale *sdk.Token) (*sdk.Token, error) {
		if stale != nil && stale.RefreshToken == "" {
			return p.withoutRefresh(c, stale, request)
		}
		fresh, err := p.renew(c, stale)
		refreshed = err == nil
		return fresh, err
	}
	token, err = c.Token(request)
	return token, refreshed, err
}

// withoutRefresh is what becomes of a token that can't be renewed: it is
// used for as long as it lives, and must not be forgotten before.
func (p *plugin) withoutRefresh(c *sdk.Call[Config], stale *sdk.Token, request sdk.TokenRequest) (*sdk.Token, error) {
	left := time.Duration(math.MaxInt64)
	if !stale.ExpiresAt.IsZero() {
		left = stale.ExpiresAt.Sub(p.now())
	}
	switch {
	case left > 0 && request.Force:
		return nil, sdk.Refused(sdk.CodeUnsupported, "connection %s has no refresh token: its login can't be renewed", c.ConnectionName()).
			WithHint("log in again before it ends: flowrun connections login %s", c.ConnectionName())
	case left > 0:
		// it ends sooner than asked for, and the host gives it all the same, or a
		// service has refused it, which may have been a proxy's word: it is kept
		return nil, loginRequired(c, sdk.ReasonTokenRefused, "the token of connection %s can't be renewed: the service gave no refresh token", c.ConnectionName())
	}
	return nil, loginRequired(c, "no_refresh_token", "the login of connection %s has ended, and the service gave no refresh token", c.ConnectionName())
}

// renew sends A3. The refresh token stays as it is unless the answer has another
// one: the SDK keeps it.
func (p *plugin) renew(c *sdk.Call[Config], stale *sdk.Token) (*sdk.Token, error) {
	if stale == nil {
		return nil, p.noLogin(c)
	}
	if c.Config.ClientID == "" {
		return nil, lacks(c, "client_id", "a refresh needs it")
	}
	door, err := p.doorOf(c, tokenEndpoint)
	if err != nil {
		return nil, err
	}
	answer, err := p.post(c, door, url.Values{"grant_type": {"refresh_token"}, "refresh_token": {stale.RefreshToken}},
		stale.RefreshToken, stale.AccessToken)
	if err != nil {
		return nil, err
	}
	if !answer.fine() {
		return nil, refreshRefusal(c, answer)
	}
	if problem := answer.tokenProblem(); problem != "" {
		return nil, answer.fail(sdk.CodeUnexpectedResponse, "the answer is no token: %s", problem)
	}
	return answer.tokenOf(p.now(), grantOf(stale.Extra)), nil
}

// refreshRefusal says what a refused refresh means: with invalid_grant the grant
// is gone. Everything else is about the client, the request, the
// pace, or what stands before the server: the grant stays.
func refreshRefusal(c *sdk.Call[Config], answer exchange) error {
	refused := answer.refusal(c)
	switch {
	case answer.endsGrant():
	case answer.Error == "invalid_grant" && refused.Code == sdk.CodeInvalid: // not where RFC 6749 5.2 has it
		refused.Code = sdk.CodeUnexpectedResponse
		return refused
	case refused.Code == sdk.CodeDenied, refused.Code == sdk.CodeExpired: // words for a code, not for a refresh token
		refused.Code = sdk.CodeForbidden
		return refused
	case refused.Code == sdk.CodeUnexpectedResponse && refused.Hint == "":
		refused.Hint = "the login is kept; should it have ended: flowrun connections login " + c.ConnectionName()
		return refused
	default:
		return refused
	}
	gone := loginRequired(c, refused.Reason, "the login of connection %s has ended: %s", c.ConnectionName(), refused.Message)
	gone.HTTPStatus, gone.Details = refused.HTTPStatus, refused.Details
	return gone
}

// noLogin is the error when nothing is stored.
func (p *plugin) noLogin(c *sdk.Call[Config]) *sdk.Error {
	stored, err := c.StoredToken()
	if err == nil && stored.State == sdk.TokenAuthRequired {
		return loginRequired(c, stored.Reason, "the login of connection %s has ended (%s)", c.ConnectionName(), stored.Reason)
	}
	return loginRequired(c, "no_login", "nobody has logged in for connection %s", c.ConnectionName())
}
