package sdk_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/flowrun/flowrun/sdk"
)

// TestIssue12_11_TheServicesOwnWords: whatever form a refusal has, its words stand
// in the message: on one line, bounded, without secrets.
func TestIssue12_11_TheServicesOwnWords(t *testing.T) {
	const status = "400 Bad Request"
	long := strings.Repeat("long ", 200)
	for name, tt := range map[string]struct{ contentType, body, message, reason string }{
		"a text":                  {"text/plain", "the site is closed\n", ": the site is closed", ""},
		"a text of two lines":     {"text/plain; charset=utf-8", "no\r\n\tsuch \x1b[31m site\n", ": no such [31m site", ""},
		"no type":                 {"", "go away", ": go away", ""},
		"a page":                  {"text/html", "<html><head><title>Blocked</title><style>b{}</style></head><body><script>x()</script><h1>Access&nbsp;denied</h1>\n<p>by policy</p></body></html>", ": Blocked: Access denied by policy", ""},
		"a page that is cut":      {"text/html", "<!-- x --><p>no<br>way</p><script>evil(", ": no way", ""},
		"errors, message":         {"application/json", `{"errors":[{"message":"name is taken","code":"E7"},{"message":"two"}]}`, ": name is taken", "E7"},
		"errors, detail":          {"application/json", `{"errors":[{"status":"422","detail":"name is taken"}]}`, ": name is taken", ""},
		"errors, title":           {"application/vnd.api+json", `{"errors":[{"title":"Taken","detail":"the name"}]}`, ": Taken: the name", ""},
		"errors, texts":           {"application/json", `{"errors":["first","second"]}`, ": first", ""},
		"errors, fields":          {"application/json", `{"errors":{"name":["is taken"],"email":["is wrong"]}}`, ": email: is wrong", ""},
		"errors, a text":          {"application/json", `{"errors":"all wrong"}`, ": all wrong", ""},
		"errors that are empty":   {"application/json", `{"errors":[],"message":"no"}`, ": no", ""},
		"error, a list":           {"application/json", `{"error":[{"message":"no"}]}`, ": no", ""},
		"error, an object":        {"application/json", `{"error":{"code":"E1","message":"no"}}`, ": no", "E1"},
		"error without a message": {"application/json", `{"error":{"status":1},"message":"outside"}`, ": outside", ""},
		"a list":                  {"application/json", `[{"message":"no","errorCode":"X"}]`, ": no", ""},
		"OAuth":                   {"application/json", `{"error":"invalid_scope","error_description":"no such scope"}`, ": no such scope", "invalid_scope"},
		"RFC 9457":                {"application/problem+json", `{"type":"about:blank","title":"Out of credit","detail":"You have 30."}`, ": Out of credit: You have 30.", "about:blank"},
		"RFC 9457, title":         {"application/problem+json", `{"title":"Out of credit"}`, ": Out of credit", ""},
		"RFC 9457, detail":        {"application/problem+json", `{"detail":"You have 30."}`, ": You have 30.", ""},
		"JSON of its own":         {"application/json", `{"why": "quota", "new_key": "x"}`, "", ""},
		"JSON that is cut":        {"application/json", `{"message":"no`, "", ""},
		"deep":                    {"application/json", strings.Repeat(`{"error":`, 9) + `{"message":"deep"}` + strings.Repeat(`}`, 9), "", ""},
		"JSON said to be text":    {"text/plain", ` {"token":"new"}`, "", ""},
		"nothing":                 {"text/plain", "", "", ""},
		"empty JSON":              {"application/json", " {} ", "", ""},
		"bytes":                   {"application/octet-stream", "abc", "", ""},
		"no UTF-8":                {"text/plain", "caf\xe9", "", ""},
		"a secret":                {"text/plain", "wrong canary-token-1234!", ": wrong [redacted]!", ""},
		"a secret in a page":      {"text/html", "<p>wrong canary-<b>token</b>-1234 canary&#45;token-1234</p>", ": wrong canary- token -1234 [redacted]", ""},
		"a secret in errors":      {"application/json", `{"errors":[{"detail":"wrong canary-token-1234"}]}`, ": wrong [redacted]", ""},
		"a long text":             {"text/plain", long, ": " + long[:190], ""},
		"long words":              {"application/json", `{"errors":[{"message":"` + long + `"}]}`, ": " + long[:290], ""},
	} {
		t.Run(name, func(t *testing.T) {
			base := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header()["Content-Type"] = []string{tt.contentType}
				w.WriteHeader(http.StatusBadRequest)
				_, _ = io.WriteString(w, tt.body)
			})
			err := openFetcher(t, base, sdk.Request{Path: "/x"}).Call("read", nil).Err
			if err == nil {
				t.Fatal("it worked")
			}
			_, words, found := strings.Cut(err.Message, status)
			if tt.message == "" && (!found || words != "") || !strings.HasPrefix(words, tt.message) || len(words) > 320 || err.Reason != tt.reason {
				t.Errorf("got %q, reason %q; want %q, %q", err.Message, err.Reason, tt.message, tt.reason)
			}
			if len(tt.message) < 180 && tt.message != "" && words != tt.message {
				t.Errorf("got %q, want %q", words, tt.message)
			}
		})
	}
}
