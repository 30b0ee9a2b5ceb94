package python

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	pluginv1 "github.com/flowrun/flowrun/sdk/proto/pluginv1"
)

// tokenEndpoints are what an authorization server may say, by path. /form is the service,
// which refuses the first token.
func tokenEndpoints() map[string]string {
	const json = "Content-Type: application/json"
	answers := map[string]string{
		"/token":  answer("200 OK", json, `{"access_token":"canary-access","token_type":"bearer","expires_in":"3600","refresh_token":"canary-refresh"}`),
		"/plain":  answer("200 OK", json, `{"access_token":"canary-access"}`),
		"/never":  answer("200 OK", json, `{"access_token":"canary-access","expires_in":1e30}`),
		"/odd":    answer("200 OK", json, `{"access_token":"canary-access","expires_in":"soon"}`),
		"/none":   answer("200 OK", json, `{"canary-access":"x"}`),
		"/empty":  answer("200 OK", json, ``),
		"/list":   answer("200 OK", json, `["canary-access"]`),
		"/number": answer("200 OK", json, `{"access_token":5}`),
		"/mac":    answer("200 OK", json, `{"access_token":"canary-access","token_type":"mac"}`),
		"/page":   answer("502 Bad Gateway", "Content-Type: text/html", `<title>no</title>`),
		"/away":   answer("302 Found", "Location: http://127.0.0.1:1/token", ``),
		"/form":   answer("200 OK", json, `{"ok":true}`),
	}
	for _, word := range []string{"invalid_client", "unauthorized_client", "access_denied", "invalid_scope", "invalid_request", "invalid_target", "unsupported_grant_type", "invalid_grant", "server_error", "temporarily_unavailable", "slow_down", "own_word"} {
		answers["/"+word] = answer("400 Bad Request", json, `{"error":"`+word+`","error_description":"it is so"}`)
	}
	answers["/401"] = answer("401 Unauthorized", json, `{}`)
	return answers
}

// TestIssue15_5_BothSDKsGetTokensOfGrantsAlike: the requests, the tokens that are kept,
// what a refusal means, and the one renewal after 401.
func TestIssue15_5_BothSDKsGetTokensOfGrantsAlike(t *testing.T) {
	t.Parallel()
	both := twins(t)
	server := serveRaw(t, tokenEndpoints())
	for _, w := range both {
		if problems := w.connect(`{"base_url":"` + server.url() + `","api_key":"canary se/cret"}`); problems != nil {
			t.Fatal(problems)
		}
	}
	worked := map[string]bool{}
	for path := range server.answers {
		for _, how := range []string{"basic", "body", "public", "renew", "login"} {
			for _, address := range []string{path, server.url() + path} {
				got := bothGrant(t, both, server, how, address)
				worked[how] = worked[how] || got.Output != nil
			}
		}
	}
	if want := map[string]bool{"basic": true, "body": true, "public": true, "renew": true, "login": false}; !cmp.Equal(worked, want) {
		t.Errorf("what got a token: %v", worked)
	}
	server.answers["/form"] = answer("401 Unauthorized", `{}`)
	if got := bothGrant(t, both, server, "basic", "/token"); got.Code != "CODE_UNAUTHORIZED" || len(both["python"].host.tokenKeys) != 2 {
		t.Errorf("a service that refuses each token: %+v, asked for %d tokens", got, len(both["python"].host.tokenKeys))
	}
}

// bothGrant asks both twins, and compares what they sent, stored and answered.
func bothGrant(t *testing.T, both map[string]*twin, server *rawServer, how, address string) told {
	t.Helper()
	got, asked, commits, keys := map[string]told{}, map[string][]string{}, map[string][]*pluginv1.CommitTokenRequest{}, map[string][]string{}
	for name, w := range both {
		w.host.token, w.host.commits, w.host.tokenKeys = nil, nil, nil
		made := w.do("oauth", fmt.Sprintf(`{"how":%q,"text":%q}`, how, address))
		got[name], asked[name], commits[name], keys[name] = shape(made.end), server.take(), w.host.commits, w.host.tokenKeys
		for _, commit := range commits[name] {
			if expires := commit.GetToken().GetExpiresAt(); expires != nil {
				expires.Seconds, expires.Nanos = expires.Seconds/100000, 0 // of when it was asked for
			}
		}
		if said := fmt.Sprint(made.events); strings.Contains(said, "canary") {
			t.Errorf("%s, %s at %s tells a secret: %s", name, how, address, said)
		}
		for _, request := range asked[name] {
			if !strings.HasPrefix(request, http.MethodPost+" /form") && strings.Contains(request, "X-Own") {
				t.Errorf("%s: a token request has a header of the call:\n%s", name, request)
			}
		}
	}
	what := how + " at " + address
	if diff := cmp.Diff(got["go"], got["python"]); diff != "" {
		t.Errorf("%s (-go +python):\n%s", what, diff)
	}
	if diff := cmp.Diff(asked["go"], asked["python"]); diff != "" {
		t.Errorf("requests of %s (-go +python):\n%s", what, diff)
	}
	if diff := cmp.Diff(commits["go"], commits["python"], protocmp.Transform()); diff != "" {
		t.Errorf("commits of %s (-go +python):\n%s", what, diff)
	}
	if diff := cmp.Diff(keys["go"], keys["python"]); diff != "" {
		t.Errorf("the tokens of %s (-go +python):\n%s", what, diff)
	}
	return got["python"]
}
