package oidc

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// The client of all tests. Its secret has what a Basic header must encode.
const (
	basic, post = "client_secret_basic", "client_secret_post" // how it may be registered

	clientID     = "device client"
	clientSecret = "canary:100%+ sure&more=?/"
)

// settings are those of one server.
type settings struct {
	Methods     []string         `json:"methods"` // of authentication, as its metadata lists them
	Clients     []map[string]any `json:"clients"`
	CodeTTLs    []int            `json:"code_ttls,omitempty"`     // seconds that each code lives, one after the other; the last is that of all others
	TellCodeTTL int              `json:"tell_code_ttl,omitempty"` // what it says that they live
	AccessTTL   int              `json:"access_ttl,omitempty"`
	Rotate      *bool            `json:"rotate,omitempty"`
	Refresh     *bool            `json:"refresh,omitempty"`
	Forgetful   bool             `json:"forgetful,omitempty"` // it does not know a code any more that has ended
	Loose       bool             `json:"loose,omitempty"`     // a revocation ends the very token alone
	Strict      bool             `json:"strict,omitempty"`    // its client is of the form, and Basic is refused
}

// confidential are the settings of a server with one client, which has a secret
// and is registered for a method.
func confidential(method string, listed ...string) settings {
	if len(listed) == 0 {
		listed = []string{method}
	}
	return settings{Methods: listed, Clients: []map[string]any{
		{"client_id": clientID, "client_secret": clientSecret, "token_endpoint_auth_method": method},
	}}
}

// public are those of a server with a client that has no secret.
func public() settings {
	return settings{Methods: []string{"none"}, Clients: []map[string]any{{"client_id": clientID, "token_endpoint_auth_method": "none"}}}
}

// server is one that others wrote.
type server struct {
	t        *testing.T
	issuer   string
	settings settings
}

// open starts a server, or skips the test where there can be none.
func open(t *testing.T, s settings) *server {
	t.Helper()
	if missing != "" {
		t.Skip(missing)
	}
	body, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.Post(control+"/servers", "application/json", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	var answer struct{ Issuer, Error string }
	decode(t, response, &answer)
	if answer.Issuer == "" {
		t.Fatalf("no server: %s", answer.Error)
	}
	return &server{t: t, issuer: answer.Issuer, settings: s}
}

func decode(t *testing.T, response *http.Response, into any) {
	t.Helper()
	defer response.Body.Close()
	if err := json.NewDecoder(response.Body).Decode(into); err != nil {
		t.Fatal(err)
	}
}

// request is what a server was asked, and what it answered.
type request struct {
	Path, Method, Query, Authorization, Error string
	Form                                      map[string]string
	Status                                    int

	AccessToken  string `json:"access_token"` // which it gave
	RefreshToken string `json:"refresh_token"`
}

// requests lists what was asked at a path.
func (s *server) requests(path string) []request {
	s.t.Helper()
	response, err := http.Get(control + "/requests?issuer=" + url.QueryEscape(s.issuer))
	if err != nil {
		s.t.Fatal(err)
	}
	var all []request
	decode(s.t, response, &all)
	return slices.DeleteFunc(all, func(r request) bool { return r.Path != path })
}

const (
	devicePath = "/device/auth"
	tokenPath  = "/token"
	revokePath = "/token/revocation"
	userPath   = "/me"
)

// clients tells in which ways a client said who it is at a path, each with
// whether the server knew it: "basic" or "body refused", in order.
func (s *server) clients(path string) string {
	s.t.Helper()
	var ways []string
	for _, r := range s.requests(path) {
		way := r.way()
		if r.Error == "invalid_client" {
			way += " refused"
		}
		if !slices.Contains(ways, way) {
			ways = append(ways, way)
		}
	}
	return strings.Join(ways, ", ")
}

// way is where a request has the client's secret.
func (r request) way() string {
	header, form := "", r.Form["client_secret"]
	if encoded, found := strings.CutPrefix(r.Authorization, "Basic "); found {
		plain, err := base64.StdEncoding.DecodeString(encoded)
		if err != nil {
			return "unreadable"
		}
		_, header, _ = strings.Cut(string(plain), ":")
	}
	switch {
	case header != "" && form != "":
		return "both"
	case header == url.QueryEscape(clientSecret):
		return "basic"
	case form == clientSecret:
		return "body"
	case header == "" && form == "":
		return "none"
	}
	return "another secret"
}

// refreshes lists the refresh tokens that were sent, in order.
func (s *server) refreshes() (tokens []string) {
	s.t.Helper()
	for _, r := range s.requests(tokenPath) {
		if r.Form["grant_type"] == "refresh_token" {
			tokens = append(tokens, r.Form["refresh_token"])
		}
	}
	return tokens
}

// tokens returns the tokens that it gave last.
func (s *server) tokens() (access, refresh string) {
	s.t.Helper()
	for _, r := range s.requests(tokenPath) {
		if r.AccessToken != "" {
			access, refresh = r.AccessToken, r.RefreshToken
		}
	}
	if access == "" {
		s.t.Fatal("the server has given no token")
	}
	return access, refresh
}

// post sends a form as the client would, from another place.
func (s *server) post(path string, form url.Values) (status int, word string) {
	s.t.Helper()
	form.Set("client_id", clientID)
	request, err := http.NewRequest(http.MethodPost, s.issuer+path, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	switch s.settings.Clients[0]["token_endpoint_auth_method"] {
	case basic:
		request.SetBasicAuth(url.QueryEscape(clientID), url.QueryEscape(clientSecret))
	case post:
		form.Set("client_secret", clientSecret)
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.Body = io.NopCloser(strings.NewReader(form.Encode()))
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	defer response.Body.Close()
	var answer struct{ Error string }
	_ = json.NewDecoder(response.Body).Decode(&answer) // a revocation has an empty answer
	return response.StatusCode, answer.Error
}

// refresh uses a refresh token as somebody would who has got hold of it.
func (s *server) refresh(token string) (status int, word string) {
	s.t.Helper()
	return s.post(tokenPath, url.Values{"grant_type": {"refresh_token"}, "refresh_token": {token}})
}

// mustBeDead checks that tokens are of no use any more.
func (s *server) mustBeDead(access, refresh string) {
	s.t.Helper()
	request, err := http.NewRequest(http.MethodGet, s.issuer+userPath, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+access)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != http.StatusUnauthorized {
		s.t.Errorf("the access token is still good: %d", response.StatusCode)
	}
	if status, word := s.refresh(refresh); word != "invalid_grant" {
		s.t.Errorf("the refresh token is still good: %d %s", status, word)
	}
}
