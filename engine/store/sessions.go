package store

import (
	"fmt"
	"time"
)

// Sessions are what logins at the server leave behind.
type Sessions interface {
	// PutSession stores a session, or writes it anew. What has ended by now goes in the
	// same transaction, and where there are more than 10,000 those that end first.
	PutSession(session Session, now time.Time) error
	// Sessions returns all sessions that have not ended, in the order of their hashes.
	Sessions(now time.Time) ([]Session, error)
	// DeleteSessions removes sessions; absent ones are no error.
	DeleteSessions(hashes ...SessionHash) error
}

// MaxSessions is how many sessions there are at most.
const MaxSessions = 10_000

// maxSessionValue bounds the value of a session, in bytes.
const maxSessionValue = 64 << 10

// CheckSession refuses what is too long for a session.
func CheckSession(session Session) error {
	if len(session.Value) > maxSessionValue {
		return fmt.Errorf("put session: value of %d bytes, allowed are %d", len(session.Value), maxSessionValue)
	}
	return nil
}

// SessionHash is what a session is stored under: the SHA-256 of its secret, which
// is never stored.
type SessionHash [32]byte

// Session is a stored session. Value is the caller's; it is stored in clear.
type Session struct {
	Hash    SessionHash
	Value   []byte
	Expires time.Time // UTC, in milliseconds
}
