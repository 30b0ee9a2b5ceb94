package tasks

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/flowrun/flowrun/sdk"
)

// MigrateInput is the input of migrate_personal_token.
type MigrateInput struct {
	Body    sdk.Object `json:"body" secret:"true" doc:"JSON object that is sent as it is; the service's document does not show its fields."`
	StoreAs string     `json:"store_as" pattern:"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$" doc:"Name under which the new token is stored; the connection's setting stored_token uses it." example:"main"`
}

// MigrateOutput is the output of migrate_personal_token.
type MigrateOutput struct {
	Stored   bool      `json:"stored" doc:"Whether a token was found in the answer and stored under store_as."`
	Response sdk.Value `json:"response" secret:"true" doc:"The service's whole answer, unchanged and secret; its shape is not documented."`
}

// errNoToken ends the lease of a migration whose answer shows no token.
var errNoToken = errors.New("no token in the answer")

// migrate is action tasks.migrate_personal_token (E11, T-52). The place in the
// token store is taken before anything is sent, so that a host that can't keep
// the token refuses while the old one still is all there is.
func (s *service) migrate(c *sdk.Call[Config], in MigrateInput) (MigrateOutput, error) {
	client, err := authorized(c, settingsToken)
	if err != nil {
		return MigrateOutput{}, sdk.NotSent(err)
	}
	var answer sdk.Value
	sent := false
	_, err = c.Token(sdk.TokenRequest{Key: in.StoreAs, Force: true, Replace: true, Refresh: func(ctx context.Context, _ *sdk.Token) (*sdk.Token, error) {
		var failure error
		sent = true
		if answer, failure = requestMigration(client.WithContext(ctx), in.Body); failure != nil {
			return nil, failure
		}
		if token := findToken(answer, s.now()); token != nil {
			return token, nil
		}
		return nil, errNoToken
	}})
	switch {
	case !sent && err == nil:
		return MigrateOutput{}, sdk.Refused(sdk.CodeInternal, "the host gave no place to store a token under %q", in.StoreAs)
	case !sent:
		return MigrateOutput{}, sdk.NotSent(err)
	case answer == nil:
		return MigrateOutput{}, err
	}
	out := MigrateOutput{Stored: err == nil, Response: answer}
	switch {
	case errors.Is(err, errNoToken):
		c.Log().Warn("the answer holds no token under a usual name: nothing is stored, the answer is in the output `response`", "store_as", in.StoreAs)
	case err != nil:
		// the service has migrated: losing its answer would be worse than a store that failed
		c.Log().Warn("the new token could not be stored, the answer is in the output `response`", "store_as", in.StoreAs, "error", err.Error())
	}
	return out, nil
}

// requestMigration sends the body. Errors show nothing of the answer's body,
// which may hold a token even where it is cut short.
func requestMigration(client *sdk.HTTPClient, body sdk.Object) (sdk.Value, error) {
	response, err := sendWith(client, request{method: http.MethodPost, path: []string{"access_tokens", "migrate_personal_token"}, body: sdk.Value(body)})
	if err != nil {
		return nil, sdk.WithoutBody(err)
	}
	answer, err := response.DocumentOrNull()
	return answer, sdk.WithoutBody(err)
}

// tokenNames are the usual names of an access token, in lower case without - and _.
var tokenNames = []string{"accesstoken", "token", "oauthtoken", "oauthaccesstoken", "apitoken"}

// findToken looks for a token at the top of the answer, then one level below:
// best effort, since the answer's shape is not documented. nil = none found.
func findToken(answer sdk.Value, now time.Time) *sdk.Token {
	var text string
	if json.Unmarshal(answer, &text) == nil && text != "" {
		return &sdk.Token{AccessToken: text}
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(answer, &fields) != nil {
		return nil
	}
	if token := tokenOf(fields, now); token != nil {
		return token
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		var inner map[string]json.RawMessage
		if json.Unmarshal(fields[name], &inner) != nil {
			continue
		}
		if token := tokenOf(inner, now); token != nil {
			return token
		}
	}
	return nil
}

func tokenOf(fields map[string]json.RawMessage, now time.Time) *sdk.Token {
	access := textOf(fields, tokenNames...)
	if access == "" {
		return nil
	}
	token := &sdk.Token{AccessToken: access, RefreshToken: textOf(fields, "refreshtoken"), TokenType: textOf(fields, "tokentype")}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		var seconds float64
		if plainName(name) == "expiresin" && json.Unmarshal(fields[name], &seconds) == nil && seconds > 0 && seconds < maxLifetime.Seconds() {
			token.ExpiresAt = now.Add(time.Duration(seconds * float64(time.Second)))
		}
	}
	return token
}

// maxLifetime bounds what is believed of a token's lifetime; beyond it the end
// counts as not known.
const maxLifetime = 100 * 365 * 24 * time.Hour

// textOf returns the first field with one of these names that holds text.
func textOf(fields map[string]json.RawMessage, names ...string) string {
	for _, want := range names {
		for _, name := range slices.Sorted(maps.Keys(fields)) {
			var text string
			if plainName(name) == want && json.Unmarshal(fields[name], &text) == nil && text != "" {
				return text
			}
		}
	}
	return ""
}

func plainName(name string) string {
	return strings.NewReplacer("_", "", "-", "").Replace(strings.ToLower(name))
}
