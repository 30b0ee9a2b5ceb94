package plugins

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/internal/simkit"
)

// haystack is everything that could show a secret, by where it is from. Safe for
// concurrent use.
type haystack struct {
	mu    sync.Mutex
	texts map[string][]byte
}

func (h *haystack) add(where string, text []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.texts[where] = append(append(h.texts[where], text...), '\n')
}

func (h *haystack) addJSON(t *testing.T, where string, value any) {
	t.Helper()
	encoded, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	h.add(where, encoded)
}

// Log takes a line of a call.
func (h *haystack) Log(l runs.Log) {
	encoded, _ := json.Marshal(l)
	h.add("log of a call", encoded)
}

// Progress takes the progress of a call.
func (h *haystack) Progress(p runs.Progress) {
	encoded, _ := json.Marshal(p)
	h.add("progress of a call", encoded)
}

// Prompt takes what a call asks of a person.
func (h *haystack) Prompt(p runs.Prompt) {
	encoded, _ := json.Marshal(p)
	h.add("prompt of a call", encoded)
}

// search returns where a secret stands, in any of its forms or by half.
func (h *haystack) search(secret string) []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var found []string
	needles := map[string][]string{} // and the forms that look so: most are the same for a plain secret
	for form, needle := range formsOf(secret) {
		needles[needle] = append(needles[needle], form)
	}
	for needle, forms := range needles {
		for where, text := range h.texts {
			if !bytes.Contains(text, []byte(needle)) {
				continue
			}
			for _, form := range forms {
				found = append(found, fmt.Sprintf("%s as %s: %q", where, form, around(string(text), needle)))
			}
		}
	}
	slices.Sort(found)
	return found
}

// formsOf are the forms in which a secret may show: whole, its first half, and
// encoded. In base64 only the characters that depend on the secret alone count,
// at each of the three places where it may begin.
func formsOf(secret string) map[string]string {
	quoted, _ := json.Marshal(secret)
	digits := hex.EncodeToString([]byte(secret))
	forms := map[string]string{
		"plain text": secret, "half of it": secret[:(len(secret)+1)/2], "JSON": strings.Trim(string(quoted), `"`),
		"a query": url.QueryEscape(secret), "a path": url.PathEscape(secret), "hex": digits, "upper hex": strings.ToUpper(digits),
	}
	for before, skip := range []int{0, 2, 3} {
		for name, encoding := range map[string]*base64.Encoding{"base64": base64.RawStdEncoding, "URL base64": base64.RawURLEncoding} {
			encoded := encoding.EncodeToString([]byte(strings.Repeat("\x00", before) + secret))
			forms[name+" "+strconv.Itoa(before)] = encoded[skip : (before+len(secret))*8/6]
			forms["half of the "+name] = encoding.EncodeToString([]byte(secret))[:len(secret)*2/3]
		}
	}
	return forms
}

// echo is an answer that repeats everything that the client sent, in every form:
// what a careless service or a proxy's error page does.
func echo(status int, contentType string, padding int) *http.HandlerFunc {
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		parts := []string{r.Header.Get("Authorization"), r.Header.Get("X-Key"), string(body), r.URL.RawQuery, r.URL.EscapedPath(), r.URL.Path}
		for _, values := range r.URL.Query() {
			parts = append(parts, values...)
		}
		if form, err := url.ParseQuery(string(body)); err == nil && strings.HasPrefix(r.Header.Get("Content-Type"), "application/x-www") {
			for _, values := range form {
				parts = append(parts, values...)
			}
		}
		if _, credential, found := strings.Cut(parts[0], " "); found {
			parts = append(parts, credential)
		}
		var all []string
		for _, part := range parts {
			all = append(all, part, base64.StdEncoding.EncodeToString([]byte(part)), base64.URLEncoding.EncodeToString([]byte(part)),
				url.QueryEscape(part), url.PathEscape(part), hex.EncodeToString([]byte(part)))
		}
		said := strings.Join(all, " ")
		w.Header().Set("Content-Type", contentType)
		w.Header().Set("X-Request-Id", oneLine(parts[0]))
		w.Header().Set("X-RateLimit-Limit", oneLine(parts[0]))
		w.Header().Set("WWW-Authenticate", oneLine(parts[0]))
		if !strings.Contains(contentType, "json") {
			w.WriteHeader(status)
			fmt.Fprintf(w, "<html>%s%s</html>", strings.Repeat("x", padding), said)
			return
		}
		answer := map[string]any{ // all the forms of errors that plugins read
			"a_padding": strings.Repeat("x", padding), "error": said, "error_code": oneLine(parts[0]), "error_description": said,
			"message": said, "success": false, "code": status, "data": nil, "title": parts[0], "items": []string{said}, "next_cursor": "",
		}
		simkit.WriteJSON(w, status, answer)
	})
	return &handler
}

func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '_'
		}
		return r
	}, text)
}

// echoToTheCut is a refusal whose texts are one credential of the request again
// and again: wherever a text is cut, the cut goes through a secret. padding moves
// the cut, and chooses among the values of a form.
func echoToTheCut(padding int) *http.HandlerFunc {
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_, secret, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		if key := r.Header.Get("X-Key"); key != "" {
			secret = key
		}
		form, err := url.ParseQuery(string(body) + "&" + r.URL.RawQuery)
		if names := slices.Sorted(maps.Keys(form)); err == nil && secret == "" && len(names) > 0 {
			secret = form.Get(names[padding%len(names)])
		}
		said := strings.Repeat("x", padding) + strings.Repeat(secret, 40)
		encoded := strings.Repeat("x", padding) + strings.Repeat(base64.StdEncoding.EncodeToString([]byte(secret)), 40)
		simkit.WriteJSON(w, http.StatusBadRequest, map[string]any{
			"error": said, "error_description": said, "message": said, "success": false, "code": 400, "data": nil, "a": encoded,
		})
	})
	return &handler
}

// noting passes requests on and keeps what the simulator says for the test:
// tokens and device codes are secrets too.
func noting(next http.Handler, note func(body string)) *http.HandlerFunc {
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := httptest.NewRecorder()
		next.ServeHTTP(answer, r)
		note(answer.Body.String())
		for name, values := range answer.Header() {
			w.Header()[name] = values
		}
		w.WriteHeader(answer.Code)
		_, _ = w.Write(answer.Body.Bytes()) // a client that went away notices it itself
	})
	return &handler
}

// issued collects the secrets that simulators give out. Safe for concurrent use.
type issued struct {
	mu      sync.Mutex
	secrets map[string]bool
}

func (i *issued) note(body string) {
	var fields map[string]any
	if json.Unmarshal([]byte(body), &fields) != nil {
		return
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, name := range []string{"access_token", "refresh_token", "device_code"} {
		if text, ok := fields[name].(string); ok {
			i.secrets[text] = true
		}
	}
}
