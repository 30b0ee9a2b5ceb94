package serve

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/access"
)

// follow opens a stream and returns how it ends.
func follow(t *testing.T, url string, header http.Header) <-chan error {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header = header
	response, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = response.Body.Close() })
	if response.StatusCode != http.StatusOK || !strings.HasPrefix(response.Header.Get("Content-Type"), "text/event-stream") {
		t.Fatalf("%d %s", response.StatusCode, response.Header.Get("Content-Type"))
	}
	ended := make(chan error, 1)
	go func() {
		_, err := io.Copy(io.Discard, response.Body)
		ended <- err
	}()
	return ended
}

// isOpen reports whether a stream goes on: it does not end while another request
// is answered.
func isOpen(ended <-chan error) bool {
	select {
	case <-ended:
		return false
	case <-time.After(100 * time.Millisecond):
		return true
	}
}

func wait(t *testing.T, what string, ended <-chan error) {
	t.Helper()
	select {
	case err := <-ended:
		if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%s ended with %v", what, err)
		}
	case <-time.After(time.Minute):
		t.Fatalf("%s goes on", what)
	}
}

// TestStreamsEndWithWhoFollowsThem: those of a token that is removed, those of a
// session whose token is, and no others; and all of them when the server ends.
func TestStreamsEndWithWhoFollowsThem(t *testing.T) {
	p := newProduct(t)
	server, address := p.listen()
	removed := p.token(access.NewToken{Name: "removed", Scope: "viewer"})
	api := "http://" + address + "/api/v1/stream?topics=runs"
	gone := follow(t, api, bearer(removed))
	stays := follow(t, api, bearer(p.adminToken()))
	session := p.session(address)
	cookie := strings.TrimPrefix(session.headers[0], "Cookie: ")
	paged := follow(t, "http://"+address+"/ui/stream?path=/runs", http.Header{"Cookie": {cookie}, "Accept": {"text/event-stream"}})
	if !isOpen(gone) || !isOpen(stays) || !isOpen(paged) {
		t.Fatal("a stream has ended")
	}
	if _, err := p.engine.RemoveAccessToken(t.Context(), "removed"); err != nil {
		t.Fatal(err)
	}
	server.Recheck(t.Context())
	wait(t, "the stream of a removed token", gone)
	if !isOpen(stays) || !isOpen(paged) {
		t.Fatal("another stream has ended with it")
	}
	for _, token := range p.tokens(t) {
		if token.Name != "admin-1" && token.Name != "removed" {
			if _, err := p.engine.RemoveAccessToken(t.Context(), token.Name); err != nil {
				t.Fatal(err)
			}
		}
	}
	server.Recheck(t.Context())
	wait(t, "the page's stream of a removed token", paged)
	p.server.API.Gate.Close()
	wait(t, "a stream of a server that ends", stays)
}

func (p *product) tokens(t *testing.T) []access.TokenInfo {
	t.Helper()
	tokens, err := p.engine.ListAccessTokens(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return tokens
}

// TestAServerThatEndsAnswersReadyz with 503, and takes nothing any more.
func TestAServerThatEnds(t *testing.T) {
	p := newProduct(t)
	_, address := p.listen()
	c := &connection{t: t, address: address}
	defer c.close()
	ask := func(method, path string, headers ...string) int {
		body := ""
		if method == "POST" {
			body = "{}"
		}
		status, _, _ := c.send(raw(method, path, address, body, headers...))
		return status
	}
	token := "Authorization: Bearer " + p.adminToken()
	session := p.session(address)
	if got := ask("GET", "/readyz"); got != http.StatusOK {
		t.Errorf("ready: %d", got)
	}
	p.server.API.Gate.Close()
	for name, got := range map[string]int{
		"readyz":  ask("GET", "/readyz"),
		"a start": ask("POST", "/api/v1/workflows/hello/runs", token, "Content-Type: application/json"),
		"a hook":  ask("POST", "/hooks/hello/x", "Content-Type: application/json"),
	} {
		if got != http.StatusServiceUnavailable {
			t.Errorf("%s: %d", name, got)
		}
	}
	if status, _, _ := c.send(raw("POST", "/workflows/hello/runs", address, session.body, session.headers...)); status != http.StatusServiceUnavailable {
		t.Errorf("a form: %d", status)
	}
	if got := ask("GET", "/healthz"); got != http.StatusOK {
		t.Errorf("health: %d", got)
	}
}
