package openapi_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/flowrun/flowrun/plugins/openapi"
	"github.com/flowrun/flowrun/sdk"
	"github.com/flowrun/flowrun/sdk/sdktest"
)

// says answers with a status and a body of a media type.
func says(status int, media, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		if media != "" {
			w.Header().Set("Content-Type", media)
		}
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}
}

func TestAnswersOfSeveralStatuses(t *testing.T) {
	t.Parallel()
	input := object(`{"body":{"type":"card","number":"1"}}`)
	for _, test := range []struct {
		name   string
		answer http.HandlerFunc
		want   string
	}{
		{"the first", says(200, "application/json", `{"id":1}`), `{"id":1}`},
		{"another choice of it", says(200, "application/json", `"done"`), `"done"`},
		{"another status", says(202, "application/json", `{"poll":"/1"}`), `{"poll":"/1"}`},
		{"one without a body", says(204, "", ""), `null`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, test.answer)
			gives(t, open(t, s, openapi.Settings{}, document(t, "unions.yaml"), nil).Call("pay", input), test.want)
		})
	}
}

func TestAnAnswerThatIsNoJSONWhereItIsDue(t *testing.T) {
	t.Parallel()
	s := serve(t, says(200, "text/html", "<html>"))
	p := open(t, s, openapi.Settings{}, document(t, "petstore30.yaml"), nil)
	failure := fails(t, p.Call("show_pet_by_id", object(`{"petId":1}`)), sdk.CodeUnexpectedResponse)
	if !strings.Contains(failure.Message, "no JSON") {
		t.Errorf("it says %q", failure.Message)
	}
}

func TestAnswersOfOtherMedia(t *testing.T) {
	t.Parallel()
	for action, test := range map[string]struct {
		answer       http.HandlerFunc
		want, accept string
	}{
		"report":  {says(200, "application/vnd.report+json", `{"rows":2}`), `{"rows":2}`, "application/vnd.report+json"},
		"picture": {says(200, "image/png", "\x89P"), `"iVA="`, "image/png"},
		"log":     {says(200, "text/plain", "one\ntwo"), `"one\ntwo"`, "text/plain"},
	} {
		t.Run(action, func(t *testing.T) {
			t.Parallel()
			s := serve(t, test.answer)
			gives(t, open(t, s, openapi.Settings{}, document(t, "media-types.yaml"), nil).Call(action, object(`{}`)), test.want)
			if accept := s.last(t).Header.Get("Accept"); accept != test.accept {
				t.Errorf("asked was for %q", accept)
			}
		})
	}
}

func TestAnAnswerOfWhichNothingIsDocumented(t *testing.T) {
	t.Parallel()
	for want, answer := range map[string]http.HandlerFunc{
		`{"a":1}`: says(200, "application/json", `{"a":1}`), `"plain"`: says(200, "text/plain", "plain"), `null`: says(200, "", ""),
	} {
		s := serve(t, answer)
		gives(t, open(t, s, openapi.Settings{}, document(t, "servers.yaml"), nil).Call("here", object(`{}`)), want)
	}
}

func TestHead(t *testing.T) {
	t.Parallel()
	s := serve(t, nil)
	p := open(t, s, openapi.Settings{}, document(t, "empty-schemas.json"), nil)
	gives(t, p.Call("exists", object(`{}`)), `null`)
	s.wants(t, "HEAD", "/head")
}

func TestFaultsOfTheDocumentAndOfTheSettings(t *testing.T) {
	t.Parallel()
	s := serve(t, says(402, "application/json", `{"message":"no money"}`))
	p := open(t, s, openapi.Settings{}, document(t, "extensions.yaml"), nil)
	failure := fails(t, p.Call("pay", object(`{}`), sdktest.Key("k")), sdk.CodeConflict)
	if failure.Reason != "declined" || failure.HTTPStatus != 402 || !strings.Contains(failure.Message, "no money") || failure.Applied != sdk.NotApplied {
		t.Errorf("the failure is %+v", failure)
	}
	fails(t, p.Call("search", object(`{}`)), sdk.CodeQuotaExhausted) // the control: what 402 is without a rule
}

func TestEnvelopes(t *testing.T) {
	t.Parallel()
	text := document(t, "envelope.yaml")
	contact := `{"id":1,"name":"Ann","mail":null,"state":"open","tags":[]}`
	call := func(t *testing.T, answer http.HandlerFunc) sdktest.Result {
		t.Helper()
		s := serve(t, answer)
		r := open(t, s, openapi.Settings{}, text, map[string]any{"api_key": "k-1"}).Call("get_contact", object(`{"id":1}`))
		if got := s.wants(t, "GET", "/contacts/1"); got.Header.Get("X-Token") != "k-1" {
			t.Errorf("headers are %v", got.Header)
		}
		return r
	}
	gives(t, call(t, says(200, "application/json", `{"ok":true,"result":`+contact+`}`)), contact)

	failure := fails(t, call(t, says(404, "application/json", `{"ok":false,"error":{"text":"no such contact","word":"gone"}}`)), sdk.CodeNotFound)
	if failure.Message != "no such contact" || failure.Reason != "gone" {
		t.Errorf("the failure is %q, %q", failure.Message, failure.Reason)
	}
	failure = fails(t, call(t, says(200, "application/json", `{"ok":false,"error":{"text":"not today"}}`)), sdk.CodeUnexpectedResponse)
	if failure.Message != "not today" {
		t.Errorf("the failure is %q", failure.Message)
	}
	failure = fails(t, call(t, says(200, "application/json", `{"id":1}`)), sdk.CodeUnexpectedResponse)
	if !strings.Contains(failure.Message, "no `ok`") || !strings.Contains(failure.Hint, "base_url") {
		t.Errorf("the failure is %q, %q", failure.Message, failure.Hint)
	}
	fails(t, call(t, says(404, "text/html", "<html>a proxy</html>")), sdk.CodeNotFound)
}

func TestCredentials(t *testing.T) {
	t.Parallel()
	text := document(t, "security.yaml")
	for _, test := range []struct {
		name, action string
		config       map[string]any
		header, uri  string
		want         string // of the header
	}{
		{"a token", "both", map[string]any{"token": "t-1"}, "Authorization", "/both", "Bearer t-1"},
		{"name and password", "both", map[string]any{"username": "ann", "password": "p:1"}, "Authorization", "/both", "Basic YW5uOnA6MQ=="},
		{"none where none is wanted", "open", map[string]any{"token": "t-1"}, "Authorization", "/open", ""},
		{"two keys together", "keys", map[string]any{"api_keys": map[string]any{"app": "a-1", "user": "u-1"}}, "X-App", "/keys?user_key=u-1", "a-1"},
		{"none where they are not all there", "keys", map[string]any{"api_keys": map[string]any{"app": "a-1"}}, "X-App", "/keys", ""},
		{"headers of the connection", "open", map[string]any{"headers": map[string]any{"X-Version": "7"}}, "X-Version", "/open", "7"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, nil)
			gives(t, open(t, s, openapi.Settings{}, text, test.config).Call(test.action, object(`{}`)), `{}`)
			if got := s.wants(t, "GET", test.uri); got.Header.Get(test.header) != test.want {
				t.Errorf("%s is %q, wanted %q", test.header, got.Header.Get(test.header), test.want)
			}
		})
	}
}

func TestACredentialThatIsMissingIsSaidBeforeAnythingIsSent(t *testing.T) {
	t.Parallel()
	s := serve(t, nil)
	p := open(t, s, openapi.Settings{}, document(t, "security.yaml"), nil)
	failure := fails(t, p.Call("both", object(`{}`)), sdk.CodeInvalid)
	if !strings.Contains(failure.Message, "`token`, or `username`") || failure.Applied != sdk.NotApplied || s.count() != 0 {
		t.Errorf("it says %q; %d requests were sent", failure.Message, s.count())
	}
}

func TestClientCredentials(t *testing.T) {
	t.Parallel()
	issued := 0
	login := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		issued++
		if user, password, _ := r.BasicAuth(); user != "me" || password != "s-1" || r.FormValue("scope") != "read" {
			t.Errorf("the token request is of %s with scope %q", user, r.FormValue("scope"))
		}
		writeJSON(w, 200, `{"access_token":"issued","token_type":"Bearer","expires_in":3600}`)
	}))
	t.Cleanup(login.Close)
	s := serve(t, nil)
	text := strings.ReplaceAll(document(t, "security.yaml"), "https://login.example.com", login.URL)
	p := open(t, s, openapi.Settings{}, text, map[string]any{"client_id": "me", "client_secret": "s-1", "scopes": []string{"read"}})
	for range 2 {
		gives(t, p.Call("both", object(`{}`)), `{}`)
		if got := s.last(t); got.Header.Get("Authorization") != "Bearer issued" {
			t.Errorf("headers are %v", got.Header)
		}
	}
	if issued != 1 {
		t.Errorf("%d tokens were issued", issued)
	}
}

func TestTheConnectionIsTriedByWhatTheSettingsName(t *testing.T) {
	t.Parallel()
	s := serve(t, says(200, "application/json", `{"login":"ann"}`))
	text := document(t, "servers.yaml")
	p := open(t, s, openapi.Settings{Check: &openapi.Check{Operation: "here", Account: "/login"}}, text, nil)
	if account, err := p.CheckConnection(); err != nil || account != "ann" {
		t.Errorf("the account is %q, the failure %v", account, err)
	}
	s.wants(t, "GET", "/here")
	p = open(t, s, openapi.Settings{}, text, nil)
	if _, err := p.CheckConnection(); err != nil {
		t.Error(err)
	}
	if why, not := p.NotTried(); !not || why == "" {
		t.Errorf("without it the connection counts as tried: %q", why)
	}
}
