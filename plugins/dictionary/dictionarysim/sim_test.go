package dictionarysim

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// ask returns the answer to one GET.
func ask(t *testing.T, h http.Handler, path string) (*http.Response, map[string]any) {
	t.Helper()
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, httptest.NewRequest(http.MethodGet, path, nil))
	var body map[string]any
	if err := json.Unmarshal(rec.Body.Bytes(), &body); err != nil {
		t.Fatalf("%s: %v in %s", path, err, rec.Body)
	}
	return rec.Result(), body
}

func data(t *testing.T, h http.Handler, path string) map[string]any {
	t.Helper()
	resp, body := ask(t, h, path)
	if resp.StatusCode != 200 || body["code"] != float64(200) {
		t.Fatalf("%s: %d %v", path, resp.StatusCode, body)
	}
	return body["data"].(map[string]any)
}

func names(v map[string]any) map[string]bool {
	out := map[string]bool{}
	for k := range v {
		out[k] = true
	}
	return out
}

func TestRecordsHaveTheDocumentedFields(t *testing.T) {
	tests := map[string]struct{ path, fields string }{
		"word (D-07)":     {"/api/word/happy", "id word british american cx jbjs url"},
		"synonyms (D-08)": {"/api/word/happy/synonyms", "word synonyms count"},
		"antonyms (D-09)": {"/api/word/happy/antonyms", "word antonyms count"},
		"abbr (D-11)":     {"/api/abbr/1", "id abbr full prc meaning category_id url"},
		"stats (D-16)":    {"/api/stats", "word_count abbr_count scene_count cat_word_count"},
		"search (D-17)":   {"/api/search?q=app&type=word", "words"},
	}
	s := New(Options{})
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			want := map[string]bool{}
			for _, f := range strings.Fields(tt.fields) {
				want[f] = true
			}
			if diff := cmp.Diff(want, names(data(t, s, tt.path))); diff != "" {
				t.Errorf("fields (-want +got):\n%s", diff)
			}
		})
	}
}

func TestErrorsInBothStyles(t *testing.T) {
	tests := map[string]struct {
		method, path string
		code         int
	}{
		"unknown word":         {"GET", "/api/word/qqqq", 404},
		"unknown abbreviation": {"GET", "/api/abbr/9999", 404},
		"id is no integer":     {"GET", "/api/abbr/x", 400},
		"letter is none":       {"GET", "/api/letter/1", 400},
		"page below 1":         {"GET", "/api/letter/a?page=0", 400},
		"per_page above 100":   {"GET", "/api/letter/a?per_page=101", 400},
		"search without q":     {"GET", "/api/search?type=word", 400},
		"not GET":              {"POST", "/api/stats", 405},
		"no endpoint":          {"GET", "/api/none", 404},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			for _, always := range []bool{false, true} {
				rec := httptest.NewRecorder()
				New(Options{AlwaysOK: always}).ServeHTTP(rec, httptest.NewRequest(tt.method, tt.path, nil))
				var e envelope
				if err := json.Unmarshal(rec.Body.Bytes(), &e); err != nil {
					t.Fatal(err)
				}
				status := tt.code
				if always {
					status = 200
				}
				if rec.Code != status || e.Code != tt.code || e.Message == "" || e.Data != nil {
					t.Errorf("always 200 is %v: HTTP %d, envelope %+v", always, rec.Code, e)
				}
			}
		})
	}
}

func TestLetterPages(t *testing.T) {
	s := New(Options{Requests: -1})
	seen := 0
	for page, want := range map[string]int{"": 20, "&page=2": 13, "&page=3": 0} {
		words := data(t, s, "/api/letter/S?x=1"+page)["words"].([]any)
		if len(words) != want {
			t.Errorf("page %q has %d words, want %d", page, len(words), want)
		}
		seen += len(words)
	}
	if all := data(t, s, "/api/letter/s?per_page=100")["words"].([]any); len(all) != seen {
		t.Errorf("one page of 100 has %d words, the others %d", len(all), seen)
	}
}

func TestLimitRefusesWithHTTP429AndNothingElse(t *testing.T) {
	now := time.Date(2031, 5, 6, 7, 8, 9, 0, time.UTC)
	s := New(Options{AlwaysOK: true, Now: func() time.Time { return now }})
	for range 60 {
		ask(t, s, "/api/stats")
	}
	resp, body := ask(t, s, "/api/stats")
	if resp.StatusCode != 429 || body["code"] != float64(429) || resp.Header.Get("Retry-After") != "" {
		t.Errorf("got %d %v %v", resp.StatusCode, body, resp.Header)
	}
	now = now.Add(time.Minute)
	if resp, _ := ask(t, s, "/api/stats"); resp.StatusCode != 200 {
		t.Errorf("the next window starts with %d", resp.StatusCode)
	}
}

func TestLexiconIsWhole(t *testing.T) {
	l := loadLexicon()
	if len(l.words) < 300 || len(l.abbrs) < 30 || len(l.byLetter) != 26 {
		t.Errorf("%d words, %d abbreviations, %d letters", len(l.words), len(l.abbrs), len(l.byLetter))
	}
	for _, e := range l.words {
		if e.british == "" || e.american == "" || e.cx == "" || e.jbjs == "" {
			t.Errorf("%s lacks a field: %+v", e.word, e)
		}
		for _, w := range append(l.related(e.synonyms, e.cx), l.related(e.antonyms, e.cx)...) {
			if w.ID == 0 || w.Word == e.word || w.CX == "" {
				t.Errorf("%s is related to %+v", e.word, w)
			}
		}
	}
	for _, a := range l.abbrs {
		if a.CategoryID == 0 || a.Full == "" || a.PRC == "" || a.Meaning == "" {
			t.Errorf("%+v lacks a field", a)
		}
	}
}

func TestWordKeepsItsText(t *testing.T) {
	rec := httptest.NewRecorder()
	New(Options{}).ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/api/word/Naive", nil))
	if body := rec.Body.String(); !strings.Contains(body, `"british":"[naɪˈiːv]"`) || !strings.Contains(body, "天真的；幼稚的") {
		t.Errorf("got %s", body)
	}
}
