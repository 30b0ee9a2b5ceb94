package auth

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/flowrun/flowrun/internal/simkit"
	"github.com/flowrun/flowrun/plugins/auth/authsim"
	"github.com/flowrun/flowrun/sdk"
	"github.com/flowrun/flowrun/sdk/sdktest"
)

func TestA46_HTTPSAlways(t *testing.T) {
	p := sdktest.Serve(t, New())
	for _, bad := range []string{"http://manage.example", "http://127.0.0.1:8080", "http://localhost", "manage.example", "https://u:p@manage.example"} {
		if problems := p.Connect("c", in{"management_url": bad}); len(problems) != 1 || problems[0].Pointer != "/management_url" {
			t.Errorf("%q: %v", bad, problems)
		}
	}
	w := open(t, authsim.Options{}, nil)
	plain := strings.Replace(w.url, "https://", "http://", 1)
	w.fault(simkit.Fault{Path: "/api/**", Status: 301, Count: simkit.Forever, Header: map[string]string{"Location": plain + "/api/v1/deployments"}})
	fails(t, w.Call("deployments_list", nil), sdk.CodeUnexpectedResponse, "")
	fails(t, w.Call("scim_users_list", nil), sdk.CodeUnexpectedResponse, "")
	if w.count("") != 2 {
		t.Errorf("sent %+v", w.all())
	}
}

func TestA47_KindOfCredentialFixesTheScheme(t *testing.T) {
	w := open(t, authsim.Options{}, nil)
	w.login()
	t.Run("A-47 the API key as Api-Key", func(t *testing.T) {
		for _, input := range []in{{}, {"credential": "api_key"}} {
			output(t, w.Call("deployments_list", input))
			if got := w.last().header.Get("Authorization"); got != "Api-Key "+authsim.DefaultAPIKey {
				t.Errorf("sent %q", got)
			}
		}
	})
	t.Run("A-48 the login as Bearer", func(t *testing.T) {
		output(t, w.Call("deployments_list", in{"credential": "oauth"}))
		if got := w.last().header.Get("Authorization"); got != "Bearer "+w.stored().AccessToken {
			t.Errorf("sent %q", got)
		}
		w.refuses("/credential", "", "deployments_list", in{"credential": "bearer"})
	})
	t.Run("A-49 the SCIM token as Bearer", func(t *testing.T) {
		for _, input := range []in{{}, {"scim_scheme": "bearer"}} {
			output(t, w.Call("scim_users_list", input))
			if got := w.last().header.Get("Authorization"); got != "Bearer "+authsim.DefaultSCIMToken {
				t.Errorf("sent %q", got)
			}
		}
	})
	t.Run("A-50 the SCIM token as Api-Key", func(t *testing.T) {
		output(t, w.Call("scim_users_list", in{"scim_scheme": "api-key"}))
		if got := w.last().header.Get("Authorization"); got != "Api-Key "+authsim.DefaultSCIMToken {
			t.Errorf("sent %q", got)
		}
		w.refuses("/scim_scheme", "", "scim_users_list", in{"scim_scheme": "basic"})
	})
}

func TestA51_SCIMNeedsItsOwnToken(t *testing.T) {
	w := open(t, authsim.Options{}, in{"scim_token": nil})
	w.refuses("", "connection test has no scim_token", "scim_users_list", nil)
	w.reconnect(in{"scim_token": "x", "api_key": nil, "management_url": nil})
	w.refuses("", "management_url", "scim_users_list", nil)
	w.refuses("", "management_url", "deployments_list", nil)
	w.reconnect(in{"management_url": w.url})
	w.refuses("", "connection test has no api_key", "deployments_list", in{"credential": "api_key"})
	fails(t, w.Call("deployments_list", nil), sdk.CodeAuthRequired, "no_login") // oauth is what is left
	if w.count("") != 0 {
		t.Error("something was sent")
	}
}

func TestA53_DeploymentsHaveNoQuery(t *testing.T) {
	w := open(t, authsim.Options{}, nil)
	output(t, w.Call("deployments_list", nil))
	if got := w.last(); got.method != "GET" || got.path != "/api/v1/deployments" || got.query != "" || got.body != "" {
		t.Errorf("sent %+v", got)
	}
}

func TestA54_ResponseIsUnchanged(t *testing.T) {
	for _, body := range []string{`[{"id":9007199254740993,"x":1.10,"n":null}]`, `{"deployments":[],"z":"ü","a":1}`, `"text"`, `null`} {
		w := open(t, authsim.Options{}, nil)
		w.answer(200, body)
		if r := w.Call("deployments_list", nil); string(r.Output) != `{"response":`+body+`}` {
			t.Errorf("got %s, want %s", r.Output, body)
		}
	}
}

func TestA55_CountAndStartIndex(t *testing.T) {
	w := open(t, authsim.Options{}, nil)
	for query, input := range map[string]in{
		"": {}, "count=0": {"count": 0}, "count=7&startIndex=3": {"count": 7, "start_index": 3}, "startIndex=1": {"start_index": 1},
	} {
		output(t, w.Call("scim_users_list", input))
		if got := w.last(); got.path != "/api/scim/v2/Users" || got.query != query || got.header.Get("Accept") != "application/scim+json, application/json" {
			t.Errorf("%v sent %+v", input, got)
		}
	}
	before := w.count("")
	for pointer, input := range map[string]in{"/count": {"count": -1}, "/start_index": {"start_index": 0}} {
		w.refuses(pointer, "", "scim_users_list", input)
	}
	w.refuses("/count", "", "scim_users_list", in{"count": 1.5})
	w.refuses("/start_index", "", "scim_users_list", in{"start_index": "1"})
	w.refuses("/start_index", "cursor", "scim_users_list", nil, sdktest.Page("x"))
	if w.count("") != before {
		t.Error("something was sent")
	}
}

// pages reads all pages from the first.
func (w *world) pages(input in) (users []any, calls int) {
	w.t.Helper()
	cursor := ""
	for calls < 100 {
		r := w.Call("scim_users_list", input, sdktest.Page(cursor))
		out := output(w.t, r)
		calls++
		users = append(users, out["users"].([]any)...)
		if next, _ := out["next_cursor"].(string); next != r.Next {
			w.t.Errorf("next_cursor %v, Next %q", out["next_cursor"], r.Next)
		}
		if cursor = r.Next; cursor == "" {
			return users, calls
		}
	}
	w.t.Fatal("the pages do not end")
	return nil, 0
}

func TestA56_AllPages(t *testing.T) {
	w := open(t, authsim.Options{}, nil)
	for want, input := range map[int]in{3: {}, 5: {"count": 25}, 2: {"count": 500}, 1: {"start_index": 118}, 120: nil} {
		if want == 120 {
			continue
		}
		users, calls := w.pages(input)
		left := 120
		if input["start_index"] != nil {
			left = 3
		}
		seen := map[any]bool{}
		for _, user := range users {
			seen[user.(in)["id"]] = true
		}
		if calls != want || len(seen) != left || len(users) != left {
			t.Errorf("%v: %d users, %d of them different, in %d calls, want %d in %d", input, len(users), len(seen), calls, left, want)
		}
	}
	if out := output(t, w.Call("scim_users_list", in{"start_index": 500})); len(out["users"].([]any)) != 0 || out["next_cursor"] != nil || out["total"] != 120.0 {
		t.Errorf("behind the end: %v", out)
	}
	paging := w.Action("scim_users_list").Paging
	if paging.Cursor != "start_index" || paging.Items != "users" || paging.Next != "next_cursor" {
		t.Errorf("paging %v", paging)
	}
}

func TestA56_ServersThatStartAgain(t *testing.T) {
	w := open(t, authsim.Options{Quirks: authsim.Quirks{SCIMIgnoresStart: true}}, nil)
	r := w.Call("scim_users_list", nil)
	output(t, r)
	e := fails(t, w.Call("scim_users_list", nil, sdktest.Page(r.Next)), sdk.CodeUnexpectedResponse, "")
	if !strings.Contains(e.Message, "starts at 1, asked for was 51") {
		t.Errorf("got %v", e)
	}
	w = open(t, authsim.Options{Quirks: authsim.Quirks{SCIMIgnoresStart: true, SCIMDropsIndex: true}}, nil)
	fails(t, w.Call("scim_users_list", nil, sdktest.Page("101")), sdk.CodeUnexpectedResponse, "")
	w.answer(200, `{"totalResults":2,"Resources":[{"id":"a"},{"id":"a"}]}`)
	if e := fails(t, w.Call("scim_users_list", nil), sdk.CodeUnexpectedResponse, ""); !strings.Contains(e.Message, "twice") {
		t.Errorf("got %v", e)
	}
}

func TestA56_ShapesOfAPage(t *testing.T) {
	for body, want := range map[string]struct {
		users int
		next  string
	}{
		`[{"id":1},{"id":2}]`:               {2, ""},
		`[]`:                                {0, ""},
		`{"totalResults":0}`:                {0, ""},
		`{"Resources":[],"totalResults":9}`: {0, ""},
		`{"Resources":[{"id":"a"}],"totalResults":3}`:              {1, "2"},
		`{"Resources":[{"id":"a"}]}`:                               {1, "2"},
		`{"Resources":[{"id":"a"}],"totalResults":1}`:              {1, ""},
		`{"schemas":["x"],"users":[{"n":1},{"n":1}]}`:              {2, ""},
		`{"Resources":["odd",null,{}],"totalResults":3}`:           {3, ""},
		`{"Resources":[{"id":1}],"startIndex":5,"totalResults":9}`: {1, "6"},
	} {
		w := open(t, authsim.Options{}, nil)
		w.answer(200, body, "Content-Type", "application/scim+json;charset=utf-8")
		r := w.Call("scim_users_list", nil)
		out := output(t, r)
		if len(out["users"].([]any)) != want.users || r.Next != want.next || !strings.HasSuffix(string(r.Output), `"response":`+body+"}") {
			t.Errorf("%s gives %s, next %q, want %+v", body, r.Output, r.Next, want)
		}
	}
	for _, body := range []string{`{}`, `{"a":[],"b":[]}`, `"x"`, `<html>`, ``, `{"Resources":{}}`, `{"Resources":[{"id":1}`} {
		w := open(t, authsim.Options{}, nil)
		w.answer(200, body)
		fails(t, w.Call("scim_users_list", nil), sdk.CodeUnexpectedResponse, "")
	}
}

// What a page says against itself, and what is no fault (issue 12, 3 and 16).
func TestIssue12_03_PagesThatDoNotFit(t *testing.T) {
	for name, tt := range map[string]struct {
		input in
		page  string // cursor of the engine
		body  string
		text  string // of the error; "" = the page is taken
	}{
		"past the total, with the asked startIndex": {in{}, "3", `{"totalResults":3,"startIndex":3,"Resources":[{"id":"c"},{"id":"d"}]}`, "holds 2 items from 3 on, and there are 3 in all"},
		"past the total, without a startIndex":      {in{}, "3", `{"totalResults":3,"Resources":[{"id":"c"},{"id":"d"}]}`, "there are 3 in all"},
		"the first page is past its total":          {in{}, "", `{"totalResults":1,"startIndex":1,"Resources":[{"id":"a"},{"id":"b"}]}`, "there are 1 in all"},
		"behind the end":                            {in{}, "3", `{"totalResults":2,"startIndex":3,"Resources":[{"id":"a"}]}`, "from 3 on, and there are 2 in all"},
		"another start":                             {in{"start_index": 7}, "", `{"totalResults":9,"startIndex":1,"Resources":[{"id":"a"}]}`, "starts at 1, asked for was 7"},
		"a total that is text":                      {in{}, "", `{"totalResults":"9","Resources":[{"id":"a"}]}`, "`totalResults` of the page has another shape: it is text where an integer is due"},
		"exactly to the total":                      {in{}, "3", `{"totalResults":3,"startIndex":3,"Resources":[{"id":"c"}]}`, ""},
		"a count of 0 without Resources":            {in{"count": 0}, "", `{"totalResults":42,"startIndex":1,"itemsPerPage":0}`, ""},
		"Resources that are null":                   {in{}, "3", `{"totalResults":2,"Resources":null}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := open(t, authsim.Options{}, nil)
			w.answer(200, tt.body)
			r := w.Call("scim_users_list", tt.input, sdktest.Page(tt.page))
			if tt.text == "" {
				if output(t, r); r.Next != "" {
					t.Errorf("next %q", r.Next)
				}
				return
			}
			if e := fails(t, r, sdk.CodeUnexpectedResponse, ""); !strings.Contains(e.Message, tt.text) {
				t.Errorf("got %v, want %s", e, tt.text)
			}
		})
	}
	w := open(t, authsim.Options{}, nil)
	w.answer(400, `{"schemas":["urn:ietf:params:scim:api:messages:2.0:Error"],"scimType":"invalidFilter","detail":"bad filter","status":"400"}`)
	if e := fails(t, w.Call("scim_users_list", nil), sdk.CodeInvalid, "invalidFilter"); !strings.Contains(e.Message, "bad filter") {
		t.Errorf("got %v", e)
	}
	w.answer(200, `{"totalResults":1,"Resources":[{"id":"a"}]}`)
	if out := output(t, w.Call("scim_users_list", nil, sdktest.AllPages())); out["response"] != nil || len(out["users"].([]any)) != 1 {
		t.Errorf("where all pages are read the users are there twice: %v", out)
	}
}

func TestA57_EmptyUnauthorized(t *testing.T) {
	w := open(t, authsim.Options{}, in{"api_key": "wrong-key", "scim_token": "wrong-token"})
	for _, r := range []sdktest.Result{w.Call("deployments_list", nil), w.Call("scim_users_list", nil)} {
		if e := fails(t, r, sdk.CodeUnauthorized, ""); e.HTTPStatus != 401 || e.Applied != sdk.NotApplied {
			t.Errorf("got %+v", e)
		}
	}
}

func TestA58_ErrorBodiesAsFarAsTheyCanBeRead(t *testing.T) {
	for status, code := range map[int]sdk.Code{
		400: sdk.CodeInvalid, 403: sdk.CodeForbidden, 404: sdk.CodeNotFound, 409: sdk.CodeConflict, 429: sdk.CodeRateLimited, 500: sdk.CodeUnavailable, 503: sdk.CodeUnavailable,
	} {
		for _, body := range []string{`{"message":"Out of order."}`, `{"detail":"Out of order."}`, `Out of order.`} {
			for _, action := range []string{"deployments_list", "scim_users_list"} {
				w := open(t, authsim.Options{}, nil)
				w.answer(status, body)
				r := w.Call(action, nil)
				if r.Err == nil || r.Err.Code != code || r.Err.HTTPStatus != status || !strings.Contains(texts(r), "Out of order.") {
					t.Errorf("%s, %d %s: %+v", action, status, body, r.Err)
				}
			}
		}
	}
}

func TestA61_NoLimitIsDeclared(t *testing.T) {
	w := open(t, authsim.Options{Requests: 1, Window: 30 * time.Second}, nil)
	if limits := w.Describe().Limiters; len(limits) != 0 {
		t.Errorf("limiters %v", limits)
	}
	output(t, w.Call("deployments_list", nil))
	if e := fails(t, w.Call("deployments_list", nil), sdk.CodeRateLimited, ""); e.RetryAfter != 30*time.Second {
		t.Errorf("got %+v", e)
	}
}

func TestA62_TheRootOfTheHost(t *testing.T) {
	p := sdktest.Serve(t, New())
	for _, bad := range []string{"/api/v1", "/api/v1/", "/api/scim/v2", "/api/scim/v2/"} {
		if problems := p.Connect("c", in{"management_url": "https://manage.example" + bad}); len(problems) != 1 || problems[0].Pointer != "/management_url" {
			t.Errorf("%q: %v", bad, problems)
		}
	}
	w := open(t, authsim.Options{}, in{"management_url": "{url}/"})
	output(t, w.Call("deployments_list", nil))
	output(t, w.Call("scim_users_list", nil))
	if w.count("/api/v1/deployments") != 1 || w.count("/api/scim/v2/Users") != 1 {
		t.Errorf("sent %+v", w.all())
	}
}

// canaries are credentials that must not show up anywhere.
func canaries() in {
	return in{"client_secret": "canary-client-secret", "api_key": "canary-api-key", "scim_token": "canary-scim-token"}
}

func TestA52_NoCredentialIsShown(t *testing.T) {
	echo := `{"error":"invalid_request","error_description":"bad %s canary-client-secret canary-api-key canary-scim-token"}`
	for _, status := range []int{200, 302, 400, 401, 403, 429, 500} {
		w := open(t, authsim.Options{ClientSecret: "canary-client-secret", APIKey: "canary-api-key", SCIMToken: "canary-scim-token"}, canaries())
		w.login()
		flow := w.start()
		access, refresh := w.stored().AccessToken, w.stored().RefreshToken
		w.clock.pass(5 * time.Second)
		w.answer(status, fmt.Sprintf(echo, access+" "+refresh), "X-Request-Id", "canary-api-key", "Location", w.url+"/?token="+access)
		results := map[string]sdktest.Result{
			"device_start": w.Call("device_start", in{"scopes": []string{"again"}}), "device_poll": w.poll(flow), "device_wait": w.Call("device_wait", in{"flow_id": flow["flow_id"]}),
			"resource":    w.Call("resource_get", in{"url": w.url + "/x", "token_in": "query"}),
			"deployments": w.Call("deployments_list", nil), "oauth": w.Call("deployments_list", in{"credential": "oauth"}), "scim": w.Call("scim_users_list", nil),
			"status": w.Call("status", nil), "revoke": w.Call("revoke", in{"which": "refresh"}), "refresh": w.Call("refresh", nil),
		}
		for name, r := range results {
			text, secrets := texts(r), []string{"canary", "dc-"}
			switch name {
			case "resource", "oauth", "revoke", "refresh": // what the service can repeat, since it was sent
				secrets = append(secrets, access, refresh)
			}
			for _, secret := range secrets {
				if strings.Contains(text, secret) {
					t.Errorf("%d, %s shows %q: %.300s", status, name, secret, text)
				}
			}
		}
	}
}

func TestA52_TokensOfAnswersThatFailAreNotShown(t *testing.T) {
	const tokens = `{"access_token":"canary-access","refresh_token":"canary-refresh","token_type":"%s","expires_in":60}`
	for name, body := range map[string]string{
		"cut": `{"access_token":"canary-access","refresh_token":"canary-ref`, "another type": fmt.Sprintf(tokens, "mac"),
		"with an error": strings.Replace(fmt.Sprintf(tokens, "bearer"), "{", `{"error":"odd",`, 1), "a list": `["canary-access"]`,
	} {
		for _, status := range []int{200, 400, 500} {
			w := open(t, authsim.Options{}, nil)
			w.login()
			flow := w.start(sdktest.Key("second"))
			w.clock.pass(5 * time.Second)
			w.answer(status, body)
			for _, r := range []sdktest.Result{w.poll(flow), w.Call("refresh", nil)} {
				if r.Err == nil || strings.Contains(texts(r), "canary") {
					t.Errorf("%s, %d: %s %s", name, status, r.Output, texts(r))
				}
			}
		}
	}
}
