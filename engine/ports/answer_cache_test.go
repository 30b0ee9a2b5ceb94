package ports

import (
	"encoding/json"
	"log/slog"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/memstore"
	"github.com/flowrun/flowrun/engine/runs"
)

func TestTheCacheKeepsAnswersForTheirTime(t *testing.T) {
	rows := memstore.New(memstore.Options{}).KV()
	now := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	cache := NewAnswerCache(rows, Surroundings{Now: func() time.Time { return now }, Log: slog.New(slog.DiscardHandler)})
	answer := &runs.Completed{Output: json.RawMessage(`{"a":1}`), NextCursor: "x"}
	cache.Put("k", answer, time.Hour)
	cache.Put("secret", &runs.Completed{Output: json.RawMessage(`{"a":{"$secret":"S"}}`)}, time.Hour)
	if got := cache.Get("k", time.Hour); got == nil || string(got.Output) != `{"a":1}` || got.NextCursor != "x" {
		t.Errorf("got %+v", got)
	}
	if cache.Get("secret", time.Hour) != nil || cache.Get("other", time.Hour) != nil {
		t.Error("an answer that must not be there is there")
	}
	now = now.Add(30 * time.Minute)
	if cache.Get("k", time.Hour) == nil || cache.Get("k", 10*time.Minute) != nil {
		t.Error("a step's own time does not count")
	}
	now = now.Add(time.Hour)
	if cache.Get("k", 90*time.Minute) != nil {
		t.Error("an answer outlives its time")
	}
	cache.sweep(now)
	if keys, err := rows.List(cacheBucket, ""); err != nil || len(keys) != 0 {
		t.Errorf("left are %v: %v", keys, err)
	}
}
