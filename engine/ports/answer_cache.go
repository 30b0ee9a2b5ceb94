package ports

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/flowrun/flowrun/engine/dispatch"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/store"
)

// cacheBucket is the store's bucket of answers that reads may be given again.
const cacheBucket = "cache"

// Old answers are looked for once in so many writes, and so many are removed at
// a time: each removal is a commit.
const (
	sweepEvery = 64
	sweepMost  = 64
)

// maxCached bounds a cached answer in bytes.
const maxCached = 4 << 20

// cached is a stored answer. Answers are stored in clear, as journals are: one
// with a secret in it is never stored.
type cached struct {
	At     time.Time       `json:"at"`
	Until  time.Time       `json:"until"` // when a sweep may remove it
	Answer *runs.Completed `json:"answer"`
}

// AnswerCache keeps answers of reads in the store. Safe for concurrent use.
type AnswerCache struct {
	kv   store.KV
	now  func() time.Time
	log  *slog.Logger
	puts atomic.Uint64
}

var _ dispatch.Cache = (*AnswerCache)(nil)

// NewAnswerCache returns the cache of a store.
func NewAnswerCache(rows store.KV, around Surroundings) *AnswerCache {
	return &AnswerCache{kv: rows, now: around.Now, log: around.Log}
}

// Get returns an answer that is not older than maxAge.
func (c *AnswerCache) Get(key string, maxAge time.Duration) *runs.Completed {
	var entry cached
	if _, ok, err := store.GetJSON(c.kv, cacheBucket, key, &entry); err != nil || !ok || entry.Answer == nil {
		return nil // what can't be read is asked for anew
	}
	if age := c.now().Sub(entry.At); age < 0 || age >= maxAge {
		return nil
	}
	return entry.Answer
}

// Put stores an answer without a secret in it. A cache that can't be written
// costs no run.
func (c *AnswerCache) Put(key string, answer *runs.Completed, keep time.Duration) {
	if len(answer.Output) > maxCached || bytes.Contains(answer.Output, []byte(`"$secret"`)) {
		return
	}
	now := c.now().UTC()
	if err := store.PutJSON(c.kv, cacheBucket, key, cached{At: now, Until: now.Add(keep), Answer: answer}, nil); err != nil {
		c.log.Warn("answer not cached", "error", err)
		return
	}
	if c.puts.Add(1)%sweepEvery == 1 {
		c.sweep(now)
	}
}

// sweep removes answers whose time is over.
func (c *AnswerCache) sweep(now time.Time) {
	keys, err := c.kv.List(cacheBucket, "")
	if err != nil {
		return
	}
	removed := 0
	for _, key := range keys {
		stored, version, ok, err := c.kv.Get(cacheBucket, key)
		if err != nil || !ok {
			continue
		}
		var entry cached
		if json.Unmarshal(stored, &entry) == nil && now.Before(entry.Until) {
			continue
		}
		if err := c.kv.Delete(cacheBucket, key, &version); err != nil {
			return
		}
		if removed++; removed == sweepMost {
			return
		}
	}
}
