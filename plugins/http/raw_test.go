package http

import (
	"bufio"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/flowrun/flowrun/sdk"
	"github.com/flowrun/flowrun/sdk/sdktest"
)

// rawServer answers every request with the same bytes, and closes the connection.
func rawServer(t *testing.T, answer string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				if _, err := http.ReadRequest(bufio.NewReader(conn)); err != nil {
					return
				}
				_, _ = conn.Write([]byte(answer))
			}()
		}
	}()
	return "http://" + listener.Addr().String()
}

// TestRawAnswers gives answers byte by byte, as no server of Go's would. Each ends in an
// error of its call; of what was sent nothing is said that is not known.
func TestRawAnswers(t *testing.T) {
	const head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
	for name, c := range map[string]struct {
		answer  string
		code    sdk.Code
		text    string
		applied sdk.Applied
	}{
		"nothing":                           {"", sdk.CodeUnavailable, "the connection ended before an answer", sdk.AppliedUnknown},
		"no HTTP":                           {"SSH-2.0-OpenSSH_9.6\r\n", sdk.CodeUnavailable, "no HTTP", sdk.AppliedUnknown},
		"half a status line":                {"HTTP/1.1 20", sdk.CodeUnavailable, "", sdk.AppliedUnknown},
		"a status that is no number":        {"HTTP/1.1 abc OK\r\n\r\n", sdk.CodeUnavailable, "no HTTP", sdk.AppliedUnknown},
		"a status that nobody knows":        {"HTTP/1.1 799 Odd\r\nContent-Length: 0\r\n\r\n", sdk.CodeUnexpectedResponse, "799", sdk.AppliedUnknown},
		"cut headers":                       {head + "X-A: 1", sdk.CodeUnavailable, "", sdk.AppliedUnknown},
		"a broken header":                   {head + "no colon\r\n\r\n", sdk.CodeUnavailable, "", sdk.AppliedUnknown},
		"a header bomb":                     {head + "X-A: " + strings.Repeat("a", 100<<10) + "\r\n\r\n", sdk.CodeUnavailable, "larger than 64 KiB", sdk.AppliedUnknown},
		"two lengths":                       {head + "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}", sdk.CodeUnavailable, "its length twice", sdk.AppliedUnknown},
		"a length below zero":               {head + "Content-Length: -2\r\n\r\n{}", sdk.CodeUnavailable, "no length that is a number", sdk.AppliedUnknown},
		"a length beyond the body":          {head + "Content-Length: 20\r\n\r\n{}", sdk.CodeUnexpectedResponse, "cut short after 2 bytes", sdk.AppliedUnknown},
		"a chunk that lies about its size":  {head + "Transfer-Encoding: chunked\r\n\r\n5\r\n{}\r\n0\r\n\r\n", sdk.CodeUnexpectedResponse, "cut short", sdk.AppliedUnknown},
		"a chunk without a size":            {head + "Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n", sdk.CodeUnexpectedResponse, "its chunks can't be read", sdk.AppliedUnknown},
		"chunks without an end":             {head + "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n", sdk.CodeUnexpectedResponse, "cut short", sdk.AppliedUnknown},
		"a chunk of 2^62 bytes":             {head + "Transfer-Encoding: chunked\r\n\r\n4000000000000000\r\n{}", sdk.CodeUnexpectedResponse, "cut short", sdk.AppliedUnknown},
		"a coding nobody knows":             {head + "Transfer-Encoding: gold\r\n\r\n{}", sdk.CodeUnavailable, "Transfer-Encoding", sdk.AppliedUnknown},
		"packed by its header alone":        {head + "Content-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}", sdk.CodeUnexpectedResponse, "", sdk.AppliedUnknown},
		"interim answers alone":             {strings.Repeat("HTTP/1.1 100 Continue\r\n\r\n", 20), sdk.CodeUnavailable, "cut short", sdk.AppliedUnknown},
		"a redirect to nowhere":             {"HTTP/1.1 302 Found\r\nLocation: ://\r\nContent-Length: 0\r\n\r\n", sdk.CodeUnavailable, "Location", sdk.AppliedUnknown},
		"a redirect without an address":     {"HTTP/1.1 302 Found\r\nContent-Length: 0\r\n\r\n", sdk.CodeUnexpectedResponse, "302", sdk.AppliedUnknown},
		"a refusal, cut":                    {"HTTP/1.1 404 Not Found\r\nContent-Length: 20\r\n\r\n{}", sdk.CodeUnexpectedResponse, "cut short", sdk.NotApplied},
		"JSON that is another's":            {head + "Content-Length: 16\r\n\r\n" + `{"a":1e99999999}`, sdk.CodeUnexpectedResponse, "", sdk.AppliedUnknown},
		"a document as deep as the sea":     {head + "Content-Length: 200000\r\n\r\n" + strings.Repeat("[", 100000) + strings.Repeat("]", 100000), sdk.CodeUnexpectedResponse, "", sdk.AppliedUnknown},
		"text that is no UTF-8 within JSON": {head + "Content-Length: 3\r\n\r\n\"\xff\"", sdk.CodeUnexpectedResponse, "", sdk.AppliedUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			p := sdktest.Open(t, New(), in{"base_url": rawServer(t, c.answer), "private": true})
			failure := fails(t, p.Call("post", in{"path": "/a", "json": in{}}), c.code, c.text)
			if failure.Applied != c.applied {
				t.Errorf("applied %v, want %v", failure.Applied, c.applied)
			}
			if strings.Contains(failure.Message, "net/http") || strings.Contains(failure.Message, ".go:") {
				t.Errorf("the message is Go's: %s", failure.Message)
			}
		})
	}
	good := rawServer(t, head+"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n")
	outputOfCall(t, sdktest.Open(t, New(), in{"base_url": good, "private": true}).Call("post", in{"path": "/a", "json": in{}}))
}
