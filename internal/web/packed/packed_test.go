package packed

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
)

func TestWhatABrowserTakesPackedIsPacked(t *testing.T) {
	tests := map[string]struct {
		accepts string
		body    string
		packed  bool
	}{
		"a long one":            {"gzip, deflate, br", strings.Repeat("flowrun ", 400), true},
		"with a quality":        {"br;q=1.0, gzip;q=0.8", strings.Repeat("flowrun ", 400), true},
		"not wanted":            {"gzip;q=0, deflate", strings.Repeat("flowrun ", 400), false},
		"not wanted, in detail": {"gzip; q=0.000", strings.Repeat("flowrun ", 400), false},
		"any":                   {"*", strings.Repeat("flowrun ", 400), true},
		"any but this":          {"*, gzip;q=0", strings.Repeat("flowrun ", 400), false},
		"none but this":         {"identity;q=0, *;q=0, gzip;q=0.001", strings.Repeat("flowrun ", 400), true},
		"by its old name":       {"X-GZIP", strings.Repeat("flowrun ", 400), true},
		"liked less than plain": {"identity, gzip;q=0.5", strings.Repeat("flowrun ", 400), false},
		"as much as plain":      {"identity;q=0.5, gzip;q=0.5", strings.Repeat("flowrun ", 400), true},
		"with spaces":           {" gzip ; q = 1.0 ", strings.Repeat("flowrun ", 400), true},
		"in no known weight":    {"gzip;q=yes", strings.Repeat("flowrun ", 400), false},
		"not known":             {"", strings.Repeat("flowrun ", 400), false},
		"another name":          {"xgzip, br", strings.Repeat("flowrun ", 400), false},
		"a short one":           {"gzip", "short", false},
		"an empty one":          {"gzip", "", false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			handler := Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/html")
				w.WriteHeader(http.StatusTeapot)
				_, _ = io.WriteString(w, test.body)
			}))
			for range 2 { // the second takes the writer of the first
				r := httptest.NewRequest(http.MethodGet, "/", nil)
				r.Header.Set("Accept-Encoding", test.accepts)
				w := httptest.NewRecorder()
				handler.ServeHTTP(w, r)
				var body io.Reader = w.Body
				if packed := w.Header().Get("Content-Encoding") == "gzip"; packed != test.packed {
					t.Fatalf("packed %v", packed)
				}
				if test.packed {
					if w.Body.Len() > len(test.body)/4 {
						t.Errorf("%d bytes of %d", w.Body.Len(), len(test.body))
					}
					unpacked, err := gzip.NewReader(w.Body)
					if err != nil {
						t.Fatal(err)
					}
					body = unpacked
				}
				got, err := io.ReadAll(body)
				if err != nil || string(got) != test.body || w.Code != http.StatusTeapot || w.Header().Get("Vary") != "Accept-Encoding" {
					t.Errorf("%d %q %v", w.Code, got, err)
				}
			}
		})
	}
}

func answer(t *testing.T, handler http.HandlerFunc) (*http.Response, []byte) {
	t.Helper()
	server := httptest.NewServer(Handler(handler))
	t.Cleanup(server.Close)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept-Encoding", "gzip") // by hand: the transport unpacks nothing
	got, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer got.Body.Close()
	body, err := io.ReadAll(got.Body)
	if err != nil {
		t.Logf("read: %v", err)
		return got, nil
	}
	return got, body
}

func TestWhatIsPackedOnceStaysSo(t *testing.T) {
	var numbers, once strings.Builder
	for i := range 3000 { // packed it is still long
		_, _ = io.WriteString(&numbers, strconv.Itoa(i*i))
	}
	long := numbers.String()
	packs := gzip.NewWriter(&once)
	_, _ = io.WriteString(packs, long)
	_ = packs.Close()
	got, body := answer(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = io.WriteString(w, once.String())
	})
	if once.Len() < 2*least {
		t.Fatalf("%d bytes show nothing", once.Len())
	}
	if string(body) != once.String() || len(got.Header.Values("Content-Encoding")) != 1 {
		t.Errorf("%d bytes of %d, %v", len(body), once.Len(), got.Header)
	}
}

func TestWhatHasNoBodyIsNotPacked(t *testing.T) {
	for _, status := range []int{http.StatusNoContent, http.StatusNotModified} {
		got, body := answer(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			w.WriteHeader(status)
		})
		if got.StatusCode != status || got.Header.Get("Content-Encoding") != "" || len(body) != 0 {
			t.Errorf("%d: %v", status, got.Header)
		}
	}
}

func TestATagOfOtherBytesIsWeak(t *testing.T) {
	for tag, want := range map[string]string{`"abc"`: `W/"abc"`, `W/"abc"`: `W/"abc"`} {
		got, _ := answer(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("ETag", tag)
			w.Header().Set("Content-Length", "3200")
			_, _ = io.WriteString(w, strings.Repeat("flowrun ", 400))
		})
		if got.Header.Get("ETag") != want || got.ContentLength == 3200 {
			t.Errorf("%s is %s now", tag, got.Header.Get("ETag"))
		}
	}
}

func TestAStreamArrivesPieceByPiece(t *testing.T) {
	took := make(chan struct{})
	server := httptest.NewServer(Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		control := http.NewResponseController(w)
		_ = control.Flush() // the header alone
		for _, piece := range []string{"data: 1\n\n", "data: 2\n\n"} {
			_, _ = io.WriteString(w, piece)
			if err := control.Flush(); err != nil {
				t.Error(err)
			}
			<-took
		}
	})))
	defer server.Close()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept-Encoding", "gzip")
	got, err := http.DefaultTransport.RoundTrip(r)
	if err != nil || got.Header.Get("Content-Encoding") != "gzip" {
		t.Fatalf("%v %v", got, err)
	}
	defer got.Body.Close()
	unpacked, err := gzip.NewReader(got.Body)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"data: 1\n\n", "data: 2\n\n"} {
		piece := make([]byte, len(want))
		if _, err := io.ReadFull(unpacked, piece); err != nil || string(piece) != want {
			t.Fatalf("%q %v", piece, err)
		}
		took <- struct{}{} // only now is the next one written
	}
	if rest, err := io.ReadAll(unpacked); err != nil || len(rest) != 0 {
		t.Errorf("%q %v", rest, err)
	}
}

func TestAnAnswerThatBreaksOffHasNoEnd(t *testing.T) {
	_, body := answer(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, strings.Repeat("flowrun ", 400))
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	})
	if body != nil {
		t.Error("it reads as if it was whole")
	}
}
