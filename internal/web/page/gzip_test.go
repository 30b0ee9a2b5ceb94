package page

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
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
		"not known":             {"", strings.Repeat("flowrun ", 400), false},
		"another name":          {"xgzip, br", strings.Repeat("flowrun ", 400), false},
		"a short one":           {"gzip", "short", false},
		"an empty one":          {"gzip", "", false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			handler := gzipped(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
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
