package rows

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"
)

// service is a port of one case in one way: it replays the bytes of the case and
// notes the requests as they came. It knows nothing of HTTP but where a request
// ends.
type service struct {
	listener net.Listener
	tls      *tls.Config
	names    macros

	mu       sync.Mutex
	script   []answer
	got      []seen
	trouble  []string
	conns    map[net.Conn]bool
	finished bool
	done     sync.WaitGroup
}

// seen is one request as it came.
type seen struct {
	line    string
	headers [][2]string
	body    string
	secure  bool
}

func (s seen) header(name string) (string, bool) {
	for _, h := range s.headers {
		if strings.EqualFold(h[0], name) {
			return h[1], true
		}
	}
	return "", false
}

// newService listens on a free port of loopback.
func newService(config *tls.Config) (*service, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &service{listener: listener, tls: config, conns: map[net.Conn]bool{}}
	s.done.Go(s.accept)
	return s, nil
}

func (s *service) address() string { return s.listener.Addr().String() }

// play sets what the next requests are answered with, and forgets the requests
// before.
func (s *service) play(script []answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.script, s.got, s.trouble = script, nil, nil
}

// requests are those that came since play, and what went wrong here.
func (s *service) requests() ([]seen, []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]seen(nil), s.got...), append([]string(nil), s.trouble...)
}

func (s *service) close() {
	s.mu.Lock()
	s.finished = true
	_ = s.listener.Close()
	for conn := range s.conns {
		_ = conn.Close()
	}
	s.mu.Unlock()
	s.done.Wait()
}

func (s *service) accept() {
	for {
		conn, err := s.listener.Accept()
		if err != nil {
			return
		}
		s.mu.Lock()
		s.conns[conn] = true
		if s.finished {
			_ = conn.Close()
		}
		s.mu.Unlock()
		s.done.Go(func() {
			s.serve(conn)
			_ = conn.Close()
			s.mu.Lock()
			delete(s.conns, conn)
			s.mu.Unlock()
		})
	}
}

// serve answers the requests of one connection. The first byte tells TLS from
// clear text, so that both are at the same port.
func (s *service) serve(conn net.Conn) {
	reader := bufio.NewReader(conn)
	first, err := reader.Peek(1)
	if err != nil {
		return
	}
	var stream net.Conn = joined{conn, reader}
	secure := first[0] == 0x16
	if secure {
		stream = tls.Server(stream, s.tls)
		reader = bufio.NewReader(stream)
	}
	for {
		request, err := readRequest(reader)
		if err != nil {
			return // the end, or no request: a case that lacks one says so
		}
		request.secure = secure
		a, more := s.next(request)
		if !more || !s.reply(stream, conn, a) {
			return
		}
	}
}

// next notes a request and gives its answer; false when there is none left.
func (s *service) next(request seen) (answer, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.got = append(s.got, request)
	if len(s.got) > len(s.script) {
		return answer{}, false
	}
	return s.script[len(s.got)-1], true
}

// reply sends one answer; true when the connection stays.
func (s *service) reply(stream, conn net.Conn, a answer) bool {
	switch a.end {
	case "close":
		return false
	case "reset":
		if tcp, ok := conn.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0)
		}
		return false
	case "hang":
		_, _ = io.Copy(io.Discard, stream) // until the client gives up
		return false
	}
	raw, err := a.bytes(s.names)
	if err != nil {
		s.mu.Lock()
		s.trouble = append(s.trouble, err.Error())
		s.mu.Unlock()
		return false
	}
	if _, err := stream.Write(raw); err != nil {
		return false // a client that has read enough may go
	}
	if a.has("keep") {
		return true
	}
	s.leave(stream, conn)
	return false
}

// leave ends this side and waits for the other, so that what was sent is not lost
// by a reset.
func (s *service) leave(stream, conn net.Conn) {
	if secure, ok := stream.(*tls.Conn); ok {
		_ = secure.CloseWrite()
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.CloseWrite()
	}
	_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
	_, _ = io.Copy(io.Discard, conn)
}

// joined reads what was looked at already.
type joined struct {
	net.Conn
	reader *bufio.Reader
}

func (j joined) Read(p []byte) (int, error) { return j.reader.Read(p) }

// readRequest reads the head of a request and as much body as it names.
func readRequest(r *bufio.Reader) (seen, error) {
	var request seen
	line, err := readLine(r)
	if err != nil {
		return request, err
	}
	method, rest, _ := strings.Cut(line, " ")
	target, version, found := strings.Cut(rest, " ")
	if !found || version != "HTTP/1.1" {
		return request, fmt.Errorf("no request: %q", line)
	}
	request.line = method + " " + target
	for {
		line, err := readLine(r)
		if err != nil {
			return request, err
		}
		if line == "" {
			break
		}
		name, value, found := strings.Cut(line, ":")
		if !found {
			return request, fmt.Errorf("no header: %q", line)
		}
		request.headers = append(request.headers, [2]string{name, strings.TrimSpace(value)})
	}
	if _, chunked := request.header("Transfer-Encoding"); chunked {
		return request, errors.New("a body in chunks is not looked for")
	}
	text, there := request.header("Content-Length")
	if !there {
		return request, nil
	}
	length, err := strconv.Atoi(text)
	if err != nil {
		return request, err
	}
	body := make([]byte, length)
	_, err = io.ReadFull(r, body)
	request.body = string(body)
	return request, err
}

func readLine(r *bufio.Reader) (string, error) {
	line, err := r.ReadBytes('\n')
	return string(bytes.TrimRight(line, "\r\n")), err
}
