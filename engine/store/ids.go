package store

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/oklog/ulid/v2"
)

// ParseID reads a run id. Only lower-case ULIDs are run ids: anything else, such as a
// hostile name, is ErrRunNotFound.
func ParseID(id string) (ulid.ULID, error) {
	parsed, err := ulid.ParseStrict(id)
	if err != nil || !isWritten(parsed, id) {
		return ulid.ULID{}, fmt.Errorf("%q is not a run id: %w", id, ErrRunNotFound)
	}
	return parsed, nil
}

// isWritten reports whether an id stands in a text as flowrun writes it: in lower case.
func isWritten(parsed ulid.ULID, id string) bool {
	var text [ulid.EncodedSize]byte
	if err := parsed.MarshalTextTo(text[:]); err != nil || len(id) != len(text) {
		return false
	}
	for i, letter := range text {
		if 'A' <= letter && letter <= 'Z' {
			letter += 'a' - 'A'
		}
		if id[i] != letter {
			return false
		}
	}
	return true
}

// AcceptedAt is the time in a run's id; that of 1970 for what is no run id.
func AcceptedAt(id string) time.Time {
	parsed, _ := ParseID(id)
	return time.UnixMilli(int64(parsed.Time()))
}

// PlanHash is the hash of a plan: its SHA-256 in hex.
func PlanHash(planBytes []byte) string {
	sum := sha256.Sum256(planBytes)
	return hex.EncodeToString(sum[:])
}
