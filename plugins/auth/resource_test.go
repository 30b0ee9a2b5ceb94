package auth

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flowrun/flowrun/internal/simkit"
	"github.com/flowrun/flowrun/plugins/auth/authsim"
	"github.com/flowrun/flowrun/sdk"
)

func TestA43_TokenInTheHeader(t *testing.T) {
	w := open(t, authsim.Options{}, nil)
	w.login()
	for _, input := range []in{{"url": w.url + "/resource/me?x=1&y=%20"}, {"url": w.url + "/resource/me?x=1&y=%20", "token_in": "header", "headers": in{"X-Trace": "t"}}} {
		out := output(t, w.Call("resource_get", input))
		if out["status"] != 200.0 || out["body"].(in)["sub"] != "u-100042" || out["headers"].(in)["content-type"] != "application/json" {
			t.Errorf("got %v", out)
		}
		got := w.last()
		if got.method != "GET" || got.query != "x=1&y=%20" || got.header.Get("Authorization") != "Bearer "+w.stored().AccessToken {
			t.Errorf("sent %+v", got)
		}
	}
	if w.last().header.Get("X-Trace") != "t" {
		t.Error("the header is not sent")
	}
}

func TestA43_ExactlyOneForm(t *testing.T) {
	w := open(t, authsim.Options{}, nil)
	w.login()
	address := w.url + "/resource/me"
	w.refuses("/url", "access_token", "resource_get", in{"url": address + "?access_token=x"})
	for _, name := range []string{"Authorization", "authorization", "Cookie", "HOST", "Proxy-Authorization", "Transfer-Encoding"} {
		w.refuses("/headers/"+name, "", "resource_get", in{"url": address, "headers": in{name: "x"}})
	}
	w.refuses("/headers/X-A", "control", "resource_get", in{"url": address, "headers": in{"X-A": "b\r\nCookie: x"}})
	w.refuses("/headers/X A", "name", "resource_get", in{"url": address, "headers": in{"X A": "b"}})
	w.refuses("/token_in", "", "resource_get", in{"url": address, "token_in": "body"})
	if w.count("/resource/me") != 0 {
		t.Error("something was sent")
	}
}

func TestA44_TokenInTheQuery(t *testing.T) {
	w := open(t, authsim.Options{}, nil)
	w.login()
	output(t, w.Call("resource_get", in{"url": w.url + "/resource/me?x=1", "token_in": "query"}))
	token := w.stored().AccessToken
	if got := w.last(); got.query != "x=1&access_token="+token || got.header.Get("Authorization") != "" {
		t.Errorf("sent %+v", got)
	}
	w.fault(simkit.Fault{Path: "/resource/me", Status: 403, Body: `{"message":"no access for ` + token + `"}`})
	r := w.Call("resource_get", in{"url": w.url + "/resource/me", "token_in": "query"})
	if fails(t, r, sdk.CodeForbidden, ""); strings.Contains(texts(r), token) || !strings.Contains(texts(r), "[redacted]") {
		t.Errorf("the error shows the token: %s", texts(r))
	}
	w.fault(simkit.Fault{Path: "/resource/me", Drop: simkit.DropBefore, Count: simkit.Forever})
	r = w.Call("resource_get", in{"url": w.url + "/resource/me", "token_in": "query"})
	if fails(t, r, sdk.CodeUnavailable, ""); strings.Contains(texts(r), token) {
		t.Errorf("the error shows the token: %s", texts(r))
	}
}

func TestResourceHostsAreAllowed(t *testing.T) {
	w := open(t, authsim.Options{}, in{"allow_hosts": []string{"api.example.com:8443", "API.example.org", "::1"}})
	w.login()
	for _, bad := range []string{
		"https://api.example.com/", "https://api.example.com:443/", "https://x.api.example.org/", "https://api.example.org.evil/", "https://evil/?api.example.org",
		w.url + "/resource/me", "https://api.example.org./", "https://127.0.0.1/", "https://169.254.169.254/", "https://[::ffff:127.0.0.1]/", "https://2130706433/",
	} {
		w.refuses("/url", "allow_hosts", "resource_get", in{"url": bad})
	}
	for _, bad := range []string{"http://api.example.org/", "https://u:p@api.example.org/", "//api.example.org/", "ftp://api.example.org", "https:api.example.org", `https://evil\@api.example.org/`, "https://api.example.org/%zz", "/me"} {
		w.refuses("/url", "", "resource_get", in{"url": bad})
	}
	w.refuses("/url", "", "resource_get", in{"url": ""})
	for entry, urls := range map[string][2]string{
		"api.example.com":     {"https://API.example.com:99/x", "https://example.com"},
		"api.example.com:443": {"https://api.example.com/x", "https://api.example.com:444"},
		"[::1]:80":            {"http://[0:0::1]/x", "http://[::1]:81"},
		"localhost":           {"http://localhost:4/x", "http://127.0.0.1:4"},
	} {
		c := Config{AllowHosts: []string{entry}}
		for i, text := range urls {
			r := httptest.NewRequest("GET", text, nil)
			if got := c.allows(r.URL); got != (i == 0) {
				t.Errorf("%s allows %s: %v", entry, text, got)
			}
		}
	}
}

func TestResourceRedirectsStayAtTheHost(t *testing.T) {
	reached := 0
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached++ }))
	defer other.Close()
	w := open(t, authsim.Options{}, nil)
	w.login()
	w.fault(simkit.Fault{Path: "/go", Status: 302, Header: map[string]string{"Location": other.URL}})
	e := fails(t, w.Call("resource_get", in{"url": w.url + "/go"}), sdk.CodeUnexpectedResponse, "")
	if reached != 0 || strings.Contains(e.Hint, "base_url") {
		t.Errorf("reached %d, hint %q", reached, e.Hint)
	}
}

func TestResourceBodies(t *testing.T) {
	for name, tt := range map[string]struct {
		kind, body string
		want       string
	}{
		"numbers as written": {"application/json", `{"n":9007199254740993,"d":1.10}`, `{"n":9007199254740993,"d":1.10}`},
		"a kind of JSON":     {"application/vnd.x+json; charset=utf-8", `[1]`, `[1]`},
		"JSON as text":       {"text/plain", `{"a":1}`, `{"a":1}`},
		"text":               {"text/plain; charset=utf-8", "grüße\n", `"grüße\n"`},
		"a number as text":   {"text/plain", "42", `"42"`},
		"a page":             {"text/html", "<p>", `"\u003cp\u003e"`},
		"nothing":            {"application/json", "", `null`},
		"blank":              {"text/plain", " ", `" "`},
	} {
		w := open(t, authsim.Options{}, nil)
		w.login()
		w.answer(200, tt.body, "Content-Type", tt.kind, "Set-Cookie", "session=canary")
		r := w.Call("resource_get", in{"url": w.url + "/x"})
		output(t, r)
		if !strings.HasSuffix(string(r.Output), `"body":`+tt.want+"}") || strings.Contains(string(r.Output), "canary") {
			t.Errorf("%s: %s, want %s", name, r.Output, tt.want)
		}
	}
	w := open(t, authsim.Options{}, nil)
	w.login()
	w.answer(200, `{"a":`)
	fails(t, w.Call("resource_get", in{"url": w.url + "/x"}), sdk.CodeUnexpectedResponse, "")
	w.answer(200, "\xff\xfe", "Content-Type", "image/png")
	fails(t, w.Call("resource_get", in{"url": w.url + "/x"}), sdk.CodeUnsupported, "")
	w.answer(0, "")
	if diff := cmp.Diff([]string(nil), headersKept(headersOf(http.Header{"Set-Cookie": {"a"}}))); diff != "" {
		t.Error(diff)
	}
}

func headersKept(headers map[string]string) []string {
	var kept []string
	for name := range headers {
		kept = append(kept, name)
	}
	return kept
}
