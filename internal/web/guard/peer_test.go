package guard

import (
	"net/http"
	"net/netip"
	"testing"
)

func behindProxies(o *Options) {
	o.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24"), netip.MustParsePrefix("2001:db8:1::/48")}
	o.Hosts = []string{"flow.example.com"}
}

// TestIssue12_20WhomARequestComesFrom: the fixture's requests come from 192.0.2.1,
// which is a proxy here.
func TestIssue12_20WhomARequestComesFrom(t *testing.T) {
	f := newFixture(t, behindProxies)
	cases := map[string]struct {
		remote  string
		headers []string
		want    string
	}{
		"nothing is said":                         {"", nil, "192.0.2.1"},
		"the client":                              {"", []string{"X-Forwarded-For", "198.51.100.7"}, "198.51.100.7"},
		"the client with a port":                  {"", []string{"X-Forwarded-For", "198.51.100.7:4711"}, "198.51.100.7"},
		"a client of IPv6":                        {"", []string{"X-Forwarded-For", "2001:db8:2::7"}, "2001:db8:2::7"},
		"the same in brackets":                    {"", []string{"X-Forwarded-For", "[2001:db8:2::7]:4711"}, "2001:db8:2::7"},
		"IPv4 inside of IPv6":                     {"", []string{"X-Forwarded-For", "::ffff:198.51.100.7"}, "198.51.100.7"},
		"what the client says of itself":          {"", []string{"X-Forwarded-For", "127.0.0.1, 198.51.100.7"}, "198.51.100.7"},
		"that it is a proxy":                      {"", []string{"X-Forwarded-For", "203.0.113.1, 192.0.2.9, 198.51.100.7"}, "198.51.100.7"},
		"two proxies":                             {"", []string{"X-Forwarded-For", "10.0.0.1, 198.51.100.7, 192.0.2.2"}, "198.51.100.7"},
		"over two lines":                          {"", []string{"X-Forwarded-For", "10.0.0.1", "X-Forwarded-For", "198.51.100.7"}, "198.51.100.7"},
		"proxies alone":                           {"", []string{"X-Forwarded-For", "192.0.2.3, 192.0.2.2"}, "192.0.2.3"},
		"a text that is no address":               {"", []string{"X-Forwarded-For", "198.51.100.7, unknown"}, "192.0.2.1"},
		"such a text before a proxy":              {"", []string{"X-Forwarded-For", "<script>, 192.0.2.2"}, "192.0.2.2"},
		"an empty text":                           {"", []string{"X-Forwarded-For", ""}, "192.0.2.1"},
		"a zone":                                  {"", []string{"X-Forwarded-For", "fe80::1%eth0"}, "fe80::1"},
		"the standard's header":                   {"", []string{"Forwarded", `for=203.0.113.1, for=198.51.100.7;proto=https;by=192.0.2.1`}, "198.51.100.7"},
		"the same with IPv6":                      {"", []string{"Forwarded", `For="[2001:db8:2::7]:4711"`}, "2001:db8:2::7"},
		"the same without a client":               {"", []string{"Forwarded", `for=198.51.100.7, proto=https`}, "192.0.2.1"},
		"a hidden client":                         {"", []string{"Forwarded", `for=198.51.100.7, for=_hidden`}, "192.0.2.1"},
		"both, and they agree":                    {"", []string{"Forwarded", `for=198.51.100.7`, "X-Forwarded-For", "198.51.100.7"}, "198.51.100.7"},
		"both, one of them the client's":          {"", []string{"Forwarded", `for=203.0.113.1`, "X-Forwarded-For", "198.51.100.7"}, "192.0.2.1"},
		"a client that says it is behind a proxy": {"203.0.113.5:1", []string{"X-Forwarded-For", "198.51.100.7"}, "203.0.113.5"},
		"a client that says it is a proxy's":      {"203.0.113.5:1", []string{"X-Forwarded-For", "192.0.2.1", "Forwarded", "for=192.0.2.1"}, "203.0.113.5"},
		"a proxy of IPv6":                         {"[2001:db8:1::5]:1", []string{"X-Forwarded-For", "198.51.100.7"}, "198.51.100.7"},
		"a proxy inside of IPv6":                  {"[::ffff:192.0.2.1]:1", []string{"X-Forwarded-For", "198.51.100.7"}, "198.51.100.7"},
		"headers of other products":               {"", []string{"X-Real-IP", "198.51.100.7", "True-Client-IP", "198.51.100.7", "CF-Connecting-IP", "198.51.100.7"}, "192.0.2.1"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			f.served = nil
			r := request("GET", "/api/v1/runs", "", append(c.headers, "Authorization", "Bearer viewer")...)
			if c.remote != "" {
				r.RemoteAddr = c.remote
			}
			if got := f.do(r).StatusCode; got != http.StatusOK {
				t.Fatal(got)
			}
			if want := "GET /api/v1/runs by token viewer from " + c.want; len(f.served) != 1 || f.served[0] != want {
				t.Errorf("served %q, want %q", f.served, want)
			}
		})
	}
}

// TestIssue12_20WrongTokensAreOfTheirClient, not of the proxy; and nobody gets more of
// them by saying that they are somebody else's.
func TestIssue12_20WrongTokensAreOfTheirClient(t *testing.T) {
	f := newFixture(t, behindProxies)
	wrong := func(headers ...string) int {
		return f.ask("GET", "/api/v1/runs", "", append(headers, "Authorization", "Bearer wrong")...).StatusCode
	}
	for i := range maxFailures + 1 {
		want := http.StatusUnauthorized
		if i == maxFailures {
			want = http.StatusTooManyRequests
		}
		if got := wrong("X-Forwarded-For", "203.0.113."+string(rune('0'+i%10))+", 198.51.100.7"); got != want {
			t.Fatalf("wrong token %d: %d", i+1, got)
		}
	}
	if got := wrong("X-Forwarded-For", "198.51.100.8"); got != http.StatusUnauthorized {
		t.Errorf("another client of the proxy: %d", got)
	}
	direct := request("GET", "/api/v1/runs", "", "Authorization", "Bearer wrong")
	for i := range maxFailures + 1 {
		direct.RemoteAddr = "203.0.113.50:1"
		direct.Header.Set("X-Forwarded-For", "198.51.100."+string(rune('0'+i%10)))
		if got := f.do(direct).StatusCode; i == maxFailures && got != http.StatusTooManyRequests {
			t.Errorf("a client that names others: %d", got)
		}
	}
}

// TestIssue12_20TheHostAndSchemeOfAProxy: what a browser was told to ask, if a trusted
// proxy says it and it is a name of ours.
func TestIssue12_20TheHostAndSchemeOfAProxy(t *testing.T) {
	f := newFixture(t, behindProxies)
	login := func(remote string, headers ...string) *http.Response {
		r := request("POST", "/login", "token=viewer", append(headers, formType...)...)
		if remote != "" {
			r.RemoteAddr = remote
		}
		return f.do(r)
	}
	passed := []string{"X-Forwarded-Host", "flow.example.com", "X-Forwarded-Proto", "https"}
	if got := login("", append(passed, "Origin", "https://flow.example.com", "Sec-Fetch-Site", "same-origin")...); got.StatusCode != http.StatusSeeOther || !cookieOf(t, got).Secure {
		t.Errorf("a form of our own: %d", got.StatusCode)
	}
	if got := login("", passed...); got.StatusCode != http.StatusSeeOther || !cookieOf(t, got).Secure {
		t.Errorf("a client that tells no origin, over TLS: %d", got.StatusCode)
	}
	if got := login("", "X-Forwarded-Host", "flow.example.com", "X-Forwarded-Proto", "http"); got.StatusCode != http.StatusSeeOther || cookieOf(t, got).Secure {
		t.Errorf("without TLS: %d", got.StatusCode)
	}
	for name, c := range map[string]struct {
		remote  string
		headers []string
		want    int
	}{
		"a form of another site":                     {"", append(passed, "Origin", "https://evil.example"), 403},
		"a form without TLS before a proxy that has": {"", append(passed, "Origin", "http://flow.example.com"), 403},
		"a host that is not ours":                    {"", []string{"X-Forwarded-Host", "evil.example"}, 421},
		"the last of two hosts counts":               {"", []string{"X-Forwarded-Host", "flow.example.com, evil.example"}, 421},
		"a scheme that is none":                      {"", []string{"X-Forwarded-Proto", "javascript", "Origin", "javascript://127.0.0.1:7070"}, 403},
		"somebody who is no proxy says it":           {"203.0.113.5:1", append(passed, "Origin", "https://flow.example.com"), 403},
		"the same without an origin":                 {"203.0.113.5:1", passed, 303},
	} {
		if got := login(c.remote, c.headers...); got.StatusCode != c.want {
			t.Errorf("%s: %d, want %d", name, got.StatusCode, c.want)
		}
	}
	if got := login("203.0.113.5:1", passed...); cookieOf(t, got).Secure {
		t.Error("a client that is no proxy says that it speaks TLS, and is believed")
	}
}
