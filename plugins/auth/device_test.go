package auth

import (
	"context"
	"fmt"
	"net/http"
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

const device = `{"device_code":"dc-canary-1","user_code":"gQvQ-JKEC","verification_url":"https://example.com/device","expires_in":1800,"interval":7}`

func TestA01_RedirectsAreNotFollowed(t *testing.T) {
	for _, status := range []int{301, 302, 307, 308} {
		w := open(t, authsim.Options{}, nil)
		flow := w.start()
		before := w.count("")
		w.answer(status, "", "Location", "/elsewhere")
		w.clock.pass(5 * time.Second)
		for _, r := range []sdktest.Result{w.Call("device_start", in{"scopes": []string{"other"}}), w.poll(flow)} {
			fails(t, r, sdk.CodeUnexpectedResponse, "")
		}
		if w.count("") != before+2 || w.count("/elsewhere") != 0 {
			t.Errorf("%d: sent %v", status, w.all())
		}
	}
}

func TestA03_FormsInTheBody(t *testing.T) {
	w := open(t, authsim.Options{}, nil)
	w.login()
	output(t, w.Call("refresh", nil))
	for _, r := range w.all() {
		if r.method != "POST" || r.header.Get("Content-Type") != "application/x-www-form-urlencoded" || r.query != "" ||
			r.header.Get("Authorization") != "" || r.header.Get("Cookie") != "" || !r.close {
			t.Errorf("sent %+v", r)
		}
	}
	if w.count("") != 3 {
		t.Errorf("%d requests, want 3", w.count(""))
	}
}

func TestA04_StartSendsClientAndScopes(t *testing.T) {
	w := open(t, authsim.Options{}, nil)
	w.start()
	got := w.last()
	if got.path != "/device/code" {
		t.Errorf("sent to %s", got.path)
	}
	form := got.form(t)
	if form.Get("scope") != "openid Email app.files" || form.Get("client_id") != authsim.DefaultClientID {
		t.Errorf("form %v", form)
	}
	before := w.count("")
	w.refuses("/scopes", "", "device_start", in{"scopes": []string{}})
	w.refuses("/scopes", "", "device_start", in{})
	w.reconnect(in{"client_id": nil})
	w.refuses("", "connection test has no client_id", "device_start", in{"scopes": scopes})
	w.reconnect(in{"client_id": "x", "auth_url": nil})
	w.refuses("", "auth_url", "device_start", in{"scopes": scopes}, sdktest.Key("another step"))
	if w.count("") != before {
		t.Error("a refused call sent something")
	}
}

func TestA06_ScopesAreNotCheckedAgainstAList(t *testing.T) {
	w := open(t, authsim.Options{}, nil)
	for _, scope := range []string{"openid", "https://example.com/auth/files.app", "x:Y", "ALL"} {
		output(t, w.Call("device_start", in{"scopes": []string{scope}}))
	}
	before := w.count("")
	for _, scope := range []string{"", "a b", "a  b", "a\nb", "a\tb", "ü", "\x7f"} {
		w.refuses("/scopes/1", "", "device_start", in{"scopes": []string{"ok", scope}})
	}
	if w.count("") != before {
		t.Error("a refused scope was sent")
	}
	if problems := w.Validate("device_start", in{"scopes": []string{"", "x"}}, "/scopes"); len(problems) != 0 {
		t.Errorf("unknown scopes are judged: %v", problems)
	}
}

func TestA07_DeviceCodeStaysInside(t *testing.T) {
	w := open(t, authsim.Options{}, nil)
	w.answer(200, device)
	r := w.Call("device_start", in{"scopes": scopes})
	out := output(t, r)
	if strings.Contains(string(r.Output)+texts(r), "canary") || len(out["flow_id"].(string)) != 32 {
		t.Errorf("output %s", r.Output)
	}
	w.clock.pass(7 * time.Second)
	w.answer(400, `{"error":"invalid_grant","error_description":"no such code dc-canary-1"}`)
	r = w.poll(out)
	if fails(t, r, sdk.CodeInvalid, "invalid_grant"); strings.Contains(texts(r), "dc-canary-1") {
		t.Errorf("the error shows the code: %s", texts(r))
	}
}

func TestA08_UserCodeIsUnaltered(t *testing.T) {
	for _, code := range []string{"gQvQ-JKEC", "ab cd~!", `<&>"`, "WWWWWWWWWWWWWWWWWWWWWW"} {
		w := open(t, authsim.Options{}, nil)
		w.answer(200, `{"device_code":"d","user_code":`+quote(code)+`,"verification_url":"https://example.com/d","expires_in":9,"interval":1}`)
		flow := w.start()
		if flow["user_code"] != code {
			t.Errorf("user_code %q, want %q", flow["user_code"], code)
		}
		if p := w.Call("device_wait", in{"flow_id": flow["flow_id"]}).Pending; p == nil || p.Prompt.UserCode != code {
			t.Errorf("prompt %+v", p)
		}
	}
	for _, code := range []string{"", "a\nb", "\x1b[2J", "çode"} {
		w := open(t, authsim.Options{}, nil)
		w.answer(200, `{"device_code":"d","user_code":`+quote(code)+`,"verification_url":"https://example.com/d"}`)
		fails(t, w.Call("device_start", in{"scopes": scopes}), sdk.CodeUnexpectedResponse, "")
	}
}

func TestA09_VerificationURL(t *testing.T) {
	for address, display := range map[string]string{
		"https://example.com/device":     "example.com/device",
		"http://example.com/device":      "example.com/device",
		"HTTPS://Example.com/Device":     "Example.com/Device",
		"example.com/device":             "example.com/device",
		"example.com:8443/d":             "example.com:8443/d",
		"http://127.0.0.1:43210/device?": "127.0.0.1:43210/device?",
	} {
		w := open(t, authsim.Options{}, nil)
		w.answer(200, `{"device_code":"d","user_code":"A","verification_uri":`+quote(address)+`}`)
		if flow := w.start(); flow["verification_url"] != address || flow["verification_url_display"] != display {
			t.Errorf("%q gives %v", address, flow)
		}
	}
	for _, address := range []string{"", "javascript:alert(1)", "data:text/html,x", "ftp://example.com", "https://", "a b", "https://x/\n", `https://x/"`} {
		w := open(t, authsim.Options{}, nil)
		w.answer(200, `{"device_code":"d","user_code":"A","verification_url":`+quote(address)+`}`)
		fails(t, w.Call("device_start", in{"scopes": scopes}), sdk.CodeUnexpectedResponse, "")
	}
}

func TestA10_NothingIsTruncated(t *testing.T) {
	code, address := strings.Repeat("W", 15), "http://127.0.0.1:43210/"+strings.Repeat("x", 19) // 42 characters
	w := open(t, authsim.Options{}, nil)
	w.answer(200, `{"device_code":"d","user_code":`+quote(code)+`,"verification_url":`+quote(address)+`,"expires_in":60}`)
	flow := w.start()
	prompt := w.Call("device_wait", in{"flow_id": flow["flow_id"]}).Pending.Prompt
	if prompt.UserCode != code || prompt.URL != address || prompt.ExpiresAt.IsZero() || prompt.Title == "" {
		t.Errorf("prompt %+v", prompt)
	}
}

func TestA11_DeadlineEndsTheFlowWithoutARequest(t *testing.T) {
	w := open(t, authsim.Options{ExpiresIn: 20 * time.Second}, nil)
	flow := w.start()
	if want := w.clock.now().Add(20 * time.Second).UTC().Format(time.RFC3339); flow["expires_at"] != want {
		t.Errorf("expires_at %v, want %s", flow["expires_at"], want)
	}
	w.clock.pass(20 * time.Second)
	before := w.count("")
	if out := output(t, w.poll(flow)); out["state"] != "expired" || out["wait_s"] != 0.0 {
		t.Errorf("got %v", out)
	}
	fails(t, w.Call("device_wait", in{"flow_id": flow["flow_id"]}), sdk.CodeExpired, "expired_token")
	if w.count("") != before {
		t.Error("a poll was sent after the deadline")
	}
}

func TestA12_NoPollBeforeItsTime(t *testing.T) {
	w := open(t, authsim.Options{Interval: 7 * time.Second}, nil)
	flow := w.start()
	for _, step := range []struct {
		pass time.Duration
		sent int
		wait float64
	}{{0, 1, 7}, {6500 * time.Millisecond, 1, 1}, {500 * time.Millisecond, 2, 7}, {6 * time.Second, 2, 1}, {time.Second, 3, 7}} {
		w.clock.pass(step.pass)
		out := output(t, w.poll(flow))
		if out["state"] != "pending" || out["wait_s"] != step.wait || w.count("") != step.sent {
			t.Errorf("after %s: %v, %d requests, want wait %v and %d", step.pass, out, w.count(""), step.wait, step.sent)
		}
	}
}

func TestA12_TwoCallersSendOnePoll(t *testing.T) {
	w := open(t, authsim.Options{}, nil)
	flow := w.start()
	w.clock.pass(5 * time.Second)
	var group sync.WaitGroup
	for range 16 {
		group.Go(func() {
			if r := w.poll(flow); r.Err != nil {
				t.Errorf("poll: %v", r.Err)
			}
		})
	}
	group.Wait()
	if w.count("/token") != 1 {
		t.Errorf("%d polls were sent, want 1", w.count("/token"))
	}
}

func TestA12_ThePaceOutlivesACrash(t *testing.T) {
	w := open(t, authsim.Options{}, nil)
	flow := w.start()
	w.clock.pass(5 * time.Second)
	w.fault(simkit.Fault{Path: "/token", DelayMS: 60_000})
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	w.CallContext(ctx, "device_poll", in{"flow_id": flow["flow_id"]}) // ends in the middle of the poll
	before := w.count("")
	if out := output(t, w.poll(flow)); out["state"] != "pending" || out["wait_s"].(float64) < 5 || w.count("") != before {
		t.Errorf("got %v", out)
	}
}

func TestA13_PendingAfterStart(t *testing.T) {
	w := open(t, authsim.Options{}, nil)
	if out := output(t, w.poll(w.start())); out["state"] != "pending" || out["wait_s"] != 5.0 {
		t.Errorf("got %v", out)
	}
	w.refuses("/flow_id", "knows no login", "device_poll", in{"flow_id": "nobody"})
	w.refuses("/flow_id", "device_start", "device_wait", in{"flow_id": "nobody"})
}

func TestA13_TheSameCallMakesNoSecondPrompt(t *testing.T) {
	w := open(t, authsim.Options{}, nil)
	first := w.start()
	if diff := cmp.Diff(first, w.start()); diff != "" || w.count("") != 1 {
		t.Errorf("the same call again sent %d requests (-first +second):\n%s", w.count(""), diff)
	}
	if other := w.start(sdktest.Key("other")); other["flow_id"] == first["flow_id"] {
		t.Error("another step shares the flow")
	}
	if other := output(t, w.Call("device_start", in{"scopes": scopes[:1]})); other["flow_id"] == first["flow_id"] {
		t.Error("other scopes share the flow")
	}
	if a, b := w.start(sdktest.Key("")), w.start(sdktest.Key("")); a["flow_id"] == b["flow_id"] {
		t.Error("calls without a key share a flow")
	}
	w.clock.pass(31 * time.Minute)
	if again := w.start(); again["flow_id"] == first["flow_id"] {
		t.Error("a flow that has run out is given again")
	}
}

func TestA14_PendingIsNoError(t *testing.T) {
	for _, status := range []int{428, 400, 403, 200} { // the word decides
		w := open(t, authsim.Options{PendingStatus: status}, nil)
		flow := w.start()
		for range 3 {
			w.clock.pass(5 * time.Second)
			if out := output(t, w.poll(flow)); out["state"] != "pending" || out["wait_s"] != 5.0 {
				t.Errorf("%d: %v", status, out)
			}
		}
	}
}

func TestA15_GrantedOnce(t *testing.T) {
	w := open(t, authsim.Options{}, nil)
	flow := w.start()
	_ = w.sim.Approve(flow["user_code"].(string))
	w.clock.pass(5 * time.Second)
	want := in{"state": "granted", "wait_s": 0.0, "scopes": []any{"openid", "Email", "app.files"}, "missing_scopes": []any{}}
	for range 2 {
		if diff := cmp.Diff(want, output(t, w.poll(flow))); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	if w.count("/token") != 1 || w.stored().AccessToken == "" || w.stored().RefreshToken == "" || w.Host().OpenLeases() != 0 {
		t.Errorf("%d polls, stored %v", w.count("/token"), w.stored())
	}
}

func TestA15_ALostAnswerIsExplained(t *testing.T) {
	w := open(t, authsim.Options{}, nil)
	flow := w.start()
	_ = w.sim.Approve(flow["user_code"].(string))
	w.clock.pass(5 * time.Second)
	w.fault(simkit.Fault{Path: "/token", Drop: simkit.DropAfter})
	if e := fails(t, w.poll(flow), sdk.CodeUnavailable, ""); e.RetryAfter != 5*time.Second || e.Applied != sdk.AppliedUnknown {
		t.Errorf("got %+v", e)
	}
	w.clock.pass(5 * time.Second)
	for range 2 { // the second time without a request
		e := fails(t, w.poll(flow), sdk.CodeInvalid, "invalid_grant")
		if !strings.Contains(e.Message, "already claimed") || !strings.Contains(e.Hint, "start the login again") {
			t.Errorf("got %q, hint %q", e.Message, e.Hint)
		}
	}
	if w.count("/token") != 2 {
		t.Errorf("%d polls", w.count("/token"))
	}
}

func TestA15_ATokenStoredBeforeACrashIsAdopted(t *testing.T) {
	w := open(t, authsim.Options{Quirks: authsim.Quirks{CodeReuseRevokes: true}}, nil)
	flow := w.start()
	_ = w.sim.Approve(flow["user_code"].(string))
	w.clock.pass(5 * time.Second)
	w.fault(simkit.Fault{Path: "/token", Drop: simkit.DropAfter}) // stands for the crash: the flow is in doubt
	w.poll(flow)
	if w.hasToken() {
		t.Fatal("there is a token")
	}
	stored, _ := w.storedGrant(flow)
	w.Host().SetToken(sdktest.Connection, "", stored)
	before := w.count("")
	w.clock.pass(time.Minute)
	if out := output(t, w.poll(flow)); out["state"] != "granted" || w.count("") != before || w.sim.Live() != 1 {
		t.Errorf("got %v, %d requests more", out, w.count("")-before)
	}
}

func TestA16_Denied(t *testing.T) {
	w := open(t, authsim.Options{}, nil)
	flow := w.start()
	_ = w.sim.Deny(flow["user_code"].(string))
	w.clock.pass(5 * time.Second)
	e := fails(t, w.Call("device_wait", in{"flow_id": flow["flow_id"], "restart": 3}), sdk.CodeDenied, "access_denied")
	if e.Applied != sdk.NotApplied || w.hasToken() {
		t.Errorf("got %+v", e)
	}
	w.clock.pass(time.Minute)
	if out := output(t, w.poll(flow)); out["state"] != "denied" || w.count("/token") != 1 {
		t.Errorf("got %v after %d polls", out, w.count("/token"))
	}
}

// wait calls device_wait as the engine does until it is not pending, and moves
// the clock as it asks for.
func (w *world) wait(input in, each func(*sdk.Pending)) sdktest.Result {
	w.t.Helper()
	var checkpoint []byte
	for range 1000 {
		r := w.Call("device_wait", input, sdktest.Checkpoint(checkpoint))
		if r.Pending == nil {
			return r
		}
		checkpoint = r.Pending.Checkpoint
		each(r.Pending)
		w.clock.pass(r.Pending.RetryAfter)
	}
	w.t.Fatal("the wait does not end")
	return sdktest.Result{}
}

func TestA17_RestartAsksForNewCodes(t *testing.T) {
	w := open(t, authsim.Options{ExpiresIn: 12 * time.Second}, nil)
	flow := w.start()
	codes := map[string]bool{}
	r := w.wait(in{"flow_id": flow["flow_id"], "restart": 2}, func(p *sdk.Pending) { codes[p.Prompt.UserCode] = true })
	fails(t, r, sdk.CodeExpired, "expired_token")
	if len(codes) != 3 || w.count("/device/code") != 3 {
		t.Errorf("codes %v, %d starts", codes, w.count("/device/code"))
	}
}

func TestA17_ANewCodeCanBeGranted(t *testing.T) {
	w := open(t, authsim.Options{ExpiresIn: 12 * time.Second}, nil)
	flow := w.start()
	r := w.wait(in{"flow_id": flow["flow_id"], "restart": 1}, func(p *sdk.Pending) {
		if p.Prompt.UserCode != flow["user_code"] {
			_ = w.sim.Approve(p.Prompt.UserCode)
		}
	})
	if out := output(t, r); out["state"] != "granted" || out["expires_at"] == nil {
		t.Errorf("got %v", out)
	}
	_ = w.sim.Approve(flow["user_code"].(string))
	if out := output(t, w.poll(flow)); out["state"] != "expired" {
		t.Errorf("the old code is %v", out)
	}
}

func TestA17_RestartAfterAClaimedCode(t *testing.T) {
	w := open(t, authsim.Options{}, nil)
	flow := w.start()
	_ = w.sim.Approve(flow["user_code"].(string))
	w.fault(simkit.Fault{Path: "/token", Truncate: 20, Cut: true})
	said := []string{}
	r := w.wait(in{"flow_id": flow["flow_id"], "restart": 1}, func(p *sdk.Pending) {
		said = append(said, p.Message)
		_ = w.sim.Approve(p.Prompt.UserCode)
	})
	if out := output(t, r); out["state"] != "granted" || !strings.Contains(strings.Join(said, "\n"), "already claimed") {
		t.Errorf("got %v after %q", out, said)
	}
}

func TestA18_SlowDownAddsFiveSecondsForTheRest(t *testing.T) {
	for _, status := range []int{403, 400} {
		w := open(t, authsim.Options{}, nil)
		flow := w.start()
		w.clock.pass(5 * time.Second)
		w.answer(status, `{"error":"slow_down","error_description":"Polling too frequently."}`)
		for _, want := range []float64{10, 15} {
			if out := output(t, w.poll(flow)); out["state"] != "pending" || out["wait_s"] != want {
				t.Errorf("%d: %v, want wait %v", status, out, want)
			}
			w.clock.pass(time.Duration(want) * time.Second)
		}
		w.answer(0, "")
		if out := output(t, w.poll(flow)); out["wait_s"] != 15.0 {
			t.Errorf("%d: afterwards %v", status, out)
		}
	}
}

func TestA19_TheBodyTellsApartThe403s(t *testing.T) {
	for body, check := range map[string]func(*testing.T, sdktest.Result){
		`{"error":"slow_down"}`:         func(t *testing.T, r sdktest.Result) { sdktest.Equal(t, r.Output, in{"state": "pending", "wait_s": 10}) },
		`{"error":"access_denied"}`:     func(t *testing.T, r sdktest.Result) { sdktest.Equal(t, r.Output, in{"state": "denied", "wait_s": 0}) },
		`{"error":"org_internal"}`:      func(t *testing.T, r sdktest.Result) { fails(t, r, sdk.CodeForbidden, "org_internal") },
		`{"error_code":"slow_down"}`:    func(t *testing.T, r sdktest.Result) { sdktest.Equal(t, r.Output, in{"state": "pending", "wait_s": 10}) },
		`{"error":"never_seen_before"}`: func(t *testing.T, r sdktest.Result) { fails(t, r, sdk.CodeForbidden, "never_seen_before") },
	} {
		w := open(t, authsim.Options{}, nil)
		flow := w.start()
		w.clock.pass(5 * time.Second)
		w.answer(403, body)
		check(t, w.poll(flow))
	}
}

func TestA20_PollParameters(t *testing.T) {
	w := open(t, authsim.Options{}, nil)
	w.login()
	form := w.last().form(t)
	if w.last().path != "/token" || len(form) != 4 || form.Get("grant_type") != "urn:ietf:params:oauth:grant-type:device_code" ||
		form.Get("client_id") != authsim.DefaultClientID || form.Get("client_secret") != authsim.DefaultClientSecret || !strings.HasPrefix(form.Get("device_code"), "dc-") {
		t.Errorf("sent %v to %s", form, w.last().path)
	}
	w.reconnect(in{"client_secret": nil})
	w.refuses("", "connection test has no client_secret", "device_start", in{"scopes": scopes})
	w.reconnect(in{"client_auth": "none"})
	w.start(sdktest.Key("public")) // a client without a secret
}

func TestA21_TerminalErrors(t *testing.T) {
	poll := func(t *testing.T, status int, body string, code sdk.Code, reason, hint string) {
		t.Helper()
		w := open(t, authsim.Options{}, nil)
		flow := w.start()
		w.clock.pass(5 * time.Second)
		w.answer(status, body)
		for range 2 { // said again without a request
			e := fails(t, w.poll(flow), code, reason)
			if e.Applied != sdk.NotApplied || !strings.Contains(e.Hint+e.Message, hint) {
				t.Errorf("got %+v, want %q", e, hint)
			}
			w.clock.pass(time.Minute)
		}
		fails(t, w.Call("device_wait", in{"flow_id": flow["flow_id"]}), code, reason)
		if w.count("/token") != 1 {
			t.Errorf("%d polls", w.count("/token"))
		}
	}
	t.Run("A-21 the administrator forbids a scope", func(t *testing.T) {
		poll(t, 400, `{"error":"admin_policy_enforced"}`, sdk.CodeForbidden, "admin_policy_enforced", "administrator")
	})
	t.Run("A-22 the client is not known", func(t *testing.T) {
		poll(t, 401, `{"error":"invalid_client"}`, sdk.CodeInvalid, "invalid_client", "client_id")
	})
	t.Run("A-02 the hint names the type of the client", func(t *testing.T) {
		poll(t, 401, `{"error":"invalid_client"}`, sdk.CodeInvalid, "invalid_client", "not of the limited-input-device type")
		w := open(t, authsim.Options{}, in{"client_id": "stranger"})
		if e := fails(t, w.Call("device_start", in{"scopes": scopes}), sdk.CodeInvalid, "invalid_client"); !strings.Contains(e.Hint, "not of the limited-input-device type") {
			t.Errorf("hint %q", e.Hint)
		}
	})
	t.Run("A-23 the code is not valid", func(t *testing.T) {
		poll(t, 400, `{"error":"invalid_grant"}`, sdk.CodeInvalid, "invalid_grant", "start the login again")
	})
	t.Run("A-24 the grant type is refused", func(t *testing.T) {
		poll(t, 400, `{"error":"unsupported_grant_type"}`, sdk.CodeInternal, "unsupported_grant_type", "")
	})
	t.Run("A-25 the client is for one organization", func(t *testing.T) {
		poll(t, 403, `{"error":"org_internal"}`, sdk.CodeForbidden, "org_internal", "organization")
	})
	t.Run("A-26 the error has no word", func(t *testing.T) {
		for _, body := range []string{``, `{}`, `[]`, `<html>`, `{"error":{"code":400}}`, `{"error":null}`, `"text"`} {
			for _, status := range []int{400, 401, 403, 413} {
				foreignPoll(t, status, body)
			}
		}
	})
}

// foreignPoll has something answer a poll that is no authorization server: the
// login goes on.
func foreignPoll(t *testing.T, status int, body string) {
	t.Helper()
	w := open(t, authsim.Options{}, nil)
	flow := w.start()
	_ = w.sim.Approve(flow["user_code"].(string))
	w.clock.pass(5 * time.Second)
	w.answer(status, body)
	e := fails(t, w.poll(flow), sdk.CodeUnexpectedResponse, "")
	if e.HTTPStatus != status || !strings.Contains(e.Message, fmt.Sprint(status)) || !strings.Contains(e.Hint, "kept") {
		t.Errorf("%d %s: %+v", status, body, e)
	}
	w.answer(0, "")
	w.clock.pass(5 * time.Second)
	if out := output(t, w.poll(flow)); out["state"] != "granted" {
		t.Errorf("%d %s: afterwards %v", status, body, out)
	}
}

// TestA26_WaitGoesOnThroughPagesOfAProxy: a few pages in a row do not end the
// wait, and when it gives up the login is still there.
func TestA26_WaitGoesOnThroughPagesOfAProxy(t *testing.T) {
	for pages, want := range map[int]sdk.Code{maxForeign: 0, maxForeign + 1: sdk.CodeUnexpectedResponse} {
		w := open(t, authsim.Options{}, nil)
		flow := w.start()
		_ = w.sim.Approve(flow["user_code"].(string))
		w.fault(simkit.Fault{Path: "/token", Status: 403, HTML: true, Count: pages})
		r := w.wait(in{"flow_id": flow["flow_id"]}, func(*sdk.Pending) {})
		if want != 0 {
			fails(t, r, want, "")
			w.clock.pass(5 * time.Second)
			r = w.wait(in{"flow_id": flow["flow_id"]}, func(*sdk.Pending) {})
		}
		if out := output(t, r); out["state"] != "granted" {
			t.Errorf("%d pages: %v", pages, out)
		}
	}
}

func TestA26_TroubleKeepsTheFlow(t *testing.T) {
	for name, f := range map[string]simkit.Fault{
		"500":             {Status: 500, Body: `{}`},
		"503 with a word": {Status: 503, Body: `{"error":"backend_error"}`},
		"429":             {Status: 429, RetryAfter: "9"},
		"404 of a proxy":  {Status: 404, HTML: true},
		"403 of a proxy":  {Status: 403, HTML: true},
		"dropped":         {Drop: simkit.DropBefore},
		"a page":          {HTML: true},
		"cut":             {Truncate: 10, Cut: true},
		"empty":           {Empty: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := open(t, authsim.Options{}, nil)
			flow := w.start()
			w.clock.pass(5 * time.Second)
			f.Path = "/token"
			w.fault(f)
			if r := w.poll(flow); r.Err == nil {
				t.Fatalf("output %s", r.Output)
			}
			if out := output(t, w.poll(flow)); out["wait_s"].(float64) < 5 {
				t.Errorf("the next poll is due in %v", out)
			}
			_ = w.sim.Approve(flow["user_code"].(string))
			w.clock.pass(9 * time.Second)
			if out := output(t, w.poll(flow)); out["state"] != "granted" {
				t.Errorf("afterwards %v", out)
			}
		})
	}
}

func TestA26_WaitGoesOnThroughTrouble(t *testing.T) {
	w := open(t, authsim.Options{}, nil)
	flow := w.start()
	w.fault(simkit.Fault{Path: "/token", Status: 503})
	w.fault(simkit.Fault{Path: "/token", Drop: simkit.DropBefore})
	w.fault(simkit.Fault{Path: "/token", Status: 429, RetryAfter: "11"})
	w.fault(simkit.Fault{Path: "/token", Truncate: 10, Cut: true})
	n := 0
	r := w.wait(in{"flow_id": flow["flow_id"]}, func(p *sdk.Pending) {
		if n++; n == 6 {
			_ = w.sim.Approve(p.Prompt.UserCode)
		}
		if p.RetryAfter < 5*time.Second {
			t.Errorf("polls again after %s: %s", p.RetryAfter, p.Message)
		}
	})
	if out := output(t, r); out["state"] != "granted" {
		t.Errorf("got %v", out)
	}
	// a page instead of JSON, again and again, is no lost answer
	w = open(t, authsim.Options{}, nil)
	flow = w.start()
	w.fault(simkit.Fault{Path: "/token", HTML: true, Count: simkit.Forever})
	fails(t, w.wait(in{"flow_id": flow["flow_id"]}, func(*sdk.Pending) {}), sdk.CodeUnexpectedResponse, "")
	if w.count("/token") != 2 {
		t.Errorf("%d polls", w.count("/token"))
	}
}

func TestA27_RateLimitOfStarts(t *testing.T) {
	w := open(t, authsim.Options{Requests: 1}, nil)
	w.start()
	for attempt, want := range map[int]time.Duration{1: 2 * time.Second, 2: 4 * time.Second, 5: 32 * time.Second, 9: time.Minute} {
		e := fails(t, w.Call("device_start", in{"scopes": scopes[:1]}, sdktest.Attempt(attempt)), sdk.CodeRateLimited, "rate_limit_exceeded")
		if e.RetryAfter != want || e.Applied != sdk.NotApplied || e.HTTPStatus != http.StatusForbidden {
			t.Errorf("attempt %d: %+v", attempt, e)
		}
	}
	w.answer(403, `{"error_code":"rate_limit_exceeded"}`, "Retry-After", "90")
	if e := fails(t, w.Call("device_start", in{"scopes": scopes[:1]}), sdk.CodeRateLimited, "rate_limit_exceeded"); e.RetryAfter != 90*time.Second {
		t.Errorf("got %s", e.RetryAfter)
	}
}

func TestA45_NothingIsAskedForBeyondTheDocument(t *testing.T) {
	w := open(t, authsim.Options{}, nil)
	w.start()
	if form := w.last().form(t); len(form) != 2 {
		t.Errorf("the form has %v", form)
	}
}

func TestA63_WaitIsPendingUntilDecided(t *testing.T) {
	w := open(t, authsim.Options{}, nil)
	flow := w.start()
	n := 0
	r := w.wait(in{"flow_id": flow["flow_id"]}, func(p *sdk.Pending) {
		n++
		if p.RetryAfter != 5*time.Second || p.Prompt.UserCode != flow["user_code"] || p.Prompt.URL != flow["verification_url"] ||
			!strings.Contains(string(p.Checkpoint), flow["flow_id"].(string)) || p.Prompt.ExpiresAt.UTC().Format(time.RFC3339) != flow["expires_at"] {
			t.Errorf("pending %+v %+v", p, p.Prompt)
		}
		if n == 4 {
			_ = w.sim.Approve(p.Prompt.UserCode)
		}
	})
	if out := output(t, r); out["state"] != "granted" || w.count("/token") != 4 || n != 4 {
		t.Errorf("got %v after %d polls", out, w.count("/token"))
	}
	// a second caller, as after a crash, needs no request
	if out := output(t, w.Call("device_wait", in{"flow_id": flow["flow_id"]})); out["state"] != "granted" || w.count("/token") != 4 {
		t.Errorf("again: %v", out)
	}
}

func TestA63_CancelStopsAtOnce(t *testing.T) {
	w := open(t, authsim.Options{}, nil)
	flow := w.start()
	w.clock.pass(5 * time.Second)
	w.fault(simkit.Fault{Path: "/token", DelayMS: 60_000})
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(100*time.Millisecond, cancel)
	started := time.Now()
	r := w.CallContext(ctx, "device_wait", in{"flow_id": flow["flow_id"]})
	if r.Err == nil || r.Err.Code != sdk.CodeCanceled || time.Since(started) > 50*time.Second { // the answer takes 60
		t.Errorf("got %+v after %s", r, time.Since(started))
	}
	before := w.count("")
	time.Sleep(50 * time.Millisecond)
	if w.count("") != before {
		t.Error("something was sent after the cancellation")
	}
}
