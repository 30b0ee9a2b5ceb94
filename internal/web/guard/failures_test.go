package guard

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

func TestTenWrongTokensAMinute(t *testing.T) {
	f := newFixture(t)
	wrong := []string{"Authorization", "Bearer wrong"}
	for i := range maxFailures {
		if got := f.ask("GET", "/api/v1/runs", "", wrong...).StatusCode; got != http.StatusUnauthorized {
			t.Fatalf("wrong token %d: %d", i+1, got)
		}
		f.clock = f.clock.Add(time.Second)
	}
	blocked := f.ask("GET", "/api/v1/runs", "", wrong...)
	if blocked.StatusCode != http.StatusTooManyRequests || blocked.Header.Get("Retry-After") != "50" {
		t.Errorf("the eleventh: %d, Retry-After %q", blocked.StatusCode, blocked.Header.Get("Retry-After"))
	}
	if got := f.ask("GET", "/api/v1/runs", "", "Authorization", "Bearer admin").StatusCode; got != http.StatusOK {
		t.Errorf("a right token: %d", got)
	}
	if got := f.ask("POST", "/login", "token=admin", formType...).StatusCode; got != http.StatusSeeOther {
		t.Errorf("one in the form: %d", got)
	}
	if got := f.ask("GET", "/login?code=x", "").StatusCode; got != http.StatusTooManyRequests {
		t.Errorf("a wrong login link: %d", got)
	}
	if got := f.ask("GET", "/api/v1/runs", "").StatusCode; got != http.StatusUnauthorized {
		t.Errorf("no token at all: %d", got)
	}
	if got := f.ask("GET", "/healthz", "").StatusCode; got != http.StatusOK {
		t.Errorf("health: %d", got)
	}
	other := request("GET", "/api/v1/runs", "", "Authorization", "Bearer admin")
	other.RemoteAddr = "192.0.2.2:1"
	if got := f.do(other).StatusCode; got != http.StatusOK {
		t.Errorf("another address: %d", got)
	}
	for range 100 { // what is refused prolongs nothing
		f.ask("GET", "/api/v1/runs", "", wrong...)
	}
	f.clock = f.clock.Add(50 * time.Second)
	if got := f.ask("GET", "/api/v1/runs", "", wrong...).StatusCode; got != http.StatusUnauthorized {
		t.Errorf("a minute after the first: %d", got)
	}
}

// TestWhoWorksIsNotLockedOut by wrong tokens of others behind the same address.
func TestWhoWorksIsNotLockedOut(t *testing.T) {
	f := newFixture(t)
	cookie, _ := f.logIn("operator")
	f.ask("GET", "/api/v1/runs", "", "Authorization", "Bearer viewer")
	for range maxFailures + 1 {
		f.ask("GET", "/api/v1/runs", "", "Authorization", "Bearer wrong")
	}
	if got := f.ask("GET", "/api/v1/runs", "", "Authorization", "Bearer viewer").StatusCode; got != http.StatusOK {
		t.Errorf("a token that was used before: %d", got)
	}
	if got := f.ask("GET", "/", "", "Cookie", cookie).StatusCode; got != http.StatusOK {
		t.Errorf("a session: %d", got)
	}
}

// TestAnOldCookieIsNoGuess: a browser sends it with every request.
func TestAnOldCookieIsNoGuess(t *testing.T) {
	f := newFixture(t)
	for range 3 * maxFailures {
		if got := f.ask("GET", "/", "", "Cookie", "flowrun_session_7070=old").StatusCode; got != http.StatusUnauthorized {
			t.Fatal(got)
		}
	}
	if got := f.ask("POST", "/login", "token=admin", formType...).StatusCode; got != http.StatusSeeOther {
		t.Errorf("the login afterwards: %d", got)
	}
}

// TestWrongSignaturesOfHooks are refused; right ones always pass.
func TestWrongSignaturesOfHooks(t *testing.T) {
	status := http.StatusUnauthorized
	hook := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
	clock := time.Unix(1000, 0)
	g, err := New([]Route{{Pattern: "POST /hooks/{workflow}/{trigger}", Face: FaceHook, Handler: hook}},
		Options{Authority: &fakeAuthority{}, Now: func() time.Time { return clock }, Entropy: &counter{}, LoginPage: plainLogin})
	if err != nil {
		t.Fatal(err)
	}
	send := func(path string) int {
		w := httptest.NewRecorder()
		g.ServeHTTP(w, request("POST", path, "{}"))
		return w.Code
	}
	for range maxFailures {
		if got := send("/hooks/a/b"); got != http.StatusUnauthorized {
			t.Fatal(got)
		}
	}
	if got := send("/hooks/a/b"); got != http.StatusTooManyRequests {
		t.Errorf("the eleventh: %d", got)
	}
	if got := send("/hooks/a/c"); got != http.StatusUnauthorized {
		t.Errorf("another hook: %d", got)
	}
	status = http.StatusAccepted
	if got := send("/hooks/a/b"); got != http.StatusAccepted {
		t.Errorf("a right one: %d", got)
	}
}

func TestFailuresAreCountedByNetwork(t *testing.T) {
	for address, want := range map[string]string{
		"192.0.2.1":             "192.0.2.1",
		"::ffff:192.0.2.1":      "192.0.2.1",
		"2001:db8:1:2:3:4:5:6":  "2001:db8:1:2::/64",
		"2001:db8:1:2:aaaa::1":  "2001:db8:1:2::/64",
		"::1":                   "::1",
		"fe80::1%eth0":          "fe80::/64",
		"not an address at all": "not an address at all",
	} {
		if got := networkOf(address); got != want {
			t.Errorf("%s: %s, want %s", address, got, want)
		}
	}
}

func TestAddressesAreNotKeptWithoutEnd(t *testing.T) {
	now := time.Unix(0, 0)
	f := newFailures(func() time.Time { return now })
	for i := range maxAddresses + 100 {
		now = now.Add(time.Millisecond)
		f.add(fmt.Sprint(i))
	}
	if len(f.byKey) > maxAddresses {
		t.Errorf("%d addresses are kept", len(f.byKey))
	}
	if _, kept := f.byKey["0"]; kept {
		t.Error("the oldest is kept")
	}
	now = now.Add(time.Hour)
	f.add("new")
	if len(f.byKey) != 1 {
		t.Errorf("%d are kept after an hour", len(f.byKey))
	}
}
