package sdk

import "time"

// TokenSettings are the settings of a service that takes an access token:
// embed them in the config beside HTTPSettings. The token is given itself, or
// comes from another connection; both at once are refused when the connection
// opens.
type TokenSettings struct {
	Token     string     `json:"token,omitempty" doc:"Access token" secret:"true"`
	TokenFrom *TokenFrom `json:"token_from,omitempty" doc:"Take the access token from another connection instead"`
}

// TokenFrom names the connection that a token comes from.
type TokenFrom struct {
	Connection string `json:"connection" doc:"Name of a connection whose plugin gives tokens, such as auth" min:"1"`
}

// AccessToken returns the connection's access token: the setting `token`, or
// what the connection named by `token_from` gives, renewed when it has run out;
// "" when neither is set. When the service refuses the token of another
// connection with CodeUnauthorized and NotApplied, the host renews it and executes
// the call once more: return that error as it is.
func (c *Call[C]) AccessToken(settings TokenSettings) (string, error) {
	if settings.TokenFrom == nil {
		return settings.Token, nil
	}
	token, err := c.core.token(TokenRequest{})
	if err != nil {
		return "", err
	}
	return token.AccessToken, nil
}

// checkTokenSettings refuses two sources of one token.
func checkTokenSettings(config any) []Problem {
	var settings TokenSettings
	if !settingsInto(config, &settings) || settings.TokenFrom == nil || settings.Token == "" {
		return nil
	}
	return []Problem{Problemf("/token_from", "must not be set beside token").WithDetail("keep one of them")}
}

// The states of a StoredToken.
const (
	TokenNone         = "none"          // nobody has logged in
	TokenValid        = "valid"         // can be used now
	TokenExpired      = "expired"       // its time is over; a refresh token may renew it
	TokenAuthRequired = "auth_required" // the grant is gone: somebody must log in
)

// StoredToken is what the host knows of a token.
type StoredToken struct {
	State     string
	ExpiresAt time.Time // zero = not known
	Renewable bool      // there is a refresh token
	Extra     []byte    // Token.Extra
	Reason    string    // with auth_required: why
}

// StoredToken looks at the connection's token without using or renewing it.
func (c *Call[C]) StoredToken() (StoredToken, error) { return c.core.storedToken("") }
