package guard

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

// FuzzPath: whatever stands in a request line, a route is found for its one
// plain spelling alone, and its wildcards are names.
func FuzzPath(f *testing.F) {
	for _, seed := range []string{
		"/", "/healthz", "/api/v1/runs", "/api/v1/runs/a", "/api/v1/runs/%2e%2e", "/api/v1/runs/a/steps/x%5By%2Fz%5D/approve", "/hooks/a%20b/c", "//", "/./runs/a",
		"/runs/a;x", "/runs/%00", "/runs/a%ff", "/RUNS/a", "/runs//a", "/api/v1/runs/", "/%61pi/v1/runs", "/api%2fv1/runs", "*", "http://evil.example/healthz",
	} {
		f.Add(seed)
	}
	g, err := New(testRoutes(func(string, Caller) {}), Options{Authority: &fakeAuthority{}, Now: nil, Entropy: &counter{}, LoginPage: plainLogin})
	if err == nil || g != nil {
		f.Fatal("a guard without a clock")
	}
	fixture := newFixture(&testing.T{})
	f.Fuzz(func(t *testing.T, target string) {
		parsed, err := url.ParseRequestURI(target)
		if err != nil {
			return
		}
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			r := httptest.NewRequest(method, "/", nil)
			r.URL = parsed
			found := fixture.route(r)
			if found == nil {
				continue
			}
			escaped := strings.Split(parsed.EscapedPath(), "/")
			for i, segment := range found.segments {
				if !strings.HasPrefix(segment, "{") {
					if escaped[i] != segment {
						t.Errorf("%q is taken for %s", target, found.Pattern)
					}
					continue
				}
				name, err := url.PathUnescape(escaped[i])
				if err != nil || name == "" || name == "." || name == ".." || strings.ContainsAny(name, "\x00\r\n") {
					t.Errorf("%q of %q names something in %s", name, target, found.Pattern)
				}
			}
		}
	})
}
