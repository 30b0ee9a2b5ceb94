package plugins

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	mathrand "math/rand/v2"
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

// search returns where secrets stand, in any of their forms or by half. They are given
// by what they are called.
func (h *haystack) search(secrets map[string]string) []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	needles := map[string][]string{} // and what looks so: most forms of a plain secret are the same
	for name, secret := range secrets {
		for form, needle := range formsOf(secret) {
			needles[needle] = append(needles[needle], name+" as "+form)
		}
	}
	finder := newFinder(slices.Collect(maps.Keys(needles)))
	var found []string
	for where, text := range h.texts {
		for _, needle := range finder.in(text) {
			for _, what := range needles[needle] {
				found = append(found, fmt.Sprintf("%s: %s: %q", where, what, around(string(text), needle)))
			}
		}
	}
	slices.Sort(found)
	return found
}

// finder looks for many needles in one pass: it compares where eight bytes are those
// with which one begins.
type finder struct {
	begins [1 << 16]bool // by a hash of the eight bytes
	long   map[uint64][]string
	short  []string // than eight bytes
}

func newFinder(needles []string) *finder {
	f := &finder{long: map[uint64][]string{}}
	for _, needle := range needles {
		if len(needle) < 8 {
			f.short = append(f.short, needle)
			continue
		}
		head := binary.LittleEndian.Uint64([]byte(needle))
		f.begins[hashOf(head)] = true
		f.long[head] = append(f.long[head], needle)
	}
	return f
}

func hashOf(head uint64) uint16 { return uint16(head * 0x9e3779b97f4a7c15 >> 48) }

// in returns the needles that a text holds.
func (f *finder) in(text []byte) []string {
	held := map[string]bool{}
	for at := 0; at+8 <= len(text); at++ {
		head := binary.LittleEndian.Uint64(text[at:])
		if !f.begins[hashOf(head)] {
			continue
		}
		for _, needle := range f.long[head] {
			if len(needle) <= len(text)-at && string(text[at:at+len(needle)]) == needle {
				held[needle] = true
			}
		}
	}
	for _, needle := range f.short {
		if bytes.Contains(text, []byte(needle)) {
			held[needle] = true
		}
	}
	return slices.Collect(maps.Keys(held))
}

// TestFinderFindsWhatContainsFinds holds the one pass against a search for each needle.
func TestFinderFindsWhatContainsFinds(t *testing.T) {
	random := mathrand.New(mathrand.NewPCG(1, 2))
	letters := func(n int) string {
		text := make([]byte, n)
		for i := range text {
			text[i] = "ab"[random.IntN(2)]
		}
		return string(text)
	}
	hits := 0
	for range 300 {
		var needles, want []string
		text := letters(random.IntN(2000))
		for range 20 {
			needles = append(needles, letters(5+random.IntN(10)))
		}
		needles = append(needles, text[len(text)-min(len(text), 9):]) // at the very end
		slices.Sort(needles)
		needles = slices.Compact(needles)
		for _, needle := range needles {
			if strings.Contains(text, needle) {
				want = append(want, needle)
			}
		}
		got := newFinder(needles).in([]byte(text))
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Fatalf("found %q, want %q in %q", got, want, text)
		}
		hits += len(want)
	}
	if hits < 1000 {
		t.Errorf("only %d needles were there", hits)
	}
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
