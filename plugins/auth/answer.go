package auth

import (
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/flowrun/flowrun/sdk"
)

// Bounds of what an answer may say.
const (
	defaultInterval  = 5 * time.Second  // when the answer has no interval (RFC 8628)
	defaultCodeTTL   = 15 * time.Minute // when it has no expires_in
	slowDownStep     = 5 * time.Second
	minInterval      = time.Second
	maxInterval      = time.Hour
	maxLifetime      = 10 * 365 * 24 * time.Hour
	maxTokenResponse = 1 << 20 // bytes of an answer of the authorization server
)

// oauthAnswer is what an answer of the authorization server may hold: an error,
// a device authorization, tokens. Fields of other types than promised count as
// absent, but for those that an answer cannot do without.
type oauthAnswer struct {
	Error       string // `error`, else `error_code`
	Description string
	GrantIsGone bool // `error` is invalid_grant (RFC 6749 5.2)

	DeviceCode      string
	UserCode        string
	VerificationURL string
	Interval        time.Duration // 0 = absent

	AccessToken      string
	TokenType        string
	RefreshToken     string
	Scope            *string        // nil = absent
	ExpiresIn        *time.Duration // nil = absent
	RefreshExpiresIn *time.Duration // nil = absent, which is not "never"
}

// errNotAnObject says that an answer is no JSON object, perhaps cut short.
var errNotAnObject = errors.New("the answer is no JSON object, perhaps cut short")

// readAnswer reads an answer of the authorization server, or says why it can't be
// read. The words of the SDK stay away: they would show a part of the body, which
// may hold tokens.
func readAnswer(r *sdk.Response) (oauthAnswer, string) {
	document, err := r.Document()
	switch {
	case err != nil && json.Valid(r.Body):
		return oauthAnswer{}, "the answer is no JSON that all read alike: a name is there twice, a byte is no UTF-8, or a number is too large"
	case err != nil:
		return oauthAnswer{}, errNotAnObject.Error()
	}
	answer, err := decodeAnswer(document)
	if err != nil {
		return oauthAnswer{}, err.Error()
	}
	return answer, ""
}

// decodeAnswer reads an answer. It never panics, and fails only when the body is
// no JSON object.
func decodeAnswer(body []byte) (oauthAnswer, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(body, &fields); err != nil || fields == nil {
		return oauthAnswer{}, errNotAnObject
	}
	text := func(names ...string) string {
		for _, name := range names {
			var value string
			if json.Unmarshal(fields[name], &value) == nil && value != "" {
				return value
			}
		}
		return ""
	}
	a := oauthAnswer{
		GrantIsGone: string(fields["error"]) == `"invalid_grant"`,

		Error:       text("error", "error_code"),
		Description: text("error_description", "error_message", "message"),

		DeviceCode:      text("device_code"),
		UserCode:        text("user_code"),
		VerificationURL: text("verification_url", "verification_uri"),

		AccessToken:      text("access_token"),
		TokenType:        text("token_type"),
		RefreshToken:     text("refresh_token"),
		ExpiresIn:        seconds(fields["expires_in"]),
		RefreshExpiresIn: seconds(fields["refresh_token_expires_in"]),
	}
	if interval := seconds(fields["interval"]); interval != nil {
		a.Interval = *interval
	}
	a.Scope = scopeOf(fields["scope"])
	return a, nil
}

// scopeOf reads a list of scopes in one text; some servers write a list.
func scopeOf(raw json.RawMessage) *string {
	var text *string
	if len(raw) == 0 || json.Unmarshal(raw, &text) == nil {
		return text
	}
	var list []string
	if json.Unmarshal(raw, &list) != nil {
		return nil
	}
	joined := strings.Join(list, " ")
	return &joined
}

// seconds reads a number of seconds, also one written as text; nil when there is
// none. What is negative counts as 0, what is endless as maxLifetime.
func seconds(raw json.RawMessage) *time.Duration {
	text := strings.Trim(strings.TrimSpace(string(raw)), `"`)
	if text == "" || text == "null" {
		return nil
	}
	n, err := strconv.ParseFloat(text, 64)
	if math.IsNaN(n) || err != nil && !errors.Is(err, strconv.ErrRange) {
		return nil
	}
	n = math.Min(math.Max(n, 0), maxLifetime.Seconds())
	d := time.Duration(n * float64(time.Second))
	return &d
}

// interval is how long to wait between polls: whole seconds, so that what
// is shown is what is done.
func (a oauthAnswer) interval() time.Duration {
	if a.Interval <= 0 {
		return defaultInterval
	}
	whole := time.Duration(math.Ceil(a.Interval.Seconds())) * time.Second
	return min(max(whole, minInterval), maxInterval)
}

// codeTTL is the lifetime of both codes.
func (a oauthAnswer) codeTTL() time.Duration {
	if a.ExpiresIn == nil {
		return defaultCodeTTL
	}
	return *a.ExpiresIn
}
