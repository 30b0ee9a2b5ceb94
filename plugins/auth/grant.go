package auth

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/flowrun/flowrun/sdk"
)

// skew is taken off the life of a token, so that it is renewed before it ends
// . A token that lives less than twice as long loses half instead.
const skew = 30 * time.Second

// grant is what is stored beside a token (sdk.Token.Extra). No secrets.
type grant struct {
	Asked            []string   `json:"asked,omitempty"`
	Scopes           []string   `json:"scopes,omitempty"`
	RefreshExpiresAt *time.Time `json:"refresh_expires_at,omitempty"`
	Flow             string     `json:"flow,omitempty"` // the login that it is from
}

// grantOf reads what is beside a token; other content counts as none.
func grantOf(extra []byte) grant {
	var g grant
	if json.Unmarshal(extra, &g) != nil {
		return grant{}
	}
	return g
}

// tokenProblem says why a successful answer is no token, or "".
func (a oauthAnswer) tokenProblem() string {
	switch {
	case a.AccessToken == "":
		return "it has no `access_token`"
	case !strings.EqualFold(a.TokenType, "bearer"):
		return "its `token_type` is not Bearer"
	case !isHeaderValue(a.AccessToken):
		return "its `access_token` can't be sent in a header"
	}
	return ""
}

// isHeaderValue reports whether a token can stand in a header.
func isHeaderValue(token string) bool { return isPrintable(token) && !strings.Contains(token, " ") }

// tokenOf makes the token to store of an answer that was received at a time. g is
// what is known of the grant before.
func (a oauthAnswer) tokenOf(received time.Time, g grant) *sdk.Token {
	if a.Scope != nil {
		g.Scopes = splitScopes(*a.Scope)
	}
	switch {
	case a.RefreshExpiresIn != nil:
		at := received.Add(*a.RefreshExpiresIn).UTC().Truncate(time.Second)
		g.RefreshExpiresAt = &at
	case a.RefreshToken != "":
		g.RefreshExpiresAt = nil // another refresh token, whose end is not known
	}
	token := &sdk.Token{AccessToken: a.AccessToken, TokenType: "Bearer", RefreshToken: a.RefreshToken}
	if a.ExpiresIn != nil {
		token.ExpiresAt = received.Add(usable(*a.ExpiresIn)).UTC().Truncate(time.Second)
	}
	token.Extra, _ = json.Marshal(g) // texts and a time: cannot fail
	return token
}

// usable is how long a token is used of what the server gives it.
func usable(lifetime time.Duration) time.Duration {
	return lifetime - min(skew, lifetime/2)
}
