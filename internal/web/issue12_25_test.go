package web

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/flowrun/flowrun/internal/web/wire"
)

// goWords are those of the language and its libraries: nobody who sends a request
// knows them.
var goWords = regexp.MustCompile(`json:|strconv|cannot unmarshal|invalid character|Unmarshal|looking for|\bGo (struct|value)|\b(u?int(8|16|32|64)|float64|map\[|\[\]byte|time\.Time|struct field)\b|interface ?\{\}|0x[0-9a-f]{6}|runtime error|nil pointer|2006-01-02|invalid URL escape|parsing time|expected (string|integer|number|boolean|object|array)|unexpected (EOF|end of JSON|property)|engine\.|web\.|plan\.|<nil>|%!`)

// sayGo returns the words of Go in an answer that refuses.
func sayGo(w *httptest.ResponseRecorder) string {
	if w.Code < 400 {
		return ""
	}
	return goWords.FindString(w.Body.String())
}

// oddBodies are wrong in each way that a reader of JSON has a word for.
var oddBodies = []string{
	`{`, `{"`, `{"a`, `{"a":`, `{"a":1`, `{"a":1,}`, `{a:1}`, `{'a':1}`, `[]`, `[{}]`, `""`, `"x"`, `1`, `true`, `null`, `nul`, ``, ` `, "\xff", "{\"a\":\"\xff\"}", "\x00", `{} {}`, `{}}`, `}{`,
	`{"inputs":[]}`, `{"inputs":"x"}`, `{"inputs":1}`, `{"inputs":{"a":}}`, `{"inputs":{"a":1e999}}`, `{"input_texts":{"a":1}}`, `{"input_texts":[]}`, `{"by":1}`, `{"by":{}}`, `{"by":[]}`, `{"scheduled_at":1}`,
	`{"scheduled_at":"yesterday"}`, `{"scheduled_at":"2026-13-40T99:99:99Z"}`, `{"scheduled_at":""}`, `{"from":1}`, `{"from":"x","until":"y","max_parallel":"z"}`, `{"from":"1d","max_parallel":1.5}`, `{"from":"1d","max_parallel":9223372036854775808}`,
	`{"from":"1d","all":"yes"}`, `{"dry_run":1}`, `{"at":"x"}`, `{"at":1}`, `{"form":[]}`, `{"form":"x"}`, `{"form_texts":{"a":{}}}`, `{"outcome":"bananas"}`, `{"outcome":1}`, `{"outcome":""}`, `{"hold":"x"}`, `{"comment":1}`,
	`{"latest":"x"}`, `{"with_latest":"!!"}`, `{"with_latest":1}`, `{"discard_writes":1}`, `{"workflow":1}`, `{"source":1}`, `{"reason":1}`, `{"scopes":"x"}`, `{"scopes":[1]}`, `{"with_latst":""}`, `{"sauce":{"a":[1,2]}}`, `{"\u0000":1}`,
	`{"by":"a","by":"b","zz":1}`, `{"a":"` + "\n" + `"}`, `{"a":"\x"}`, `{"a":"\ud800"}`, `{"a":01}`, `{"a":+1}`, `{"a":.5}`, `{"a":1.}`, `{"a":NaN}`, `{"a":-}`, `{"a":tru}`, strings.Repeat(`[`, 20000), strings.Repeat(`{"a":`, 20000),
}

// TestIssue12_25NoWordsOfGo: no answer to a wrong body tells how it is read.
func TestIssue12_25NoWordsOfGo(t *testing.T) {
	handler := NewSocketHandler(newAlwaysOn(t).options())
	refused := 0
	for _, target := range postTargets() {
		for _, body := range oddBodies {
			w := send(handler, "POST", target, body, "Content-Type", "application/json")
			if word := sayGo(w); word != "" {
				t.Errorf("%s with %.60q says %q: %s", target, body, word, w.Body)
			}
			if w.Code >= 400 {
				refused++
			}
		}
	}
	if refused < 1000 {
		t.Errorf("only %d were refused", refused)
	}
	for _, target := range []string{
		"/runs?limit=x", "/runs?limit=1.5", "/runs?limit=99999999999999999999", "/runs?limit=", "/runs?since=x", "/runs?status=x", "/runs?label=x", "/runs?cursor=x", "/runs?%zz=1", "/runs?a;b=1", "/runs?nope=1", "/runs?query=%22", "/runs?query=1",
		"/fires?since=x", "/fires?until=x", "/fires?limit=x", "/fires?cursor=x", "/schedules/" + url.PathEscape(scheduleKnown) + "/next?n=x", "/schedules/" + url.PathEscape(scheduleKnown) + "/next?from=x",
		"/runs/" + knownRun + "/events?cursor=x", "/runs/" + knownRun + "/logs?nope=1", "/stream?topics=x", "/stream", "/runs/x%00", "/workflows/%ff", "/plugins/x/actions",
	} {
		r := httptest.NewRequest("GET", "http://flowrun"+Prefix+"/", nil)
		r.URL.Path, r.URL.RawQuery, _ = strings.Cut(Prefix+target, "?")
		r.URL.Path, _ = url.PathUnescape(r.URL.Path)
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		if word := sayGo(w); word != "" || w.Code == http.StatusInternalServerError {
			t.Errorf("%s: %d, says %q: %s", target, w.Code, word, w.Body)
		}
	}
}

// FuzzIssue12_25NoWordsOfGo: whatever is sent.
func FuzzIssue12_25NoWordsOfGo(f *testing.F) {
	for _, seed := range oddBodies[:60] {
		f.Add(seed, "limit="+url.QueryEscape(seed))
	}
	targets := postTargets()
	f.Fuzz(func(t *testing.T, body, query string) {
		handler := NewSocketHandler(newAlwaysOn(t).options())
		for _, target := range targets {
			w := send(handler, "POST", target, body, "Content-Type", "application/json")
			if word := sayGo(w); word != "" && !goWords.MatchString(body) {
				t.Errorf("%s with %q says %q: %s", target, body, word, w.Body)
			}
		}
		for _, path := range []string{"/runs", "/fires", "/runs/" + knownRun + "/events", "/runs/" + knownRun + "/logs"} {
			r := httptest.NewRequest("GET", "http://flowrun"+Prefix+path, nil)
			r.URL.RawQuery = query
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, r)
			if word := sayGo(w); word != "" && !goWords.MatchString(query) {
				if unescaped, err := url.QueryUnescape(query); err == nil && goWords.MatchString(unescaped) {
					continue
				}
				t.Errorf("%s?%s says %q: %s", path, query, word, w.Body)
			}
		}
	})
}

// TestIssue12_25WhatIsWrongIsNamed, with what there is.
func TestIssue12_25WhatIsWrongIsNamed(t *testing.T) {
	handler := NewSocketHandler(newAlwaysOn(t).options())
	step := Prefix + "/runs/" + knownRun + "/steps/ask"
	backfill := Prefix + "/schedules/" + url.PathEscape(scheduleKnown) + "/backfill"
	for name, c := range map[string]struct {
		method, target, body string
		want                 []string // input, pointer, and what is said
	}{
		"a value of none":           {"POST", step + "/resolve", `{"outcome":"bananas"}`, []string{"outcome", "/outcome", "happened, did_not, skip"}},
		"an outcome of an approval": {"POST", step + "/approve", `{"outcome":"happened"}`, []string{"outcome", "/outcome", "resolve"}},
		"a form for an outcome":     {"POST", step + "/resolve", `{"outcome":"skip","form":{"a":1}}`, []string{"form", "/form", "payload"}},
		"a field of none":           {"POST", step + "/approve", `{"comment_":"x"}`, []string{"comment_", "/comment_", "did you mean `comment`"}},
		"fields that are hidden":    {"POST", Prefix + "/runs/" + knownRun + "/resume", `{"zz":1}`, []string{"zz", "/zz", "by, discard_writes, latest"}},
		"a parameter of none":       {"GET", Prefix + "/runs?sort=name", "", []string{"sort", "", "cursor, workflow, status"}},
		"a status of none":          {"GET", Prefix + "/runs?status=bananas", "", []string{"status", "", "succeeded"}},
		"a since of none":           {"GET", Prefix + "/runs?since=bananas", "", []string{"since", "", "24h"}},
		"a time that is none":       {"POST", backfill, `{"from":"monday","until":"friday"}`, []string{"from", "/from", `until "friday"`}},
		"a number that is none":     {"POST", backfill, `{"from":"7d","max_parallel":"x"}`, []string{"max_parallel", "/max_parallel", "whole number"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := send(handler, c.method, c.target, c.body, "Content-Type", "application/json")
			if problemCode(t, w) != wire.CodeBadRequest {
				t.Fatalf("%s", w.Body)
			}
			var problem Problem
			if err := json.Unmarshal(w.Body.Bytes(), &problem); err != nil {
				t.Fatal(err)
			}
			if problem.Input != c.want[0] || !strings.Contains(problem.Detail+problem.Hint.Text, c.want[2]) || strings.Contains(w.Body.String(), "with_latest") {
				t.Errorf("%s", w.Body)
			}
			if c.want[1] != "" && (len(problem.Faults) == 0 || problem.Faults[0].Pointer != c.want[1]) {
				t.Errorf("the place is not told: %s", w.Body)
			}
		})
	}
}

// TestIssue12_25TheDocumentNamesItsRefusals: each operation those that it has, with
// the codes of each status.
func TestIssue12_25TheDocumentNamesItsRefusals(t *testing.T) {
	document, _ := readDocument(t)
	for path, operations := range document.Paths {
		for method, operation := range operations {
			want := []string{"400", "421"}
			switch {
			case path == "/healthz", path == "/readyz", strings.HasSuffix(path, "openapi.json"):
				continue
			case strings.HasPrefix(path, "/hooks"):
				want = []string{"401", "404", "413", "429"}
			default:
				want = append(want, "401", "403", "429")
				if strings.Contains(path, "{") {
					want = append(want, "404")
				}
				if method == "post" {
					want = append(want, "413", "415")
				}
			}
			for _, status := range want {
				if operation.Responses[status] == nil {
					t.Errorf("%s %s has no %s", method, path, status)
				}
			}
		}
	}
	for name, code := range map[string]string{"UnprocessableEntityProblem": "idempotency_key_reused", "ConflictProblem": "conflict", "BadRequestProblem": "bad_request", "Problem": "store_full"} {
		var schema struct {
			Properties map[string]struct{ Enum []string }
		}
		if err := json.Unmarshal(document.Components.Schemas[name], &schema); err != nil {
			t.Fatal(name, err)
		}
		if !strings.Contains(strings.Join(schema.Properties["code"].Enum, " "), code) {
			t.Errorf("%s has the codes %q", name, schema.Properties["code"].Enum)
		}
	}
}
