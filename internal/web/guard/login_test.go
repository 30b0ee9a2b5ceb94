package guard

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

var formType = []string{"Content-Type", "application/x-www-form-urlencoded"}

func cookieOf(t *testing.T, response *http.Response) *http.Cookie {
	t.Helper()
	if len(response.Cookies()) != 1 {
		t.Fatalf("status %d, cookies %v", response.StatusCode, response.Cookies())
	}
	return response.Cookies()[0]
}

func TestALoginLinkIsGoodOnce(t *testing.T) {
	f := newFixture(t)
	path, err := f.LoginPath("ann", Admin)
	if err != nil {
		t.Fatal(err)
	}
	if got := f.ask("HEAD", path, "").StatusCode; got != http.StatusOK {
		t.Errorf("HEAD: %d", got)
	}
	if response := f.ask("GET", path, ""); response.StatusCode != http.StatusOK || len(response.Cookies()) > 0 || !strings.Contains(bodyOf(t, response), `name="code"`) {
		t.Errorf("its page: %d, cookies %v", response.StatusCode, response.Cookies())
	}
	response := press(f, path)
	if response.StatusCode != http.StatusSeeOther || response.Header.Get("Location") != "/" {
		t.Fatalf("status %d to %q", response.StatusCode, response.Header.Get("Location"))
	}
	cookie := cookieOf(t, response)
	if !cookie.HttpOnly || cookie.SameSite != http.SameSiteStrictMode || cookie.Path != "/" || cookie.Domain != "" || cookie.Secure {
		t.Errorf("cookie %+v", cookie)
	}
	if strings.Contains(path, cookie.Value) {
		t.Error("the link holds the session")
	}
	header := cookie.Name + "=" + cookie.Value
	if got := f.ask("GET", "/", "", "Cookie", header).StatusCode; got != http.StatusOK {
		t.Errorf("the session: %d", got)
	}
	if f.served[len(f.served)-1] != "GET /{$} by page of ann from 192.0.2.1" {
		t.Errorf("served %v", f.served)
	}
	second := f.ask("GET", path, "")
	if second.StatusCode != http.StatusUnauthorized || len(second.Cookies()) > 0 {
		t.Errorf("once more: %d, cookies %v", second.StatusCode, second.Cookies())
	}
	if text := bodyOf(t, second); !strings.Contains(text, "flowrun tokens link") || !strings.Contains(text, `name="token"`) {
		t.Errorf("the page does not say what to do: %s", text)
	}
	if again := f.ask("GET", path, "", "Cookie", header); again.StatusCode != http.StatusSeeOther {
		t.Errorf("once more by who is in: %d", again.StatusCode)
	}
	if pressed := f.ask("POST", "/login", "code="+strings.TrimPrefix(path, "/login?code="), append(formType, "Cookie", header)...); pressed.StatusCode != http.StatusSeeOther || len(pressed.Cookies()) > 0 {
		t.Errorf("the button twice: %d", pressed.StatusCode)
	}
	if pressed := press(f, path); pressed.StatusCode != http.StatusUnauthorized || len(pressed.Cookies()) > 0 {
		t.Errorf("the button by somebody else: %d", pressed.StatusCode)
	}
}

// press presses the button of a login link's page.
func press(f *fixture, path string) *http.Response {
	return f.ask("POST", "/login", "code="+strings.TrimPrefix(path, "/login?code="), formType...)
}

// TestALoginLinkInTheForm: who finds the form in the place of a page has its link in
// the clipboard.
func TestALoginLinkInTheForm(t *testing.T) {
	f := newFixture(t)
	path, err := f.LoginPath("ann", Admin)
	if err != nil {
		t.Fatal(err)
	}
	form := url.Values{"token": {"http://127.0.0.1:7070" + path + "\n"}, "next": {"/runs/a"}}.Encode()
	if got := f.ask("POST", "/login", form, formType...); got.StatusCode != http.StatusSeeOther || got.Header.Get("Location") != "/runs/a" {
		t.Errorf("%d to %q", got.StatusCode, got.Header.Get("Location"))
	}
	if got := f.ask("POST", "/login", form, formType...); got.StatusCode != http.StatusUnauthorized {
		t.Errorf("once more: %d", got.StatusCode)
	}
}

func TestALoginLinkExpires(t *testing.T) {
	f := newFixture(t)
	path, err := f.LoginPath("ann", Admin)
	if err != nil {
		t.Fatal(err)
	}
	f.clock = f.clock.Add(linkLife)
	if got := f.ask("GET", path, "").StatusCode; got != http.StatusUnauthorized {
		t.Errorf("after 15 minutes: %d", got)
	}
}

func TestThereAreNotLoginLinksWithoutEnd(t *testing.T) {
	f := newFixture(t)
	for range maxLinks {
		if _, err := f.LoginPath("ann", Admin); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := f.LoginPath("ann", Admin); err == nil {
		t.Error("one more is made")
	}
	f.clock = f.clock.Add(linkLife)
	if _, err := f.LoginPath("ann", Admin); err != nil {
		t.Errorf("when they are old: %v", err)
	}
}

func TestTheCookieOfAServerWithTLS(t *testing.T) {
	f := newFixture(t, func(o *Options) { o.Secure = true })
	path, err := f.LoginPath("ann", Admin)
	if err != nil {
		t.Fatal(err)
	}
	if cookie := cookieOf(t, press(f, path)); !cookie.Secure || !strings.HasPrefix(cookie.Name, "__Host-") {
		t.Errorf("cookie %+v", cookie)
	}
}

func TestTheLoginFormLeadsBack(t *testing.T) {
	cases := map[string]struct{ next, want string }{
		"to a page":                       {"/runs/a?x=1&y=%2F", "/runs/a?x=1&y=%2F"},
		"home without one":                {"", "/"},
		"not to another site":             {"https://evil.example/", "/"},
		"not to another host":             {"//evil.example/", "/"},
		"not with a backslash":            {`/\evil.example/`, "/"},
		"not with a hidden tab":           {"/\t/evil.example", "/"},
		"not with a line feed":            {"/a\r\nSet-Cookie: x=y", "/"},
		"not to a script":                 {"javascript:alert(1)", "/"},
		"not to the form again":           {"/login?next=/login", "/"},
		"not to the logout":               {"/logout", "/"},
		"not to a path without a slash":   {"runs", "/"},
		"not to a user of another host":   {"//a@evil.example", "/"},
		"to a page whose name is strange": {"/workflows/a%20b", "/workflows/a%20b"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			response := f.ask("POST", "/login", url.Values{"token": {" viewer\n"}, "next": {c.next}}.Encode(), formType...)
			if response.StatusCode != http.StatusSeeOther || response.Header.Get("Location") != c.want {
				t.Errorf("%d to %q, want %q", response.StatusCode, response.Header.Get("Location"), c.want)
			}
		})
	}
}

func TestAPersonWithoutASessionGetsTheForm(t *testing.T) {
	f := newFixture(t)
	response := f.ask("GET", "/runs/a?tab=<log>", "", "Accept", "text/html,application/xhtml+xml")
	text := bodyOf(t, response)
	if response.StatusCode != http.StatusUnauthorized || !strings.Contains(text, `action="/login"`) || !strings.Contains(text, `value="/runs/a?tab=&lt;log&gt;"`) {
		t.Errorf("%d %s", response.StatusCode, text)
	}
	if strings.Contains(text, `http-equiv="refresh"`) {
		t.Error("it loads itself again and again")
	}
	program := f.ask("GET", "/ui/stream", "", "Accept", "text/event-stream")
	if program.StatusCode != http.StatusUnauthorized || program.Header.Get("Content-Type") != "application/problem+json" {
		t.Errorf("a script gets %d %s", program.StatusCode, program.Header.Get("Content-Type"))
	}
}

// TestALinkOnAnotherSiteLeadsIn: its request has no cookie, since that is
// SameSite=Strict; the page that it gets asks once more by itself.
func TestALinkOnAnotherSiteLeadsIn(t *testing.T) {
	f := newFixture(t)
	from := []string{"Accept", "text/html", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Site"}
	if text := bodyOf(t, f.ask("GET", "/runs/a", "", append(from, "cross-site")...)); !strings.Contains(text, `<meta http-equiv="refresh" content="0">`) {
		t.Errorf("from another site: %s", text)
	}
	if text := bodyOf(t, f.ask("GET", "/runs/a", "", append(from, "same-origin")...)); strings.Contains(text, "refresh") {
		t.Errorf("the second time: %s", text)
	}
}

func TestAnOldCookieIsTakenAway(t *testing.T) {
	f := newFixture(t)
	response := f.ask("GET", "/", "", "Cookie", "flowrun_session_7070=old", "Accept", "text/html")
	if cookie := cookieOf(t, response); cookie.Value != "" || cookie.MaxAge >= 0 {
		t.Errorf("cookie %+v", cookie)
	}
}

func TestLogoutEndsTheSession(t *testing.T) {
	f := newFixture(t)
	cookie, mark := f.logIn("viewer")
	if got := f.ask("POST", "/logout", "", append(formType, "Cookie", cookie)...).StatusCode; got != http.StatusForbidden {
		t.Errorf("without the mark: %d", got)
	}
	if got := f.ask("GET", "/logout", "", "Cookie", cookie).StatusCode; got != http.StatusMethodNotAllowed {
		t.Errorf("by a link: %d", got)
	}
	response := f.ask("POST", "/logout", "csrf="+mark, append(formType, "Cookie", cookie)...)
	if response.StatusCode != http.StatusSeeOther || response.Header.Get("Location") != "/login" {
		t.Errorf("%d to %q", response.StatusCode, response.Header.Get("Location"))
	}
	if got := f.ask("GET", "/", "", "Cookie", cookie).StatusCode; got != http.StatusUnauthorized {
		t.Errorf("afterwards: %d", got)
	}
}

func TestALoginMakesANewSession(t *testing.T) {
	f := newFixture(t)
	cookie, _ := f.logIn("viewer")
	response := f.ask("POST", "/login", "token=admin", append(formType, "Cookie", cookie)...)
	if fresh := cookieOf(t, response); strings.Contains(cookie, fresh.Value) {
		t.Error("the session of before goes on")
	}
	if got := f.ask("GET", "/", "", "Cookie", cookie).StatusCode; got != http.StatusUnauthorized {
		t.Errorf("the session of before: %d", got)
	}
}

func TestSessionsEnd(t *testing.T) {
	f := newFixture(t)
	cookie, _ := f.logIn("viewer")
	alive := func() bool { return f.ask("GET", "/", "", "Cookie", cookie).StatusCode == http.StatusOK }
	for day := range 14 { // used twice a day
		f.clock = f.clock.Add(sessionIdle - time.Second)
		if !alive() {
			t.Fatalf("over after %d times", day)
		}
	}
	f.clock = f.clock.Add(sessionIdle - time.Second)
	if alive() {
		t.Error("it goes on after a week")
	}
	cookie, _ = f.logIn("viewer")
	f.clock = f.clock.Add(sessionIdle)
	if alive() {
		t.Error("it goes on after twelve hours of rest")
	}
	cookie, _ = f.logIn("viewer")
	f.authority.remove("viewer")
	if alive() {
		t.Error("it outlives its token")
	}
}

func TestThereAreNotSessionsWithoutEnd(t *testing.T) {
	f := newFixture(t)
	first, _ := f.sessions.begin("page of a", "", Viewer)
	for range maxSessions {
		f.clock = f.clock.Add(time.Millisecond)
		if _, err := f.sessions.begin("page of b", "", Viewer); err != nil {
			t.Fatal(err)
		}
	}
	if len(f.sessions.byID) != maxSessions || f.sessions.get(hashOf(first), false) != nil {
		t.Errorf("%d sessions, the oldest among them: %v", len(f.sessions.byID), f.sessions.get(hashOf(first), false) != nil)
	}
}

// TestAStreamEndsWithItsToken, and that of a session with its logout.
func TestAStreamEndsWithItsToken(t *testing.T) {
	f := newFixture(t)
	ctx, end := f.live.begin(context.Background(), "viewer")
	defer end()
	f.Recheck(context.Background())
	if ctx.Err() != nil {
		t.Fatal("it ended too early")
	}
	f.authority.remove("viewer")
	f.Recheck(context.Background())
	if ctx.Err() == nil {
		t.Error("it goes on without its token")
	}
	cookie, mark := f.logIn("operator")
	_, value, _ := strings.Cut(cookie, "=")
	streamed, end := f.live.begin(context.Background(), hashOf(value))
	defer end()
	f.Recheck(context.Background())
	if streamed.Err() != nil {
		t.Fatal("the session's stream ended too early")
	}
	f.ask("POST", "/logout", "csrf="+mark, append(formType, "Cookie", cookie)...)
	if streamed.Err() == nil {
		t.Error("the session's stream goes on after the logout")
	}
}
