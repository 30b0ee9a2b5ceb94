package serve

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/access"
	"github.com/flowrun/flowrun/internal/web"
)

// TestIssue12_20SessionsSurviveARestart: the cookie goes on, with the mark of its
// forms; one that has ended, by logout, time or token, stays ended.
func TestIssue12_20SessionsSurviveARestart(t *testing.T) {
	p := newProduct(t)
	gate := func(o *web.ServerOptions) { o.API.Gate = web.NewGate() }
	server, address := p.listen(gate)
	logIn := func(token string) string {
		status, header, text := askAt(t, address, "POST", "/login", "token="+token, formHeader)
		cookie, _, _ := strings.Cut(header.Get("Set-Cookie"), ";")
		if status != http.StatusSeeOther || cookie == "" {
			t.Fatalf("log in: %d %s", status, text)
		}
		_, value, _ := strings.Cut(cookie, "=")
		return value
	}
	ask := func(method, path, value, body string) (int, string) {
		port := address[strings.LastIndex(address, ":")+1:]
		headers := []string{"Cookie: flowrun_session_" + port + "=" + value, "Accept: text/html"}
		if body != "" {
			headers = append(headers, formHeader)
		}
		status, _, text := askAt(t, address, method, path, body, headers...)
		return status, text
	}
	stays := logIn(p.token(access.NewToken{Scope: "operator"}))
	leaves := logIn(p.token(access.NewToken{Scope: "operator"}))
	loses := logIn(p.token(access.NewToken{Name: "lost", Scope: "operator"}))
	_, page := ask("GET", "/schedules/hello/morning", stays, "")
	mark := markIn(page)
	_, page = ask("GET", "/runs", leaves, "")
	if status, _ := ask("POST", "/logout", leaves, "csrf="+markIn(page)); status != http.StatusSeeOther {
		t.Fatalf("log out: %d", status)
	}
	restart := func() {
		if err := server.Close(context.Background()); err != nil {
			t.Fatal(err)
		}
		server, address = p.listen(gate)
	}
	restart()
	if _, err := p.engine.RemoveAccessToken(t.Context(), "lost"); err != nil {
		t.Fatal(err)
	}
	if status, _ := ask("GET", "/runs", stays, ""); status != http.StatusOK {
		t.Errorf("after a restart: %d", status)
	}
	if status, _ := ask("POST", "/schedules/hello/morning/pause", stays, "reason=x&csrf="+mark); status != http.StatusSeeOther || !p.paused(t) {
		t.Errorf("a form of before: %d", status)
	}
	for name, value := range map[string]string{"one that was logged out": leaves, "one whose token is removed": loses, "none": "AAAA"} {
		if status, _ := ask("GET", "/runs", value, ""); status != http.StatusUnauthorized {
			t.Errorf("%s: %d", name, status)
		}
	}
	p.clock.add(11 * time.Hour)
	if status, _ := ask("GET", "/runs", stays, ""); status != http.StatusOK {
		t.Errorf("after eleven hours: %d", status)
	}
	restart() // the use is stored with the end
	p.clock.add(11 * time.Hour)
	if status, _ := ask("GET", "/runs", stays, ""); status != http.StatusOK {
		t.Errorf("after eleven hours more: %d", status)
	}
	p.clock.add(13 * time.Hour)
	restart()
	if status, _ := ask("GET", "/runs", stays, ""); status != http.StatusUnauthorized {
		t.Errorf("after thirteen hours of rest: %d", status)
	}
}

// markIn returns the mark of a page's forms.
func markIn(page string) string {
	_, rest, _ := strings.Cut(page, `name="csrf" value="`)
	mark, _, _ := strings.Cut(rest, `"`)
	return mark
}
