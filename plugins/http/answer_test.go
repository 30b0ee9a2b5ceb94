package http

import (
	"compress/gzip"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flowrun/flowrun/sdk"
)

func TestHowAnswersAreRead(t *testing.T) {
	s := serve(t, nil)
	p := open(t, s, nil)
	for name, c := range map[string]struct {
		status            int
		contentType, body string
		as, kind          string
		want              any
	}{
		"JSON":                    {200, "application/json", ` {"a":1} `, "auto", "json", in{"a": 1.0}},
		"JSON of a kind":          {200, "application/problem+json; charset=utf-8", `[1]`, "auto", "json", []any{1.0}},
		"JSON without a type":     {200, "", `{"a":1}`, "json", "json", in{"a": 1.0}},
		"text":                    {200, "text/plain", "hello\n", "auto", "text", "hello\n"},
		"text that is JSON":       {200, "text/plain", `{"a":1}`, "auto", "text", `{"a":1}`},
		"a page":                  {200, "text/html; charset=utf-8", "<p>ü</p>", "auto", "text", "<p>ü</p>"},
		"Latin 1":                 {200, "text/plain; charset=ISO-8859-1", "gr\xfc\xdfe \x80", "text", "text", "grüße €"},
		"bytes":                   {200, "image/png", "\x89PNG\x00", "auto", "bytes", "iVBORwA="},
		"bytes with a mark":       {200, "text/plain", "\xef\xbb\xbfa", "bytes", "bytes", "77u/YQ=="},
		"text with a mark":        {200, "text/plain", "\xef\xbb\xbfa", "auto", "text", "a"},
		"a charset nobody knows":  {200, "text/plain; charset=koi8-r", "a", "auto", "bytes", "YQ=="},
		"nothing":                 {204, "", "", "auto", "none", nil},
		"nothing where JSON":      {200, "application/json", "", "json", "none", nil},
		"what is not kept":        {200, "application/json", `{"a":`, "none", "none", nil},
		"text that is asked for":  {200, "application/json", `{"a":1}`, "text", "text", `{"a":1}`},
		"a table":                 {200, "text/csv", "a,b\n1,x\n", "csv", "csv", []any{in{"a": "1", "b": "x"}}},
		"created":                 {201, "application/json", `null`, "json", "json", nil},
		"a number as it was sent": {200, "application/json", `1.10`, "auto", "json", 1.1},
	} {
		s.answer = says(c.status, c.contentType, c.body)
		out := outputOfCall(t, p.Call("get", in{"path": "/a", "as": c.as}))
		if diff := cmp.Diff([]any{float64(c.status), true, c.kind, c.want}, []any{out["status"], out["ok"], out["kind"], out["body"]}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestAnswersThatCantBeRead(t *testing.T) {
	s := serve(t, nil)
	p := open(t, s, nil)
	for name, c := range map[string]struct {
		contentType, body string
		input             in
		text              string
		applied           sdk.Applied
	}{
		"a page where JSON is due":    {"text/html", "<p>", in{"as": "json"}, "no JSON but text/html", sdk.AppliedUnknown},
		"JSON that is cut":            {"application/json", `{"a":`, in{}, "no JSON", sdk.AppliedUnknown},
		"two names":                   {"application/json", `{"a":1,"a":2}`, in{}, "stands twice", sdk.AppliedUnknown},
		"no text":                     {"text/plain", "\xff\xfe", in{"as": "text"}, "no text in UTF-8", sdk.AppliedFully},
		"a charset nobody knows":      {"text/plain; charset=koi8-r", "a", in{"as": "text"}, "charset koi8-r", sdk.AppliedFully},
		"another shape":               {"application/json", `{"a":"x"}`, in{"answer": in{"properties": in{"a": in{"type": "integer"}}}}, "/body/a must be an integer, is text", sdk.AppliedFully},
		"nothing where a shape is":    {"application/json", ``, in{"answer": in{"type": "object"}}, "empty", sdk.AppliedUnknown},
		"a missing field":             {"application/json", `{}`, in{"answer": in{"type": "object", "required": []string{"a"}, "properties": in{"a": in{}}}}, "/body/a is missing", sdk.AppliedFully},
		"none of the choices":         {"application/json", `{"a":1}`, in{"answer": in{"properties": in{"a": in{"anyOf": []any{in{"type": "string"}, in{"type": "null"}}}}}}, "/body/a is a number that fits none of 2 choices", sdk.AppliedFully},
		"through a reference":         {"application/json", `[{"b":[true]}]`, in{"answer": in{"type": "array", "items": in{"$ref": "#/$defs/x"}, "$defs": in{"x": in{"properties": in{"b": in{"items": in{"type": "string"}}}}}}}, "/body/0/b/0 must be text", sdk.AppliedFully},
		"too large":                   {"text/plain", strings.Repeat("a", 100), in{"max_body": 99}, "larger than 99 bytes", sdk.AppliedUnknown},
		"a table with a longer row":   {"text/csv", "a,b\n1,2,3\n", in{"as": "csv"}, "line 2 has 3 cells, and there are 2 columns", sdk.AppliedFully},
		"a table with a wrong number": {"text/csv", "a,b\n1,2\n3,x\n", in{"as": "csv", "answer": in{"properties": in{"b": in{"type": "integer"}}}}, "line 3, column `b`: must be an integer, is text", sdk.AppliedFully},
	} {
		s.answer = says(200, c.contentType, c.body)
		input := in{"path": "/a"}
		for k, v := range c.input {
			input[k] = v
		}
		failure := fails(t, p.Call("post", input), sdk.CodeUnexpectedResponse, c.text)
		if failure.Applied != c.applied {
			t.Errorf("%s: applied %v, want %v", name, failure.Applied, c.applied)
		}
	}
}

func TestAnswerThatFits(t *testing.T) {
	s := serve(t, says(200, "application/json", `{"a":3.0,"at":"2026-01-31T09:00:00Z","more":1,"b":null,"c":{"d":["x"]}}`))
	out := outputOfCall(t, open(t, s, nil).Call("get", in{"path": "/a", "answer": in{
		"type": "object", "required": []string{"a", "c"}, "properties": in{
			"a": in{"type": "integer"}, "at": in{"type": "string", "format": "date-time"}, "b": in{"type": []string{"string", "null"}},
			"c": in{"allOf": []any{in{"type": "object"}, in{"properties": in{"d": in{"type": "array", "items": in{"enum": []string{"x", "y"}}}}}}},
		},
	}}))
	if out["body"].(in)["more"] != 1.0 {
		t.Errorf("got %v", out["body"])
	}
}

func TestExpectedStatuses(t *testing.T) {
	s := serve(t, nil)
	p := open(t, s, nil)
	for name, c := range map[string]struct {
		status            int
		contentType, body string
		expect            []any
		want              any
	}{
		"a document":     {404, "application/json", `{"error":"gone"}`, []any{404}, in{"error": "gone"}},
		"a class":        {422, "application/json", `[]`, []any{"4xx"}, []any{}},
		"a page":         {409, "text/html", "<p>", []any{409}, "<p>"},
		"broken JSON":    {400, "application/json", "{", []any{400}, "{"},
		"bytes":          {400, "image/png", "\xff", []any{400}, nil},
		"not modified":   {304, "", "", []any{304}, nil},
		"too many":       {429, "text/plain", "slow", []any{429}, "slow"},
		"a refusal, 403": {403, "text/plain", "no", []any{403}, "no"},
	} {
		s.answer = says(c.status, c.contentType, c.body)
		out := outputOfCall(t, p.Call("get", in{"path": "/a", "expect": c.expect, "answer": in{"type": "object"}}))
		if diff := cmp.Diff([]any{float64(c.status), false, "none", nil, c.want}, []any{out["status"], out["ok"], out["kind"], out["body"], out["error_body"]}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	s.answer = says(404, "application/json", `{"message":"no such thing"}`)
	fails(t, p.Call("get", in{"path": "/a", "expect": []any{409}}), sdk.CodeNotFound, "no such thing")
}

func TestHeadersOfAnswers(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["X-Many"] = []string{"a", "b, c"}
		w.Header().Set("ETag", `"1"`)
		w.Header().Set("Set-Cookie", "session=hidden")
		w.Header().Set("Date", "Sat, 31 Jan 2026 09:00:00 GMT")
	})
	out := outputOfCall(t, open(t, s, nil).Call("head", in{"path": "/a", "secrets": in{"query": in{"token": "hidden"}}}))
	want := in{"x-many": "a, b, c", "etag": `"1"`, "date": "Sat, 31 Jan 2026 09:00:00 GMT"}
	if diff := cmp.Diff(want, out["headers"]); diff != "" {
		t.Errorf("headers (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(in{"x-many": []any{"a", "b, c"}}, out["repeated"]); diff != "" {
		t.Errorf("repeated (-want +got):\n%s", diff)
	}
	if url := out["url"]; url != s.URL+"/a?token=[redacted]" && url != s.URL+"/a?token=***" {
		t.Errorf("url %v", url)
	}
	if sent, _ := s.last(t); sent.Method != http.MethodHead {
		t.Errorf("sent %s", sent.Method)
	}
}

func TestSecretAnswersAreMarked(t *testing.T) {
	s := serve(t, says(200, "application/json", `{"token":"abc","items":[{"key":"k1"},{"key":"k2"}]}`))
	answer := in{"properties": in{"token": in{"type": "string", "writeOnly": true}, "items": in{"items": in{"$ref": "#/$defs/item"}}}, "$defs": in{"item": in{"properties": in{"key": in{"type": "string", "writeOnly": true}}}}}
	r := open(t, s, nil).Call("get", in{"path": "/a", "answer": answer, "pages": in{"by": "offset", "query": "o", "items": "/items"}})
	outputOfCall(t, r)
	want := []string{"/body/items/0/key", "/items/0/key", "/body/items/1/key", "/items/1/key", "/body/token"}
	if diff := cmp.Diff(want, r.Sensitive); diff != "" {
		t.Errorf("sensitive parts (-want +got):\n%s", diff)
	}
}

// A body that is small on the wire and large when it is unpacked ends at its bound.
func TestPackedAnswers(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		w.Header().Set("Content-Type", "text/plain")
		packed := gzip.NewWriter(w)
		defer packed.Close()
		if r.URL.Path == "/small" {
			_, _ = io.WriteString(packed, "hello")
			return
		}
		zeros := make([]byte, 1<<20)
		for range 100 {
			_, _ = packed.Write(zeros)
		}
	})
	p := open(t, s, nil)
	if out := outputOfCall(t, p.Call("get", in{"path": "/small"})); out["body"] != "hello" {
		t.Errorf("got %v", out["body"])
	}
	fails(t, p.Call("get", in{"path": "/bomb"}), sdk.CodeUnexpectedResponse, "larger than 8388608 bytes")
}

func TestRateLimits(t *testing.T) {
	const date = "Sat, 31 Jan 2026 09:00:00 GMT" // 1769850000
	s := serve(t, nil)
	p := open(t, s, nil)
	for name, c := range map[string]struct {
		status int
		header map[string]string
		code   sdk.Code
		wait   time.Duration
	}{
		"seconds":                  {429, map[string]string{"Retry-After": "7"}, sdk.CodeRateLimited, 7 * time.Second},
		"a date":                   {429, map[string]string{"Retry-After": "Sat, 31 Jan 2026 09:01:30 GMT"}, sdk.CodeRateLimited, 90 * time.Second},
		"nothing":                  {429, nil, sdk.CodeRateLimited, 0},
		"503 with seconds":         {503, map[string]string{"Retry-After": "3"}, sdk.CodeUnavailable, 3 * time.Second},
		"the draft of before":      {429, map[string]string{"RateLimit-Reset": "12"}, sdk.CodeRateLimited, 12 * time.Second},
		"the draft":                {429, map[string]string{"RateLimit": `"burst";r=4;t=1, "day";r=0;t=60`}, sdk.CodeRateLimited, time.Minute},
		"a time":                   {429, map[string]string{"X-RateLimit-Reset": "1769850045"}, sdk.CodeRateLimited, 45 * time.Second},
		"Retry-After goes before":  {429, map[string]string{"X-RateLimit-Reset": "1769850045", "Retry-After": "1"}, sdk.CodeRateLimited, time.Second},
		"403 with none left":       {403, map[string]string{"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1769850010"}, sdk.CodeRateLimited, 10 * time.Second},
		"403 with some left":       {403, map[string]string{"X-RateLimit-Remaining": "5", "X-RateLimit-Reset": "1769850010"}, sdk.CodeForbidden, 0},
		"403":                      {403, nil, sdk.CodeForbidden, 0},
		"a reset that is no time":  {429, map[string]string{"RateLimit-Reset": "soon"}, sdk.CodeRateLimited, 0},
		"a reset that is too far":  {429, map[string]string{"RateLimit-Reset": "900000000"}, sdk.CodeRateLimited, 24 * time.Hour},
		"a time that has passed":   {429, map[string]string{"X-RateLimit-Reset": "1769840000"}, sdk.CodeRateLimited, 0},
		"a policy that is no list": {429, map[string]string{"RateLimit": ";;;r=;t=x,="}, sdk.CodeRateLimited, 0},
	} {
		s.answer = func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Date", date)
			for name, value := range c.header {
				w.Header().Set(name, value)
			}
			w.WriteHeader(c.status)
		}
		r := p.Call("post", in{"path": "/a"})
		if r.Err == nil || r.Err.Code != c.code || r.Err.RetryAfter != c.wait {
			t.Errorf("%s: %+v, want %s after %s", name, r.Err, c.code, c.wait)
		}
	}
}
