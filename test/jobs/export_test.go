package jobs

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// bank serves a large export, and breaks the line in the middle of it once.
type bank struct {
	mu     sync.Mutex
	export []byte
	ranges []string
}

func (b *bank) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	b.ranges = append(b.ranges, r.Header.Get("Range"))
	first := len(b.ranges) == 1
	b.mu.Unlock()
	w.Header().Set("Etag", `"tonight"`)
	w.Header().Set("Content-Type", "text/csv")
	if r.Header.Get("Authorization") != "Bearer bank-token" || r.URL.Path != "/exports/ledger.csv" {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	if first {
		w.Header().Set("Content-Length", fmt.Sprint(len(b.export)))
		_, _ = w.Write(b.export[:len(b.export)/2])
		panic(http.ErrAbortHandler)
	}
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(b.export))
}

func bigExport(t *testing.T, j *job) {
	const rows = 30_000
	var export strings.Builder
	export.WriteString("id,amount,currency,text\n")
	for i := range rows {
		fmt.Fprintf(&export, "L-%d,%d.25,EUR,\"entry, %d\"\n", i, i%1000, i)
	}
	source := &bank{export: []byte(export.String())}
	server := httptest.NewServer(source)
	t.Cleanup(server.Close)
	books := serve(t, func(w http.ResponseWriter, r request, _ int) {
		batch := decoded[struct{ Entries []any }](t, r.Body)
		answerJSON(w, http.StatusCreated, map[string]any{"booked": len(batch.Entries)})
	})
	j.instead(t, "flowrun.yaml", "base_url: https://api.bank.example/v2", "private: true, base_url: "+server.URL, "rate: 600/1m", "rate: 600/1s")
	local(t, j, "https://books.example/api", books)
	j.environ = []string{"FLOWRUN_SECRET_BANK_TOKEN=bank-token", "FLOWRUN_SECRET_BOOKS_TOKEN=books-token"}
	outputs := decoded[struct {
		Outputs struct{ Booked, Bytes int }
	}](t, j.flowrun(t, 0, "run", "ledger.yaml", "-o", "json", "--out", "file=booked.csv")).Outputs
	if outputs.Booked != rows || outputs.Bytes != len(source.export) || j.read(t, "booked.csv") != export.String() {
		t.Errorf("outputs %+v", outputs)
	}
	if len(source.ranges) != 2 || !strings.HasPrefix(source.ranges[1], "bytes=") {
		t.Errorf("the bank was asked for %q", source.ranges)
	}
	keys := map[string]int{}
	for _, r := range books.requests("/entries") {
		keys[r.Header.Get("Idempotency-Key")]++
	}
	if len(keys) != rows/500 || keys[""] > 0 {
		t.Errorf("%d batches with keys of their own", len(keys))
	}
}
