package web

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"time"
)

// requestKey is a request with an Idempotency-Key, and the digest of what it asks for.
type requestKey struct {
	id, digest string
	replayed   bool
}

// replay is where the engine says that a run is of an earlier request; nil where
// nobody asks.
func (k *requestKey) replay() *bool {
	if k.id == "" {
		return nil
	}
	return &k.replayed
}

// identify works out the id of a request, and the digest of what it asks for: the same
// key with another digest is refused. named is the key of a body, where it can have
// one; "" = none.
func (h KeyHeader) identify(ctx context.Context, of, named string, what ...any) (*requestKey, error) {
	id, err := h.requestID(ctx, of, named)
	if err != nil || id == "" {
		return &requestKey{}, err
	}
	return &requestKey{id: id, digest: digestOf(what)}, nil
}

// digestOf is the same for what means the same: whatever the order of fields, and
// spaces between them.
func digestOf(what []any) string {
	sum := sha256.New()
	for _, part := range what {
		switch part := part.(type) {
		case GivenInputs:
			for _, name := range slices.Sorted(maps.Keys(part.Inputs)) {
				sum.Write([]byte("value " + name + "\x00" + canonical(part.Inputs[name]) + "\x00"))
			}
			for _, name := range slices.Sorted(maps.Keys(part.Texts)) {
				sum.Write([]byte("text " + name + "\x00" + part.Texts[name] + "\x00"))
			}
		case time.Time:
			sum.Write([]byte("time " + part.UTC().Format(time.RFC3339Nano) + "\x00"))
		case string:
			sum.Write([]byte("word " + part + "\x00"))
		}
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// canonical writes JSON with its fields in order. Numbers stay as they are written.
func canonical(data json.RawMessage) string {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return string(data)
	}
	encoded, err := json.Marshal(value)
	if err != nil {
		return string(data)
	}
	return string(encoded)
}
