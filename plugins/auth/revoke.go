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

// Reasons that make the host forget a token, as auth_required does; they are no
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
	which := in.Which
	if which == "access" && stale.RefreshToken != "" && !stale.ExpiresAt.IsZero() && !p.now().Before(stale.ExpiresAt) {
		c.Log().Info("the access token has run out: the refresh token is revoked in its place")
		which = "refresh"
	}
	if tokenNamed(stale, which) == "" {
		return sdk.Invalid("/which", "the login of connection %s has no %s token", c.ConnectionName(), which)
	}
	door, err := p.doorOf(c, revocationEndpoint)
	if err != nil {
		return err
	}
	refused := p.withdraw(c, door, stale, which)
	if other := otherToken(which); door.standard && door.takesForm(c.Config) && tokenNamed(stale, other) != "" {
		refused = p.withdrawOther(c, door, stale, other, refused)
	}
	if refused == nil {
		return sdk.AuthRequired("the token is revoked").WithReason(reasonRevoked)
	}
	var failure *sdk.Error
	if !errors.As(refused, &failure) || failure.HTTPStatus != http.StatusBadRequest {
		return refused
	}
	switch {
	case in.Forget:
		return sdk.AuthRequired("the token is forgotten").WithReason(reasonForgotten)
	case wordOf(failure) == "": // a proxy may have answered
		return refused
	}
	failure.Code = sdk.CodeInvalid
	if failure.Hint == "" {
		failure.Hint = "it may be revoked already; forget: true drops it here all the same"
	}
	return failure
}

// withdraw sends one token. nil says that it is of no use any more.
func (p *plugin) withdraw(c *sdk.Call[Config], d door, stale *sdk.Token, which string) error {
	token := tokenNamed(stale, which)
	answer, err := p.knock(c, d, func(method string) *sdk.Request {
		return revocation(c.Config, d, method, token, which)
	}, token, stale.AccessToken, stale.RefreshToken)
	switch {
	case answer.status == 0 && !isUnreadable(err):
		return err
	case answer.status == 0, answer.status >= 200 && answer.status < 300: // the body does not matter
		return nil
	}
	return answer.refusal(c)
}

// withdrawOther sends the other token to a server that says of itself that it
// follows RFC 7009: the access token need not take the refresh token with it there,
// and the server may know one kind of tokens alone (2.2.1). first is what became of the one before.
func (p *plugin) withdrawOther(c *sdk.Call[Config], d door, stale *sdk.Token, other string, first error) error {
	if first != nil && wordOf(first) != unsupportedTokenType {
		return first
	}
	err := p.withdraw(c, d, stale, other)
	word, kept := wordOf(err), other
	if first != nil {
		kept = otherToken(other)
	}
	switch {
	case err == nil && first != nil, first == nil && word == unsupportedTokenType:
		c.Log().Warn("the service can't revoke the " + kept + " token: it is good until it ends")
		return nil
	case first == nil && (word == "invalid_token" || word == "invalid_grant"): // it went with the first
		return nil
	}
	return err
}

// wordOf is the word of an authorization server in an error, "" for none.
func wordOf(err error) string {
	if failure, ok := errors.AsType[*sdk.Error](err); ok && failure.HTTPStatus == http.StatusBadRequest && oauthWord().MatchString(failure.Reason) {
		return failure.Reason
	}
	return ""
}

// unsupportedTokenType is the word of a server that can't revoke one kind of
// tokens (RFC 7009 2.2.1).
const unsupportedTokenType = "unsupported_token_type"

// revocation is the request: the token in the query and an empty body, or
// in the form for servers that want it there, as those of RFC 7009 do.
func revocation(config Config, d door, method, token, which string) *sdk.Request {
	if d.takesForm(config) {
		form := url.Values{"token": {token}, "token_type_hint": {which + "_token"}}
		return &sdk.Request{URL: d.address, Body: []byte(withClient(config, method, form).Encode())}
	}
	return &sdk.Request{URL: d.address, Query: url.Values{"token": {token}}, SecretQuery: []string{"token"}, Body: []byte{}}
}

// takesForm reports an endpoint that takes the token as RFC 7009 has it.
func (d door) takesForm(config Config) bool {
	return config.RevokeTokenIn == "body" || config.RevokeTokenIn == authAuto && d.standard
}

func tokenNamed(token *sdk.Token, which string) string {
	if which == "refresh" {
		return token.RefreshToken
	}
	return token.AccessToken
}

func otherToken(which string) string {
	if which == "refresh" {
		return "access"
	}
	return "refresh"
}
