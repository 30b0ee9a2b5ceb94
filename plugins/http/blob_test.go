package http

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/flowrun/flowrun/sdk"
	"github.com/flowrun/flowrun/sdk/sdktest"
)

type withBlob struct {
	Status    int       `json:"status"`
	Kind      string    `json:"kind"`
	Body      sdk.Value `json:"body"`
	ErrorBody sdk.Value `json:"error_body"`
	Blob      *sdk.Blob `json:"blob"`
}

func large() []byte { return bytes.Repeat([]byte("0123456789abcdef"), 3<<16) } // 3 MiB

func digestOf(content []byte) string {
	sum := sha256.Sum256(content)
	return "sha256:" + hex.EncodeToString(sum[:])
}

func TestIssue16_3_AnAnswerBecomesALargeValue(t *testing.T) {
	content := large()
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/gone" {
			says(404, "application/json", `{"no":true}`)(w, r)
			return
		}
		w.Header().Set("Etag", `"1"`)
		w.Header().Set("Content-Type", "text/csv")
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
	})
	p := open(t, s, nil)
	for _, c := range []struct {
		action string
		input  in
	}{
		{"get", in{"path": "/export.csv", "as": "blob"}},
		{"get", in{"path": "/export.csv", "as": "blob", "digest": digestOf(content)}},
		{"post", in{"path": "/export.csv", "as": "blob", "json": in{"all": true}}},
	} {
		var out withBlob
		p.Call(c.action, c.input, sdktest.Key(strings.Join([]string{c.action, strconv.Itoa(len(c.input))}, "/"))).Decode(t, &out)
		if out.Status != 200 || out.Kind != "blob" || string(out.Body) != "null" || out.Blob == nil || out.Blob.MediaType != "text/csv" || out.Blob.Name != "export.csv" || !bytes.Equal(p.Host().Blob(*out.Blob), content) {
			t.Errorf("%s %v: %+v", c.action, c.input, out)
		}
		if sent, _ := s.last(t); sent.Header.Get("Accept") != "*/*" || sent.Header.Get("Accept-Encoding") != "identity" {
			t.Errorf("it accepts %q %q", sent.Header.Get("Accept"), sent.Header.Get("Accept-Encoding"))
		}
	}
	var gone withBlob
	p.Call("get", in{"path": "/gone", "as": "blob", "expect": []int{404}}, sdktest.Key("gone")).Decode(t, &gone)
	if gone.Blob != nil || string(gone.ErrorBody) != `{"no":true}` {
		t.Errorf("%+v", gone)
	}
	fails(t, p.Call("get", in{"path": "/export.csv", "as": "blob", "digest": digestOf([]byte("another"))}, sdktest.Key("other")), sdk.CodeUnexpectedResponse, "the step wants sha256:")
	fails(t, p.Call("get", in{"path": "/export.csv", "as": "blob"}, sdktest.WithoutBlobs(), sdktest.Key("none")), sdk.CodeUnsupported, "keeps no large values")
}

func TestIssue16_3_ALargeValueIsSent(t *testing.T) {
	var length int64
	var encoding []string
	s := serve(t, nil)
	s.answer = func(w http.ResponseWriter, r *http.Request) {
		length, encoding = r.ContentLength, r.TransferEncoding
		says(200, "application/json", `{}`)(w, r)
	}
	p := open(t, s, nil)
	content := large()
	blob := p.Host().PutBlob(content, "text/csv", "export.csv")
	empty := p.Host().PutBlob(nil, "", "")

	outputOfCall(t, p.Call("put", in{"path": "/in", "blob": blob}))
	sent, body := s.last(t)
	if !bytes.Equal([]byte(body), content) || length != int64(len(content)) || len(encoding) > 0 || sent.Header.Get("Content-Type") != "text/csv" {
		t.Errorf("%d bytes, announced %d, %v, %s", len(body), length, encoding, sent.Header.Get("Content-Type"))
	}
	outputOfCall(t, p.Call("post", in{"path": "/in", "blob": empty, "content_type": "text/plain"}))
	if sent, body = s.last(t); body != "" || length != 0 || sent.Header.Get("Content-Type") != "text/plain" {
		t.Errorf("of nothing: %q, %d, %s", body, length, sent.Header.Get("Content-Type"))
	}
	outputOfCall(t, p.Call("post", in{"path": "/in", "multipart": []in{
		{"name": "note", "text": "hello"}, {"name": "file", "blob": blob}, {"name": "other", "blob": empty, "filename": "e.bin", "content_type": "application/x-e"}, {"name": "last", "json": in{"a": 1}},
	}}))
	sent, body = s.last(t)
	if length != int64(len(body)) || len(encoding) > 0 {
		t.Errorf("%d bytes, announced %d, %v", len(body), length, encoding)
	}
	_, parameters, err := mime.ParseMediaType(sent.Header.Get("Content-Type"))
	if err != nil {
		t.Fatal(err)
	}
	form := multipart.NewReader(strings.NewReader(body), parameters["boundary"])
	for _, want := range []struct{ name, file, mediaType, content string }{
		{"note", "", "", "hello"}, {"file", "export.csv", "text/csv", string(content)}, {"other", "e.bin", "application/x-e", ""}, {"last", "", "application/json", `{"a":1}`},
	} {
		part, err := form.NextPart()
		if err != nil {
			t.Fatal(err)
		}
		got, _ := io.ReadAll(part)
		if part.FormName() != want.name || part.FileName() != want.file || part.Header.Get("Content-Type") != want.mediaType || string(got) != want.content {
			t.Errorf("part %s: file %s, %s, %d bytes", part.FormName(), part.FileName(), part.Header.Get("Content-Type"), len(got))
		}
	}
	if _, err := form.NextPart(); !errors.Is(err, io.EOF) {
		t.Errorf("more parts: %v", err)
	}
}

func TestIssue16_3_WhatDoesNotFitALargeValueIsRefused(t *testing.T) {
	s := serve(t, says(200, "application/json", `{}`))
	p := open(t, s, nil)
	blob := p.Host().PutBlob([]byte("x"), "", "")
	for want, input := range map[string]in{
		"a request has one body":             {"path": "/", "text": "a", "blob": blob},
		"belongs to `as: blob`":              {"path": "/", "digest": digestOf(nil), "as": "json"},
		"exactly one of text, json, base64 ": {"path": "/", "multipart": []in{{"name": "a", "text": "x", "blob": blob}}},
		"must match":                         {"path": "/", "digest": "sha256:x", "as": "blob"},
	} {
		problems := p.Validate("post", input)
		if text := string(sdk.JSON(problems)); !strings.Contains(text, want) {
			t.Errorf("%v: %s", input, text)
		}
	}
}

// TestIssue16_3_TheTypeSaysWhetherThereIsOne: expressions are checked by it.
func TestIssue16_3_TheTypeSaysWhetherThereIsOne(t *testing.T) {
	p := open(t, serve(t, says(200, "application/json", `{}`)), nil)
	for as, want := range map[string]string{"blob": `{"type":"object","x-flowrun-blob":true`, "json": `{"type":"null"`} {
		var output struct {
			Properties map[string]json.RawMessage `json:"properties"`
			Required   []string                   `json:"required"`
		}
		_, narrowed := p.ValidateNarrow("get", in{"path": "/", "as": as})
		if err := json.Unmarshal(narrowed, &output); err != nil {
			t.Fatal(err)
		}
		if got := strings.ReplaceAll(string(output.Properties["blob"]), " ", ""); !strings.HasPrefix(got, want) {
			t.Errorf("as: %s gives %s", as, got)
		}
	}
}
