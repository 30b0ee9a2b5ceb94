package oidc

import (
	"strings"
	"testing"
)

// TestAConfidentialClientLogsIn with the default client_auth, renews, reads and
// logs out, wherever the server wants the secret.
func TestAConfidentialClientLogsIn(t *testing.T) {
	t.Parallel()
	bare := func(config in) in {
		full := in{
			"issuer": nil, "device_authorization_endpoint": "{issuer}" + devicePath, "token_endpoint": "{issuer}" + tokenPath,
			"revocation_endpoint": "{issuer}" + revokePath, "revoke_token_in": "body",
		}
		for name, value := range config {
			full[name] = value
		}
		return full
	}
	postAlone, strict := confidential(post), confidential(post, basic, post)
	loose := confidential(basic)
	postAlone.Strict, strict.Strict, loose.Loose = true, true, true
	for name, tt := range map[string]struct {
		settings              settings
		config                in
		device, token, revoke string // how the client said who it is
	}{
		"Basic alone":                         {confidential(basic), nil, "basic", "basic", "basic"},
		"the form alone":                      {postAlone, nil, "body", "body", "basic refused, body"},
		"both":                                {confidential(basic, basic, post, "private_key_jwt"), nil, "basic", "basic", "basic"},
		"both, and the client is of the form": {strict, nil, "basic refused, body", "basic refused, body", "basic refused, body"},
		"client_auth body, where both are":    {confidential(post, basic, post), in{"client_auth": "body"}, "body", "body", "body"},
		"without an issuer":                   {confidential(post, basic, post), bare(nil), "none refused, body", "body", "body"},
		"without an issuer, Basic":            {confidential(basic), bare(in{"client_auth": "basic"}), "basic", "basic", "basic"},
		"each token is revoked by itself":     {loose, nil, "basic", "basic", "basic"},
		"a public client":                     {public(), in{"client_secret": nil, "client_auth": "none"}, "none", "none", "none"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t, tt.settings)
			p := newProject(t, s, tt.config)
			p.login()
			if status := p.call("status", nil); status["state"] != "valid" || status["renewable"] != true {
				t.Errorf("status %v", status)
			}
			whoIs := func() {
				t.Helper()
				read := p.call("resource_get", in{"url": s.issuer + userPath})
				if body, _ := read["body"].(in); body["sub"] != "ada" || body["email"] != "ada@example.com" {
					t.Errorf("the token is that of %v", read)
				}
			}
			whoIs()
			p.call("refresh", nil)
			p.call("refresh", nil)
			whoIs()
			if used := s.refreshes(); len(used) == 0 || used[0] == used[len(used)-1] {
				t.Errorf("refreshed with %q: the token of the rotation was not used", used)
			}
			access, refresh := s.tokens()
			if r := p.flowrun(nil, "connections", "logout", "work"); r.code != 0 {
				t.Errorf("log out: %+v", r)
			}
			s.mustBeDead(access, refresh)
			if status := p.call("status", nil); status["state"] != "none" && status["state"] != "auth_required" {
				t.Errorf("after the logout: %v", status)
			}
			for path, want := range map[string]string{devicePath: tt.device, tokenPath: tt.token, revokePath: tt.revoke} {
				if got := s.clients(path); got != want {
					t.Errorf("%s: %s, want %s", path, got, want)
				}
			}
		})
	}
}

// TestADeniedLogin: the person says no.
func TestADeniedLogin(t *testing.T) {
	t.Parallel()
	s := open(t, confidential(basic))
	p := newProject(t, s, nil)
	r := p.flowrun([]*person{{refuses: true}}, "connections", "login", "work")
	if r.code != 5 || !strings.Contains(r.stderr, "denied: ") {
		t.Errorf("got %+v", r)
	}
	if status := p.call("status", nil); status["state"] != "none" {
		t.Errorf("status %v", status)
	}
}

// TestCodesThatRunOut: nobody comes. What the server says of it depends on how it
// keeps its codes, and on its clock.
func TestCodesThatRunOut(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		tells   int
		forgets bool
		said    string // what the server says to a poll of a code that has ended
	}{
		"by our clock":                          {0, false, ""},
		"by its clock":                          {600, false, "expired_token"},
		"by its clock, and the code is unknown": {600, true, "invalid_grant"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			settings := confidential(basic)
			settings.CodeTTLs, settings.TellCodeTTL, settings.Forgetful = []int{2}, tt.tells, tt.forgets
			s := open(t, settings)
			p := newProject(t, s, nil)
			p.write("login.yaml", loginWorkflow)
			// two codes, and nobody comes: the end of the second ends the run
			r := p.flowrun([]*person{nil, nil}, "run", "login.yaml")
			kind, why := "expired", "the codes ran out before anybody decided"
			if tt.said == "invalid_grant" {
				kind, why = "invalid", "the code is not valid, or was already claimed"
			}
			if r.code == 0 || !strings.Contains(r.stderr, kind+": ") || strings.Count(r.stderr, why) < 2 ||
				!strings.Contains(r.stderr, "his is a new code, the one before is of no use: ") {
				t.Errorf("got %+v", r)
			}
			for _, asked := range s.requests(tokenPath) {
				if word := asked.Error; word != "authorization_pending" && word != tt.said {
					t.Errorf("the server said %q, where %q is due", word, tt.said)
				}
			}
			if tt.said != "" && len(s.requests(devicePath)) != 2 {
				t.Errorf("asked for %d codes", len(s.requests(devicePath)))
			}
		})
	}
}

// loginWorkflow logs in, with one more code where the first runs out.
const loginWorkflow = `flowrun: v1
name: login
steps:
  - {id: start, uses: auth.device_start, with: {scopes: [openid]}}
  - {id: wait, uses: auth.device_wait, with: {flow_id: "${{ steps.start.outputs.flow_id }}", restart: 1}}
`

// TestANewCodeIsTaken: the first code runs out, and the person takes the second,
// of a workflow and of the command.
func TestANewCodeIsTaken(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		forgets bool
		command []string
	}{
		"a workflow":  {false, []string{"run", "login.yaml"}},
		"the command": {true, []string{"connections", "login", "work"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			settings := confidential(basic)
			settings.CodeTTLs, settings.TellCodeTTL, settings.Forgetful = []int{2, 600}, 600, tt.forgets
			s := open(t, settings)
			p := newProject(t, s, nil)
			p.write("login.yaml", loginWorkflow)
			if r := p.flowrun([]*person{nil, {}}, tt.command...); r.code != 0 || !strings.Contains(r.stderr, "his is a new code, the one before is of no use: ") {
				t.Errorf("got %+v", r)
			}
			if status := p.call("status", nil); status["state"] != "valid" {
				t.Errorf("status %v", status)
			}
		})
	}
}

// TestAWrongSecretIsSaid, and not that the login was refused.
func TestAWrongSecretIsSaid(t *testing.T) {
	t.Parallel()
	for _, method := range []string{basic, post} {
		settings := confidential(method)
		settings.Clients[0]["client_secret"] = "another"
		s := open(t, settings)
		p := newProject(t, s, nil)
		f := p.fails("device_start", in{"scopes": []string{"openid"}})
		if f.Kind != "invalid" || f.Reason != "invalid_client" || !strings.Contains(f.Hint, "client_secret") {
			t.Errorf("%s: got %+v", method, f)
		}
	}
}

// TestAServerThatTakesNoSecret is told apart before it gets one.
func TestAServerThatTakesNoSecret(t *testing.T) {
	t.Parallel()
	s := open(t, settings{Methods: []string{"private_key_jwt"}, Clients: []map[string]any{}})
	f := newProject(t, s, nil).fails("device_start", in{"scopes": []string{"openid"}})
	if f.Kind != "unsupported" || !strings.Contains(f.Message, "private_key_jwt") || len(s.requests(devicePath)) != 0 {
		t.Errorf("got %+v", f)
	}
}
