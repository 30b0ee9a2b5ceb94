package sdk_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/flowrun/flowrun/sdk"
	"github.com/flowrun/flowrun/sdk/sdktest"
)

// shop serves one file, and remembers what it was asked for.
type shop struct {
	mu      sync.Mutex
	content []byte
	header  http.Header // of each answer
	ranges  bool
	cutAt   int // bytes of an answer after which the line breaks, once; 0 = never
	always  int // status of each answer; 0 = as it should be
	asked   []string
	noIf    bool // it does not look at If-Range
}

// ServeHTTP serves the file.
func (s *shop) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	content, cutAt := s.content, s.cutAt
	s.cutAt = 0
	s.asked = append(s.asked, strings.TrimSpace(r.Header.Get("Range")+" "+r.Header.Get("If-Range")))
	for name, values := range s.header {
		w.Header()[name] = values
	}
	ranges := s.ranges
	s.mu.Unlock()
	if !ranges {
		r.Header.Del("Range")
		w.Header().Set("Content-Length", strconv.Itoa(len(content)))
		w.WriteHeader(http.StatusOK)
	}
	if s.noIf {
		r.Header.Del("If-Range")
	}
	if s.always != 0 {
		w.WriteHeader(s.always)
		return
	}
	if cutAt > 0 {
		w = &cutWriter{ResponseWriter: w, left: cutAt}
	}
	if !ranges {
		_, _ = w.Write(content)
		return
	}
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
}

// cutWriter breaks the line after some bytes.
type cutWriter struct {
	http.ResponseWriter
	left int
}

// Write passes on what is left.
func (c *cutWriter) Write(p []byte) (int, error) {
	n, _ := c.ResponseWriter.Write(p[:min(len(p), c.left)])
	if c.left -= n; c.left == 0 {
		c.ResponseWriter.(http.Flusher).Flush() //nolint:forcetypeassert // that of net/http
		panic(http.ErrAbortHandler)
	}
	return n, nil
}

type fetched struct {
	Blob   sdk.Blob `json:"blob"`
	Status int      `json:"status"`
	ETag   string   `json:"etag"`
}

// downloader downloads /export.csv.
func downloader() *sdk.Plugin {
	return sdk.New("fetcher", "1.0.0", "Fetches", sdk.Read("fetch", "Fetch", func(c *sdk.Call[sdk.HTTPSettings], _ struct{}) (fetched, error) {
		client := c.HTTP()
		blob, response, err := c.Download(&sdk.Request{Path: "/export.csv"}, sdk.BlobOptions{}, client.Do)
		if err != nil {
			return fetched{}, err
		}
		return fetched{Blob: blob, Status: response.Status, ETag: response.Header.Get("ETag")}, nil
	}))
}

// fetches calls the plugin so often, and returns the last answer and what was asked for.
func fetches(t *testing.T, s *shop, times int, between func(call int)) (*sdktest.Plugin, sdktest.Result, []string) {
	t.Helper()
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	p := sdktest.Open(t, downloader(), sdk.HTTPSettings{BaseURL: server.URL})
	var result sdktest.Result
	for call := range times {
		if between != nil {
			between(call)
		}
		result = p.Call("fetch", struct{}{})
	}
	return p, result, s.asked
}

func csvHeader() http.Header {
	return http.Header{"Etag": {`"v1"`}, "Content-Type": {"text/csv; charset=utf-8"}}
}

func TestIssue16_3_ADownloadGoesOnWhereItWasCut(t *testing.T) {
	content := random(3*sdk.BlobPart + 500)
	const cut = sdk.BlobPart + 4000
	s := &shop{content: content, header: csvHeader(), ranges: true, cutAt: cut}
	p, result, asked := fetches(t, s, 2, nil)
	var out fetched
	result.Decode(t, &out)
	if !bytes.Equal(p.Host().Blob(out.Blob), content) || out.Status != 200 || out.ETag != `"v1"` || out.Blob.Name != "export.csv" || out.Blob.MediaType != "text/csv" {
		t.Errorf("%+v", out)
	}
	if len(asked) != 2 || asked[0] != "" || !strings.HasPrefix(asked[1], "bytes=") || !strings.HasSuffix(asked[1], ` "v1"`) {
		t.Fatalf("asked for %q", asked)
	}
	from, _ := strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(strings.Fields(asked[1])[0], "bytes="), "-"))
	if from <= sdk.BlobPart/2 || from > cut {
		t.Errorf("it goes on at %d, and %d bytes came", from, cut)
	}
	again := p.Call("fetch", struct{}{}) // an answer that was lost: nothing is asked for
	var same fetched
	again.Decode(t, &same)
	if same != out || len(s.asked) != 2 {
		t.Errorf("%+v, asked %q", same, s.asked)
	}
}

func TestIssue16_3_WhatCannotGoOnBeginsAnew(t *testing.T) {
	content, other := random(2*sdk.BlobPart+77), bytes.Repeat([]byte("x"), sdk.BlobPart+9)
	past := time.Now().Add(-time.Hour).UTC().Format(http.TimeFormat)
	for name, c := range map[string]struct {
		s       *shop
		between func(*shop)
		want    []byte
		asks    int
		begins  string // of the second question
	}{
		"without ranges":     {&shop{header: csvHeader()}, nil, content, 2, "bytes="},
		"without validators": {&shop{header: http.Header{}, ranges: true}, nil, content, 2, ""},
		"with a weak one":    {&shop{header: http.Header{"Etag": {`W/"v1"`}}, ranges: true}, nil, content, 2, ""},
		"with a time":        {&shop{header: http.Header{"Last-Modified": {past}}, ranges: true, noIf: true}, nil, content, 2, "bytes="},
		"changed": {&shop{header: csvHeader(), ranges: true}, func(s *shop) {
			s.content, s.header = other, http.Header{"Etag": {`"v2"`}}
		}, other, 2, "bytes="},
		"changed, and the service does not look at If-Range": {&shop{header: csvHeader(), ranges: true, noIf: true}, func(s *shop) {
			s.content, s.header = append(bytes.Clone(content), other...), http.Header{"Etag": {`"v2"`}}
		}, append(bytes.Clone(content), other...), 3, "bytes="},
		"shorter now": {&shop{header: csvHeader(), ranges: true, noIf: true}, func(s *shop) { s.content = other[:5] }, other[:5], 3, "bytes="},
	} {
		c.s.content, c.s.cutAt = content, sdk.BlobPart+4000
		p, result, asked := fetches(t, c.s, 2, func(call int) {
			if call == 1 && c.between != nil {
				c.between(c.s)
			}
		})
		var out fetched
		result.Decode(t, &out)
		if !bytes.Equal(p.Host().Blob(out.Blob), c.want) || out.Status != 200 {
			t.Errorf("%s: %+v", name, out)
		}
		if len(asked) != c.asks || (c.begins == "") != (asked[1] == "") || !strings.HasPrefix(asked[1], c.begins) {
			t.Errorf("%s: asked for %q", name, asked)
		}
	}
}

func TestIssue16_3_WhatDoesNotArriveWholeIsNoValue(t *testing.T) {
	content := random(5000)
	sum := sha256.Sum256(content)
	right := base64.StdEncoding.EncodeToString(sum[:])
	wrong := base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{1}, 32))
	for name, c := range map[string]struct {
		s    *shop
		code sdk.Code
		text string
	}{
		"cut":          {&shop{content: content, header: csvHeader(), ranges: true, cutAt: 1000}, sdk.CodeUnavailable, "cut short after 1000 bytes"},
		"wrong digest": {&shop{content: content, header: http.Header{"Repr-Digest": {"sha-512=:AA==:, sha-256=:" + wrong + ":"}}, ranges: true}, sdk.CodeUnexpectedResponse, "the service says sha256:0101"},
		"old digest":   {&shop{content: content, header: http.Header{"Digest": {"SHA-256=" + wrong}}, ranges: true}, sdk.CodeUnexpectedResponse, "the service says sha256:0101"},
		"not there":    {&shop{content: content, header: http.Header{}, ranges: true, always: 404}, sdk.CodeNotFound, ""},
		"a part":       {&shop{content: content, header: http.Header{}, ranges: true, always: 206}, sdk.CodeUnexpectedResponse, "a part that was not asked for"},
	} {
		_, result, _ := fetches(t, c.s, 1, nil)
		if result.Err == nil || result.Err.Code != c.code || !strings.Contains(result.Err.Message, c.text) {
			t.Errorf("%s: %+v", name, result)
		}
	}
	header := http.Header{"Repr-Digest": {fmt.Sprintf("sha-256=:%s:", right)}}
	s := &shop{content: content, header: header, ranges: true}
	p, result, _ := fetches(t, s, 1, nil)
	var out fetched
	if result.Decode(t, &out); !bytes.Equal(p.Host().Blob(out.Blob), content) {
		t.Errorf("a right digest: %+v", out)
	}
	// A wrong one is not taken at the next attempt because it was finished.
	s = &shop{content: content, header: http.Header{"Repr-Digest": {"sha-256=:" + wrong + ":"}}, ranges: true}
	_, result, asked := fetches(t, s, 3, nil)
	if result.Err == nil || len(asked) != 3 {
		t.Errorf("%+v after %q", result, asked)
	}
}

// TestIssue16_3_NamesOfDownloadsHurtNobody: they are those of a service.
func TestIssue16_3_NamesOfDownloadsHurtNobody(t *testing.T) {
	for disposition, want := range map[string]string{
		`attachment; filename="report.pdf"`:                       "report.pdf",
		`attachment; filename="../../etc/passwd"`:                 "passwd",
		`attachment; filename="..\\..\\boot.ini"`:                 "boot.ini",
		`attachment; filename*=UTF-8''n%C3%A4me%0A.txt`:           "n\u00e4me .txt",
		`attachment; filename=".."`:                               "",
		`attachment; filename="` + strings.Repeat("a", 400) + `"`: strings.Repeat("a", 197) + "...",
		`nonsense;;;`: "export.csv",
	} {
		s := &shop{content: []byte("x"), header: http.Header{"Content-Disposition": {disposition}}, ranges: true}
		_, result, _ := fetches(t, s, 1, nil)
		var out fetched
		result.Decode(t, &out)
		if out.Blob.Name != want {
			t.Errorf("%s is called %q, want %q", disposition, out.Blob.Name, want)
		}
	}
}
