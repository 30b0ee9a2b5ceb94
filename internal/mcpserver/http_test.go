package mcpserver

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/flowrun/flowrun/internal/web"
	"github.com/flowrun/flowrun/internal/web/guard"
)

// desk over HTTP, whose callers name their tokens themselves, as the guard does.
type httpDesk struct {
	*testing.T
	*HTTP
	server  *httptest.Server
	ending  chan struct{}
	end     sync.Once
	release chan struct{} // calls wait for it
	began   chan struct{} // one for each call that began
	removed sync.Map
	calls   atomic.Int64
}

func newHTTPDesk(t *testing.T) *httpDesk {
	t.Helper()
	d := &httpDesk{T: t, ending: make(chan struct{}), release: make(chan struct{}), began: make(chan struct{}, 1000)}
	d.HTTP = NewHTTP(HTTPOptions{
		Options: Options{Entropy: rand.Reader, Lend: func(ctx context.Context, _ Need, _ func(context.Context, *web.Client) error) error {
			d.began <- struct{}{}
			select {
			case <-d.release:
				return fmt.Errorf("released as %s", name(ctx))
			case <-ctx.Done():
				return ctx.Err()
			}
		}},
		Rights: RightsOf(false, false), Ending: d.ending,
		Holds: func(_ context.Context, id string) bool { _, gone := d.removed.Load(id); return !gone },
	})
	d.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		d.ServeHTTP(w, r.WithContext(guard.WithCaller(r.Context(), guard.Caller{ID: token, Name: "token " + token, Scope: guard.Operator})))
	}))
	t.Cleanup(func() {
		d.finish()
		d.server.Close()
		d.server.Client().CloseIdleConnections()
	})
	return d
}

// finish ends the server, as its owner does.
func (d *httpDesk) finish() {
	d.end.Do(func() {
		close(d.ending)
		d.Close(context.Background())
	})
}

func name(ctx context.Context) string {
	caller, _ := guard.CallerOf(ctx)
	return caller.Name
}

// say posts a message; the answer has been read.
func (d *httpDesk) say(ctx context.Context, token, session, message string) (status int, header http.Header, body string) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, d.server.URL, strings.NewReader(message))
	if err != nil {
		d.Error(err)
		return 0, nil, ""
	}
	for header, value := range map[string]string{"Authorization": "Bearer " + token, "Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Mcp-Session-Id": session} {
		if value != "" {
			request.Header.Set(header, value)
		}
	}
	response, err := d.server.Client().Do(request)
	if err != nil {
		return 0, nil, err.Error()
	}
	defer func() { _ = response.Body.Close() }()
	data, _ := io.ReadAll(response.Body)
	return response.StatusCode, response.Header, string(data)
}

// open opens a session.
func (d *httpDesk) open(token string) string {
	d.Helper()
	status, header, body := d.say(d.Context(), token, "", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}`)
	session := header.Get("Mcp-Session-Id")
	if status != http.StatusOK || session == "" {
		d.Fatalf("no session: %d %s", status, body)
	}
	d.say(d.Context(), token, session, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return session
}

// call is a message whose id nobody else has: one counts once in a session.
func (d *httpDesk) call() string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":"c%d","method":"tools/call","params":{"name":"workflows","arguments":{}}}`, d.calls.Add(1))
}

// TestCallsOfATokenAreBounded: also those whose client has hung up; another token's go on.
func TestCallsOfATokenAreBounded(t *testing.T) {
	d := newHTTPDesk(t)
	session := d.open("busy")
	ctx, hangUp := context.WithCancel(t.Context())
	var clients sync.WaitGroup
	for range requestsOfToken {
		clients.Go(func() { d.say(ctx, "busy", session, d.call()) })
	}
	for range requestsOfToken {
		<-d.began
	}
	hangUp()
	clients.Wait()
	status, _, body := d.say(t.Context(), "busy", session, d.call())
	for status == http.StatusTooManyRequests { // until the server has seen them hang up
		status, _, body = d.say(t.Context(), "busy", session, d.call())
	}
	if status != http.StatusOK || !strings.Contains(body, "too many calls of this token") {
		t.Errorf("one call too many: %d %s", status, body)
	}
	if _, _, body := d.say(t.Context(), "busy", session, `{"jsonrpc":"2.0","id":"list","method":"tools/list"}`); !strings.Contains(body, `"validate"`) {
		t.Errorf("a list is no call: %s", body)
	}
	other, quiet := d.open("quiet"), make(chan string)
	go func() {
		_, _, body := d.say(t.Context(), "quiet", other, d.call())
		quiet <- body
	}()
	<-d.began
	close(d.release)
	if body := <-quiet; !strings.Contains(body, "released as token quiet") {
		t.Errorf("another token: %s", body)
	}
	for { // the calls have ended: there is room
		if _, _, body := d.say(t.Context(), "busy", session, d.call()); strings.Contains(body, "released as token busy") {
			break
		}
	}
}

// TestTheEndOfTheServerEndsCalls: nobody waits for a call that waits.
func TestTheEndOfTheServerEndsCalls(t *testing.T) {
	d := newHTTPDesk(t)
	session, done := d.open("t"), make(chan struct{})
	go func() {
		defer close(done)
		d.say(t.Context(), "t", session, d.call())
	}()
	<-d.began
	d.finish()
	<-done
}

// TestABusySessionMakesRoomOnce: it ends when its call does, and until then others make room
// beside it. Else who holds one call open has as many sessions as they like.
func TestABusySessionMakesRoomOnce(t *testing.T) {
	d := newHTTPDesk(t)
	busy, done := d.open("t"), make(chan struct{})
	go func() {
		defer close(done)
		d.say(t.Context(), "t", busy, d.call())
	}()
	<-d.began
	for range 3 * sessionsOfToken {
		d.open("t")
	}
	sessions := func() int {
		d.mu.Lock()
		defer d.mu.Unlock()
		return count(d.tokens["t"].server.Sessions())
	}
	for end := time.Now().Add(time.Minute); sessions() > sessionsOfToken+1; time.Sleep(time.Millisecond) { // what is idle ends beside
		if time.Now().After(end) {
			t.Fatalf("a token that keeps its oldest session busy has %d sessions", sessions())
		}
	}
	close(d.release)
	<-done
}

// TestTheTokenWithTheMostSessionsMakesRoom, where there are too many of all; those of a
// token that was removed end first.
func TestTheTokenWithTheMostSessionsMakesRoom(t *testing.T) {
	d := newHTTPDesk(t)
	close(d.release)
	good := func(token, session string) bool {
		status, _, _ := d.say(t.Context(), token, session, d.call())
		return status == http.StatusOK
	}
	small := d.open("small")
	var first string
	for i := range sessionsOfAll/sessionsOfToken - 1 {
		for j := range sessionsOfToken {
			if session := d.open(fmt.Sprint("big", i)); i == 0 && j == 0 {
				first = session
			}
		}
	}
	var last []string
	for range sessionsOfToken {
		last = append(last, d.open("late"))
	}
	if !good("small", small) {
		t.Error("the only session of a token made room")
	}
	for _, session := range last {
		if !good("late", session) {
			t.Error("a new session is not there")
		}
	}
	d.removed.Store("big0", true)
	d.open("new")
	for good("big0", first) { // it ends beside
		if t.Context().Err() != nil {
			t.Fatal("a removed token keeps its sessions")
		}
	}
}
