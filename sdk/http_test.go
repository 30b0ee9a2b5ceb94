package sdk_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flowrun/flowrun/sdk"
	"github.com/flowrun/flowrun/sdk/sdktest"
)

type httpConfig struct {
	sdk.HTTPSettings
	Token string `json:"token,omitempty" secret:"true"`
}

type exchange struct {
	Status int               `json:"status"`
	Body   string            `json:"body"`
	Header map[string]string `json:"header"`
}

// fetcher is a plugin whose one action sends one request.
func fetcher(request sdk.Request, change ...func(*sdk.HTTPClient) *sdk.HTTPClient) *sdk.Plugin {
	fetch := func(c *sdk.Call[httpConfig], _ struct{}) (exchange, error) {
		client := c.HTTP()
		for _, fn := range change {
			client = fn(client)
		}
		response, err := client.WithBearer(c.Config.Token).Do(&request)
		if err != nil {
			return exchange{}, err
		}
		out := exchange{Status: response.Status, Body: string(response.Body), Header: map[string]string{}}
		for name := range response.Header {
			out.Header[name] = response.Header.Get(name)
		}
		return out, nil
	}
	return sdk.New("fetcher", "1.2.3", "sends a request",
		sdk.Limit("all", 60, time.Minute),
		sdk.Keyed("fetch", "Send it", fetch, sdk.Limits("all")),
		sdk.Read("read", "Send it", fetch),
	)
}

func serve(t *testing.T, handler http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL
}

func openFetcher(t *testing.T, base string, request sdk.Request) *sdktest.Plugin {
	t.Helper()
	return sdktest.Open(t, fetcher(request), map[string]any{"base_url": base, "token": "canary-token-1234"})
}

func TestHTTPClassifiesStatuses(t *testing.T) {
	const notApplied, unknown = sdk.NotApplied, sdk.AppliedUnknown
	for status, c := range map[int]struct {
		code    sdk.Code
		applied sdk.Applied
	}{
		300: {sdk.CodeUnexpectedResponse, unknown}, 302: {sdk.CodeUnexpectedResponse, unknown}, 304: {sdk.CodeUnexpectedResponse, unknown},
		400: {sdk.CodeInvalid, notApplied}, 401: {sdk.CodeUnauthorized, notApplied}, 402: {sdk.CodeQuotaExhausted, notApplied},
		403: {sdk.CodeForbidden, notApplied}, 404: {sdk.CodeNotFound, notApplied}, 405: {sdk.CodeUnsupported, notApplied},
		407: {sdk.CodeUnavailable, notApplied}, 408: {sdk.CodeTimeout, unknown}, 409: {sdk.CodeConflict, notApplied},
		410: {sdk.CodeNotFound, notApplied}, 412: {sdk.CodeConflict, notApplied}, 418: {sdk.CodeInvalid, notApplied},
		422: {sdk.CodeInvalid, notApplied}, 425: {sdk.CodeUnavailable, notApplied}, 429: {sdk.CodeRateLimited, notApplied},
		500: {sdk.CodeUnavailable, unknown}, 501: {sdk.CodeUnsupported, unknown}, 502: {sdk.CodeUnavailable, unknown},
		503: {sdk.CodeUnavailable, unknown}, 504: {sdk.CodeUnavailable, unknown}, 599: {sdk.CodeUnavailable, unknown},
		600: {sdk.CodeUnexpectedResponse, unknown},
	} {
		t.Run(http.StatusText(status), func(t *testing.T) {
			base := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Retry-After", "7")
				w.WriteHeader(status)
				if status != 304 {
					_, _ = io.WriteString(w, `{"error":"slow_down","message":"go away canary-token-1234"}`)
				}
			})
			err := openFetcher(t, base, sdk.Request{Method: "POST", Path: "/v1/x", JSON: 1}).Call("fetch", nil).Err
			if err == nil {
				t.Fatal("the call succeeded")
			}
			if err.Code != c.code || err.Applied != c.applied || err.HTTPStatus != status || err.RetryAfter != 7*time.Second {
				t.Errorf("got %v %v %d %s", err.Code, err.Applied, err.HTTPStatus, err.RetryAfter)
			}
			if status != 304 && (err.Reason != "slow_down" || !strings.Contains(err.Message, "go away [redacted]")) {
				t.Errorf("reason %q, message %q", err.Reason, err.Message)
			}
			if wantLimiter := status == 429; (err.Limiter == "all") != wantLimiter {
				t.Errorf("limiter %q", err.Limiter)
			}
			if err.Details["service"] != "fetcher" || err.Details["action"] != "fetch" || err.Details["url"] != base+"/v1/x" {
				t.Errorf("details %v", err.Details)
			}
		})
	}
}

func TestHTTPBodies(t *testing.T) {
	var zipped bytes.Buffer
	writer := gzip.NewWriter(&zipped)
	_, _ = writer.Write(bytes.Repeat([]byte("0123456789abcdef"), 1<<20)) // 16 MiB in 16 KiB
	_ = writer.Close()
	for name, c := range map[string]struct {
		handler http.HandlerFunc
		code    sdk.Code // 0 = success
		message string
	}{
		"JSON": {func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"a":1}`) }, 0, ""},
		"JSON with a charset": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json; charset=utf-8")
			_, _ = io.WriteString(w, `{"a":1}`)
		}, 0, ""},
		"empty": {func(http.ResponseWriter, *http.Request) {}, sdk.CodeUnexpectedResponse, "the answer is empty where JSON is due"},
		"HTML": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			_, _ = io.WriteString(w, "<html>\x1b[31m"+strings.Repeat("é", 600)+"</html>")
		}, sdk.CodeUnexpectedResponse, "the answer is no JSON but text/html"},
		"another shape": {func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `[1]`) }, sdk.CodeUnexpectedResponse, "the answer has another shape"},
		"JSON cut short": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"a":`)
		}, sdk.CodeUnexpectedResponse, "is no JSON, perhaps cut short"},
		"less than its length": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, `{"a":1}`)
		}, sdk.CodeUnexpectedResponse, "was cut short after 7 bytes"},
		"cut inside a chunk": {func(w http.ResponseWriter, _ *http.Request) {
			conn, buffer, _ := w.(http.Hijacker).Hijack()
			_, _ = buffer.WriteString("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n20\r\n{\"a\":1")
			_ = buffer.Flush()
			_ = conn.Close()
		}, sdk.CodeUnexpectedResponse, "was cut short after 6 bytes"},
		"a gzip bomb": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(zipped.Bytes())
		}, sdk.CodeUnexpectedResponse, "the answer is larger than 8388608 bytes"},
		"broken gzip": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = io.WriteString(w, "this is not gzip at all")
		}, sdk.CodeUnexpectedResponse, "gzip"},
		"no answer": {func(w http.ResponseWriter, _ *http.Request) {
			conn, _, _ := w.(http.Hijacker).Hijack()
			_ = conn.Close()
		}, sdk.CodeUnavailable, "the connection ended before an answer"},
	} {
		t.Run(name, func(t *testing.T) {
			read := func(c *sdk.Call[httpConfig], _ struct{}) (out struct {
				A int `json:"a"`
			}, err error) {
				err = c.HTTP().GetJSON("/x", nil, &out)
				return out, err
			}
			p := sdktest.Open(t, sdk.New("p", "1", "", sdk.Read("get", "", read)), map[string]any{"base_url": serve(t, c.handler)})
			result := p.Call("get", nil)
			if c.code == 0 {
				if string(result.Output) != `{"a":1}` {
					t.Errorf("output %s, error %v", result.Output, result.Err)
				}
				return
			}
			if result.Err == nil || result.Err.Code != c.code || !strings.Contains(result.Err.Message, c.message) || result.Err.Applied != sdk.AppliedUnknown {
				t.Fatalf("got %+v", result.Err)
			}
			body, _ := result.Err.Details["body"].(string)
			if len(body) > 512 || strings.ContainsRune(body, 0x1b) || !json.Valid([]byte(`"`+strings.ReplaceAll(body, `"`, `\"`)+`"`)) {
				t.Errorf("excerpt of %d bytes: %q", len(body), body)
			}
		})
	}
}

func TestHTTPNetworkFailures(t *testing.T) {
	t.Run("refused", func(t *testing.T) {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		base := "http://" + listener.Addr().String()
		_ = listener.Close()
		failure := openFetcher(t, base, sdk.Request{Method: "POST", Path: "/x", Query: url.Values{"access_token": {"abc"}}}).Call("fetch", nil).Err
		if failure == nil || failure.Code != sdk.CodeUnavailable || failure.Applied != sdk.NotApplied {
			t.Fatalf("got %+v", failure)
		}
		if text := failure.Message + failure.Details["url"].(string); strings.Contains(text, "abc") || !strings.Contains(failure.Message, "refused") {
			t.Errorf("message %q, details %v", failure.Message, failure.Details)
		}
	})
	t.Run("no such host", func(t *testing.T) {
		failure := openFetcher(t, "http://no-such-host.invalid", sdk.Request{}).Call("fetch", nil).Err
		if failure == nil || failure.Code != sdk.CodeUnavailable || failure.Applied != sdk.NotApplied {
			t.Fatalf("got %+v", failure)
		}
	})
	release := make(chan struct{})
	base := serve(t, func(http.ResponseWriter, *http.Request) { <-release })
	defer close(release)
	t.Run("timeout", func(t *testing.T) {
		p := sdktest.Open(t, sdk.New("p", "1", "", sdk.Once("wait", "", func(c *sdk.Call[httpConfig], _ struct{}) (struct{}, error) {
			ctx, cancel := context.WithTimeout(c, 30*time.Millisecond)
			defer cancel()
			_, err := c.HTTP().WithContext(ctx).Post("/x", 1)
			return struct{}{}, err
		})), map[string]any{"base_url": base})
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		failure := p.CallContext(ctx, "wait", nil).Err
		if failure == nil || failure.Code != sdk.CodeTimeout || failure.Applied != sdk.AppliedUnknown {
			t.Fatalf("got %+v", failure)
		}
	})
	t.Run("canceled", func(t *testing.T) {
		var seen atomic.Pointer[sdk.Error]
		done := make(chan struct{})
		p := sdktest.Open(t, sdk.New("p", "1", "", sdk.Once("wait", "", func(c *sdk.Call[httpConfig], _ struct{}) (struct{}, error) {
			defer close(done)
			_, err := c.HTTP().Post("/x", 1)
			var failure *sdk.Error
			if errors.As(err, &failure) {
				seen.Store(failure)
			}
			return struct{}{}, err
		})), map[string]any{"base_url": base})
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(30*time.Millisecond, cancel)
		p.CallContext(ctx, "wait", nil)
		<-done
		if failure := seen.Load(); failure == nil || failure.Code != sdk.CodeCanceled || failure.Applied != sdk.AppliedUnknown {
			t.Fatalf("got %+v", failure)
		}
	})
}

func TestHTTPRedirects(t *testing.T) {
	var elsewhere atomic.Int32
	other := serve(t, func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) })
	mux := http.NewServeMux()
	mux.HandleFunc("/end", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.Header.Get("Authorization")+r.Header.Get("Referer"))
	})
	mux.HandleFunc("/hop", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/end", http.StatusFound) })
	mux.HandleFunc("/loop", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/loop", http.StatusFound) })
	mux.HandleFunc("/away", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, other+"/", http.StatusFound) })
	base := serve(t, mux.ServeHTTP)
	for name, c := range map[string]struct {
		request sdk.Request
		body    string
		hint    string
	}{
		"same host":      {sdk.Request{Path: "/hop", Query: url.Values{"token": {"q"}}}, "Bearer canary-token-1234", ""},
		"another host":   {sdk.Request{Path: "/away"}, "", "redirects to http://127.0.0.1:"},
		"endless":        {sdk.Request{Path: "/loop"}, "", "was not followed"},
		"after a write":  {sdk.Request{Path: "/hop", Method: "POST", JSON: 1}, "", "was not followed"},
		"after a delete": {sdk.Request{Path: "/hop", Method: "DELETE"}, "", "was not followed"},
	} {
		t.Run(name, func(t *testing.T) {
			result := openFetcher(t, base, c.request).Call("fetch", nil)
			if c.hint == "" {
				var got exchange
				result.Decode(t, &got)
				if got.Body != c.body {
					t.Errorf("body %q", got.Body)
				}
				return
			}
			if result.Err == nil || result.Err.Code != sdk.CodeUnexpectedResponse || !strings.Contains(result.Err.Hint, c.hint) {
				t.Errorf("got %+v", result.Err)
			}
		})
	}
	if elsewhere.Load() > 0 {
		t.Error("another host was asked")
	}
}

func TestHTTPSendsWhatItShould(t *testing.T) {
	var got *http.Request
	var body []byte
	base := serve(t, func(w http.ResponseWriter, r *http.Request) {
		got, body = r, nil
		body, _ = io.ReadAll(r.Body)
		w.Header().Set("Set-Cookie", "session=1")
		w.Header().Set("X-Request-Id", "req-1")
		w.Header().Set("X-RateLimit-Limit", "60")
		w.Header().Set("X-RateLimit-Remaining", "59")
		w.Header().Set("X-RateLimit-Window", "60s")
		_, _ = io.WriteString(w, `{}`)
	})
	p := openFetcher(t, base+"/root/", sdk.Request{
		Method: "PUT", Path: "/a%2Fb", Query: url.Values{"q": {"x y&z"}}, JSON: map[string]string{"t": "<é>"},
		Header: http.Header{"Cookie": {"a=b"}, "x-more": {"1"}},
	})
	for range 2 { // the second would send the cookie back
		result := p.Call("fetch", nil, sdktest.Key("key-1"))
		if result.Err != nil {
			t.Fatal(result.Err)
		}
		delete(result.Meta, "duration_ms")
		want := map[string]any{"status": 200.0, "request_id": "req-1", "rate": map[string]any{"limit": 60.0, "remaining": 59.0, "window": "60s"}}
		if diff := cmp.Diff(want, result.Meta); diff != "" {
			t.Errorf("meta (-want +got):\n%s", diff)
		}
	}
	if got.Method != "PUT" || got.URL.EscapedPath() != "/root/a%2Fb" || got.URL.Query().Get("q") != "x y&z" || string(body) != `{"t":"<é>"}` {
		t.Errorf("request %s %s %s", got.Method, got.URL, body)
	}
	for name, want := range map[string]string{
		"Authorization": "Bearer canary-token-1234", "Idempotency-Key": "key-1", "Content-Type": "application/json", "Accept": "application/json",
		"User-Agent": "flowrun-fetcher/1.2.3", "X-More": "1", "Cookie": "",
	} {
		if got.Header.Get(name) != want {
			t.Errorf("header %s is %q, want %q", name, got.Header.Get(name), want)
		}
	}
	openFetcher(t, base, sdk.Request{}).Call("fetch", nil)
	if got.Method != "GET" || got.Header.Get("Idempotency-Key") != "" || got.Header.Get("Content-Type") != "" {
		t.Errorf("a read has %v", got.Header)
	}
	openFetcher(t, base, sdk.Request{Method: "POST"}).Call("read", nil)
	if got.Header.Get("Idempotency-Key") != "" {
		t.Errorf("an action that is not keyed has %v", got.Header)
	}
}

// The network breaks after the request was read: net/http would send a request
// with an idempotency key once more by itself.
func TestHTTPNeverRepeatsAWrite(t *testing.T) {
	for name, request := range map[string]sdk.Request{"with a body": {Method: "POST", JSON: 1}, "without": {Method: "POST"}} {
		t.Run(name, func(t *testing.T) {
			var calls atomic.Int32
			base := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if calls.Add(1) == 1 {
					return // the connection is kept, so that the next call uses it
				}
				conn, _, _ := w.(http.Hijacker).Hijack()
				_ = conn.Close()
			})
			p := openFetcher(t, base, request)
			p.Call("fetch", nil)
			failure := p.Call("fetch", nil).Err
			if failure == nil || failure.Code != sdk.CodeUnavailable || failure.Applied != sdk.AppliedUnknown {
				t.Errorf("got %+v", failure)
			}
			if calls.Load() != 2 {
				t.Errorf("the service saw %d requests, want 2", calls.Load())
			}
		})
	}
}

func TestHTTPHooks(t *testing.T) {
	base := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(map[string]int{"/teapot": 418}[r.URL.Path] + map[bool]int{true: 200}[r.URL.Path != "/teapot"])
		_, _ = io.WriteString(w, `{"code":404,"message":"no such word"}`)
	})
	classify := func(r *sdk.Response) error {
		var envelope struct {
			Code    int
			Message string
		}
		if json.Unmarshal(r.Body, &envelope) != nil || envelope.Code == 200 {
			return nil
		}
		return r.Fail(sdk.CodeOfStatus(envelope.Code), "%s", envelope.Message)
	}
	withHook := func(h *sdk.HTTPClient) *sdk.HTTPClient { return h.WithPath("/api/").WithClassifier(classify) }
	p := sdktest.Open(t, fetcher(sdk.Request{Path: "/word"}, withHook), map[string]any{"base_url": base})
	failure := p.Call("fetch", nil).Err
	if failure == nil || failure.Code != sdk.CodeNotFound || failure.HTTPStatus != 200 || !strings.HasSuffix(failure.Message, "/api/word: no such word") {
		t.Errorf("the body's code: %+v", failure)
	}
	typedNil := func(*sdk.Response) error { var none *sdk.Error; return none }
	for name, request := range map[string]sdk.Request{
		"an accepted status": {Path: "/teapot", Accept: []int{418}}, "a hook that finds nothing": {Path: "/x", Classify: typedNil},
	} {
		if failure := openFetcher(t, base, request).Call("fetch", nil).Err; failure != nil {
			t.Errorf("%s: %v", name, failure)
		}
	}
	failure = openFetcher(t, base, sdk.Request{Path: "/x", MaxBody: 5}).Call("fetch", nil).Err
	if failure == nil || !strings.Contains(failure.Message, "larger than 5 bytes") {
		t.Errorf("a bound of its own: %+v", failure)
	}
}

func TestHTTPKeepsToItsPath(t *testing.T) {
	var calls atomic.Int32
	base := serve(t, func(http.ResponseWriter, *http.Request) { calls.Add(1) })
	for _, path := range []string{"/a/../b", "/..", "/%2e%2E/x", "/a?x=1", "/a#b", "/a\\b", "/a\nb", "/%zz"} {
		failure := openFetcher(t, base+"/root", sdk.Request{Path: path}).Call("fetch", nil).Err
		if failure == nil || failure.Code != sdk.CodeInternal || failure.Applied != sdk.NotApplied {
			t.Errorf("path %q: %+v", path, failure)
		}
	}
	if calls.Load() > 0 {
		t.Error("a request was sent")
	}
	for _, path := range []string{"//evil.example/x", "@evil.example", ":80@evil.example/"} {
		openFetcher(t, base, sdk.Request{Path: path}).Call("fetch", nil)
	}
	if calls.Load() != 3 {
		t.Errorf("%d requests came to the base's host, want 3", calls.Load())
	}
}

// caFile writes the certificate of a server to a file.
func caFile(t *testing.T, server *httptest.Server) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "ca.pem")
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := os.WriteFile(file, certificate, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestHTTPTrustsTheCAFile(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "{}") }))
	server.Config.ErrorLog = nil
	defer server.Close()
	file := caFile(t, server)
	failure := sdktest.Open(t, fetcher(sdk.Request{}), map[string]any{"base_url": server.URL}).Call("fetch", nil).Err
	if failure == nil || failure.Code != sdk.CodeUnavailable || failure.Applied != sdk.NotApplied || !strings.Contains(failure.Hint, "ca_file") {
		t.Errorf("without the file: %+v", failure)
	}
	if failure := sdktest.Open(t, fetcher(sdk.Request{}), map[string]any{"base_url": server.URL, "ca_file": file}).Call("fetch", nil).Err; failure != nil {
		t.Errorf("with the file: %+v", failure)
	}
}
