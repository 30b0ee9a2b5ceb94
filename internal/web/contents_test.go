package web

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// askedFor asks a server over its API, as a browser would that takes gzip.
func askedFor(t *testing.T, path string, header map[string]string) *http.Response {
	t.Helper()
	request := httptest.NewRequest(http.MethodGet, Prefix+path, nil)
	request.Header.Set("Accept-Encoding", "gzip")
	for name, value := range header {
		request.Header.Set(name, value)
	}
	handler, _ := newTestHandler(t, &fakeRuns{})
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, request)
	return recorder.Result()
}

func TestIssue16_3_ALargeValueIsAFileToSave(t *testing.T) {
	whole := strings.Repeat("0123456789", 200)
	path := "/runs/" + knownRun + "/blobs/" + knownBlob
	for _, c := range []struct {
		header map[string]string
		status int
		body   string
	}{
		{nil, 200, whole},
		{map[string]string{"Range": "bytes=5-9"}, 206, "56789"},
		{map[string]string{"Range": "bytes=1995-"}, 206, "56789"},
		{map[string]string{"Range": "bytes=-3", "If-Range": `"` + knownBlob + `"`}, 206, "789"},
		{map[string]string{"Range": "bytes=0-4", "If-Range": `"another"`}, 200, whole},
		{map[string]string{"Range": "bytes=5000-"}, 416, ""},
		{map[string]string{"If-None-Match": `"` + knownBlob + `"`}, 304, ""},
	} {
		response := askedFor(t, path+"?name=a.csv&type=text/csv", c.header)
		body, _ := io.ReadAll(response.Body)
		if response.StatusCode != c.status || c.body != "" && string(body) != c.body {
			t.Errorf("%v: %d with %d bytes", c.header, response.StatusCode, len(body))
		}
		if c.status == 200 && (response.Header.Get("Content-Encoding") != "" || response.Header.Get("Content-Length") != "2000") {
			t.Errorf("%v: %v", c.header, response.Header)
		}
	}
	header := askedFor(t, path+"?name=a.csv&type=text/csv", nil).Header
	for name, want := range map[string]string{
		"Etag": `"` + knownBlob + `"`, "Accept-Ranges": "bytes", "Content-Type": "text/csv", "Content-Disposition": `attachment; filename="a.csv"`,
		"X-Content-Type-Options": "nosniff", "Content-Security-Policy": "default-src 'none'; sandbox",
	} {
		if got := header.Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}

func TestIssue16_3_WhatARunHasNotIsNotGiven(t *testing.T) {
	for path, status := range map[string]int{
		"/runs/" + knownRun + "/blobs/sha256:1111111111111111111111111111111111111111111111111111111111111111": 404,
		"/runs/" + knownRun + "/blobs/..%2f..%2fetc%2fpasswd":                                                  404,
		"/runs/nothing/blobs/" + knownBlob:                                                                     404,
		"/runs/" + knownRun + "/outputs/digest":                                                                200,
	} {
		response := askedFor(t, path, nil)
		if response.StatusCode != status {
			t.Errorf("%s: %d, want %d", path, response.StatusCode, status)
		}
	}
	response := askedFor(t, "/runs/"+knownRun+"/outputs/digest", nil)
	body, _ := io.ReadAll(response.Body)
	if string(body) != "digest" || response.Header.Get("Content-Disposition") != `attachment; filename="digest.md"` || response.Header.Get("Content-Type") != "text/plain; charset=utf-8" {
		t.Errorf("%q %v", body, response.Header)
	}
}
