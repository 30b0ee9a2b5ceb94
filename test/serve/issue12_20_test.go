package serve

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"github.com/flowrun/flowrun/engine/access"
	"github.com/flowrun/flowrun/internal/web"
	"github.com/flowrun/flowrun/internal/web/guard"
)

// askAt sends a request on a connection of its own and returns the answer.
func askAt(t *testing.T, address, method, target, body string, headers ...string) (status int, header http.Header, text string) {
	t.Helper()
	c := &connection{t: t, address: address}
	defer c.close()
	status, header, data := c.send(raw(method, target, address, body, headers...))
	return status, header, string(data)
}

const formHeader = "Content-Type: application/x-www-form-urlencoded"

// freshLink makes the path of a login link.
func freshLink(t *testing.T, server *web.Server) string {
	t.Helper()
	link, err := server.LoginLink("ann", guard.Admin)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := url.Parse(link)
	if err != nil {
		t.Fatal(err)
	}
	return parsed.RequestURI()
}

// TestIssue12_20ARightCredentialAlwaysPasses: wrong ones of the same address, of
// whatever kind and number, are counted and refused, and hold up nothing else: not a
// token that was never used, not a login link, not the form.
func TestIssue12_20ARightCredentialAlwaysPasses(t *testing.T) {
	p := newProduct(t)
	server, address := p.listen()
	seen := map[int]int{}
	for range 30 {
		for _, send := range [][]string{
			{"GET", "/api/v1/runs", "", "Authorization: Bearer frt_wrong"},
			{"POST", "/login", "token=frt_wrong", formHeader},
			{"GET", "/login?code=wrong", ""},
			{"POST", "/login", "code=wrong", formHeader},
		} {
			status, header, _ := askAt(t, address, send[0], send[1], send[2], send[3:]...)
			if seen[status]++; status != http.StatusUnauthorized && status != http.StatusTooManyRequests {
				t.Fatalf("%q: %d", send, status)
			}
			if (status == http.StatusTooManyRequests) != (header.Get("Retry-After") != "") {
				t.Errorf("%q: %d, Retry-After %q", send, status, header.Get("Retry-After"))
			}
		}
	}
	if seen[http.StatusUnauthorized] != 10 {
		t.Errorf("answers by status: %v; ten are said to be wrong, the others to be too many", seen)
	}
	token := p.token(access.NewToken{Scope: "viewer"})
	if status, _, text := askAt(t, address, "GET", "/api/v1/runs", "", "Authorization: Bearer "+token); status != http.StatusOK {
		t.Errorf("a new token: %d %s", status, text)
	}
	if status, header, _ := askAt(t, address, "POST", "/login", "token="+p.token(access.NewToken{Scope: "viewer"}), formHeader); status != http.StatusSeeOther || header.Get("Set-Cookie") == "" {
		t.Errorf("a new token in the form: %d", status)
	}
	code := strings.TrimPrefix(freshLink(t, server), "/login?code=")
	if status, header, _ := askAt(t, address, "POST", "/login", "code="+code, formHeader); status != http.StatusSeeOther || header.Get("Set-Cookie") == "" {
		t.Errorf("a fresh login link: %d", status)
	}
	status, _, text := askAt(t, address, "GET", "/runs", "", "Accept: text/html")
	if status != http.StatusUnauthorized || !strings.Contains(text, `name="token"`) {
		t.Errorf("the form: %d", status)
	}
	status, _, text = askAt(t, address, "POST", "/login", "token=frt_wrong", formHeader, "Accept: text/html")
	if status != http.StatusTooManyRequests || !strings.Contains(text, `name="token"`) {
		t.Errorf("the form after one wrong token more: %d, and it has no field for another", status)
	}
}

// TestIssue12_20ALoginLinkIsThereForWhoPressesTheButton: programs that look at links,
// of chats, mail servers and browsers, do not use it up.
func TestIssue12_20ALoginLinkIsThereForWhoPressesTheButton(t *testing.T) {
	p := newProduct(t)
	server, address := p.listen()
	link := freshLink(t, server)
	for _, previewer := range []string{"Slackbot-LinkExpanding 1.0", "Mozilla/5.0 (compatible; preview)", ""} {
		for _, method := range []string{"HEAD", "GET", "GET"} {
			status, header, text := askAt(t, address, method, link, "", "User-Agent: "+previewer, "Sec-Purpose: prefetch", "Accept: */*")
			if status != http.StatusOK || header.Get("Set-Cookie") != "" {
				t.Fatalf("%s by %q: %d, cookie %q", method, previewer, status, header.Get("Set-Cookie"))
			}
			if method == "GET" && (!strings.Contains(text, `<form method="post" action="/login"`) || strings.Contains(text, "<script")) {
				t.Errorf("the page has no form that works without JavaScript: %s", text)
			}
			if !strings.Contains(header.Get("Cache-Control"), "no-store") || header.Get("Referrer-Policy") != "same-origin" {
				t.Errorf("the page may be kept, or its address told: %v", header)
			}
		}
	}
	code := strings.TrimPrefix(link, "/login?code=")
	status, header, _ := askAt(t, address, "POST", "/login", "code="+code, formHeader)
	if status != http.StatusSeeOther || header.Get("Location") != "/" || header.Get("Set-Cookie") == "" {
		t.Fatalf("the button: %d to %q", status, header.Get("Location"))
	}
	if status, header, _ := askAt(t, address, "POST", "/login", "code="+code, formHeader); status != http.StatusUnauthorized || header.Get("Set-Cookie") != "" {
		t.Errorf("the button once more, by somebody else: %d", status)
	}
	if status, _, _ := askAt(t, address, "GET", link, ""); status != http.StatusUnauthorized {
		t.Errorf("its page afterwards: %d", status)
	}
}

// TestIssue12_20AFormIsThereAgainAfterTheLogin sends a form with an ended session,
// logs in, and sends what the page then offers: it is done once, and never by an
// address or by itself.
func TestIssue12_20AFormIsThereAgainAfterTheLogin(t *testing.T) {
	p := newProduct(t)
	_, address := p.listen()
	form := url.Values{"csrf": {"of an ended session"}, "once": {"1"}, "back": {"/schedules/hello/morning"}, "reason": {"a <b>long</b> holiday"}}.Encode()
	status, header, page := askAt(t, address, "POST", "/schedules/hello/morning/pause", form, formHeader, "Accept: text/html", "Origin: http://"+address, "Cookie: flowrun_session=ended")
	if status != http.StatusUnauthorized || header.Get("Location") != "" {
		t.Fatalf("%d to %q", status, header.Get("Location"))
	}
	login := inputsOf(page)
	login.Set("token", "frt_wrong")
	status, _, page = askAt(t, address, "POST", "/login", login.Encode(), formHeader, "Accept: text/html", "Origin: http://"+address)
	if status != http.StatusUnauthorized {
		t.Fatalf("a wrong token: %d", status)
	}
	login = inputsOf(page)
	login.Set("token", p.token(access.NewToken{Scope: "operator"}))
	status, header, page = askAt(t, address, "POST", "/login", login.Encode(), formHeader, "Accept: text/html", "Origin: http://"+address)
	if status != http.StatusOK || !strings.Contains(page, "a &lt;b&gt;long&lt;/b&gt; holiday") || !strings.Contains(page, `action="/schedules/hello/morning/pause"`) {
		t.Fatalf("after the login: %d %s", status, page)
	}
	if p.paused(t) {
		t.Fatal("it was done by the login alone")
	}
	cookie, _, _ := strings.Cut(header.Get("Set-Cookie"), ";")
	again := inputsOf(page)
	if again.Get("once") != "1" || again.Get("csrf") == "" || again.Get("csrf") == "of an ended session" {
		t.Fatalf("the form has %v", again)
	}
	status, header, text := askAt(t, address, "POST", "/schedules/hello/morning/pause", again.Encode(), formHeader, "Accept: text/html", "Origin: http://"+address, "Cookie: "+cookie)
	if status != http.StatusSeeOther || !p.paused(t) {
		t.Errorf("sent again: %d to %q: %s", status, header.Get("Location"), text)
	}
}

// TestIssue12_20AFormOfTheSessionBefore: logged in again in another tab, the form of
// the first one is offered again with the mark of now.
func TestIssue12_20AFormOfTheSessionBefore(t *testing.T) {
	p := newProduct(t)
	_, address := p.listen()
	session := p.session(address)
	form := url.Values{"csrf": {"of the session before"}, "reason": {"holiday"}}.Encode()
	send := func(body string, headers ...string) (int, string) {
		status, _, text := askAt(t, address, "POST", "/schedules/hello/morning/pause", body, append(append([]string{formHeader, "Accept: text/html"}, headers...), session.headers...)...)
		return status, text
	}
	status, page := send(form, "Origin: http://"+address)
	if status != http.StatusForbidden || inputsOf(page).Get("reason") != "holiday" || p.paused(t) {
		t.Fatalf("%d %s", status, page)
	}
	if status, _ := send(inputsOf(page).Encode(), "Origin: http://"+address); status != http.StatusSeeOther || !p.paused(t) {
		t.Errorf("sent again: %d", status)
	}
	if status, page := send(form); status != http.StatusForbidden || inputsOf(page).Get("csrf") != "" {
		t.Errorf("without an origin, which every browser tells: %d %s", status, page)
	}
}

// inputsOf returns the fields of the last form of a page.
func inputsOf(page string) url.Values {
	values := url.Values{}
	if at := strings.LastIndex(page, "<form "); at >= 0 {
		page = page[at:]
	}
	for _, tag := range strings.Split(page, "<input ")[1:] {
		tag, _, _ = strings.Cut(tag, ">")
		name, value := attribute(tag, "name"), attribute(tag, "value")
		values.Add(name, value)
	}
	return values
}

func attribute(tag, name string) string {
	_, rest, found := strings.Cut(tag, name+`="`)
	if !found {
		return ""
	}
	value, _, _ := strings.Cut(rest, `"`)
	return strings.NewReplacer("&lt;", "<", "&gt;", ">", "&#34;", `"`, "&#43;", "+", "&amp;", "&").Replace(value)
}

// paused reports whether the schedule is.
func (p *product) paused(t *testing.T) bool {
	t.Helper()
	items, err := p.engine.Schedules(t.Context())
	if err != nil || len(items) != 1 {
		t.Fatalf("schedules: %v, %v", items, err)
	}
	data, err := json.Marshal(items[0])
	if err != nil {
		t.Fatal(err)
	}
	var item struct{ Paused bool }
	if err := json.Unmarshal(data, &item); err != nil {
		t.Fatal(err)
	}
	return item.Paused
}

// TestIssue12_20SpoofedProxyHeaders: without trusted proxies nobody is somebody else by
// saying so; with them their clients are told apart.
func TestIssue12_20SpoofedProxyHeaders(t *testing.T) {
	for name, c := range map[string]struct {
		trusted []netip.Prefix
		want    int // how many of 30 are said to be wrong, and not too many
	}{
		"nobody is trusted":       {nil, 10},
		"another network is":      {[]netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}, 10},
		"the proxy before us is":  {[]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, 30},
		"a client's own headers":  {[]netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}, 30},
		"but not for its clients": {[]netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}, 10},
	} {
		t.Run(name, func(t *testing.T) {
			p := newProduct(t)
			_, address := p.listen(func(o *web.ServerOptions) { o.TrustedProxies = c.trusted })
			wrong := 0
			for i := range 30 {
				said := fmt.Sprintf("X-Forwarded-For: 198.51.100.%d", i)
				if name == "but not for its clients" { // what stands left of the client is its own word
					said += ", 203.0.113.9"
				}
				status, _, _ := askAt(t, address, "GET", "/api/v1/runs", "", "Authorization: Bearer frt_wrong", said)
				if status == http.StatusUnauthorized {
					wrong++
				}
			}
			if wrong != c.want {
				t.Errorf("%d of 30 wrong tokens are 401, the others 429; want %d", wrong, c.want)
			}
		})
	}
}
