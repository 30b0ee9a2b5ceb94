package mailsim

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/flowrun/flowrun/internal/simkit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve starts a simulator.
func serve(t *testing.T, o Options) (*Sim, string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s, served := New(o), make(chan error, 1)
	go func() { served <- s.Serve(listener) }()
	t.Cleanup(func() {
		s.Close()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return s, listener.Addr().String()
}

// talk sends lines one by one, a text that ends with a dot alone as a message, and returns
// the replies; "" where the server has gone.
func talk(t *testing.T, address string, lines ...string) []string {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	in := bufio.NewReader(conn)
	reply := func() string {
		all := ""
		for {
			line, err := in.ReadString('\n')
			all += line
			if err != nil || len(line) < 4 || line[3] != '-' {
				return strings.TrimRight(all, "\r\n")
			}
		}
	}
	replies := []string{reply()}
	for _, line := range lines {
		if _, err := io.WriteString(conn, line+"\r\n"); err != nil {
			replies = append(replies, "")
			continue
		}
		replies = append(replies, reply())
	}
	return replies
}

func TestCommandsInAnyOrder(t *testing.T) {
	s, address := serve(t, Options{Users: map[string]string{"me": "x"}})
	for i, c := range []struct {
		lines []string
		want  string // the code of each reply
	}{
		{[]string{"HELO a", "NOOP", "VRFY ann", "RSET", "QUIT"}, "220 250 250 252 250 221"},
		{[]string{"MAIL FROM:<a@b>"}, "220 503"},
		{[]string{"EHLO a", "MAIL FROM:<a@b>"}, "220 250 530"},
		{[]string{"EHLO a", "RCPT TO:<a@b>", "DATA", "what", "", "STARTTLS"}, "220 250 503 503 500 500 502"},
		{[]string{"EHLO a", "AUTH PLAIN AG1lAHg=", "MAIL FROM:<a@b>", "MAIL FROM:<a@b>", "RCPT TO:ann", "RCPT TO:<x@refused.example>", "RCPT TO:<ann@b>", "DATA", "Subject: x\r\n\r\n..\r\n.", "RCPT TO:<ann@b>"}, "220 250 235 250 503 501 550 250 354 250 503"},
		{[]string{"EHLO a", "AUTH PLAIN AG1lAHk="}, "220 250 535"},
		{[]string{"EHLO a", "AUTH NTLM"}, "220 250 504"},
		{[]string{"EHLO a", "AUTH PLAIN"}, "220 250 334"},
	} {
		var codes []string
		for _, reply := range talk(t, address, c.lines...) {
			codes = append(codes, reply[:min(len(reply), 3)])
		}
		if got := strings.Join(codes, " "); got != c.want {
			t.Errorf("%d: %s, want %s", i, got, c.want)
		}
	}
	if kept := s.Messages(); len(kept) != 1 || kept[0].Subject != "x" || !strings.HasSuffix(string(kept[0].Data), "\n.\n") {
		t.Errorf("kept %+v", kept)
	}
}

// What is taken is shown, faults are set and told, and the limit holds until the window ends.
func TestPageFaultsAndLimit(t *testing.T) {
	now := time.Date(2031, 5, 6, 7, 8, 9, 0, time.UTC)
	s, address := serve(t, Options{Requests: 2, Window: time.Minute, Now: func() time.Time { return now }})
	page := httptest.NewServer(s)
	defer page.Close()
	get := func(path string) (int, string) {
		t.Helper()
		response, err := page.Client().Get(page.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		return response.StatusCode, string(text)
	}
	send := []string{"EHLO a", "MAIL FROM:<a@b>", "RCPT TO:</_sim/x@b>", "DATA", "Message-ID: <1@b>\r\nSubject: =?utf-8?q?=C3=A4?=\r\n\r\nhello\r\n.", "QUIT"}
	last := func(replies []string) string { return replies[len(replies)-2] }
	if got := last(talk(t, address, send...)); got != "250 2.0.0 Ok: kept as 1" {
		t.Errorf("got %q", got)
	}
	if got := last(talk(t, address, send...)); got != "250 2.0.0 Ok: kept as 1" { // the same id
		t.Errorf("got %q", got)
	}
	if got := talk(t, address, send...)[2]; got != "450 4.7.28 Too many messages, wait 60 seconds" {
		t.Errorf("got %q", got)
	}
	if status, text := get("/messages"); status != http.StatusOK || !strings.Contains(text, `"copies":2`) || !strings.Contains(text, `"subject":"ä"`) || !strings.Contains(text, "/_sim/x@b") {
		t.Errorf("%d %s", status, text)
	}
	if status, text := get("/messages/1"); status != http.StatusOK || !strings.Contains(text, "hello") {
		t.Errorf("%d %s", status, text)
	}
	if status, _ := get("/messages/2"); status != http.StatusNotFound {
		t.Errorf("%d", status)
	}
	s.Kit().Reset()
	for name, c := range map[string]struct {
		fault simkit.Fault
		want  string
	}{
		"a reply":                {simkit.Fault{Method: "MAIL", Status: 451, Body: "4.3.0 one\n4.3.0 two"}, "451-4.3.0 one\r\n451 4.3.0 two"},
		"a connection that goes": {simkit.Fault{Method: "MAIL", Drop: simkit.DropBefore}, ""},
		"a reply that is cut":    {simkit.Fault{Method: "MAIL", Truncate: 2, Cut: true}, "2."},
		"closing":                {simkit.Fault{Method: "MAIL", Status: 421, Body: "bye"}, "421 bye"},
	} {
		s.Kit().Reset()
		if err := s.Kit().Add(c.fault); err != nil {
			t.Fatal(err)
		}
		if got := talk(t, address, "EHLO a", "MAIL FROM:<a@b>")[2]; got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	if len(s.Messages()) != 0 || s.Kit().Count("/from/a@b") != 1 {
		t.Errorf("messages after a reset, %v", s.Kit().Counts())
	}
}
