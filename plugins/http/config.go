package http

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/flowrun/flowrun/sdk"
)

// Config is a connection's settings. Of the ways to prove who asks (token, token_from,
// basic, api_key, oauth) there is at most one.
type Config struct {
	BaseURL   string `json:"base_url,omitempty" format:"uri" doc:"Root URL of the service; paths of steps are below it, and credentials go to its origin alone" example:"https://api.example.com/v1"`
	CAFile    string `json:"ca_file,omitempty" doc:"PEM file with certificates to trust besides the system's"`
	Proxy     string `json:"proxy,omitempty" doc:"URL of an HTTP proxy; by default the environment's proxy variables count"`
	UserAgent string `json:"user_agent,omitempty" doc:"User-Agent to send instead of the plugin's own"`
	sdk.ReachSettings
	sdk.ClientCertificate
	sdk.TokenSettings
	Basic   *Basic            `json:"basic,omitempty" doc:"HTTP Basic: a user and a password"`
	APIKey  *APIKey           `json:"api_key,omitempty" doc:"A key in a header or in the query"`
	OAuth   *OAuth            `json:"oauth,omitempty" doc:"Access tokens of OAuth 2.0, by client credentials or by a refresh token"`
	Headers map[string]string `json:"headers,omitempty" secret:"true" doc:"Headers of every request to base_url; they win over the plugin's own. Values may be secrets"`
	Params  map[string]string `json:"params,omitempty" secret:"true" doc:"Values for {name} in paths of steps that have none of their own, such as a token that the service wants there. Values may be secrets"`

	KeyHeader string `json:"key_header" default:"Idempotency-Key" min:"1" doc:"Header that post_keyed sends its key in"`
	Test      string `json:"test,omitempty" pattern:"^/" doc:"Path of a harmless GET, by which connections test tries the connection" example:"/me"`
	Simulated bool   `json:"simulated" default:"false" doc:"A simulator stands at base_url: absolute URLs are sent to it too, and each request says in the header Flowrun-Answer how its answer will be read. Never for a real service"`
}

// Basic are a user and a password.
type Basic struct {
	User     string `json:"user" doc:"User" min:"1"`
	Password string `json:"password" doc:"Password" secret:"true"`
}

// APIKey is a key that stands in a header or in the query.
type APIKey struct {
	In    string `json:"in,omitempty" enum:"header,query" doc:"Where it stands; without it in a header"`
	Name  string `json:"name" doc:"Name of the header or of the parameter" min:"1" example:"X-Api-Key"`
	Value string `json:"value" doc:"The key" secret:"true" min:"1"`
}

// OAuth says how access tokens are got. With refresh it is RFC 6749, 6, else 4.4.
type OAuth struct {
	TokenURL     string            `json:"token_url" doc:"URL of the token endpoint, or a path below base_url" min:"1" example:"https://login.example.com/oauth/token"`
	ClientID     string            `json:"client_id" doc:"Id of the client" min:"1"`
	ClientSecret string            `json:"client_secret,omitempty" doc:"Secret of the client" secret:"true"`
	Refresh      string            `json:"refresh_token,omitempty" doc:"Refresh token of a person's consent; without it the client asks for itself" secret:"true"`
	Scopes       []string          `json:"scopes,omitempty" doc:"Scopes to ask for"`
	InBody       bool              `json:"in_body,omitempty" doc:"Send the client's credentials in the form instead of with HTTP Basic"`
	Params       map[string]string `json:"params,omitempty" doc:"More of the form, such as audience or resource"`
}

// checkConfig finds what the tags can't say.
func checkConfig(c Config) []sdk.Problem {
	var problems []sdk.Problem
	say := func(pointer, format string, args ...any) {
		problems = append(problems, sdk.Problemf(pointer, format, args...))
	}
	ways := c.ways()
	if len(ways) > 1 {
		say("/"+ways[1], "must not be set beside %s: a request has one credential", ways[0])
	}
	if c.BaseURL == "" && len(c.Hosts) == 0 {
		say("", "`base_url` or `hosts` is needed: without them no request may go anywhere")
	}
	if c.BaseURL == "" && (len(ways) > 0 || len(c.Headers) > 0) {
		say("/base_url", "is needed: a credential, and headers, belong to the origin of base_url")
	}
	if c.BaseURL == "" && c.Test != "" {
		say("/test", "is a path below base_url, which is not set")
	}
	if c.APIKey != nil && c.APIKey.In != "query" && !sdk.IsHeaderName(c.APIKey.Name) {
		say("/api_key/name", "is no name of a header")
	}
	if c.APIKey != nil && c.APIKey.In != "query" && !sdk.IsHeaderValue(c.APIKey.Value) {
		say("/api_key/value", "must not hold line breaks or control characters")
	}
	if c.Basic != nil && strings.Contains(c.Basic.User, ":") {
		say("/basic/user", "must not have a colon")
	}
	if !sdk.IsHeaderValue(c.Token) {
		say("/token", "must not hold line breaks or control characters")
	}
	if !sdk.IsHeaderName(c.KeyHeader) {
		say("/key_header", "is no name of a header")
	}
	for _, name := range slices.Sorted(maps.Keys(c.Headers)) {
		if wrong := headerProblem(name, c.Headers[name]); wrong != "" {
			say(sdk.Pointer("headers", name), "%s", wrong)
		}
	}
	return problems
}

// ways names the credentials that are set.
func (c Config) ways() []string {
	var ways []string
	for _, way := range []struct {
		name string
		set  bool
	}{
		{"token", c.Token != ""}, {"token_from", c.TokenFrom != nil}, {"basic", c.Basic != nil}, {"api_key", c.APIKey != nil}, {"oauth", c.OAuth != nil},
	} {
		if way.set && !(way.name == "token_from" && len(ways) > 0) { // token beside token_from: the SDK says it
			ways = append(ways, way.name)
		}
	}
	return ways
}

// taken are headers that the HTTP client sets, or that would change what is sent.
var taken = []string{
	"Accept-Encoding", "Connection", "Content-Length", "Expect", "Host", "Keep-Alive", "Proxy-Authorization", "Proxy-Connection",
	"Te", "Trailer", "Transfer-Encoding", "Upgrade", answerHeader,
}

// headerProblem says what is wrong with a header, "" for nothing.
func headerProblem(name, value string) string {
	canonical := http.CanonicalHeaderKey(name)
	switch {
	case !sdk.IsHeaderName(name):
		return "is no name of a header"
	case canonical == "Cookie":
		return "must not be set: the plugin keeps and sends no cookies"
	case slices.Contains(taken, canonical):
		return fmt.Sprintf("must not be set: %s is the HTTP client's own", canonical)
	case !sdk.IsHeaderValue(value):
		return "must not hold line breaks or control characters"
	}
	return ""
}
