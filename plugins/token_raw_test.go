package plugins

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
)

// ending is what becomes of a network connection after the bytes of an answer.
type ending int

const (
	closed ending = iota
	reset
	hung // open and silent until the test ends
)

// rawAnswer is an answer as it goes over the wire.
type rawAnswer struct {
	name  string
	bytes string
	end   ending
}

// rawReply writes an answer of HTTP/1.1 whose length is right.
func rawReply(status int, contentType, body string) string {
	return fmt.Sprintf("HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s",
		status, http.StatusText(status), contentType, len(body), body)
}

func rawJSON(status int, body string) string { return rawReply(status, "application/json", body) }

// rawAuth is an authorization server, and a resource, that answers with bytes:
// the device grant is always granted, and a refresh gets the answer that is set.
type rawAuth struct {
	url string

	mu        sync.Mutex
	open      []net.Conn
	refresh   *rawAnswer // nil = a new token
	poll      *rawAnswer // of the first poll alone; nil = granted
	resource  *rawAnswer // nil = the resource
	alone     bool       // access tokens come without a refresh token
	polls     int
	refreshes int
	issued    int      // access tokens that were given out
	used      []string // tokens that the resource was asked with
	wrong     []string // refresh tokens that were sent and are not the one given
}

func newRawAuth(t *testing.T) *rawAuth {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &rawAuth{url: "http://" + listener.Addr().String()}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			s.hold(conn)
			serving.Go(func() { s.serve(conn) })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		s.closeAll()
		serving.Wait()
	})
	return s
}

func (s *rawAuth) hold(conn net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open = append(s.open, conn)
}

func (s *rawAuth) closeAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, conn := range s.open {
		_ = conn.Close()
	}
}

// serve answers one request.
func (s *rawAuth) serve(conn net.Conn) {
	request, err := http.ReadRequest(bufio.NewReader(conn))
	if err != nil {
		_ = conn.Close()
		return
	}
	body, _ := io.ReadAll(request.Body)
	form, _ := url.ParseQuery(string(body))
	answer := s.answer(request, form)
	_, _ = io.WriteString(conn, answer.bytes)
	switch answer.end {
	case closed:
		_ = conn.Close()
	case reset:
		if tcp, ok := conn.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0)
		}
		_ = conn.Close()
	case hung: // closeAll ends it
	}
}

// answer says what a request gets.
func (s *rawAuth) answer(r *http.Request, form url.Values) rawAnswer {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case r.URL.Path == "/device/code":
		return rawAnswer{bytes: rawJSON(200, `{"device_code":"dc-canary","user_code":"AB-CD","verification_uri":"`+s.url+`/device","expires_in":600,"interval":1}`)}
	case r.URL.Path == "/resource":
		s.used = append(s.used, strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
		if s.resource != nil {
			return *s.resource
		}
		return rawAnswer{bytes: rawJSON(200, `{"fine":true}`)}
	case r.URL.Path == "/token" && form.Get("grant_type") == "refresh_token":
		s.refreshes++
		if form.Get("refresh_token") != "rt-canary" {
			s.wrong = append(s.wrong, form.Get("refresh_token"))
		}
		if s.refresh != nil {
			return *s.refresh
		}
		return rawAnswer{bytes: rawJSON(200, s.token(""))}
	case r.URL.Path == "/token":
		s.polls++
		if s.poll != nil && s.polls == 1 {
			return *s.poll
		}
		if s.alone {
			return rawAnswer{bytes: rawJSON(200, s.token(""))}
		}
		return rawAnswer{bytes: rawJSON(200, s.token(`,"refresh_token":"rt-canary"`))}
	}
	return rawAnswer{bytes: rawReply(404, "text/plain", "no such page")}
}

// token is the answer with a new access token, which lives an hour.
func (s *rawAuth) token(more string) string {
	s.issued++
	return fmt.Sprintf(`{"access_token":"at-canary-%d","token_type":"Bearer","expires_in":3600,"scope":"openid email"%s}`, s.issued, more)
}

// set makes every further refresh get an answer; nil is a new token.
func (s *rawAuth) set(answer *rawAnswer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refresh = answer
}

// setResource makes every further read get an answer; nil is the resource.
func (s *rawAuth) setResource(answer *rawAnswer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.resource = answer
}

// seen returns what was counted so far.
func (s *rawAuth) seen() (polls, refreshes int, lastUsed string, wrong []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.used); n > 0 {
		lastUsed = s.used[n-1]
	}
	return s.polls, s.refreshes, lastUsed, s.wrong
}
