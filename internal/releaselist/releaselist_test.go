package releaselist

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// serve answers with a body, and counts.
func serve(t *testing.T, status int, body string) (address string, asked *int) {
	t.Helper()
	asked = new(int)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*asked++
		if r.Method != http.MethodGet || r.Header.Get("User-Agent") != "flowrun" || r.Header.Get("Authorization") != "" {
			t.Errorf("it asks with %s %v", r.Method, r.Header)
		}
		w.WriteHeader(status)
		_, _ = fmt.Fprint(w, body) // who asks has what it gets
	}))
	t.Cleanup(server.Close)
	return server.URL + "/releases", asked
}

const listed = `[
 {"tag_name": "sdk/v1.9.0", "html_url": "https://example.com/sdk"},
 {"tag_name": "v2.0.0-rc.1", "html_url": "https://example.com/rc"},
 {"tag_name": "v1.10.0", "html_url": "https://example.com/v1.10.0", "published_at": "2026-11-02T08:00:00Z"},
 {"tag_name": "v1.9.1", "html_url": "https://example.com/v1.9.1"},
 {"tag_name": "v3.0.0", "draft": true},
 {"tag_name": "v2.1.0", "prerelease": true},
 {"tag_name": "nightly"}, {"tag_name": "v9"}
]`

func TestTheNewestReleaseIsFound(t *testing.T) {
	address, asked := serve(t, http.StatusOK, listed)
	newest, err := Newest(t.Context(), http.DefaultTransport, address)
	if err != nil {
		t.Fatal(err)
	}
	if newest.Version != "v1.10.0" || newest.URL != "https://example.com/v1.10.0" || newest.Published.Day() != 2 || *asked != 1 {
		t.Errorf("the newest is %+v, asked %d times", newest, *asked)
	}
}

func TestAPageThatNoBrowserOpensIsLeftOut(t *testing.T) {
	address, _ := serve(t, http.StatusOK, `[{"tag_name": "v1.0.0", "html_url": "javascript:alert(1)", "released_at": "2026-01-02T00:00:00Z"}]`)
	newest, err := Newest(t.Context(), http.DefaultTransport, address)
	if err != nil || newest.URL != "" || newest.Published.Year() != 2026 {
		t.Errorf("%+v, %v", newest, err)
	}
}

func TestWhatIsNoListingIsSaid(t *testing.T) {
	cases := map[string]struct {
		status int
		body   string
		says   string
	}{
		"not there":      {http.StatusNotFound, "{}", "404 Not Found"},
		"too often":      {http.StatusForbidden, "{}", "403 Forbidden"},
		"a page":         {http.StatusOK, "<html>", "no list of releases"},
		"another answer": {http.StatusOK, `{"tag_name": "v1.0.0"}`, "no list of releases"},
		"too long":       {http.StatusOK, "[" + strings.Repeat(" ", maxListing) + "]", "more than"},
		"empty":          {http.StatusOK, "[]", ErrNone.Error()},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			address, _ := serve(t, c.status, c.body)
			if _, err := Newest(t.Context(), http.DefaultTransport, address); err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("the error is %v, want %q", err, c.says)
			}
		})
	}
}

// TestRedirectsLeadToListingsAlone: an answer leads neither out of TLS nor in a circle.
func TestRedirectsLeadToListingsAlone(t *testing.T) {
	for to, says := range map[string]string{"http://192.0.2.1/releases": "https is needed", "file:///etc/passwd": "is no URL", "/releases": "on and on"} {
		server := httptest.NewServer(http.RedirectHandler(to, http.StatusFound))
		_, err := Newest(t.Context(), http.DefaultTransport, server.URL+"/releases")
		server.Close()
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("a redirect to %s: %v, want %q", to, err, says)
		}
	}
}

func TestOnlyAddressesOfListingsAreAsked(t *testing.T) {
	for address, isFine := range map[string]bool{
		"https://git.example.com/api/v1/repos/a/flowrun/releases": true, "http://127.0.0.1:3000/x": true, "http://[::1]/x": true, "http://localhost/x": true,
		"http://git.example.com/x": false, "http://localhost.example.com/x": false, "ftp://example.com/x": false, "file:///x": false, "https://ann:secret@example.com/x": false, "releases.json": false, "": false,
	} {
		if err := CheckAddress(address); (err == nil) != isFine {
			t.Errorf("%s: %v", address, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := Newest(ctx, http.DefaultTransport, address)
		if _, refused := errors.AsType[*AddressError](err); refused == isFine {
			t.Errorf("%s is asked: %v", address, err)
		}
	}
}

func TestVersionsAreCompared(t *testing.T) {
	cases := map[string]struct{ newer, known bool }{
		"v1.10.0": {false, true}, "v1.9.9": {true, true}, "v1.11.0": {false, true}, "v1.10.0-rc.1": {true, true}, "v2.0.0-rc.1": {false, true},
		"v0.0.0-20261128081500-0123456789ab": {true, true}, "v1.10.1-0.20261128081500-0123456789ab+dirty": {false, true}, "dev": {false, false}, "": {false, false},
	}
	for version, want := range cases {
		if newer, known := IsNewer("v1.10.0", version); newer != want.newer || known != want.known {
			t.Errorf("v1.10.0 after %q: newer %t, known %t", version, newer, known)
		}
	}
	if !IsOfCommit("v1.10.1-0.20261128081500-0123456789ab+dirty") || !IsOfCommit("v0.0.0-20261128081500-0123456789ab") || IsOfCommit("v1.10.0") || IsOfCommit("v2.0.0-rc.1") {
		t.Error("versions of commits are not told from those of releases")
	}
}
