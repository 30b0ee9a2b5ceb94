package analytics

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flowrun/flowrun/internal/simkit"
	"github.com/flowrun/flowrun/plugins/analytics/analyticssim"
	"github.com/flowrun/flowrun/sdk"
	"github.com/flowrun/flowrun/sdk/sdktest"
)

var noon = time.Date(2031, 5, 7, 12, 0, 0, 0, time.UTC)

func frozen() time.Time { return noon }

const apiToken = "canary-token-5f1c"

// in is shorthand for an input.
type in = map[string]any

// with returns a report that is in good order, with changes; nil takes a name
// away.
func with(changes in) in {
	out := in{"entity": "pageview", "entity_id": analyticssim.SiteSteady, "aggregates": []string{"visits"}}
	for name, value := range changes {
		out[name] = value
		if value == nil {
			delete(out, name)
		}
	}
	return out
}

func event(changes in) in {
	out := with(in{"entity": "event", "entity_id": nil, "site_id": analyticssim.SiteSteady, "entity_name": analyticssim.EventPurchase, "aggregates": []string{"value"}})
	for name, value := range changes {
		out[name] = value
		if value == nil {
			delete(out, name)
		}
	}
	return out
}

// open returns the plugin with a connection to a simulator.
func open(t testing.TB) (*sdktest.Plugin, *analyticssim.Sim) {
	t.Helper()
	sim := analyticssim.New(analyticssim.Options{Now: frozen, Token: apiToken})
	srv := httptest.NewServer(sim)
	t.Cleanup(srv.Close)
	return sdktest.Open(t, NewWith(Options{Now: frozen}), in{"base_url": srv.URL, "token": apiToken}), sim
}

// answer makes the simulator answer the next request as a fault says.
func answer(t testing.TB, sim *analyticssim.Sim, f simkit.Fault) {
	t.Helper()
	if err := sim.Kit().Add(f); err != nil {
		t.Fatal(err)
	}
}

// output returns the output of a call that must succeed.
func output(t testing.TB, r sdktest.Result) map[string]any {
	t.Helper()
	var out map[string]any
	r.Decode(t, &out)
	return out
}

// sent returns the parameters of the last request after a call that must succeed.
func sent(t *testing.T, action string, input in) url.Values {
	t.Helper()
	p, sim := open(t)
	output(t, p.Call(action, input))
	requests := sim.Kit().Requests()
	if len(requests) != 1 {
		t.Fatalf("%d requests", len(requests))
	}
	values, err := url.ParseQuery(requests[0].Query)
	if err != nil {
		t.Fatal(err)
	}
	return values
}

// refused checks that an input is refused before any request, both when a
// workflow is checked and when the action is called, with words in the message
// or the hint.
func refused(t *testing.T, action string, input in, pointer string, words ...string) {
	t.Helper()
	p, sim := open(t)
	var errors []sdk.Problem
	for _, problem := range p.Validate(action, input) {
		if !problem.Warning {
			errors = append(errors, problem)
		}
	}
	if len(errors) != 1 || errors[0].Pointer != pointer {
		t.Errorf("validate %v: %v, want one at %s", input, errors, pointer)
	}
	for _, word := range words {
		if len(errors) > 0 && !strings.Contains(errors[0].Summary+" "+errors[0].Detail, word) {
			t.Errorf("validate %v: %v, want %q in it", input, errors[0], word)
		}
	}
	r := p.Call(action, input)
	if r.Err == nil || r.Err.Code != sdk.CodeInvalid || r.Err.Pointer != pointer || r.Err.Applied != sdk.NotApplied {
		t.Errorf("call with %v: %+v, want invalid at %s", input, r.Err, pointer)
	}
	if n := sim.Kit().Count(""); n != 0 {
		t.Errorf("%d requests were sent for %v", n, input)
	}
}

// accepted checks that an input has no problem but warnings, and is sent.
func accepted(t *testing.T, input in) {
	t.Helper()
	p, sim := open(t)
	for _, problem := range p.Validate("aggregate", input) {
		if !problem.Warning {
			t.Errorf("validate %v: %v", input, problem)
		}
	}
	answer(t, sim, simkit.Fault{Body: "[]"})
	if r := p.Call("aggregate", input); r.Err != nil {
		t.Errorf("call with %v: %v", input, r.Err)
	}
}

// warned checks that an input has one warning, and is sent.
func warned(t *testing.T, input in, pointer, word string) {
	t.Helper()
	p, _ := open(t)
	problems := p.Validate("aggregate", input)
	if len(problems) != 1 || !problems[0].Warning || problems[0].Pointer != pointer || !strings.Contains(problems[0].Summary+problems[0].Detail, word) {
		t.Errorf("validate %v: %v, want a warning at %s with %q", input, problems, pointer, word)
	}
	output(t, p.Call("aggregate", input))
}

func TestPluginIsSound(t *testing.T) {
	if err := New().Err(); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, a := range sdktest.Serve(t, New()).Describe().Actions {
		names = append(names, a.Name)
		if len(a.Examples) == 0 || len(a.Faults) < 3 || a.Doc == "" || a.Effect != "read" || a.Timeout == 0 {
			t.Errorf("action %s lacks examples, faults, doc, time limit or the effect read", a.Name)
		}
	}
	if diff := cmp.Diff([]string{"aggregate", "current_visitors"}, names); diff != "" {
		t.Errorf("actions (-want +got):\n%s", diff)
	}
}

func TestExamplesWork(t *testing.T) {
	p, _ := open(t)
	for _, a := range p.Describe().Actions {
		for _, e := range a.Examples {
			var input in
			if err := json.Unmarshal(e.Input, &input); err != nil {
				t.Fatal(err)
			}
			if problems := p.Validate(a.Name, input); len(problems) != 0 {
				t.Errorf("%s, %s: %v", a.Name, e.Name, problems)
			}
			output(t, p.Call(a.Name, input))
		}
	}
}

func TestN01_PathsBelowBaseURL(t *testing.T) {
	p, sim := open(t)
	output(t, p.Call("aggregate", with(nil)))
	output(t, p.Call("current_visitors", in{"site_id": analyticssim.SiteSteady}))
	for i, path := range []string{"/v1/aggregations", "/v1/current_visitors"} {
		if r := sim.Kit().Requests()[i]; r.Method != http.MethodGet || r.Path != path || r.Length != 0 {
			t.Errorf("sent %+v, want GET %s", r, path)
		}
	}
}

func TestN01_BaseURLIsChecked(t *testing.T) {
	p := sdktest.Serve(t, New())
	for _, base := range []string{
		"", "analytics.example", "ftp://analytics.example", "https://analytics.example/v1", "https://analytics.example/v1/",
		"https://analytics.example?x=1", "https://analytics.example#x", "https://user:pass@analytics.example",
	} {
		if problems := p.Connect("c", in{"base_url": base, "token": "t"}); len(problems) == 0 || problems[0].Pointer != "/base_url" {
			t.Errorf("base_url %q: %v", base, problems)
		}
	}
	for _, base := range []string{"https://analytics.example", "https://analytics.example/", "http://127.0.0.1:8080/below"} {
		if problems := p.Connect("c", in{"base_url": base, "token": "t"}); len(problems) != 0 {
			t.Errorf("base_url %q: %v", base, problems)
		}
	}
}

func TestN02_BearerToken(t *testing.T) {
	p, sim := open(t)
	output(t, p.Call("aggregate", with(nil)))
	output(t, p.Call("current_visitors", in{"site_id": analyticssim.SiteSteady}))
	for _, r := range sim.Kit().Requests() {
		if got := r.Header["authorization"]; got != "Bearer "+apiToken {
			t.Errorf("%s has Authorization %q", r.Path, got)
		}
	}
}

func TestN02_MissingTokenIsRefusedBeforeSending(t *testing.T) {
	p, sim := open(t)
	p.Connect("bare", in{"base_url": "http://127.0.0.1:9"})
	for action, input := range map[string]in{"aggregate": with(nil), "current_visitors": {"site_id": "X"}} {
		r := p.Call(action, input, sdktest.OnConnection("bare"))
		if r.Err == nil || r.Err.Code != sdk.CodeInvalid || r.Err.Applied != sdk.NotApplied ||
			!strings.Contains(r.Err.Message, "`bare`") || !strings.Contains(r.Err.Message, "`token`") || !strings.Contains(r.Err.Hint, "token_from") {
			t.Errorf("%s: got %+v", action, r.Err)
		}
	}
	if n := sim.Kit().Count(""); n != 0 {
		t.Errorf("%d requests were sent", n)
	}
	both := in{"base_url": "http://127.0.0.1:9", "token": "t", "token_from": in{"connection": "login"}}
	if problems := p.Connect("both", both); len(problems) != 1 || problems[0].Pointer != "/token_from" {
		t.Errorf("two credentials: %v", problems)
	}
}

func TestN02_TokenOfAnotherConnection(t *testing.T) {
	p, sim := open(t)
	p.Host().SetToken("from", "", sdk.Token{ID: "1", AccessToken: apiToken})
	srv := httptest.NewServer(sim)
	t.Cleanup(srv.Close)
	if problems := p.Connect("from", in{"base_url": srv.URL, "token_from": in{"connection": "login"}}); len(problems) != 0 {
		t.Fatal(problems)
	}
	output(t, p.Call("aggregate", with(nil), sdktest.OnConnection("from")))
	if got := sim.Kit().Requests()[0].Header["authorization"]; got != "Bearer "+apiToken {
		t.Errorf("sent %q", got)
	}
}

func TestN02_TokenIsNeverShown(t *testing.T) {
	p, sim := open(t)
	for _, f := range []simkit.Fault{
		{Status: 401, Body: `{"error":"bad token ` + apiToken + `"}`}, {Status: 500, Body: apiToken}, {Body: apiToken},
		{Body: `[{"visits":["` + apiToken + `"]}]`}, {Drop: simkit.DropAfter, Count: simkit.Forever},
	} {
		answer(t, sim, f)
		r := p.Call("aggregate", with(nil))
		text, _ := json.Marshal(r)
		if r.Err == nil || strings.Contains(string(text), apiToken) {
			t.Errorf("fault %+v: %s", f, text)
		}
	}
}

func TestN03_AcceptIsExactlyJSON(t *testing.T) {
	p, sim := open(t)
	output(t, p.Call("aggregate", with(nil)))
	output(t, p.Call("current_visitors", in{"site_id": analyticssim.SiteSteady}))
	for _, r := range sim.Kit().Requests() {
		if r.Header["accept"] != "application/json" {
			t.Errorf("%s has Accept %q", r.Path, r.Header["accept"])
		}
	}
}

func TestN04_RefusalNamesTheThreePermissions(t *testing.T) {
	calls := map[string]struct {
		action string
		input  in
		site   string
	}{
		"page views": {"aggregate", with(in{"entity_id": "SITE7"}), "SITE7"},
		"an event":   {"aggregate", event(in{"site_id": "SITE7"}), "SITE7"},
		"by code":    {"aggregate", event(in{"site_id": nil, "entity_name": nil, "entity_id": "CODE"}), "{site_id}"},
		"visitors":   {"current_visitors", in{"site_id": "SITE7"}, "SITE7"},
	}
	for name, tt := range calls {
		t.Run(name, func(t *testing.T) {
			for status, code := range map[int]sdk.Code{401: sdk.CodeUnauthorized, 403: sdk.CodeForbidden} {
				p, sim := open(t)
				answer(t, sim, simkit.Fault{Status: status, Body: `{"error":"no"}`})
				r := p.Call(tt.action, tt.input)
				if r.Err == nil || r.Err.Code != code || r.Err.Applied != sdk.NotApplied {
					t.Fatalf("%d: got %+v", status, r.Err)
				}
				for _, word := range []string{"all-sites-readonly", "read:" + tt.site, "manage:" + tt.site} {
					if !strings.Contains(r.Err.Hint, word) {
						t.Errorf("%d: hint %q lacks %s", status, r.Err.Hint, word)
					}
				}
			}
		})
	}
	p, _ := open(t)
	if r := p.Call("current_visitors", in{"site_id": analyticssim.SitePrivate}); r.Err == nil || r.Err.Code != sdk.CodeForbidden {
		t.Errorf("a site of others: %v", r.Err)
	}
}

func TestN43_ErrorsOfAnyShape(t *testing.T) {
	tests := map[string]struct {
		fault simkit.Fault
		code  sdk.Code
		text  string
	}{
		"text under error":    {simkit.Fault{Status: 400, Body: `{"error":"limit is wrong"}`}, sdk.CodeInvalid, "limit is wrong"},
		"text under message":  {simkit.Fault{Status: 422, Body: `{"message":"limit is wrong"}`}, sdk.CodeInvalid, "limit is wrong"},
		"another object":      {simkit.Fault{Status: 404, Body: `{"errors":[1]}`}, sdk.CodeNotFound, "404"},
		"a page":              {simkit.Fault{Status: 502, HTML: true}, sdk.CodeUnavailable, "502"},
		"nothing":             {simkit.Fault{Status: 503, Empty: true}, sdk.CodeUnavailable, "503"},
		"dropped":             {simkit.Fault{Drop: simkit.DropBefore}, sdk.CodeUnavailable, "the connection ended before an answer"},
		"cut short":           {simkit.Fault{Truncate: 5, Cut: true}, sdk.CodeUnexpectedResponse, "cut short"},
		"truncated":           {simkit.Fault{Truncate: 5}, sdk.CodeUnexpectedResponse, "no JSON"},
		"success with a page": {simkit.Fault{HTML: true}, sdk.CodeUnexpectedResponse, "text/html"},
		"success, empty":      {simkit.Fault{Empty: true}, sdk.CodeUnexpectedResponse, "empty"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			for action, input := range map[string]in{"aggregate": with(nil), "current_visitors": {"site_id": analyticssim.SiteSteady}} {
				p, sim := open(t)
				answer(t, sim, tt.fault)
				r := p.Call(action, input)
				if r.Err == nil || r.Err.Code != tt.code || !strings.Contains(r.Err.Message, tt.text) {
					t.Fatalf("%s: got %v, want %s with %q", action, r.Err, tt.code, tt.text)
				}
				if body, _ := r.Err.Details["body"].(string); len(body) > 512 {
					t.Errorf("the excerpt has %d bytes", len(body))
				}
				if n := sim.Kit().Count(""); n != 1 {
					t.Errorf("%d requests were sent: a plugin never repeats one", n)
				}
			}
		})
	}
}

func TestN44_NoLimiterButRetryAfterIsHonoured(t *testing.T) {
	p, sim := open(t)
	if l := p.Describe().Limiters; len(l) != 0 {
		t.Errorf("limiters %v: the document shows none", l)
	}
	answer(t, sim, simkit.Fault{Status: 429, RetryAfter: "17"})
	if r := p.Call("aggregate", with(nil)); r.Err == nil || r.Err.Code != sdk.CodeRateLimited || r.Err.RetryAfter != 17*time.Second {
		t.Errorf("got %+v", r.Err)
	}
	answer(t, sim, simkit.Fault{Status: 429})
	if r := p.Call("current_visitors", in{"site_id": "X"}); r.Err == nil || r.Err.Code != sdk.CodeRateLimited || r.Err.RetryAfter != 0 {
		t.Errorf("got %+v", r.Err)
	}
}

func TestN45_NoListActions(t *testing.T) {
	if actions := sdktest.Serve(t, New()).Describe().Actions; len(actions) != 2 {
		t.Errorf("%d actions, the document shows two endpoints", len(actions))
	}
}

func TestCheckConnectionSendsNothing(t *testing.T) {
	p, sim := open(t)
	if account, err := p.CheckConnection(); err != nil || account != "" {
		t.Errorf("got %q and %v", account, err)
	}
	if why, not := p.NotTried(); !not || !strings.Contains(why, "a token is configured") {
		t.Errorf("not tried: %t, %q", not, why)
	}
	if n := sim.Kit().Count(""); n != 0 {
		t.Errorf("%d requests were sent", n)
	}
	bare := sdktest.Open(t, New(), in{"base_url": "http://127.0.0.1:9"})
	if _, err := bare.CheckConnection(); err == nil || err.Code != sdk.CodeInvalid || !strings.Contains(err.Message, "token") {
		t.Errorf("without a token: %v", err)
	}
}
