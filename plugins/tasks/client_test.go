package tasks

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flowrun/flowrun/internal/simkit"
	"github.com/flowrun/flowrun/plugins/tasks/taskssim"
	"github.com/flowrun/flowrun/sdk"
	"github.com/flowrun/flowrun/sdk/sdktest"
)

// queryOf returns the parameters of the last request.
func queryOf(t *testing.T, sim *taskssim.Sim) url.Values {
	t.Helper()
	query, err := url.ParseQuery(sent(t, sim).Query)
	if err != nil {
		t.Fatal(err)
	}
	return query
}

// everything is all that a call shows, as one text.
func everything(t *testing.T, r sdktest.Result) string {
	t.Helper()
	details, err := json.Marshal([]any{r.Logs, r.Meta})
	if err != nil {
		t.Fatal(err)
	}
	text := string(details)
	if r.Err != nil {
		more, err := json.Marshal(r.Err.Details)
		if err != nil {
			t.Fatal(err)
		}
		text += r.Err.Message + r.Err.Hint + r.Err.Reason + string(more)
	}
	return text
}

func TestT16_ContentTypeOnlyWithABody(t *testing.T) {
	p, sim := open(t)
	withBody := map[string]bool{"invitation_delete": true, "users_invite": true, "label_remove": true, "label_rename": true, "migrate_personal_token": true}
	for _, c := range everyCall() {
		output(t, p.Call(c.action, c.input))
		r := sent(t, sim)
		kind, there := r.Header["content-type"]
		if want := withBody[c.action]; there != want || want && kind != "application/json" || want != (r.Length > 0) {
			t.Errorf("%s: Content-Type %q, %d bytes", c.action, kind, r.Length)
		}
	}
	output(t, p.Call("usage_top_up", in{"confirm": true, "body": in{"amount": 5}}))
	if r := sent(t, sim); r.Header["content-type"] != "application/json" {
		t.Errorf("a top-up with a body: %+v", r)
	}
}

func TestT16_AnswersThatAreNoJSON(t *testing.T) {
	for _, c := range everyCall() {
		for name, f := range map[string]simkit.Fault{"a page": {HTML: true}, "cut": {Truncate: 1}, "cut on the wire": {Truncate: 1, Cut: true}} {
			t.Run(c.action+" "+name, func(t *testing.T) {
				p, sim := open(t)
				answer(t, sim, f)
				e := failed(t, sim, p.Call(c.action, c.input), sdk.CodeUnexpectedResponse, "")
				if body, _ := e.Details["body"].(string); len(body) > 512 || e.HTTPStatus != 200 {
					t.Errorf("status %d, an excerpt of %d bytes", e.HTTPStatus, len(body))
				}
				if sim.Kit().Count("") != 1 {
					t.Errorf("%d requests", sim.Kit().Count(""))
				}
			})
		}
	}
}

func TestT17_StatusesByTheirClass(t *testing.T) {
	for status, code := range map[int]sdk.Code{400: sdk.CodeInvalid, 401: sdk.CodeUnauthorized, 403: sdk.CodeForbidden, 404: sdk.CodeNotFound} {
		for _, c := range everyCall() {
			p, sim := open(t)
			answer(t, sim, simkit.Fault{Status: status, Body: `{"error":"WORD","message":"Said by the service."}`})
			r := p.Call(c.action, c.input)
			if r.Err == nil || r.Err.Code != code || r.Err.HTTPStatus != status || r.Err.Applied != sdk.NotApplied || r.Err.RetryAfter != 0 {
				t.Errorf("%s, %d: %+v", c.action, status, r.Err)
			}
			if n := sim.Kit().Count(""); n != 1 {
				t.Errorf("%s, %d: %d requests", c.action, status, n)
			}
		}
	}
}

func TestT63_BodiesPassUnchanged(t *testing.T) {
	const body = `{"z":1.10,"a":9007199254740993,"é":"\u003cü 词\/","n":null,"z":[1e2,{"tmp-x":"tmp-1"}],"e":{}}`
	for _, c := range []call{
		{"invitation_delete", in{}}, {"users_invite", in{"workspace_id": taskssim.Brightwater}}, {"label_remove", in{}}, {"label_rename", in{}},
		{"migrate_personal_token", in{"store_as": "main"}}, {"usage_top_up", in{"confirm": true}},
	} {
		p, sim := open(t)
		c.input["body"] = json.RawMessage(body)
		p.Call(c.action, c.input) // what the service makes of it is its own matter
		bodies := sim.Bodies()
		if len(bodies) != 1 {
			t.Fatalf("%s sent %d bodies", c.action, len(bodies))
		}
		if diff := cmp.Diff(body, bodies[0].Body); diff != "" {
			t.Errorf("%s (-given +sent):\n%s", c.action, diff)
		}
	}
	for _, c := range []call{{"label_remove", in{}}, {"users_invite", in{"workspace_id": 1}}, {"migrate_personal_token", in{"store_as": "a"}}, {"usage_top_up", in{"confirm": true}}} {
		for _, wrong := range []any{"text", 1, []string{"a"}, true} {
			c.input["body"] = wrong
			refused(t, c.action, c.input, "/body", "an object")
		}
	}
}

func TestT64_AnswersPassUnchanged(t *testing.T) {
	const record = `{"z":1.10,"a":9007199254740993,"é":"<ü & 词>","n":null,"y":[1e2,{"x":"tmp-1"}],"e":{}}`
	outputs := map[string]string{
		"invitation_delete": "response", "invitation_accept": "invitation", "invitation_reject": "invitation", "users_invite": "response",
		"label_remove": "response", "label_rename": "response", "stats": "stats", "usage_top_up": "response", "usage_summary": "summary",
		"migrate_personal_token": "response", "invitations_list": "invitations",
	}
	for _, c := range everyCall() {
		p, sim := open(t)
		body, field := record, outputs[c.action]
		switch {
		case c.action == "invitations_list":
			body = "[" + record + "]"
		case field == "":
			body, field = `{"next_cursor":null,"rows":[`+record+`],"more":`+record+`}`, "page"
		}
		answer(t, sim, simkit.Fault{Body: body})
		r := p.Call(c.action, c.input)
		output(t, r)
		var fields map[string]json.RawMessage
		if err := json.Unmarshal(r.Output, &fields); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(body, string(fields[field])); diff != "" {
			t.Errorf("%s, %s (-answered +output):\n%s", c.action, field, diff)
		}
		if field == "page" && string(fields["items"]) != "["+record+"]" {
			t.Errorf("%s: items %s", c.action, fields["items"])
		}
	}
}

func TestT65_ACredentialIsConfigured(t *testing.T) {
	for _, c := range everyCall() {
		p, sim := openSim(t, taskssim.Options{}, nil)
		r := p.Call(c.action, c.input)
		if r.Err == nil || r.Err.Code != sdk.CodeInvalid || r.Err.Applied != sdk.NotApplied ||
			!strings.Contains(r.Err.Message, "connection test") || !strings.Contains(r.Err.Message, "`token`") || r.Err.Hint == "" {
			t.Errorf("%s without a credential: %+v", c.action, r.Err)
		}
		if n := sim.Kit().Count(""); n != 0 {
			t.Errorf("%s sent %d requests", c.action, n)
		}
	}
}

func TestT65_HeaderAndPrefixAreSettings(t *testing.T) {
	p, sim := open(t)
	output(t, p.Call("stats", in{}))
	if got := sent(t, sim).Header["authorization"]; got != "Bearer "+canary {
		t.Errorf("sent %q", got)
	}
	p, sim = openSim(t, taskssim.Options{Token: canary, AuthHeader: "X-Api-Token", AuthPrefix: "Key="}, in{"token": canary, "auth_header": "x-api-token", "auth_prefix": "Key="})
	output(t, p.Call("stats", in{}))
	if r := sent(t, sim); r.Header["x-api-token"] != "Key="+canary || r.Header["authorization"] != "" {
		t.Errorf("sent %v", r.Header)
	}
	p, sim = openSim(t, taskssim.Options{}, in{"token": canary, "auth_prefix": ""})
	p.Call("stats", in{})
	if got := sent(t, sim).Header["authorization"]; got != canary {
		t.Errorf("sent %q with an empty prefix", got)
	}
}

func TestT65_TokenFromAnotherConnection(t *testing.T) {
	p, sim := openSim(t, taskssim.Options{Token: canary}, in{"token_from": in{"connection": "login"}})
	p.Host().SetToken(sdktest.Connection, "", sdk.Token{ID: "1", AccessToken: canary})
	for _, c := range everyCall() {
		output(t, p.Call(c.action, c.input))
		if got := sent(t, sim).Header["authorization"]; got != "Bearer "+canary {
			t.Errorf("%s sent %q", c.action, got)
		}
	}
	answer(t, sim, simkit.Fault{Status: 401, Body: `{"error":"` + canary + `"}`})
	r := p.Call("stats", in{})
	if r.Err == nil || r.Err.Code != sdk.CodeUnauthorized || r.Err.Applied != sdk.NotApplied || strings.Contains(everything(t, r), canary) {
		t.Errorf("a refused token, which the host renews: %+v", r.Err)
	}
}

// TestCallsAtTheSameTime shares one plugin and its memory of cursors.
func TestCallsAtTheSameTime(t *testing.T) {
	p, sim := open(t)
	var wait sync.WaitGroup
	for range 8 {
		for _, c := range pagedCalls() {
			wait.Go(func() {
				for cursor := ""; ; {
					r := p.Call(c.action, c.input, sdktest.Page(cursor))
					if cursor = r.Next; r.Err != nil {
						t.Errorf("%s: %v", c.action, r.Err)
					}
					if cursor == "" {
						return
					}
				}
			})
		}
	}
	wait.Wait()
	for _, r := range sim.Kit().Requests() {
		if r.Status != 200 {
			t.Errorf("%s?%s: %d", r.Path, r.Query, r.Status)
		}
	}
}

func TestT65_SettingsAreChecked(t *testing.T) {
	p := sdktest.Serve(t, New())
	for name, tt := range map[string]struct {
		config  in
		pointer string
	}{
		"empty header":           {in{"auth_header": ""}, "/auth_header"},
		"header with a colon":    {in{"auth_header": "X-Token:"}, "/auth_header"},
		"header with a space":    {in{"auth_header": "X Token"}, "/auth_header"},
		"header that is taken":   {in{"auth_header": "content-type"}, "/auth_header"},
		"cookie":                 {in{"auth_header": "Cookie"}, "/auth_header"},
		"prefix with a break":    {in{"auth_prefix": "Bearer\r\nX-Other: 1"}, "/auth_prefix"},
		"token with a break":     {in{"token": canary + "\n"}, "/token"},
		"token and token_from":   {in{"token": canary, "token_from": in{"connection": "login"}}, "/token_from"},
		"stored and token_from":  {in{"stored_token": "main", "token_from": in{"connection": "login"}}, "/stored_token"},
		"a name of other signs":  {in{"stored_token": "../main"}, "/stored_token"},
		"an unknown setting":     {in{"tokn": canary}, "/tokn"},
		"a header of other type": {in{"auth_header": 7}, "/auth_header"},
	} {
		tt.config["base_url"] = "https://tasks.example"
		problems := p.Connect("c", tt.config)
		if len(problems) != 1 || problems[0].Pointer != tt.pointer || strings.Contains(fmt.Sprint(problems), canary) {
			t.Errorf("%s: %v, want one at %s", name, problems, tt.pointer)
		}
	}
}

func TestT65_CanaryIsShownNowhere(t *testing.T) {
	for _, c := range everyCall() {
		p, sim := open(t)
		answer(t, sim, simkit.Fault{Status: 400, Body: `{"error":"bad token ` + canary + `","message":"Bearer ` + canary + ` is wrong"}`})
		if shown := everything(t, p.Call(c.action, c.input)); strings.Contains(shown, canary) {
			t.Errorf("%s shows the credential: %s", c.action, shown)
		}
	}
}

func TestT66_Unauthorized(t *testing.T) {
	p, sim := openSim(t, taskssim.Options{Token: "another"}, in{"token": canary})
	for _, c := range everyCall() {
		r := p.Call(c.action, c.input)
		if r.Err == nil || r.Err.Code != sdk.CodeUnauthorized || r.Err.Applied != sdk.NotApplied || r.Err.HTTPStatus != 401 || r.Err.Hint != hint401 {
			t.Errorf("%s: %+v", c.action, r.Err)
		}
	}
	if n := sim.Kit().Count(""); n != 16 {
		t.Errorf("%d requests: the host alone sends again", n)
	}
}

func TestT68_ErrorTextsBestEffort(t *testing.T) {
	for body, want := range map[string]struct{ text, reason string }{
		`{"error":"FORBIDDEN","message":"Not for you."}`:     {"Not for you.", "FORBIDDEN"},
		`{"error":"Not for you."}`:                           {"Not for you.", ""},
		`{"message":"Not for you."}`:                         {"Not for you.", ""},
		`{"error":{"message":"Not for you.","code":"NOPE"}}`: {"Not for you.", "NOPE"},
		`["odd"]`:                     {"403", ""},
		`<html>no</html>`:             {"403", ""},
		``:                            {"403", ""},
		`{"error":{"deep":{"x":[]}}}`: {"403", ""},
	} {
		p, sim := open(t)
		f := simkit.Fault{Status: 403, Body: body, Empty: body == ""}
		answer(t, sim, f)
		e := failed(t, sim, p.Call("stats", in{}), sdk.CodeForbidden, want.text)
		if e.Reason != want.reason {
			t.Errorf("%s: reason %q", body, e.Reason)
		}
		if excerpt, _ := e.Details["body"].(string); excerpt != body {
			t.Errorf("%s: the raw body is %q", body, excerpt)
		}
	}
	p, sim := open(t)
	answer(t, sim, simkit.Fault{Status: 403, Body: strings.Repeat("long ", 4000)})
	if body, _ := failed(t, sim, p.Call("stats", in{}), sdk.CodeForbidden, "").Details["body"].(string); body == "" || len(body) > 512 {
		t.Errorf("an excerpt of %d bytes", len(body))
	}
}

func TestT69_RetryAfterIsHonoured(t *testing.T) {
	p, sim := openSim(t, taskssim.Options{Token: canary, Requests: 1}, in{"token": canary})
	output(t, p.Call("stats", in{}))
	e := failed(t, sim, p.Call("stats", in{}), sdk.CodeRateLimited, "Too many")
	if e.RetryAfter != time.Minute || e.Applied != sdk.NotApplied {
		t.Errorf("got %+v", e)
	}
	p, sim = open(t)
	answer(t, sim, simkit.Fault{Status: 429})
	if e := failed(t, sim, p.Call("stats", in{}), sdk.CodeRateLimited, "429"); e.RetryAfter != 0 {
		t.Errorf("without the header: %s", e.RetryAfter)
	}
}

// TestFaultMatrix is every misbehaviour on every action: an error of a fitting
// kind, one request, and nothing said of a write that nobody knows.
func TestFaultMatrix(t *testing.T) {
	faults := map[string]struct {
		fault   simkit.Fault
		code    sdk.Code
		applied sdk.Applied
	}{
		"429 with":     {simkit.Fault{Status: 429, RetryAfter: "7"}, sdk.CodeRateLimited, sdk.NotApplied},
		"503":          {simkit.Fault{Status: 503, RetryAfter: "3"}, sdk.CodeUnavailable, sdk.AppliedUnknown},
		"502 page":     {simkit.Fault{Status: 502, HTML: true}, sdk.CodeUnavailable, sdk.AppliedUnknown},
		"drop before":  {simkit.Fault{Drop: simkit.DropBefore}, sdk.CodeUnavailable, sdk.AppliedUnknown},
		"drop after":   {simkit.Fault{Drop: simkit.DropAfter}, sdk.CodeUnavailable, sdk.AppliedUnknown},
		"too large":    {simkit.Fault{HugeBytes: 9 << 20}, sdk.CodeUnexpectedResponse, sdk.AppliedUnknown},
		"302 to other": {simkit.Fault{Status: 302, Header: map[string]string{"Location": "https://login.example/"}}, sdk.CodeUnexpectedResponse, sdk.AppliedUnknown},
	}
	for _, c := range everyCall() {
		for name, tt := range faults {
			t.Run(c.action+" "+name, func(t *testing.T) {
				p, sim := open(t)
				answer(t, sim, tt.fault)
				r := p.Call(c.action, c.input)
				if r.Err == nil || r.Err.Code != tt.code || r.Err.Applied != tt.applied || r.Err.Details["action"] != c.action {
					t.Errorf("got %+v, want %s, %s", r.Err, tt.code, tt.applied)
				}
				if n := sim.Kit().Count(""); n != 1 {
					t.Errorf("%d requests", n)
				}
			})
		}
	}
}

func TestCheckConnection(t *testing.T) {
	p, sim := open(t)
	if account, err := p.CheckConnection(); err != nil || account != "" || sent(t, sim).Path != "/api/v1/tasks/completed/stats" {
		t.Errorf("got %q and %v", account, err)
	}
	p, _ = openSim(t, taskssim.Options{Token: "another"}, in{"token": canary})
	if _, err := p.CheckConnection(); err == nil || err.Code != sdk.CodeUnauthorized {
		t.Errorf("got %v, want unauthorized", err)
	}
}
