package sdk_test

import (
	"bufio"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/flowrun/flowrun/sdk"
	"github.com/flowrun/flowrun/sdk/sdktest"
)

// TestIssue12_16_AnswersThatAreNoneAreToldInPlainWords holds what Go says of them
// away from people.
func TestIssue12_16_AnswersThatAreNoneAreToldInPlainWords(t *testing.T) {
	for name, tt := range map[string]struct{ raw, want string }{
		"no HTTP":             {"SSH-2.0-OpenSSH_9.6\r\n", "what came back is no HTTP"},
		"no status":           {"HTTP/1.1 20 OK\r\n\r\n", "what came back is no HTTP"},
		"two lengths":         {"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 10\r\n\r\n{}", "gives its length twice"},
		"cut in the headers":  {"HTTP/1.1 200 OK\r\nContent-Ty", "broken or cut short"},
		"nothing":             {"", "the connection ended before an answer"},
		"a header that is no": {"HTTP/1.1 200 OK\r\nno header\r\n\r\n{}", "broken or cut short"},
		"large headers":       {"HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 2<<20) + "\r\n\r\n{}", "larger than 64 KiB"},
		"cut in the body":     {"HTTP/1.1 200 OK\r\nContent-Length: 30\r\n\r\n{\"a\":", "cut short after 5 bytes"},
		"bad chunks":          {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}", "its chunks can't be read"},
		"no gzip":             {"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 20\r\n\r\nthis is not gzip at a", "packed with gzip, and is not"},
	} {
		t.Run(name, func(t *testing.T) {
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer listener.Close()
			go replay(listener, tt.raw)
			read := func(c *sdk.Call[httpConfig], _ struct{}) (struct{}, error) {
				_, err := c.HTTP().Get("/x", nil)
				return struct{}{}, err
			}
			p := sdktest.Open(t, sdk.New("p", "1", "", sdk.Read("get", "", read)), map[string]any{"base_url": "http://" + listener.Addr().String()})
			result := p.Call("get", nil)
			if result.Err == nil {
				t.Fatal("it is taken for an answer")
			}
			message := result.Err.Message
			for _, word := range []string{"EOF", "net/http", "malformed", "gzip:", "transport"} {
				if strings.Contains(message, word) {
					t.Errorf("%q speaks of %s", message, word)
				}
			}
			if !strings.Contains(message, tt.want) {
				t.Errorf("%q does not say %q", message, tt.want)
			}
		})
	}
}

// replay answers every request with the same bytes, and ends the connection.
func replay(listener net.Listener, raw string) {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		if _, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
			_, _ = conn.Write([]byte(raw))
		}
		_ = conn.Close()
	}
}
