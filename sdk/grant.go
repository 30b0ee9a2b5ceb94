package sdk

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/url"
	"strings"
	"time"
)

// Grant is a way to get access tokens of OAuth 2.0: ClientCredentials or RefreshToken.
// HTTPClient.WithGrant uses it.
type Grant interface {
	// request is the form of a token request; stale is the token before, nil for none.
	request(stale *Token) (url.Values, error)
	client() oauthClient
	key() string
}

// ClientCredentials gets tokens for the plugin itself (RFC 6749 4.4): there is no
// person, a new one is asked for with the client's own credentials.
type ClientCredentials struct {
	TokenURL     string // of the authorization server, or a path below base_url: "/oauth/token"
	ClientID     string
	ClientSecret string
	Scopes       []string
	InBody       bool       // send the credentials in the form instead of with HTTP Basic
	Params       url.Values // more of the form, such as audience or resource
}

func (g ClientCredentials) request(*Token) (url.Values, error) {
	return tokenForm("client_credentials", g.Scopes, g.Params), nil
}

func (g ClientCredentials) client() oauthClient {
	return oauthClient{g.TokenURL, g.ClientID, g.ClientSecret, g.InBody}
}

// key names the token: another client, server or scope in the config is another token.
func (g ClientCredentials) key() string {
	sum := sha256.Sum256([]byte(strings.Join([]string{g.TokenURL, g.ClientID, strings.Join(g.Scopes, " "), g.Params.Encode()}, "\n")))
	return "client_credentials/" + hex.EncodeToString(sum[:8])
}

// RefreshToken renews the token of a person's consent (RFC 6749 6). The token that is
// stored is renewed, as a login or the renewal before left it; the first time the one
// of the config. When the authorization server says that the grant is gone, the run
// pauses until somebody has logged in.
type RefreshToken struct {
	TokenURL     string // of the authorization server, or a path below base_url: "/oauth/token"
	ClientID     string
	ClientSecret string     // "" = a public client: its id goes in the form
	RefreshToken string     // of the config, for the first time; "" = somebody logs in
	Scopes       []string   // none = those of the consent
	InBody       bool       // send the credentials in the form instead of with HTTP Basic
	Params       url.Values // more of the form, such as audience or resource
}

func (g RefreshToken) request(stale *Token) (url.Values, error) {
	refresh := g.RefreshToken
	if stale != nil && stale.RefreshToken != "" {
		refresh = stale.RefreshToken
	}
	if refresh == "" {
		return nil, AuthRequired("there is no refresh token").WithHint("log in, or set the refresh token in the connection's config")
	}
	form := tokenForm("refresh_token", g.Scopes, g.Params)
	form.Set("refresh_token", refresh)
	return form, nil
}

func (g RefreshToken) client() oauthClient {
	return oauthClient{g.TokenURL, g.ClientID, g.ClientSecret, g.InBody}
}

func (g RefreshToken) key() string { return "" } // the connection's token: what a login stores

func tokenForm(grantType string, scopes []string, more url.Values) url.Values {
	form := url.Values{"grant_type": {grantType}}
	if len(scopes) > 0 {
		form.Set("scope", strings.Join(scopes, " "))
	}
	for name, values := range more {
		form[name] = values
	}
	return form
}

// grantMargin is how long a token must be good still when a request begins.
const grantMargin = time.Minute

// WithGrant returns a client that sends a token of the grant with every request. The
// token is kept by the host for all runs and renewed by one call at a time; when the
// service refuses it with 401, a new one is got and the request is sent once more. The
// credentials go to the token endpoint alone.
func (h *HTTPClient) WithGrant(grant Grant) *HTTPClient {
	changed := *h
	changed.grant = grant
	return &changed
}

// TokenOf returns a valid token of a grant, for a CheckConnection of a service that
// has no harmless request. Requests get theirs by HTTPClient.WithGrant.
func (c *Call[C]) TokenOf(grant Grant) (*Token, error) { return c.HTTP().grantToken(grant, "") }

// doGranted sends a request with the grant's token, and once more with a new one where
// the service refuses the first: a refusal with 401 has done nothing.
func (h *HTTPClient) doGranted(request *Request) (*Response, error) {
	plain := *h
	plain.grant = nil
	token, err := h.grantToken(h.grant, "")
	if err != nil {
		return nil, err
	}
	response, err := plain.WithBearer(token.AccessToken).Do(request)
	var refused *Error
	if !errors.As(err, &refused) || refused.Code != CodeUnauthorized || refused.Applied != NotApplied {
		return response, err
	}
	if token, err = h.grantToken(h.grant, token.ID); err != nil {
		return nil, err
	}
	return plain.WithBearer(token.AccessToken).Do(request)
}

func (h *HTTPClient) grantToken(grant Grant, reject string) (*Token, error) {
	return h.core.token(TokenRequest{Key: grant.key(), MinTTL: grantMargin, Reject: reject, Refresh: func(ctx context.Context, stale *Token) (*Token, error) {
		form, err := grant.request(stale)
		if err != nil {
			return nil, err
		}
		return grant.client().ask(h.WithContext(ctx), form)
	}})
}

// oauthClient is a client of an authorization server.
type oauthClient struct {
	tokenURL, id, secret string
	inBody               bool
}

// ask sends a token request (RFC 6749 3.2). It is none of the service's own: it has no
// header of the client but those that it needs, and no idempotency key.
func (o oauthClient) ask(h *HTTPClient, form url.Values) (*Token, error) {
	bare := *h
	bare.header, bare.classify, bare.grant = nil, nil, nil
	request := &Request{Form: form, Classify: tokenRefusal, ofToken: true}
	client := &bare
	if strings.HasPrefix(o.tokenURL, "/") {
		request.Path = o.tokenURL
	} else {
		client, request.URL = bare.WithOrigin(o.tokenURL), o.tokenURL
	}
	if o.inBody || o.secret == "" {
		form.Set("client_id", o.id)
		if o.secret != "" {
			form.Set("client_secret", o.secret)
		}
	} else {
		request.Header = basicHeader(o.id, o.secret)
	}
	asked := h.core.now()
	response, err := client.Do(request)
	if err != nil {
		failure := *asError(err)
		failure.Applied = NotApplied // of the call itself nothing was sent
		return nil, &failure
	}
	return response.accessToken(asked)
}

// tokenAnswer is RFC 6749 5.1.
type tokenAnswer struct {
	AccessToken  string  `json:"access_token"`
	TokenType    string  `json:"token_type"`
	ExpiresIn    lenient `json:"expires_in"`
	RefreshToken string  `json:"refresh_token"`
}

// accessToken reads an answer of the token endpoint. Its lifetime counts from when it
// was asked for.
func (r *Response) accessToken(asked time.Time) (*Token, error) {
	var answer tokenAnswer
	if err := r.JSON(&answer); err != nil {
		return nil, r.noToken(CodeUnexpectedResponse, "the token endpoint's answer is no token").WithHint("check token_url")
	}
	switch {
	case answer.AccessToken == "":
		return nil, r.noToken(CodeUnexpectedResponse, "the token endpoint gave no access_token").WithHint("check token_url")
	case answer.TokenType != "" && !strings.EqualFold(answer.TokenType, "bearer"):
		return nil, r.noToken(CodeUnsupported, "the token is of another type than Bearer, which alone is known")
	}
	token := &Token{AccessToken: answer.AccessToken, TokenType: "Bearer", RefreshToken: answer.RefreshToken}
	if answer.ExpiresIn > 0 {
		token.ExpiresAt = asked.Add(time.Duration(min(float64(answer.ExpiresIn), maxLifetime.Seconds()) * float64(time.Second)))
	}
	return token, nil
}

// noToken is a failure without an excerpt of the answer: there may be a token in it.
func (r *Response) noToken(code Code, message string) *Error {
	failure := r.Fail(code, "%s", message)
	delete(failure.Details, "body")
	return failure
}

// maxLifetime bounds what a server may say of a token's lifetime.
const maxLifetime = 10 * 365 * 24 * time.Hour

// grantRefusals are the words of RFC 6749 5.2, what they mean here and what to do.
var grantRefusals = map[string]struct {
	code Code
	hint string
}{
	"invalid_client":          {CodeUnauthorized, "check client_id and client_secret, and how the server wants them: in the form or with HTTP Basic"},
	"unauthorized_client":     {CodeForbidden, "the client may not use this grant: have it allowed at the authorization server"},
	"access_denied":           {CodeForbidden, "the authorization server refuses this client"},
	"invalid_scope":           {CodeInvalid, "check the scopes"},
	"invalid_request":         {CodeInvalid, ""},
	"invalid_target":          {CodeInvalid, "check the audience or the resource"},
	"unsupported_grant_type":  {CodeUnsupported, "the authorization server does not offer this grant"},
	"invalid_grant":           {CodeAuthRequired, "log in again, or set a new refresh token in the connection's config"},
	"server_error":            {CodeUnavailable, ""},
	"temporarily_unavailable": {CodeUnavailable, ""},
	"slow_down":               {CodeRateLimited, ""},
}

// tokenRefusal reads a refusal by the word that the RFC gives it. What is no such
// answer, as the page of a proxy, is judged by its status and ends no grant.
func tokenRefusal(r *Response) error {
	if r.Status < 400 {
		return nil
	}
	_, word := r.Words()
	known, ok := grantRefusals[word]
	switch {
	case ok:
	case r.Status == 401:
		known.code = CodeUnauthorized // no token to renew: the client's credentials are refused
		known.hint = grantRefusals["invalid_client"].hint
	default:
		return nil
	}
	failure := r.Fail(known.code, "the authorization server refuses: %s", cmp.Or(word, "401")).WithReason(word)
	failure.Hint = known.hint
	return failure
}
