package store

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"
)

// ParseID reads a run id. Only lower-case ULIDs are run ids: anything else, such as a
// hostile name, is ErrRunNotFound.
func ParseID(id string) (ulid.ULID, error) {
	parsed, err := ulid.ParseStrict(id)
	if err != nil || strings.ToLower(parsed.String()) != id {
		return ulid.ULID{}, fmt.Errorf("%q is not a run id: %w", id, ErrRunNotFound)
	}
	return parsed, nil
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
