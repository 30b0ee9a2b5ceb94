package http

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/flowrun/flowrun/plugins/http/httpsim"
	"github.com/flowrun/flowrun/sdk"
	"github.com/flowrun/flowrun/sdk/sdktest"
)

// in is shorthand for an input.
type in = map[string]any

// service is a service of the test's own, with what it was sent.
type service struct {
	*httptest.Server
	mu     sync.Mutex
	seen   []*http.Request
	bodies []string
	answer func(w http.ResponseWriter, r *http.Request)
}

// serve starts a service that answers so.
func serve(t *testing.T, answer func(w http.ResponseWriter, r *http.Request)) *service {
	t.Helper()
	s := &service{answer: answer}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		s.mu.Lock()
		s.seen, s.bodies = append(s.seen, r), append(s.bodies, string(body))
		s.mu.Unlock()
		s.answer(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

// says is an answer with a status, a media type and a body.
func says(status int, contentType, body string) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) {
		if contentType != "" {
			w.Header().Set("Content-Type", contentType)
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

func (s *service) last(t *testing.T) (*http.Request, string) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.seen) == 0 {
		t.Fatal("nothing was sent")
	}
	return s.seen[len(s.seen)-1], s.bodies[len(s.bodies)-1]
}

func (s *service) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.seen)
}

// open opens a connection to a service on this machine, with more settings.
func open(t *testing.T, s *service, more in) *sdktest.Plugin {
	t.Helper()
	config := in{"base_url": s.URL, "private": true}
	for name, value := range more {
		config[name] = value
	}
	return sdktest.Open(t, New(), config)
}

// decoded is the output of a call that must succeed.
func outputOfCall(t *testing.T, r sdktest.Result) map[string]any {
	t.Helper()
	var out map[string]any
	r.Decode(t, &out)
	return out
}

// fails checks the error of a call.
func fails(t *testing.T, r sdktest.Result, code sdk.Code, text string) *sdk.Error {
	t.Helper()
	if r.Err == nil || r.Err.Code != code || !strings.Contains(r.Err.Message, text) {
		t.Fatalf("got %v (output %s), want %s with %q", r.Err, r.Output, code, text)
	}
	return r.Err
}

func TestPluginIsSound(t *testing.T) {
	if err := New().Err(); err != nil {
		t.Fatal(err)
	}
	effects := map[string]string{"get": "read", "head": "read", "put": "idempotent", "delete": "idempotent", "post": "once", "patch": "once", "post_keyed": "keyed"}
	described := sdktest.Serve(t, New()).Describe()
	for _, a := range described.Actions {
		if a.Effect != effects[a.Name] || a.Doc == "" || len(a.Examples) == 0 || len(a.Faults) < 6 {
			t.Errorf("%s: effect %s, %d examples, %d faults, doc %q", a.Name, a.Effect, len(a.Examples), len(a.Faults), a.Doc)
		}
	}
	if len(described.Actions) != len(effects) {
		t.Errorf("%d actions, want %d", len(described.Actions), len(effects))
	}
}

func TestExamplesWork(t *testing.T) {
	sim := httptest.NewServer(httpsim.New(httpsim.Options{}))
	t.Cleanup(sim.Close)
	for _, simulated := range []bool{false, true} {
		p := sdktest.Open(t, New(), in{"base_url": sim.URL, "private": true, "simulated": simulated})
		for _, a := range p.Describe().Actions {
			for _, e := range a.Examples {
				var input in
				if err := json.Unmarshal(e.Input, &input); err != nil {
					t.Fatal(err)
				}
				if problems := p.Validate(a.Name, input); len(problems) > 0 {
					t.Errorf("%s, %s: %v", a.Name, e.Name, problems)
				}
				if r := p.Call(a.Name, input, sdktest.Key("k-"+a.Name)); r.Err != nil {
					t.Errorf("%s, %s, simulated %t: %v", a.Name, e.Name, simulated, r.Err)
				}
			}
		}
	}
}

func TestSettingsAreChecked(t *testing.T) {
	for name, c := range map[string]struct {
		config  in
		pointer string
	}{
		"nothing":                       {in{}, ""},
		"a credential without base_url": {in{"hosts": []string{"example.com"}, "token": "x"}, "/base_url"},
		"two credentials":               {in{"base_url": "https://example.com", "token": "x", "basic": in{"user": "u", "password": "p"}}, "/basic"},
		"token and token_from":          {in{"base_url": "https://example.com", "token": "x", "token_from": in{"connection": "c"}}, "/token_from"},
		"a header that is taken":        {in{"base_url": "https://example.com", "headers": in{"Host": "x"}}, "/headers/Host"},
		"a cookie":                      {in{"base_url": "https://example.com", "headers": in{"cookie": "x"}}, "/headers/cookie"},
		"a line break in a header":      {in{"base_url": "https://example.com", "headers": in{"X-A": "a\r\nb: c"}}, "/headers/X-A"},
		"a line break in a token":       {in{"base_url": "https://example.com", "token": "a\nb"}, "/token"},
		"a colon in a user":             {in{"base_url": "https://example.com", "basic": in{"user": "a:b", "password": "p"}}, "/basic/user"},
		"a wrong host":                  {in{"hosts": []string{"https://example.com/path"}}, "/hosts/0"},
		"a wrong network":               {in{"base_url": "https://example.com", "networks": []string{"10.0.0.1"}}, "/networks/0"},
		"a key without certificate":     {in{"base_url": "https://example.com", "key_file": "/nowhere"}, "/cert_file"},
		"a file that is not there":      {in{"base_url": "https://example.com", "key_file": "/nowhere", "cert_file": "/nowhere"}, "/cert_file"},
		"a test without base_url":       {in{"hosts": []string{"example.com"}, "test": "/me"}, "/test"},
	} {
		problems := sdktest.Serve(t, New()).Connect("c", c.config)
		found := false
		for _, problem := range problems {
			found = found || problem.Pointer == c.pointer && !problem.Warning
		}
		if !found {
			t.Errorf("%s: %v, want a problem at %q", name, problems, c.pointer)
		}
	}
	if problems := sdktest.Serve(t, New()).Connect("c", in{"base_url": "https://example.com", "headers": in{"X-A": "b"}, "oauth": in{"token_url": "/token", "client_id": "c", "client_secret": "s"}}); len(problems) > 0 {
		t.Errorf("a good config: %v", problems)
	}
}
