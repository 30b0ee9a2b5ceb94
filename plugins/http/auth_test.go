package http

import (
	"net/http"
	"testing"

	"github.com/flowrun/flowrun/sdk"
	"github.com/flowrun/flowrun/sdk/sdktest"
)

func TestCredentials(t *testing.T) {
	s := serve(t, says(200, "application/json", `{}`))
	for name, c := range map[string]struct {
		config                in
		header, value, query  string
		alsoHeader, alsoValue string
	}{
		"a token":           {in{"token": "t-1"}, "Authorization", "Bearer t-1", "", "", ""},
		"basic":             {in{"basic": in{"user": "ann", "password": "p:w"}}, "Authorization", "Basic YW5uOnA6dw==", "", "", ""},
		"a key in a header": {in{"api_key": in{"name": "X-Api-Key", "value": "k-1"}}, "X-Api-Key", "k-1", "", "", ""},
		"a key in a query":  {in{"api_key": in{"in": "query", "name": "key", "value": "k 1"}}, "Authorization", "", "key=k+1", "", ""},
		"headers":           {in{"headers": in{"Authorization": "Token x", "Accept": "text/plain"}}, "Authorization", "Token x", "", "Accept", "text/plain"},
	} {
		p := open(t, s, c.config)
		input := in{"path": "/a"}
		outputOfCall(t, p.Call("get", input))
		sent, _ := s.last(t)
		if sent.Header.Get(c.header) != c.value || sent.URL.RawQuery != c.query {
			t.Errorf("%s: sent %v ?%s", name, sent.Header, sent.URL.RawQuery)
		}
		if c.alsoHeader == "" || sent.Header.Get(c.alsoHeader) == c.alsoValue {
			continue
		}
		t.Errorf("%s: header %s is %q", name, c.alsoHeader, sent.Header.Get(c.alsoHeader))
	}
}

// A credential goes to the origin of base_url, and nowhere else: not with an absolute URL,
// not with a redirect, not with a link. The request itself goes on where it may.
func TestCredentialsStayAtTheirOrigin(t *testing.T) {
	other := serve(t, says(200, "application/json", `{}`))
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/away" {
			http.Redirect(w, r, other.URL+"/landed?a=1", http.StatusFound)
			return
		}
		says(200, "application/json", `{}`)(w, r)
	})
	for name, config := range map[string]in{
		"a token": {"token": "t-1secret"}, "basic": {"basic": in{"user": "ann", "password": "t-1secret"}}, "a key": {"api_key": in{"name": "X-Thing", "value": "t-1secret"}},
		"a key in the query": {"api_key": in{"in": "query", "name": "k", "value": "t-1secret"}}, "headers": {"headers": in{"X-Thing": "t-1secret"}},
	} {
		config["hosts"] = []string{other.URL}
		p := open(t, s, config)
		for _, input := range []in{{"url": other.URL + "/direct"}, {"path": "/away"}} {
			before := other.count()
			outputOfCall(t, p.Call("get", input))
			sent, _ := other.last(t)
			if other.count() != before+1 {
				t.Fatalf("%s: %d requests arrived", name, other.count()-before)
			}
			for header, values := range sent.Header {
				if header == "Authorization" || header == "X-Thing" || len(values) > 0 && values[0] == "t-1secret" {
					t.Errorf("%s, %v: the header %s came along", name, input, header)
				}
			}
			if sent.URL.Query().Has("k") {
				t.Errorf("%s, %v: the query came along", name, input)
			}
		}
		if r := p.Call("get", in{"url": other.URL + "/direct", "headers": in{"Authorization": "Bearer mine"}}); r.Err == nil || r.Err.Code != sdk.CodeInvalid {
			t.Errorf("%s: a credential of the step goes to another origin: %v", name, r.Err)
		}
	}
}

func TestOAuth(t *testing.T) {
	asked := 0
	s := serve(t, nil)
	s.answer = func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/token" {
			asked++
			says(200, "application/json", `{"access_token":"at-`+string(rune('0'+asked))+`","token_type":"bearer","expires_in":3600}`)(w, r)
			return
		}
		if r.Header.Get("Authorization") == "Bearer at-1" && asked == 1 && r.URL.Path == "/again" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		says(200, "application/json", `"`+r.Header.Get("Authorization")+`"`)(w, r)
	}
	p := open(t, s, in{"oauth": in{"token_url": "/token", "client_id": "me", "client_secret": "s3cret", "scopes": []string{"a"}, "params": in{"audience": "x"}}})
	for _, path := range []string{"/a", "/b"} {
		if out := outputOfCall(t, p.Call("get", in{"path": path})); out["body"] == nil || asked != 1 {
			t.Errorf("%v, %d tokens were asked for", out, asked)
		}
	}
	outputOfCall(t, p.Call("get", in{"path": "/again"}))
	if asked != 2 {
		t.Errorf("after a 401 %d tokens were asked for, want 2", asked)
	}
	if _, err := p.CheckConnection(); err != nil {
		t.Error(err)
	}
}

func TestTokenFromAnotherConnection(t *testing.T) {
	s := serve(t, says(200, "application/json", `{}`))
	p := sdktest.Serve(t, New())
	if problems := p.Connect("mine", in{"base_url": s.URL, "private": true, "token_from": in{"connection": "login"}}); len(problems) > 0 {
		t.Fatal(problems)
	}
	p.Host().SetToken("mine", "", sdk.Token{ID: "1", AccessToken: "at-9"})
	outputOfCall(t, p.Call("get", in{"path": "/a"}, sdktest.OnConnection("mine")))
	if sent, _ := s.last(t); sent.Header.Get("Authorization") != "Bearer at-9" {
		t.Errorf("sent %v", sent.Header)
	}
}

func TestCheckConnection(t *testing.T) {
	s := serve(t, says(200, "application/json", `{}`))
	p := open(t, s, in{"test": "/me", "token": "t-1"})
	if _, err := p.CheckConnection(); err != nil {
		t.Error(err)
	}
	if sent, _ := s.last(t); sent.URL.Path != "/me" || sent.Header.Get("Authorization") != "Bearer t-1" {
		t.Errorf("sent %s %v", sent.URL, sent.Header)
	}
	if why, notTried := open(t, s, nil).NotTried(); !notTried || why == "" {
		t.Errorf("without a path: %q, %t", why, notTried)
	}
	s.answer = says(401, "", "")
	if _, err := p.CheckConnection(); err == nil || err.Code != sdk.CodeUnauthorized {
		t.Errorf("got %v", err)
	}
}
