package guard

import (
	"net/http/httptest"
	"net/netip"
	"testing"
)

// TestWhoComesAroundTheProxy: without TLS a server behind a proxy takes requests of the
// proxy and of its own machine; probes alone come around it.
func TestWhoComesAroundTheProxy(t *testing.T) {
	g := &Guard{options: Options{ProxiesOnly: true, TrustedProxies: []netip.Prefix{netip.MustParsePrefix("10.42.0.0/16")}}}
	for name, c := range map[string]struct {
		peer, path string
		want       bool
	}{
		"the proxy":                      {"10.42.7.1:4000", "/api/v1/runs", true},
		"the proxy inside of IPv6":       {"[::ffff:10.42.7.1]:4000", "/api/v1/runs", true},
		"this machine":                   {"127.0.0.1:4000", "/api/v1/runs", true},
		"somebody else":                  {"10.43.0.1:4000", "/api/v1/runs", false},
		"somebody else, at the login":    {"10.43.0.1:4000", "/login", false},
		"a probe":                        {"10.43.0.1:4000", "/readyz", true},
		"a path that begins like it":     {"10.43.0.1:4000", "/readyz/x", false},
		"an address that is none at all": {"nobody", "/api/v1/runs", false},
	} {
		r := httptest.NewRequest("GET", c.path, nil)
		r.RemoteAddr = c.peer
		r.Header.Set("X-Forwarded-For", "10.42.0.1")
		if got := g.isThroughProxy(r); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
