package auth

import (
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flowrun/flowrun/internal/simkit"
	"github.com/flowrun/flowrun/plugins/auth/authsim"
	"github.com/flowrun/flowrun/sdk"
	"github.com/flowrun/flowrun/sdk/sdktest"
)

func quote(text string) string {
	encoded, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return string(encoded)
}

// storedGrant is a token as the plugin stores it for a flow.
func (w *world) storedGrant(flow in) (sdk.Token, error) {
	extra, err := json.Marshal(in{"scopes": scopes, "asked": scopes, "flow": flow["flow_id"]})
	return sdk.Token{
		ID: "stored", AccessToken: "at-stored-canary", TokenType: "Bearer", RefreshToken: "rt-stored-canary",
		ExpiresAt: time.Now().Add(time.Hour), Extra: extra,
	}, err
}

func TestA28_TokenIsASecretOutput(t *testing.T) {
	w := open(t, authsim.Options{}, nil)
	w.login()
	r := w.Call("token", nil)
	out := output(t, r)
	if out["token"] != w.stored().AccessToken || out["token_type"] != "Bearer" || out["refreshed"] != false {
		t.Errorf("got %v", out)
	}
	if diff := cmp.Diff([]string{"/token"}, r.Sensitive); diff != "" {
		t.Errorf("sensitive (-want +got):\n%s", diff)
	}
	for _, action := range []string{"device_poll", "device_wait", "refresh", "status"} {
		if schema := string(w.Action(action).Output); strings.Contains(schema, `"access_token"`) || strings.Contains(schema, `"token"`) {
			t.Errorf("%s gives a token out: %s", action, schema)
		}
	}
	if w.Describe().TokenAction != "token" {
		t.Errorf("the token action is %q", w.Describe().TokenAction)
	}
}

func TestA29_ExpiresAtHasAReserve(t *testing.T) {
	for lifetime, want := range map[time.Duration]time.Duration{time.Hour: time.Hour - 30*time.Second, time.Minute: 30 * time.Second, 20 * time.Second: 10 * time.Second} {
		w := open(t, authsim.Options{AccessTTL: lifetime}, nil)
		w.login()
		if got := w.stored().ExpiresAt; !got.Equal(w.clock.now().Add(want)) {
			t.Errorf("a token of %s ends after %s, want %s", lifetime, got.Sub(w.clock.now()), want)
		}
	}
	w := open(t, authsim.Options{}, nil)
	w.login()
	output(t, w.Call("token", in{"min_ttl_s": 3000}))
	if w.count("/token") != 1 {
		t.Error("a token that lasts was renewed")
	}
	w.age(40 * time.Minute)
	if out := output(t, w.Call("token", in{"min_ttl_s": 3000})); out["refreshed"] != true || w.count("/token") != 2 {
		t.Errorf("a token that does not last: %v", out)
	}
}

func TestA30_WithoutARefreshToken(t *testing.T) {
	w := open(t, authsim.Options{Quirks: authsim.Quirks{NoRefreshToken: true}}, nil)
	flow := w.start()
	_ = w.sim.Approve(flow["user_code"].(string))
	w.clock.pass(5 * time.Second)
	r := w.poll(flow)
	output(t, r)
	if len(r.Logs) != 1 || r.Logs[0].Level != "WARN" || !strings.Contains(r.Logs[0].Message, "no refresh token") {
		t.Errorf("logs %+v", r.Logs)
	}
	fails(t, w.Call("refresh", nil), sdk.CodeUnsupported, "")
	if out := output(t, w.Call("token", in{"min_ttl_s": 7200})); out["token"] != w.stored().AccessToken {
		t.Errorf("a token that can't be renewed is not used up: %v", out)
	}
	w.expire()
	w.clock.pass(2 * time.Hour)
	if e := fails(t, w.Call("token", nil), sdk.CodeAuthRequired, "no_refresh_token"); !strings.Contains(e.Hint, "flowrun connections login test") {
		t.Errorf("hint %q", e.Hint)
	}
	if w.count("/token") != 1 {
		t.Error("a refresh was sent without a refresh token")
	}
}

func TestA31_ScopesAreSets(t *testing.T) {
	w := open(t, authsim.Options{Grants: []string{"app.files", "openid"}}, nil)
	out := w.login()
	if diff := cmp.Diff([]any{"openid", "app.files"}, out["scopes"]); diff != "" {
		t.Errorf("scopes (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]any{"Email"}, out["missing_scopes"]); diff != "" {
		t.Errorf("missing (-want +got):\n%s", diff)
	}
	for _, tt := range []struct{ asked, granted, missing []string }{
		{[]string{"a", "b"}, []string{"b", "a", "c"}, []string{}},
		{[]string{"A", "a"}, []string{"a"}, []string{"A"}},
		{[]string{"x", "x"}, nil, []string{"x"}},
		{nil, []string{"a"}, []string{}},
	} {
		if diff := cmp.Diff(tt.missing, missingScopes(tt.asked, tt.granted)); diff != "" {
			t.Errorf("%v of %v (-want +got):\n%s", tt.granted, tt.asked, diff)
		}
	}
	w = open(t, authsim.Options{Quirks: authsim.Quirks{NoScope: true}}, nil) // then all was granted
	if out := w.login(); len(out["scopes"].([]any)) != 3 || len(out["missing_scopes"].([]any)) != 0 {
		t.Errorf("without scope: %v", out)
	}
}

func TestA32_TokenTypeMustBeBearer(t *testing.T) {
	for _, fine := range []string{"Bearer", "bearer", "BEARER"} {
		w := open(t, authsim.Options{Quirks: authsim.Quirks{TokenType: fine}}, nil)
		w.login()
		if w.stored().TokenType != "Bearer" {
			t.Errorf("%s is stored as %s", fine, w.stored().TokenType)
		}
	}
	w := open(t, authsim.Options{Quirks: authsim.Quirks{TokenType: "mac"}}, nil)
	flow := w.start()
	_ = w.sim.Approve(flow["user_code"].(string))
	w.clock.pass(5 * time.Second)
	fails(t, w.poll(flow), sdk.CodeUnexpectedResponse, "")
	if w.hasToken() {
		t.Error("it is stored")
	}
	w = open(t, authsim.Options{}, nil)
	w.login()
	w.answer(200, `{"access_token":"canary-at","expires_in":60,"token_type":"DPoP"}`)
	r := w.Call("refresh", nil)
	if fails(t, r, sdk.CodeUnexpectedResponse, ""); strings.Contains(texts(r), "canary-at") {
		t.Errorf("the error shows the token: %s", texts(r))
	}
}

func TestA33_EndOfTheRefreshToken(t *testing.T) {
	w := open(t, authsim.Options{RefreshTTL: 48 * time.Hour}, nil)
	w.login()
	want := w.clock.now().Add(48*time.Hour - 5*time.Second).UTC() // the code was approved at once, the poll came later
	got := output(t, w.Call("status", nil))
	at, err := time.Parse(time.RFC3339, got["refresh_expires_at"].(string))
	if err != nil || at.Sub(want).Abs() > 10*time.Second {
		t.Errorf("status %v, want about %s", got, want)
	}
	output(t, w.Call("refresh", nil)) // names none: the same refresh token, the same end
	if again := output(t, w.Call("status", nil)); again["refresh_expires_at"] != got["refresh_expires_at"] {
		t.Errorf("after a refresh %v, want %v", again, got)
	}
	w = open(t, authsim.Options{}, nil)
	w.login()
	if out := output(t, w.Call("status", nil)); out["refresh_expires_at"] != nil {
		t.Errorf("an end that nobody named: %v", out)
	}
}

func TestA34_RefreshTokenStaysUnlessANewOneComes(t *testing.T) {
	w := open(t, authsim.Options{}, nil)
	w.login()
	old := w.stored()
	if out := output(t, w.Call("refresh", nil)); out["expires_at"] == nil || len(out["scopes"].([]any)) != 3 {
		t.Errorf("got %v", out)
	}
	if now := w.stored(); now.RefreshToken != old.RefreshToken || now.AccessToken == old.AccessToken {
		t.Errorf("stored %v, before %v", now, old)
	}
	w = open(t, authsim.Options{Rotate: true}, nil)
	w.login()
	for range 3 {
		old = w.stored()
		output(t, w.Call("refresh", nil))
		if now := w.stored(); now.RefreshToken == old.RefreshToken {
			t.Error("the rotated refresh token is not stored")
		}
	}
	if w.sim.Live() != 1 {
		t.Error("a rotated token was used twice")
	}
}

func TestA35_RefreshWithoutASecret(t *testing.T) {
	w := open(t, authsim.Options{}, nil)
	w.login()
	w.reconnect(in{"client_secret": nil})
	output(t, w.Call("refresh", nil))
	form := w.last().form(t)
	if len(form) != 3 || form.Get("grant_type") != "refresh_token" || form.Get("client_id") == "" || form.Get("refresh_token") != w.stored().RefreshToken {
		t.Errorf("sent %v", form)
	}
	before := w.count("")
	w.reconnect(in{"client_id": nil})
	w.refuses("", "connection test has no client_id", "refresh", nil)
	if w.count("") != before || !w.hasToken() {
		t.Error("a refused refresh sent something, or lost the token")
	}
}

func TestA35_OneRefreshForAll(t *testing.T) {
	w := open(t, authsim.Options{Rotate: true}, nil)
	w.login()
	w.expire()
	before := w.count("/token")
	var group sync.WaitGroup
	var mu sync.Mutex
	tokens := map[any]int{}
	for range 64 {
		group.Go(func() {
			r := w.Call("token", nil)
			var out in
			if r.Err != nil || json.Unmarshal(r.Output, &out) != nil {
				t.Errorf("token: %v", r.Err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			tokens[out["token"]]++
		})
	}
	group.Wait()
	if w.count("/token") != before+1 || len(tokens) != 1 || w.sim.Live() != 1 {
		t.Errorf("%d refreshes, %d tokens", w.count("/token")-before, len(tokens))
	}
}

func TestA36_AGrantThatIsGone(t *testing.T) {
	for _, tt := range []struct {
		status int
		body   string
		reason string
	}{
		{400, `{"error":"invalid_grant","error_description":"Token has been expired or revoked."}`, "invalid_grant"},
		{401, `{"error":"invalid_grant"}`, "invalid_grant"},
		{403, `{"error":"invalid_grant","error_description":""}`, "invalid_grant"},
		{200, `{"error":"invalid_grant"}`, "invalid_grant"},
	} {
		w := open(t, authsim.Options{}, nil)
		w.login()
		w.answer(tt.status, tt.body)
		e := fails(t, w.Call("refresh", nil), sdk.CodeAuthRequired, tt.reason)
		if !strings.Contains(e.Hint, "flowrun connections login test") || w.hasToken() {
			t.Errorf("%d %s: %+v, stored %v", tt.status, tt.body, e, w.stored())
		}
		before := w.count("")
		if out := output(t, w.Call("status", nil)); out["state"] != "auth_required" {
			t.Errorf("status %v", out)
		}
		if e := fails(t, w.Call("token", nil), sdk.CodeAuthRequired, tt.reason); w.count("") != before {
			t.Errorf("it is asked for again: %v", e)
		}
	}
}

func TestA36_TroubleKeepsTheGrant(t *testing.T) {
	for name, tt := range map[string]struct {
		fault  simkit.Fault
		code   sdk.Code
		reason string
	}{
		"the client":          {simkit.Fault{Status: 401, Body: `{"error":"invalid_client"}`}, sdk.CodeInvalid, "invalid_client"},
		"the client's right":  {simkit.Fault{Status: 400, Body: `{"error":"unauthorized_client"}`}, sdk.CodeInvalid, "unauthorized_client"},
		"the request":         {simkit.Fault{Status: 400, Body: `{"error":"invalid_request"}`}, sdk.CodeInvalid, "invalid_request"},
		"the scope":           {simkit.Fault{Status: 400, Body: `{"error":"invalid_scope"}`}, sdk.CodeInvalid, "invalid_scope"},
		"a policy":            {simkit.Fault{Status: 403, Body: `{"error":"access_denied"}`}, sdk.CodeForbidden, "access_denied"},
		"an organization":     {simkit.Fault{Status: 403, Body: `{"error":"org_internal"}`}, sdk.CodeForbidden, "org_internal"},
		"a resource's word":   {simkit.Fault{Status: 401, Body: `{"error":"invalid_token"}`}, sdk.CodeUnexpectedResponse, "invalid_token"},
		"another member":      {simkit.Fault{Status: 400, Body: `{"error_code":"gone"}`}, sdk.CodeUnexpectedResponse, "gone"},
		"nothing":             {simkit.Fault{Status: 400, Empty: true}, sdk.CodeUnexpectedResponse, ""},
		"404 with a page":     {simkit.Fault{Status: 404, HTML: true}, sdk.CodeUnexpectedResponse, ""},
		"403 with a page":     {simkit.Fault{Status: 403, HTML: true}, sdk.CodeUnexpectedResponse, ""},
		"500 with the word":   {simkit.Fault{Status: 500, Body: `{"error":"invalid_grant"}`}, sdk.CodeUnavailable, "invalid_grant"},
		"the grant type":      {simkit.Fault{Status: 400, Body: `{"error":"unsupported_grant_type"}`}, sdk.CodeInternal, "unsupported_grant_type"},
		"a rate limit":        {simkit.Fault{Status: 403, Body: `{"error_code":"rate_limit_exceeded"}`}, sdk.CodeRateLimited, "rate_limit_exceeded"},
		"429":                 {simkit.Fault{Status: 429, Body: `{"error":"too_many"}`, RetryAfter: "3"}, sdk.CodeRateLimited, "too_many"},
		"500":                 {simkit.Fault{Status: 500, Body: `{"error":"internal"}`}, sdk.CodeUnavailable, "internal"},
		"503":                 {simkit.Fault{Status: 503}, sdk.CodeUnavailable, ""},
		"408":                 {simkit.Fault{Status: 408}, sdk.CodeUnavailable, ""},
		"dropped":             {simkit.Fault{Drop: simkit.DropBefore}, sdk.CodeUnavailable, ""},
		"a page":              {simkit.Fault{HTML: true}, sdk.CodeUnexpectedResponse, ""},
		"cut":                 {simkit.Fault{Truncate: 30, Cut: true}, sdk.CodeUnexpectedResponse, ""},
		"cut with its length": {simkit.Fault{Truncate: 30}, sdk.CodeUnexpectedResponse, ""},
		"no token":            {simkit.Fault{Body: `{"token_type":"Bearer"}`}, sdk.CodeUnexpectedResponse, ""},
		"a redirect":          {simkit.Fault{Status: 302, Header: map[string]string{"Location": "/x"}}, sdk.CodeUnexpectedResponse, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := open(t, authsim.Options{}, nil)
			w.login()
			old := w.stored()
			tt.fault.Path = "/token"
			w.fault(tt.fault)
			e := fails(t, w.Call("refresh", nil), tt.code, tt.reason)
			if w.stored().RefreshToken != old.RefreshToken || w.Host().OpenLeases() != 0 {
				t.Errorf("stored %v", w.stored())
			}
			if tt.code == sdk.CodeUnexpectedResponse && e.HTTPStatus == 200 && e.Applied != sdk.AppliedUnknown {
				t.Errorf("applied %v, want unknown", e.Applied)
			}
			output(t, w.Call("refresh", nil)) // works again
		})
	}
}

func TestA37_RevokeSendsTheTokenInTheQuery(t *testing.T) {
	for which, field := range map[string]func(sdk.Token) string{"access": func(t sdk.Token) string { return t.AccessToken }, "refresh": func(t sdk.Token) string { return t.RefreshToken }} {
		w := open(t, authsim.Options{}, nil)
		w.login()
		token := field(w.stored())
		if out := output(t, w.Call("revoke", in{"which": which})); out["revoked"] != true {
			t.Errorf("got %v", out)
		}
		got := w.last()
		if got.method != "POST" || got.path != "/revoke" || got.query != "token="+token || got.body != "" ||
			got.header.Get("Content-Type") != "application/x-www-form-urlencoded" || got.header.Get("Authorization") != "" || !got.close {
			t.Errorf("sent %+v", got)
		}
		if w.sim.Live() != 0 || w.hasToken() {
			t.Error("something is left")
		}
	}
}

func TestA37_RevokeInTheBody(t *testing.T) {
	w := open(t, authsim.Options{Quirks: authsim.Quirks{RevokeInBodyOnly: true}}, in{"revoke_token_in": "body"})
	w.login()
	token := w.stored().AccessToken
	output(t, w.Call("revoke", nil))
	if got := w.last(); got.query != "" || got.form(t).Get("token") != token || w.sim.Live() != 0 {
		t.Errorf("sent %+v", got)
	}
}

func TestA37_AnAccessTokenThatHasRunOut(t *testing.T) {
	w := open(t, authsim.Options{}, nil)
	w.login()
	w.expire()
	refresh := w.stored().RefreshToken
	if out := output(t, w.Call("revoke", nil)); out["revoked"] != true || w.last().query != "token="+refresh || w.sim.Live() != 0 {
		t.Errorf("got %v, sent %+v", out, w.last())
	}
	w = open(t, authsim.Options{Quirks: authsim.Quirks{NoRefreshToken: true}}, nil)
	w.login()
	w.refuses("/which", "no refresh token", "revoke", in{"which": "refresh"})
}

func TestA38_TheBodyOfASuccessDoesNotMatter(t *testing.T) {
	for name, f := range map[string]simkit.Fault{
		"a page": {HTML: true}, "empty": {Empty: true}, "an error": {Body: `{"error":"invalid_token"}`}, "cut": {Body: `{"a":1}`, Truncate: 3, Cut: true},
	} {
		w := open(t, authsim.Options{}, nil)
		w.login()
		f.Path = "/revoke"
		w.fault(f)
		if out := output(t, w.Call("revoke", nil)); out["revoked"] != true || w.hasToken() {
			t.Errorf("%s: %v", name, out)
		}
	}
}

func TestA39_BothTokensAreForgottenAfterSuccess(t *testing.T) {
	w := open(t, authsim.Options{}, nil)
	w.login()
	w.fault(simkit.Fault{Path: "/revoke", Status: 503})
	fails(t, w.Call("revoke", in{"forget": true}), sdk.CodeUnavailable, "")
	if !w.hasToken() {
		t.Error("forgotten without success")
	}
	output(t, w.Call("revoke", nil))
	if out := output(t, w.Call("status", nil)); out["state"] != "none" || w.hasToken() {
		t.Errorf("status %v", out)
	}
	before := w.count("")
	if out := output(t, w.Call("revoke", nil)); out["revoked"] != false || w.count("") != before {
		t.Errorf("once more: %v", out)
	}
}

func TestA40_ARefusedRevocation(t *testing.T) {
	w := open(t, authsim.Options{}, nil)
	w.login()
	w.sim.RevokeAll()
	e := fails(t, w.Call("revoke", nil), sdk.CodeInvalid, "invalid_token")
	if e.HTTPStatus != 400 || !w.hasToken() || !strings.Contains(e.Hint, "forget") {
		t.Errorf("got %+v, stored %v", e, w.stored())
	}
	if out := output(t, w.Call("revoke", in{"forget": true})); out["revoked"] != false || w.hasToken() {
		t.Errorf("forget: %v, stored %v", out, w.stored())
	}
}

func TestA41_RevokedInTheAccountSettings(t *testing.T) {
	w := open(t, authsim.Options{}, nil)
	w.login()
	w.sim.RevokeAll()
	e := fails(t, w.Call("resource_get", in{"url": w.url + "/resource/me"}), sdk.CodeUnauthorized, "invalid_token")
	if e.Applied != sdk.NotApplied { // so that the host renews the token once
		t.Errorf("applied %v", e.Applied)
	}
	fails(t, w.Call("refresh", nil), sdk.CodeAuthRequired, "invalid_grant")
	fails(t, w.Call("resource_get", in{"url": w.url + "/resource/me"}), sdk.CodeAuthRequired, "invalid_grant")
}

func TestA42_TheGrantIsUsedAgain(t *testing.T) {
	w := open(t, authsim.Options{}, nil)
	w.login()
	for range 3 {
		w.expire()
		output(t, w.Call("token", nil))
	}
	if w.count("/device/code") != 1 {
		t.Errorf("%d logins", w.count("/device/code"))
	}
	r := w.Call("device_start", in{"scopes": scopes[:1]}, sdktest.Key("second"))
	output(t, r)
	if len(r.Logs) != 1 || r.Logs[0].Level != "WARN" {
		t.Errorf("a second login for scopes that are granted: %+v", r.Logs)
	}
}

func TestA60_TheEffectOfAnEventShows(t *testing.T) {
	w := open(t, authsim.Options{}, nil)
	for _, a := range w.Describe().Actions {
		if a.Incremental || strings.Contains(a.Name, "event") {
			t.Errorf("%s", a.Name)
		}
	}
	w.login()
	w.sim.RevokeAll() // tokens-revoked: nothing tells the plugin
	if out := output(t, w.Call("status", nil)); out["state"] != "valid" {
		t.Errorf("status %v", out)
	}
	w.expire()
	fails(t, w.Call("token", nil), sdk.CodeAuthRequired, "invalid_grant")
	if out := output(t, w.Call("status", nil)); out["state"] != "auth_required" {
		t.Errorf("status %v", out)
	}
}

func TestStatusSendsNothing(t *testing.T) {
	w := open(t, authsim.Options{}, nil)
	if out := output(t, w.Call("status", nil)); len(out) != 2 || out["state"] != "none" || out["renewable"] != false {
		t.Errorf("got %v", out)
	}
	if e := fails(t, w.Call("token", nil), sdk.CodeAuthRequired, "no_login"); !strings.Contains(e.Hint, "flowrun connections login test") {
		t.Errorf("hint %q", e.Hint)
	}
	if w.count("") != 0 {
		t.Error("something was sent")
	}
	w.login()
	if out := output(t, w.Call("status", nil)); out["state"] != "valid" || out["expires_at"] == nil || len(out["scopes"].([]any)) != 3 {
		t.Errorf("got %v", out)
	}
	w.expire()
	before := w.count("")
	if out := output(t, w.Call("status", nil)); out["state"] != "valid" || out["renewable"] != true || w.count("") != before {
		t.Errorf("got %v", out)
	}
}

// TestIssue12_10_StatesOfALogin: a login that renews itself and one that is dead
// are told apart.
func TestIssue12_10_StatesOfALogin(t *testing.T) {
	for name, tt := range map[string]struct {
		options   authsim.Options
		expire    bool
		pass      time.Duration
		state     string
		renewable bool
	}{
		"good":                              {authsim.Options{}, false, 0, "valid", true},
		"renews itself":                     {authsim.Options{}, true, 0, "valid", true},
		"renews itself for a while":         {authsim.Options{RefreshTTL: 48 * time.Hour}, true, 0, "valid", true},
		"good, without a refresh token":     {authsim.Options{Quirks: authsim.Quirks{NoRefreshToken: true}}, false, 0, "valid", false},
		"dead":                              {authsim.Options{Quirks: authsim.Quirks{NoRefreshToken: true}}, true, 0, "expired", false},
		"dead, the refresh token has ended": {authsim.Options{RefreshTTL: 48 * time.Hour}, true, 49 * time.Hour, "expired", false},
	} {
		t.Run(name, func(t *testing.T) {
			w := open(t, tt.options, in{"management_url": nil})
			w.login()
			if tt.expire {
				w.expire()
			}
			w.clock.pass(tt.pass)
			before := w.count("")
			if out := output(t, w.Call("status", nil)); out["state"] != tt.state || out["renewable"] != tt.renewable || w.count("") != before {
				t.Errorf("got %v", out)
			}
			if _, e := w.CheckConnection(); (e == nil) != (tt.state == "valid") {
				t.Errorf("test of the connection: %v", e)
			}
		})
	}
}

func TestASecondLoginReplacesTheFirst(t *testing.T) {
	w := open(t, authsim.Options{}, nil)
	w.login()
	old := w.stored().RefreshToken
	w.answer(200, device)
	flow := w.start(sdktest.Key("second"))
	w.clock.pass(7 * time.Second)
	w.answer(200, `{"access_token":"at-2","expires_in":60,"token_type":"Bearer","scope":"openid"}`)
	output(t, w.poll(flow))
	if got := w.stored(); got.AccessToken != "at-2" || got.RefreshToken != "" || old == "" {
		t.Errorf("stored %v: the refresh token of another login is kept", got)
	}
}
