package guard

import (
	"net"
	"net/http"
	"testing"
)

func TestRequestsAreSentToAHostOfOurs(t *testing.T) {
	f := newFixture(t, func(o *Options) { o.Hosts = []string{"Flow.example.com", "other.example.com:8443"} })
	cases := map[string]struct {
		host string
		want int
	}{
		"the address":                       {"127.0.0.1:7070", 200},
		"the address without a port":        {"127.0.0.1", 200},
		"the name of loopback":              {"localhost:7070", 200},
		"the same in capitals":              {"LOCALHOST:7070", 200},
		"the port of a tunnel":              {"localhost:9000", 200},
		"a name of the file":                {"flow.example.com", 200},
		"such a name with a port":           {"flow.example.com:443", 200},
		"such a name in capitals":           {"FLOW.EXAMPLE.COM", 200},
		"a name with its port":              {"other.example.com:8443", 200},
		"a name with another port":          {"other.example.com:8444", 421},
		"a foreign name":                    {"evil.example", 421},
		"a foreign name with our port":      {"evil.example:7070", 421},
		"a name below one of ours":          {"x.flow.example.com", 421},
		"a name that ends like one of ours": {"evilflow.example.com", 421},
		"a name that begins with ours":      {"127.0.0.1.evil.example", 421},
		"loopback below a foreign name":     {"localhost.evil.example", 421},
		"a name that means loopback":        {"localtest.me:7070", 421},
		"a closing dot":                     {"localhost.:7070", 421},
		"another address":                   {"192.168.1.5:7070", 421},
		"another loopback address":          {"127.0.0.2:7070", 421},
		"the same address as a number":      {"2130706433:7070", 421},
		"the same address with an octal":    {"0177.0.0.1:7070", 421},
		"the same address, short":           {"127.1:7070", 421},
		"the same address inside of IPv6":   {"[::ffff:127.0.0.1]:7070", 200},
		"IPv6 loopback that was not used":   {"[::1]:7070", 421},
		"all addresses":                     {"0.0.0.0:7070", 421},
		"nothing":                           {"", 421},
		"a port alone":                      {":7070", 421},
		"a port that is none":               {"127.0.0.1:http", 421},
		"a user before it":                  {"a@127.0.0.1:7070", 421},
		"a path behind it":                  {"127.0.0.1:7070/x", 421},
		"a space behind it":                 {"127.0.0.1:7070 ", 421},
		"two of them":                       {"127.0.0.1:7070,evil.example", 421},
		"a zone":                            {"[fe80::1%25eth0]:7070", 421},
		"a name of one of ours and a quote": {"flow.example.com'", 421},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := f.ask("GET", "/healthz", "", "Host", c.host).StatusCode; got != c.want {
				t.Errorf("Host %q: %d, want %d", c.host, got, c.want)
			}
		})
	}
}

// TestAHostIsAnAddressThatTheConnectionReached: what a browser connected to it
// can't have been told by a name service.
func TestAHostIsAnAddressThatTheConnectionReached(t *testing.T) {
	f := newFixture(t)
	ask := func(host string, local net.Addr) bool {
		r := request("GET", "/healthz", "", "Host", host)
		ctx := r.Context()
		if local != nil {
			r = r.WithContext(withLocal(ctx, local))
		} else {
			r = r.WithContext(withLocal(ctx, nil))
		}
		return f.do(r).StatusCode == http.StatusOK
	}
	lan := &net.TCPAddr{IP: net.IPv4(192, 168, 1, 5), Port: 7070}
	if !ask("192.168.1.5:7070", lan) {
		t.Error("the address of the connection is refused")
	}
	if ask("192.168.1.6:7070", lan) || ask("localhost:7070", lan) || ask("127.0.0.1:7070", lan) {
		t.Error("another address is taken")
	}
	if !ask("[::1]:7070", &net.TCPAddr{IP: net.IPv6loopback, Port: 7070}) {
		t.Error("IPv6 loopback is refused")
	}
	if !ask("[::1]", &net.TCPAddr{IP: net.IPv6loopback, Port: 80}) {
		t.Error("IPv6 loopback without a port is refused")
	}
	if ask("127.0.0.1:7070", nil) {
		t.Error("without knowing where a request arrived, its host is taken")
	}
}

func TestRequestsOfOtherSitesAreRefused(t *testing.T) {
	f := newFixture(t)
	cookie, mark := f.logIn("operator")
	form := []string{"Content-Type", "application/x-www-form-urlencoded", "Cookie", cookie, "X-CSRF-Token", mark}
	cases := map[string]struct {
		method, path string
		headers      []string
		want         int
	}{
		"a form of our page":                 {"POST", "/runs/a/cancel", []string{"Origin", "http://127.0.0.1:7070", "Sec-Fetch-Site", "same-origin"}, 200},
		"a program that says nothing":        {"POST", "/runs/a/cancel", nil, 200},
		"a form of another site":             {"POST", "/runs/a/cancel", []string{"Origin", "http://evil.example", "Sec-Fetch-Site", "cross-site"}, 403},
		"a form of an old browser":           {"POST", "/runs/a/cancel", []string{"Origin", "http://evil.example"}, 403},
		"a form of a sandboxed frame":        {"POST", "/runs/a/cancel", []string{"Origin", "null"}, 403},
		"a form of another port":             {"POST", "/runs/a/cancel", []string{"Origin", "http://127.0.0.1:8080", "Sec-Fetch-Site", "same-site"}, 403},
		"a form of the same host over https": {"POST", "/runs/a/cancel", []string{"Origin", "https://127.0.0.1:7070"}, 403},
		"a form of another name of ours":     {"POST", "/runs/a/cancel", []string{"Origin", "http://localhost:7070", "Sec-Fetch-Site", "same-site"}, 403},
		"an origin that is none":             {"POST", "/runs/a/cancel", []string{"Origin", "127.0.0.1:7070"}, 403},
		"an origin with a user":              {"POST", "/runs/a/cancel", []string{"Origin", "http://127.0.0.1:7070@evil.example"}, 403},
		"an empty origin":                    {"POST", "/runs/a/cancel", []string{"Origin", ""}, 403},
		"two origins":                        {"POST", "/runs/a/cancel", []string{"Origin", "http://127.0.0.1:7070", "Origin", "http://evil.example"}, 403},
		"a browser that tells no origin":     {"POST", "/runs/a/cancel", []string{"Sec-Fetch-Site", "cross-site"}, 403},
		"reading from another site":          {"GET", "/runs/a", []string{"Origin", "http://evil.example"}, 403},
		"reading with a program's origin":    {"GET", "/runs/a", []string{"Origin", "null"}, 403},
		"a link on another site":             {"GET", "/runs/a", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate"}, 200},
		"a hook from a page":                 {"POST", "/hooks/a/b", []string{"Origin", "http://evil.example"}, 403},
		"a hook from a program":              {"POST", "/hooks/a/b", nil, 200},
		"the API from a page of ours":        {"GET", "/api/v1/runs", []string{"Origin", "http://127.0.0.1:7070", "Authorization", "Bearer viewer"}, 200},
		"the API from another page":          {"GET", "/api/v1/runs", []string{"Origin", "http://evil.example", "Authorization", "Bearer viewer"}, 403},
		"a question before a request":        {"OPTIONS", "/api/v1/runs", []string{"Origin", "http://evil.example", "Access-Control-Request-Method", "GET"}, 403},
		"a login from another site":          {"POST", "/login", []string{"Origin", "http://evil.example"}, 403},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			response := f.ask(c.method, c.path, "a=b", append(c.headers, form...)...)
			if response.StatusCode != c.want {
				t.Errorf("%d, want %d: %s", response.StatusCode, c.want, bodyOf(t, response))
			}
		})
	}
}

// TestTheOriginOfAServerWithTLS: http is another origin then.
func TestTheOriginOfAServerWithTLS(t *testing.T) {
	f := newFixture(t, func(o *Options) { o.Secure = true })
	if got := f.ask("GET", "/healthz", "", "Origin", "https://127.0.0.1:7070").StatusCode; got != http.StatusOK {
		t.Errorf("our own origin: %d", got)
	}
	if got := f.ask("GET", "/healthz", "", "Origin", "http://127.0.0.1:7070").StatusCode; got != http.StatusForbidden {
		t.Errorf("the origin without TLS: %d", got)
	}
	if got := f.ask("GET", "/healthz", "").Header.Get("Strict-Transport-Security"); got == "" {
		t.Error("browsers are not told to stay with TLS")
	}
}

// TestAProxyThatSpeaksTLS: its pages come from https, under a name of
// flowrun.yaml and no other.
func TestAProxyThatSpeaksTLS(t *testing.T) {
	f := newFixture(t, func(o *Options) { o.Hosts = []string{"flow.example.com"} })
	login := func(host, origin string) *http.Response {
		return f.ask("POST", "/login", "token=viewer", append(formType, "Host", host, "Origin", origin, "Sec-Fetch-Site", "same-origin")...)
	}
	if cookie := cookieOf(t, login("flow.example.com", "https://flow.example.com")); !cookie.Secure {
		t.Errorf("the cookie may travel in clear: %+v", cookie)
	}
	if cookie := cookieOf(t, login("127.0.0.1:7070", "http://127.0.0.1:7070")); cookie.Secure {
		t.Errorf("the cookie does not travel: %+v", cookie)
	}
	for host, origin := range map[string]string{
		"127.0.0.1:7070":   "https://127.0.0.1:7070",
		"flow.example.com": "https://evil.example",
		"localhost:7070":   "https://flow.example.com",
	} {
		if got := login(host, origin).StatusCode; got != http.StatusForbidden {
			t.Errorf("%s from %s: %d", host, origin, got)
		}
	}
}
