package ratelimit

import (
	"encoding/json"
	"fmt"
	"time"
)

// row is the stored form of a bucket: a cache of what the service knows.
type row struct {
	Answered    []time.Time `json:"answered,omitempty"`
	Open        int         `json:"open,omitempty"`
	LastGrant   time.Time   `json:"last_grant,omitzero"`
	ClosedUntil time.Time   `json:"closed_until,omitzero"`
}

// Snapshot returns the rows of all buckets by key, for Restore after a restart.
func (l *Limiter) Snapshot() map[string][]byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	rows := make(map[string][]byte, len(l.buckets))
	for key, b := range l.buckets {
		if encoded, err := json.Marshal(b.row()); err == nil {
			rows[key] = encoded
		}
	}
	return rows
}

// Row returns the row of one bucket, nil when there is none.
func (l *Limiter) Row(key string) []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.buckets[key]
	if b == nil {
		return nil
	}
	encoded, err := json.Marshal(b.row())
	if err != nil {
		return nil
	}
	return encoded
}

func (b *bucket) row() row {
	return row{Answered: b.answered, Open: b.open, LastGrant: b.lastGrant, ClosedUntil: b.closedUntil}
}

// Restore takes rows of a Snapshot over, before the first Acquire. A call that
// was in flight then counts as answered now: its request may have arrived at any
// time since. A row that can't be read is named in the error; the others are
// taken over all the same.
func (l *Limiter) Restore(rows map[string][]byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	var failure error
	for key, encoded := range rows {
		var stored row
		if err := json.Unmarshal(encoded, &stored); err != nil {
			failure = fmt.Errorf("restore limiter %s: %w", key, err)
			continue
		}
		b := l.bucket(key)
		b.answered, b.lastGrant, b.closedUntil = stored.Answered, stored.LastGrant, stored.ClosedUntil
		now := l.now()
		for range stored.Open {
			b.open++
			b.answer(&permit{counts: true}, now)
		}
	}
	return failure
}
