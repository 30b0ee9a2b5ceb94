package auth

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"github.com/flowrun/flowrun/sdk"
)

// RevokeInput is the input of revoke.
type RevokeInput struct {
	Which  string `json:"which" enum:"access,refresh" default:"access" doc:"Which of the two tokens to send; the service ends both."`
	Forget bool   `json:"forget" default:"false" doc:"Forget the login here even if the service does not revoke it."`
}

// RevokeOutput is the output of revoke.
type RevokeOutput struct {
	Revoked bool `json:"revoked" doc:"Whether the service revoked it; false when there was nothing to revoke or it refused and forget is set."`
}

// Reasons that make the host forget a token, as AUTH_REQUIRED does; they are no
// failures of revoke.
const (
	reasonRevoked   = "revoked"
	reasonForgotten = "forgotten"
	reasonNothing   = "no_login"
)

// revoke is action auth.revoke (A4). It takes the lease, so that nobody renews
// the token meanwhile; after success both tokens are forgotten.
func (p *plugin) revoke(c *sdk.Call[Config], in RevokeInput) (RevokeOutput, error) {
	_, err := c.Token(sdk.TokenRequest{Force: true, Refresh: func(_ context.Context, stale *sdk.Token) (*sdk.Token, error) {
		return nil, p.revokeToken(c, in, stale)
	}})
	var failure *sdk.Error
	if !errors.As(err, &failure) || failure.Code != sdk.CodeAuthRequired {
		return RevokeOutput{}, err
	}
	switch failure.Reason {
	case reasonRevoked:
		return RevokeOutput{Revoked: true}, nil
	case reasonForgotten:
		c.Log().Warn("the service did not revoke the token; it is forgotten here only")
		return RevokeOutput{}, nil
	case reasonNothing:
		c.Log().Info("there is no token to revoke")
		return RevokeOutput{}, nil
	}
	return RevokeOutput{}, err
}

// revokeToken sends A4. It always ends with an error: what makes the host forget
// the token, or why it is kept.
func (p *plugin) revokeToken(c *sdk.Call[Config], in RevokeInput, stale *sdk.Token) error {
	if stale == nil {
		return sdk.AuthRequired("there is no token").WithReason(reasonNothing)
	}
	token, which := stale.AccessToken, in.Which
	if which == "access" && stale.RefreshToken != "" && !stale.ExpiresAt.IsZero() && !p.now().Before(stale.ExpiresAt) {
		c.Log().Info("the access token has run out: the refresh token is revoked in its place")
		which = "refresh"
	}
	if which == "refresh" {
		token = stale.RefreshToken
	}
	if token == "" {
		return sdk.Invalid("/which", "the login of connection %s has no %s token", connectionName(c), which)
	}
	door, err := p.doorOf(c, revocationEndpoint)
	if err != nil {
		return err
	}
	answer, err := p.knock(c, door, func(method string) *sdk.Request {
		return revocation(c.Config, door, method, token, which)
	}, token, stale.AccessToken, stale.RefreshToken)
	switch {
	case answer.status == 0 && !isUnreadable(err):
		return err
	case answer.status == 0, answer.status >= 200 && answer.status < 300: // the body does not matter
		return sdk.AuthRequired("the token is revoked").WithReason(reasonRevoked)
	}
	refused := answer.refusal(c)
	switch {
	case answer.status != http.StatusBadRequest:
		return refused
	case in.Forget:
		return sdk.AuthRequired("the token is forgotten").WithReason(reasonForgotten)
	case answer.isForeign():
		return refused
	}
	refused.Code = sdk.CodeInvalid
	if refused.Hint == "" {
		refused.Hint = "it may be revoked already; forget: true drops it here all the same"
	}
	return refused
}

// revocation is the request: the token in the query and an empty body, or
// in the form for servers that want it there, as those of RFC 7009 do.
func revocation(config Config, d door, method, token, which string) *sdk.Request {
	if config.RevokeTokenIn == "body" || config.RevokeTokenIn == authAuto && d.standard {
		form := url.Values{"token": {token}, "token_type_hint": {which + "_token"}}
		return &sdk.Request{URL: d.address, Body: []byte(withClient(config, method, form).Encode())}
	}
	return &sdk.Request{URL: d.address, Query: url.Values{"token": {token}}, SecretQuery: []string{"token"}, Body: []byte{}}
}
