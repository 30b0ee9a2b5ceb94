package serve

import (
	"net/http"
	"strings"
	"testing"

	"github.com/flowrun/flowrun/engine/access"
	"github.com/flowrun/flowrun/internal/web/guard"
)

// wrongTypes are media types that are not application/json, and some that look
// like it.
func wrongTypes() []string {
	return []string{
		"", "text/plain", "text/json", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/xml", "application/yaml",
		"application/octet-stream", "application/json2", "application/jsonp", "application/problem+json", "application/vnd.api+json", "application/*", "*/*",
		"application/json, text/plain", "text/plain; a=application/json", "application/json; charset=utf-16", "application/json; charset=latin1", "application /json", "json",
	}
}

// TestBodiesOfOtherTypes are refused at every route of the API that takes a body,
// before anything else is looked at.
func TestBodiesOfOtherTypes(t *testing.T) {
	p := newProduct(t)
	_, address := p.listen()
	authorization := "Authorization: Bearer " + p.token(access.NewToken{Scope: "admin"})
	c := &connection{t: t, address: address}
	defer c.close()
	tried := 0
	for _, route := range p.allRoutes() {
		method, path := fill(route.Pattern, "hello")
		if route.Face != guard.FaceAPI || method == "GET" {
			continue
		}
		for _, wrong := range wrongTypes() {
			headers := []string{authorization}
			if wrong != "" {
				headers = append(headers, "Content-Type: "+wrong)
			}
			tried++
			if status, _, body := c.send(raw(method, path, address, "{}", headers...)); status != http.StatusUnsupportedMediaType {
				t.Errorf("%s with %q: %d %s", route.Pattern, wrong, status, body)
			}
		}
		for name, body := range map[string]string{
			"an unknown field":  `{"no_such_field_anywhere": 1}`,
			"two values":        `{} {}`,
			"half a value":      `{"a":`,
			"a list":            `[]`,
			"no UTF-8":          "{\"a\": \"\xff\"}",
			"a number":          `17`,
			"nesting":           strings.Repeat(`{"a":`, 20000) + "1" + strings.Repeat("}", 20000),
			"a field twice":     `{"no_such":1,"no_such":2}`,
			"a field in a case": `{"BY":"x","Inputs":{},"SOURCE":"","Zzz":1}`,
		} {
			tried++
			status, _, answer := c.send(raw(method, path, address, body, authorization, "Content-Type: application/json"))
			if status < 400 || status >= 500 {
				t.Errorf("%s with %s: %d %s", route.Pattern, name, status, answer)
			}
		}
		large := `{"by":"` + strings.Repeat("x", 3<<20) + `"}`
		tried++
		if status, _, answer := c.send(raw(method, path, address, large, authorization, "Content-Type: application/json")); status != http.StatusRequestEntityTooLarge && status != 0 {
			t.Errorf("%s with 3 MiB: %d %s", route.Pattern, status, answer)
		}
		c.close()
	}
	t.Logf("%d requests", tried)
}

// TestOddRequests are no HTTP, or more than one request at a time to whoever
// reads them differently: none is answered as if it were good.
func TestOddRequests(t *testing.T) {
	p := newProduct(t)
	_, address := p.listen()
	authorization := "Authorization: Bearer " + p.token(access.NewToken{Scope: "admin"}) + "\r\n"
	host := "Host: " + address + "\r\n"
	for name, request := range map[string]string{
		"two lengths":                 "POST /api/v1/validate HTTP/1.1\r\n" + host + authorization + "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}x",
		"a length and chunks":         "POST /api/v1/validate HTTP/1.1\r\n" + host + authorization + "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"an unknown encoding":         "POST /api/v1/validate HTTP/1.1\r\n" + host + authorization + "Transfer-Encoding: xchunked\r\n\r\n",
		"a space before the colon":    "GET /api/v1/runs HTTP/1.1\r\n" + host + "Authorization : x\r\n\r\n",
		"a header on two lines":       "GET /api/v1/runs HTTP/1.1\r\n" + host + "X: a\r\n b\r\n" + "\r\n",
		"two hosts":                   "GET /healthz HTTP/1.1\r\n" + host + "Host: evil.example\r\n\r\n",
		"no host":                     "GET /healthz HTTP/1.1\r\n\r\n",
		"no host in the old protocol": "GET /healthz HTTP/1.0\r\n\r\n",
		"a host in the line alone":    "GET http://evil.example/healthz HTTP/1.1\r\n" + host + "\r\n",
		"a zero in a header":          "GET /healthz HTTP/1.1\r\n" + host + "X: a\x00b\r\n\r\n",
		"a bare line feed":            "GET /healthz HTTP/1.1\nHost: evil.example\n\n",
		"a tunnel":                    "CONNECT 127.0.0.1:22 HTTP/1.1\r\n" + host + authorization + "\r\n",
		"an upgrade":                  "GET /api/v1/runs HTTP/1.1\r\n" + host + "Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
		"a header that is too large":  "GET /healthz HTTP/1.1\r\n" + host + "X: " + strings.Repeat("a", 64<<10) + "\r\n\r\n",
		"an asterisk":                 "OPTIONS * HTTP/1.1\r\n" + host + "\r\n",
		"no HTTP at all":              "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			c := &connection{t: t, address: address}
			defer c.close()
			if status, _, body := c.send([]byte(request)); status < 400 && status != 0 {
				t.Errorf("%d %s", status, body)
			}
		})
	}
}

// TestNothingOfAnAnswerIsForOthers: each answer has the headers that keep it from
// other sites, and none that lets them in.
func TestNothingOfAnAnswerIsForOthers(t *testing.T) {
	p := newProduct(t)
	_, address := p.listen()
	c := &connection{t: t, address: address}
	defer c.close()
	for _, route := range p.allRoutes() {
		if strings.HasSuffix(route.Pattern, "/stream") {
			continue
		}
		method, path := fill(route.Pattern, "hello")
		for _, header := range [][]string{nil, {"Authorization: Bearer " + p.adminToken()}} {
			status, answer, _ := c.send(raw(method, path, address, "", append([]string{"X-Seen: 1"}, header...)...))
			if status == 0 {
				t.Fatalf("%s: no answer", route.Pattern)
			}
			for _, name := range []string{"Content-Security-Policy", "X-Content-Type-Options", "Referrer-Policy", "Cross-Origin-Resource-Policy", "Cross-Origin-Opener-Policy"} {
				if answer.Get(name) == "" {
					t.Errorf("%s (%d) has no %s", route.Pattern, status, name)
				}
			}
			for name := range answer {
				if strings.HasPrefix(name, "Access-Control-") || name == "Server" || name == "X-Powered-By" {
					t.Errorf("%s (%d) has %s", route.Pattern, status, name)
				}
			}
			if cache := answer.Get("Cache-Control"); cache != "no-store" && !strings.Contains(path, "/static/") {
				t.Errorf("%s (%d) may be kept: %q", route.Pattern, status, cache)
			}
		}
	}
}

// adminToken is one token for a whole test.
func (p *product) adminToken() string {
	if p.admin == "" {
		p.admin = p.token(access.NewToken{Scope: "admin"})
	}
	return p.admin
}
