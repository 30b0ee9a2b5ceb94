package tasks

import (
	"net/http"
	"slices"

	"github.com/flowrun/flowrun/sdk"
)

// Config is a connection's settings. The service's document shows no scheme of
// authentication (T-65), so the header's form is a setting with a default of ours.
type Config struct {
	sdk.HTTPSettings
	sdk.TokenSettings
	AuthHeader  string `json:"auth_header" default:"Authorization" min:"1" doc:"Header that carries the credential; the service's document does not show it."`
	AuthPrefix  string `json:"auth_prefix" default:"Bearer " doc:"Text before the credential in that header; may be empty."`
	StoredToken string `json:"stored_token,omitempty" pattern:"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$" doc:"Use the token that migrate_personal_token has stored under this name; token then serves for the migration alone."`
}

// taken are headers that the HTTP client sets or that would change what is sent.
var taken = []string{
	"Accept", "Accept-Encoding", "Connection", "Content-Encoding", "Content-Length", "Content-Type", "Cookie", "Expect", "Host", "Idempotency-Key",
	"Proxy-Authorization", "Range", "Te", "Trailer", "Transfer-Encoding", "Upgrade", "User-Agent",
}

// checkConfig refuses credentials that no header can carry; the SDK has checked the
// rest.
func checkConfig(config Config) []sdk.Problem {
	var problems []sdk.Problem
	switch {
	case !sdk.IsHeaderName(config.AuthHeader):
		problems = append(problems, sdk.Problemf("/auth_header", "is no name of a header").WithDetail("write a name such as Authorization"))
	case slices.Contains(taken, http.CanonicalHeaderKey(config.AuthHeader)):
		problems = append(problems, sdk.Problemf("/auth_header", "must not be %s", http.CanonicalHeaderKey(config.AuthHeader)).
			WithDetail("that header has another meaning; write a name such as Authorization"))
	}
	if !sdk.IsHeaderValue(config.AuthPrefix) {
		problems = append(problems, sdk.Problemf("/auth_prefix", "must not hold line breaks or control characters"))
	}
	if !sdk.IsHeaderValue(config.Token) {
		problems = append(problems, sdk.Problemf("/token", "must not hold line breaks or control characters").
			WithDetail("store it again without a line break at its end"))
	}
	if config.StoredToken != "" && config.TokenFrom != nil {
		problems = append(problems, sdk.Problemf("/stored_token", "must not be set beside token_from").WithDetail("keep one of them"))
	}
	return problems
}
