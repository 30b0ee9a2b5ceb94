package mailsim

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/mail"
	"net/textproto"
	"net/url"
	"slices"
	"strings"

	"github.com/flowrun/flowrun/internal/simkit"
)

// sessionKey is where a request has the session that it is a command of.
type sessionKey struct{}

// session is one client's conversation. One goroutine has it.
type session struct {
	sim    *Sim
	conn   net.Conn
	text   *textproto.Reader
	secure bool
	user   string // who logged in
	hello  bool
	begun  bool // a MAIL was taken
	from   string
	to     []string

	argument string // of the command that is handled
	message  []byte // of MESSAGE
	then     func() // what follows the reply, nil for the next command
	over     bool
}

func newSession(sim *Sim, conn net.Conn) *session {
	s := &session{sim: sim}
	s.use(conn)
	return s
}

func (s *session) use(conn net.Conn) {
	s.conn = conn
	s.text = textproto.NewReader(bufio.NewReader(io.LimitReader(conn, maxMessage+maxLine)))
}

// run answers commands until the client, or a fault, ends it.
func (s *session) run() {
	if !s.handle(http.MethodConnect, "/", "") {
		return
	}
	for !s.over {
		_ = s.conn.SetDeadline(simkit.Clock(nil)().Add(idle)) // a client that went away is not waited for
		line, err := s.text.ReadLine()
		if err != nil || len(line) > maxLine {
			return
		}
		verb, argument, _ := strings.Cut(line, " ")
		verb = strings.ToUpper(verb)
		if !s.handle(known(verb), pathOf(verb, argument), argument) {
			return
		}
	}
}

// known is a verb that can stand as a method; others are what the server calls unknown.
func known(verb string) string {
	if slices.Contains([]string{"EHLO", "HELO", "STARTTLS", "AUTH", "MAIL", "RCPT", "DATA", "RSET", "NOOP", "QUIT", "VRFY"}, verb) {
		return verb
	}
	return "UNKNOWN"
}

// pathOf is the path by which faults and the journal name a command.
func pathOf(verb, argument string) string {
	switch verb {
	case "MAIL":
		return "/from/" + url.PathEscape(addressOf(argument))
	case "RCPT":
		return "/to/" + url.PathEscape(addressOf(argument))
	}
	return "/"
}

// addressOf is what stands between angle brackets.
func addressOf(argument string) string {
	_, rest, _ := strings.Cut(argument, "<")
	address, _, _ := strings.Cut(rest, ">")
	return address
}

// handle leads a command through journal, fault and server, and sends the reply. It reports
// whether the conversation goes on.
func (s *session) handle(verb, path, argument string) (goesOn bool) {
	s.argument, s.then = argument, nil
	ctx := context.WithValue(context.Background(), sessionKey{}, s)
	request := (&http.Request{
		Method: verb, URL: &url.URL{Path: path, RawPath: path}, Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(s.message)),
		ContentLength: int64(len(s.message)), RemoteAddr: s.conn.RemoteAddr().String(),
	}).WithContext(ctx)
	if unescaped, err := url.PathUnescape(path); err == nil {
		request.URL.Path = unescaped
	}
	answer := &reply{header: http.Header{}}
	aborted := func() (aborted bool) {
		defer func() {
			if gone := recover(); gone != nil {
				if err, is := gone.(error); !is || !errors.Is(err, http.ErrAbortHandler) {
					panic(gone)
				}
				aborted = true
			}
		}()
		s.sim.ServeHTTP(answer, request)
		return false
	}()
	if aborted {
		_, _ = s.conn.Write(answer.body.Bytes()) // cut in the middle of it, or nothing
		return false
	}
	if _, err := s.conn.Write(answer.lines()); err != nil || answer.status == 421 || answer.status == 221 {
		return false
	}
	if s.then != nil && answer.status < 400 {
		s.then()
	}
	return !s.over
}

// reply is what a command is answered with: a code, and lines of text.
type reply struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header are what a fault sets, and nobody reads.
func (r *reply) Header() http.Header { return r.header }

// WriteHeader sets the code of the reply.
func (r *reply) WriteHeader(status int) {
	if r.status == 0 {
		r.status = status
	}
}

// Write adds to the text.
func (r *reply) Write(data []byte) (int, error) {
	r.WriteHeader(http.StatusOK)
	return r.body.Write(data)
}

// lines is the reply as SMTP has it.
func (r *reply) lines() []byte {
	if r.status == 0 {
		r.status = 250
	}
	var out bytes.Buffer
	lines := strings.Split(strings.TrimRight(r.body.String(), "\n"), "\n")
	for i, line := range lines {
		sign := "-"
		if i == len(lines)-1 {
			sign = " "
		}
		fmt.Fprintf(&out, "%d%s%s\r\n", r.status, sign, line)
	}
	return out.Bytes()
}

// say replies.
func say(w http.ResponseWriter, code int, lines ...string) {
	w.WriteHeader(code)
	_, _ = io.WriteString(w, strings.Join(lines, "\n")) // into a buffer
}

// command is what the server itself does with a command.
func (s *session) command(w http.ResponseWriter, r *http.Request) {
	switch r.Method {
	case http.MethodConnect:
		say(w, 220, "sandbox.example ESMTP")
	case "EHLO":
		s.hello = true
		say(w, 250, s.extensions()...)
	case "HELO":
		s.hello = true
		say(w, 250, "sandbox.example")
	case "STARTTLS":
		s.startTLS(w)
	case "AUTH":
		s.auth(w)
	case "MAIL":
		s.mail(w, r)
	case "RCPT":
		s.rcpt(w)
	case "DATA":
		s.data(w)
	case "MESSAGE":
		s.take(w)
	case "RSET":
		s.begun, s.to = false, nil
		say(w, 250, "2.0.0 Ok")
	case "NOOP":
		say(w, 250, "2.0.0 Ok")
	case "QUIT":
		say(w, 221, "2.0.0 Bye")
	case "VRFY":
		say(w, 252, "2.5.2 Send some mail, I'll try my best")
	default:
		say(w, 500, "5.5.2 Unknown command")
	}
}

func (s *session) extensions() []string {
	lines := []string{"sandbox.example", "PIPELINING", "SIZE " + fmt.Sprint(maxMessage), "8BITMIME", "ENHANCEDSTATUSCODES"}
	if s.sim.options.UTF8 {
		lines = append(lines, "SMTPUTF8")
	}
	if s.sim.options.TLS != nil && !s.secure {
		lines = append(lines, "STARTTLS")
	}
	if s.sim.options.Users != nil && (s.secure || s.sim.options.TLS == nil) {
		lines = append(lines, "AUTH PLAIN LOGIN CRAM-MD5 SCRAM-SHA-256 XOAUTH2")
	}
	return lines
}

func (s *session) startTLS(w http.ResponseWriter) {
	if s.sim.options.TLS == nil || s.secure {
		say(w, 502, "5.5.1 No TLS here")
		return
	}
	say(w, 220, "2.0.0 Ready to start TLS")
	s.then = func() {
		secured := tls.Server(s.conn, s.sim.options.TLS)
		if secured.HandshakeContext(context.Background()) != nil {
			s.over = true
			return
		}
		s.use(secured)
		s.secure, s.hello = true, false
	}
}

func (s *session) mail(w http.ResponseWriter, r *http.Request) {
	switch {
	case !s.hello:
		say(w, 503, "5.5.1 Send EHLO first")
	case s.sim.options.Users != nil && s.user == "":
		say(w, 530, "5.7.0 Authentication required")
	case s.begun:
		say(w, 503, "5.5.1 Nested MAIL")
	case s.sim.limiter != nil && !s.sim.limiter.Admits(w, hostOf(r.RemoteAddr)):
		say(w, 450, "4.7.28 Too many messages, wait "+w.Header().Get("Retry-After")+" seconds")
	default:
		s.begun, s.from, s.to = true, addressOf(s.argument), nil
		say(w, 250, "2.1.0 Ok")
	}
}

func hostOf(address string) string {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return address
	}
	return host
}

// rcpt takes any address but those of the domain refused.example, as a server that has no
// such mailbox.
func (s *session) rcpt(w http.ResponseWriter) {
	address := addressOf(s.argument)
	switch {
	case !s.begun:
		say(w, 503, "5.5.1 Need MAIL before RCPT")
	case !strings.Contains(address, "@"):
		say(w, 501, "5.1.3 Bad address")
	case strings.HasSuffix(strings.ToLower(address), "@refused.example"):
		say(w, 550, "5.1.1 No such mailbox: "+address)
	case len(s.to) >= 1000:
		say(w, 452, "4.5.3 Too many recipients")
	default:
		s.to = append(s.to, address)
		say(w, 250, "2.1.5 Ok")
	}
}

func (s *session) data(w http.ResponseWriter) {
	if !s.begun || len(s.to) == 0 {
		say(w, 503, "5.5.1 Need RCPT before DATA")
		return
	}
	say(w, 354, "End data with <CR><LF>.<CR><LF>")
	s.then = func() {
		message, err := io.ReadAll(s.text.DotReader())
		if err != nil {
			s.over = true
			return
		}
		s.message = message
		if !s.handle("MESSAGE", "/", "") {
			s.over = true
		}
		s.message, s.then = nil, nil
		s.begun, s.to = false, nil
	}
}

// take keeps the message.
func (s *session) take(w http.ResponseWriter) {
	m := Message{At: s.sim.now().UTC(), From: s.from, Recipients: s.to, Size: len(s.message), Data: bytes.Clone(s.message)}
	if parsed, err := mail.ReadMessage(bytes.NewReader(s.message)); err == nil {
		m.MessageID, m.Subject = parsed.Header.Get("Message-ID"), subjectOf(parsed.Header)
	}
	say(w, 250, fmt.Sprintf("2.0.0 Ok: kept as %d", s.sim.keep(m)))
}
