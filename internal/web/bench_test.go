package web

import "testing"

// BenchmarkHandler makes the handler and asks what `flowrun run` asks of it: each
// command pays that.
func BenchmarkHandler(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		handler := NewSocketHandler(Options{Gate: NewGate(), Runs: new(fakeRuns)})
		for _, path := range []string{"/runs/" + knownRun, "/runs/" + knownRun + "/logs", "/stream?topics=run:" + knownRun} {
			if w := request(handler, "GET", Prefix+path, "", ""); w.Code != 200 {
				b.Fatal(w.Body)
			}
		}
	}
}

// BenchmarkListRuns is one request of a handler that is in use.
func BenchmarkListRuns(b *testing.B) {
	handler := NewSocketHandler(Options{Gate: NewGate(), Runs: new(fakeRuns)})
	b.ReportAllocs()
	for b.Loop() {
		if w := request(handler, "GET", Prefix+"/runs?limit=50&status=failed", "", ""); w.Code != 200 {
			b.Fatal(w.Body)
		}
	}
}

// BenchmarkDocument makes the OpenAPI document.
func BenchmarkDocument(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := writeDocument(nil); err != nil {
			b.Fatal(err)
		}
	}
}
