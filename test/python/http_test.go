package python

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// rawServer answers with bytes, by the path that is asked for. It notes what it got.
type rawServer struct {
	listener net.Listener
	answers  map[string]string
	mu       sync.Mutex
	requests []string
}

func serveRaw(t *testing.T, answers map[string]string) *rawServer {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &rawServer{listener: listener, answers: answers}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go s.serve(conn)
		}
	}()
	return s
}

func (s *rawServer) serve(conn net.Conn) {
	defer conn.Close()
	request, err := http.ReadRequest(bufio.NewReader(conn))
	if err != nil {
		return
	}
	body, _ := io.ReadAll(request.Body)
	var said bytes.Buffer
	_ = request.Header.WriteSubset(&said, map[string]bool{"Accept-Encoding": true, "Content-Length": true})
	s.mu.Lock()
	s.requests = append(s.requests, fmt.Sprintf("%s %s\n%s%s", request.Method, request.RequestURI, said.String(), body))
	s.mu.Unlock()
	_, _ = io.WriteString(conn, s.answers[request.URL.Path])
}

func (s *rawServer) take() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	taken := s.requests
	s.requests = nil
	return taken
}

func (s *rawServer) url() string { return "http://" + s.listener.Addr().String() }

func answer(status string, headers ...string) string {
	body := headers[len(headers)-1]
	return "HTTP/1.1 " + status + "\r\n" + strings.Join(append(headers[:len(headers)-1:len(headers)-1], "Connection: close", fmt.Sprintf("Content-Length: %d", len(body))), "\r\n") + "\r\n\r\n" + body
}

func zipped(text string) string {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, _ = io.WriteString(w, text)
	_ = w.Close()
	return out.String()
}

// rawAnswers are what services, proxies and broken networks say.
func rawAnswers() map[string]string {
	const json, page = "Content-Type: application/json", "Content-Type: text/html; charset=utf-8"
	answers := map[string]string{
		"/good": answer("200 OK", json, `{"id":3320.0,"name":"a","labels":null,"big":12345678901234567890.10}`),
		"/meta": answer("200 OK", json, "X-Request-Id: req-1", "X-RateLimit-Limit: 10", "X-RateLimit-Remaining: many", `{}`),
		"/html": answer("200 OK", page, "<html><head><title>Log in</title></head><body>Who are <b>you</b>?</body></html>"),
		"/page": answer("502 Bad Gateway", page, "<!doctype html><html><head><title>Down</title><style>x</style></head><body><script>1</script>Back &amp; soon</body></html>"),
		"/text": answer("503 Service Unavailable", "Content-Type: text/plain", "Retry-After: 7", "busy, \x1b[31mcome back"), "/empty": answer("200 OK", json, ""), "/none": answer("204 No Content", ""),
		"/date":  answer("429 Too Many Requests", "Date: Sat, 31 Jan 2026 09:00:00 GMT", "Retry-After: Sat, 31 Jan 2026 09:00:30 GMT", ""),
		"/later": answer("503 Service Unavailable", "Retry-After: 1e9", ""), "/never": answer("503 Service Unavailable", "Retry-After: soon", ""), "/minus": answer("429 Too Many Requests", "Retry-After: -5", ""),
		"/fraction": answer("429 Too Many Requests", "Retry-After: 1.5", ""),
		"/key":      answer("400 Bad Request", json, `{"error":{"message":"the key the-api-key-of-all is wrong","code":"bad_key"}}`),
		"/rfc":      answer("422 Unprocessable Entity", "Content-Type: application/problem+json", `{"title":"Wrong","detail":"the name is taken","type":"about:blank"}`),
		"/oauth":    answer("401 Unauthorized", json, `{"error":"invalid_grant","error_description":"it ran out"}`), "/list": answer("400 Bad Request", json, `{"errors":[{"message":"first"},{"message":"second"}]}`),
		"/fields": answer("400 Bad Request", json, `{"email":["is taken"],"age":["is low"]}`), "/other": answer("400 Bad Request", json, `{"token":"new-secret"}`), "/array": answer("400 Bad Request", json, `[{"message":"in a list"}]`),
		"/cut": "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{\"a\":", "/half": "HTTP/1.1 200 OK\r\nContent-Type: appl", "/nothing": "", "/garbage": "hello\r\n\r\n",
		"/short": answer("200 OK", json, `{"a":`), "/twice": answer("200 OK", json, `{"id":1,"id":2}`), "/latin": answer("200 OK", json, "{\"city\":\"Z\xfcrich\"}"), "/endless": answer("200 OK", json, `{"n":1e999}`), "/bom": answer("200 OK", json, "\xef\xbb\xbf{\"a\":1}"), "/deep": answer("200 OK", json, strings.Repeat("[", 1001)+strings.Repeat("]", 1001)), "/nan": answer("200 OK", json, `{"n":NaN}`),
		"/shape": answer("200 OK", json, `{"id":"x","name":"a"}`), "/fractional": answer("200 OK", json, `{"id":1.5}`), "/labels": answer("200 OK", json, `{"id":1,"name":"a","labels":["x",5]}`), "/scalar": answer("200 OK", json, `5`), "/missing": answer("200 OK", json, `{}`),
		"/chunks": "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{\"a\":\r\n2;x=y\r\n1}\r\n0\r\nX: y\r\n\r\n", "/badchunk": "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n", "/cutchunk": "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{\"a",
		"/lengths": "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}", "/nolength": "HTTP/1.1 200 OK\r\nContent-Length: two\r\n\r\n{}", "/coding": "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n{}", "/interim": strings.Repeat("HTTP/1.1 103 Early Hints\r\n\r\n", 8) + answer("200 OK", "{}"), "/continue": "HTTP/1.1 100 Continue\r\n\r\n" + answer("200 OK", json, "{}"),
		"/header": "HTTP/1.1 200 OK\r\nno colon\r\n\r\n{}", "/headers": "HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 70<<10) + "\r\n\r\n{}", "/close": "HTTP/1.0 200 OK\r\n\r\n{\"a\":1}",
		"/zip": answer("200 OK", json, "Content-Encoding: gzip", zipped(`{"a":1}`)), "/nozip": answer("200 OK", json, "Content-Encoding: gzip", `{"a":1,"b":[2,3]}`), "/large": answer("200 OK", json, `"`+strings.Repeat("x", 5000)+`"`),
		"/away": answer("302 Found", "Location: http://example.com/x?token=abc", ""), "/loop": answer("302 Found", "Location: /loop", ""), "/moved": answer("301 Moved Permanently", "Location: /good", ""), "/lost": answer("302 Found", ""), "/strange": answer("399 Odd", "x"), "/teapot": answer("418 X", ""),
	}
	for _, status := range []int{400, 401, 402, 403, 404, 405, 406, 407, 408, 409, 410, 412, 413, 414, 415, 422, 425, 429, 451, 500, 501, 502, 503, 504, 511, 599} {
		answers[fmt.Sprintf("/%d", status)] = answer(fmt.Sprintf("%d X", status), json, `{"message":"said so","code":"its_word"}`)
	}
	return answers
}

// TestIssue15_5_BothSDKsReadAnswersAlike: the same code, applied, words and facts for
// what a service may say, read and written.
func TestIssue15_5_BothSDKsReadAnswersAlike(t *testing.T) {
	t.Parallel()
	both := twins(t)
	server := serveRaw(t, rawAnswers())
	for _, w := range both {
		if problems := w.connect(`{"base_url":"` + server.url() + `","api_key":"the-api-key-of-all"}`); problems != nil {
			t.Fatal(problems)
		}
	}
	codes := map[string]bool{}
	for path := range server.answers {
		for _, action := range []string{"fetch", "send", "record"} {
			got, asked := map[string]told{}, map[string][]string{}
			for name, w := range both {
				got[name] = shape(w.do(action, `{"path":"`+path+`","query":"secret-of-query","max_body":4096}`).end)
				asked[name] = server.take()
			}
			codes[got["python"].Code] = true
			if diff := cmp.Diff(got["go"], got["python"]); diff != "" {
				t.Errorf("%s of %s (-go +python):\n%s", action, path, diff)
			}
			if diff := cmp.Diff(asked["go"], asked["python"]); diff != "" {
				t.Errorf("requests of %s of %s (-go +python):\n%s", action, path, diff)
			}
			if n := len(asked["python"]); action == "send" && n != 1 {
				t.Errorf("%s was sent %d times", path, n)
			}
		}
	}
	if len(codes) < 10 {
		t.Errorf("the answers have the codes %v", codes)
	}
}

// TestIssue15_5_CredentialsStayAtTheirOrigin, in both.
func TestIssue15_5_CredentialsStayAtTheirOrigin(t *testing.T) {
	t.Parallel()
	both := twins(t)
	own, other := serveRaw(t, map[string]string{"/x": answer("200 OK", "{}")}), serveRaw(t, map[string]string{"/x": answer("200 OK", "{}")})
	for _, how := range []string{"client", "header", "query"} {
		for _, to := range []string{own.url() + "/x", other.url() + "/x", other.url() + "/x?k=the-api-key-of-all", "ftp://127.0.0.1/x", "http://u:p@127.0.0.1/x", "http://cdn.example.com:1/x", "nowhere"} {
			got, asked := map[string]told{}, map[string][]string{}
			for name, w := range both {
				if problems := w.connect(`{"base_url":"` + own.url() + `","api_key":"the-api-key-of-all"}`); problems != nil {
					t.Fatal(problems)
				}
				end := shape(w.do("elsewhere", `{"how":"`+how+`","text":"`+to+`"}`).end)
				end.Hint = strings.ReplaceAll(strings.ReplaceAll(end.Hint, "sdk.HostsFrom", "hosts_from"), "sdk.Hosts", "hosts")
				end.Message = regexp.MustCompile(`\(header [A-Za-z-]+\)`).ReplaceAllString(end.Message, "(a header)") // one of two, in any order
				got[name], asked[name] = end, append(own.take(), other.take()...)
			}
			if diff := cmp.Diff(got["go"], got["python"]); diff != "" {
				t.Errorf("%s to %s (-go +python):\n%s", how, to, diff)
			}
			if diff := cmp.Diff(asked["go"], asked["python"]); diff != "" {
				t.Errorf("requests, %s to %s (-go +python):\n%s", how, to, diff)
			}
			if strings.HasPrefix(to, other.url()) && strings.Contains(strings.Join(asked["python"], ""), "the-api-key-of-all") {
				t.Errorf("%s carried the key to %s", how, to)
			}
		}
	}
}

// TestIssue15_5_ARequestEndsWithItsCall: a canceled call gives its request up within a
// second, and a service that says nothing is a TIMEOUT.
func TestIssue15_5_ARequestEndsWithItsCall(t *testing.T) {
	t.Parallel()
	w := startTwinInPython(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	ended := make(chan time.Time, 1)
	go func() {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		_, _ = io.Copy(io.Discard, conn)
		ended <- time.Now()
	}()
	w.connect(`{"base_url":"http://127.0.0.1:` + port(t, listener) + `"}`)
	ctx, cancel := w.context(30 * time.Second)
	defer cancel()
	stream, err := w.client.Execute(ctx, executeOf("fetch", `{"path":"/slow"}`))
	if err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(300*time.Millisecond, cancel)
	defer timer.Stop()
	_, _ = stream.Recv()
	canceled := time.Now()
	select {
	case at := <-ended:
		if at.Sub(canceled) > time.Second {
			t.Errorf("the request went on for %s", at.Sub(canceled))
		}
	case <-time.After(5 * time.Second):
		t.Error("the request goes on")
	}
}
