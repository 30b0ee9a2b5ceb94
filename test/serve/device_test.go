package serve

import (
	"crypto/rand"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/access"
	"github.com/flowrun/flowrun/internal/web"
	"github.com/flowrun/flowrun/internal/web/guard"
	"github.com/flowrun/flowrun/internal/web/page"
)

// person is a browser that is logged in with a token.
type person struct {
	t      *testing.T
	base   string
	cookie string
}

func (p *product) person(address, token string) *person {
	p.t.Helper()
	who := &person{t: p.t, base: "http://" + address}
	response := who.send("POST", "/login", url.Values{"token": {token}})
	for _, cookie := range response.Cookies() {
		who.cookie = cookie.Name + "=" + cookie.Value
	}
	if who.cookie == "" {
		p.t.Fatalf("no session: %s", response.Status)
	}
	return who
}

func (b *person) send(method, path string, form url.Values) *http.Response {
	b.t.Helper()
	request, err := http.NewRequestWithContext(b.t.Context(), method, b.base+path, strings.NewReader(form.Encode()))
	if err != nil {
		b.t.Fatal(err)
	}
	request.Header.Set("Accept", "text/html")
	if b.cookie != "" {
		request.Header.Set("Cookie", b.cookie)
	}
	if form != nil {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	response, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { _ = response.Body.Close() })
	return response
}

var csrfField = regexp.MustCompile(`name="csrf" value="([^"]+)"`)

// see opens the page of a code, and returns what stands there and the mark of its forms.
func (b *person) see(path string) (said, csrf string) {
	b.t.Helper()
	data, err := io.ReadAll(b.send("GET", path, nil).Body)
	if err != nil {
		b.t.Fatal(err)
	}
	if match := csrfField.FindSubmatch(data); match != nil {
		csrf = string(match[1])
	}
	return string(data), csrf
}

func (b *person) decide(code, csrf, act string) int {
	return b.send("POST", "/device", url.Values{"code": {code}, "csrf": {csrf}, "act": {act}}).StatusCode
}

// withDevices lets programs log in at a product.
func (p *product) withDevices(o *web.ServerOptions) {
	o.API.Devices = guard.NewDevices(p.clock.Now, rand.Reader)
	o.Page = page.Routes(page.Options{
		Engine: p.engine, Catalog: engine.Offline{}, Now: p.clock.Now, Version: "test", Since: p.clock.Now(), Devices: o.API.Devices,
	})
}

func answerOf[T any](t *testing.T, address, path, body string) T {
	t.Helper()
	status, said := ask(t, "POST", address, path, "", body)
	var answer T
	if err := json.Unmarshal([]byte(said), &answer); err != nil || status != http.StatusOK {
		t.Fatalf("%s %s: %d %s", path, body, status, said)
	}
	return answer
}

// TestAProgramLogsInByThePage: a person sees its code, name, address and scope, approves, and
// it gets a token once. The token ends with the one that the person was logged in with.
func TestAProgramLogsInByThePage(t *testing.T) {
	p := newProduct(t)
	_, address := p.listen(p.withDevices)
	end := p.clock.Now().Add(24 * time.Hour).UTC().Truncate(time.Second)
	ann := p.person(address, p.token(access.NewToken{Name: "ann", Scope: "operator", ExpiresAt: end}))
	p.token(access.NewToken{Name: "ann-laptop", Scope: "viewer"}) // the name is taken
	begun := answerOf[web.LoginBegun](t, address, "/api/v1/local/login", `{"machine": "ann laptop", "scope": "operator"}`)
	poll := `{"device_code": "` + begun.DeviceCode + `"}`
	if answer := answerOf[web.LoginAnswer](t, address, "/api/v1/local/login/poll", poll); answer.State != web.LoginPending || answer.Token != nil {
		t.Fatalf("%+v", answer)
	}
	said, csrf := ann.see(begun.Path)
	for _, want := range []string{begun.UserCode, "ann-laptop", "127.0.0.1", "scope operator"} {
		if !strings.Contains(said, want) {
			t.Errorf("the page does not tell of %s", want)
		}
	}
	if strings.Contains(said, begun.DeviceCode) {
		t.Error("the page tells what the program alone knows")
	}
	if status := ann.decide(begun.UserCode, "", "approve"); status != http.StatusForbidden {
		t.Errorf("a form without its mark: %d", status)
	}
	if status := ann.decide(begun.UserCode, csrf, "approve"); status != http.StatusOK {
		t.Fatalf("%d", status)
	}
	answer := answerOf[web.LoginAnswer](t, address, "/api/v1/local/login/poll", poll)
	if answer.State != web.LoginApproved || answer.Token == nil {
		t.Fatalf("%+v", answer)
	}
	token := *answer.Token
	if token.Name != "ann-laptop-2" || token.Scope != "operator" || !token.ExpiresAt.Equal(end) || !strings.HasPrefix(token.CreatedBy, "page of token ann from 127.0.0.1") {
		t.Errorf("%+v", token.TokenInfo)
	}
	if again := answerOf[web.LoginAnswer](t, address, "/api/v1/local/login/poll", poll); again.State != web.LoginExpired {
		t.Errorf("the token is told twice: %+v", again)
	}
	if status, said := ask(t, "GET", address, "/api/v1/runs", token.Token, ""); status != http.StatusOK {
		t.Errorf("%d %s", status, said)
	}
	if _, err := p.engine.RemoveAccessToken(t.Context(), "ann"); err != nil {
		t.Fatal(err)
	}
	if status, said := ask(t, "GET", address, "/api/v1/runs", token.Token, ""); status != http.StatusUnauthorized {
		t.Errorf("the token of who approved it is removed: %d %s", status, said)
	}
}

// TestALoginThatNobodyMayGive: who lacks the scope can't approve it, who refuses does, and a
// code that is wrong is no login.
func TestALoginThatNobodyMayGive(t *testing.T) {
	p := newProduct(t)
	_, address := p.listen(p.withDevices)
	bob := p.person(address, p.token(access.NewToken{Name: "bob", Scope: "operator"}))
	begun := answerOf[web.LoginBegun](t, address, "/api/v1/local/login", `{"machine": "<b>evil</b>\u001b[31m", "scope": "admin"}`)
	poll := `{"device_code": "` + begun.DeviceCode + `"}`
	said, _ := bob.see(begun.Path)
	if strings.Contains(said, "Log it in") || !strings.Contains(said, "Log in here as admin") || strings.Contains(said, "<b>evil") {
		t.Errorf("an operator sees:\n%s", said)
	}
	asked := answerOf[web.LoginBegun](t, address, "/api/v1/local/login", `{"machine": "x", "scope": "viewer"}`)
	_, csrf := bob.see(asked.Path)
	if status := bob.decide(begun.UserCode, csrf, "approve"); status != http.StatusForbidden {
		t.Errorf("an operator approves an admin: %d", status)
	}
	if answer := answerOf[web.LoginAnswer](t, address, "/api/v1/local/login/poll", poll); answer.State != web.LoginPending {
		t.Errorf("%+v", answer)
	}
	if status := bob.decide(begun.UserCode, csrf, "refuse"); status != http.StatusOK {
		t.Errorf("%d", status)
	}
	if answer := answerOf[web.LoginAnswer](t, address, "/api/v1/local/login/poll", poll); answer.State != web.LoginDenied || answer.Token != nil {
		t.Errorf("%+v", answer)
	}
	if status := bob.decide("BCDF-BCDF", csrf, "approve"); status != http.StatusNotFound {
		t.Errorf("a wrong code: %d", status)
	}
	for body, want := range map[string]int{`{"machine": "a", "scope": "root"}`: 422, `{"machine": "a", "scope": "viewer", "expires_at": "2001-01-01T00:00:00Z"}`: 422, `{"machine": "a", "scope": "viewer", "expires_at": "2999-01-01T00:00:00Z"}`: 422, `{"machine": "` + strings.Repeat("a", 5000) + `", "scope": "viewer"}`: 413} {
		if status, said := ask(t, "POST", address, "/api/v1/local/login", "", body); status != want {
			t.Errorf("%.80s: %d %s", body, status, said)
		}
	}
	if tokens := p.tokens(t); len(tokens) != 1 {
		t.Errorf("%+v", tokens)
	}
}

// TestATokenEndsItself: that is what a logout asks for. No other token can be named.
func TestATokenEndsItself(t *testing.T) {
	p := newProduct(t)
	_, address := p.listen()
	own, other := p.token(access.NewToken{Name: "own", Scope: "viewer"}), p.token(access.NewToken{Name: "other", Scope: "viewer"})
	if status, said := ask(t, "POST", address, "/api/v1/local/logout", own, `{"name": "other"}`); status != http.StatusBadRequest {
		t.Errorf("%d %s", status, said)
	}
	if status, said := ask(t, "POST", address, "/api/v1/local/logout", own, `{}`); status != http.StatusOK {
		t.Fatalf("%d %s", status, said)
	}
	for token, want := range map[string]int{own: http.StatusUnauthorized, other: http.StatusOK} {
		if status, _ := ask(t, "GET", address, "/api/v1/runs", token, ""); status != want {
			t.Errorf("%d, want %d", status, want)
		}
	}
}
