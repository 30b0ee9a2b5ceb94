package store

import (
	"errors"
	"fmt"
	"io/fs"
	"time"
)

// The errors of a store that is a file.
var (
	ErrNewer   = errors.New("store was written by a newer version") // matches *NewerError
	ErrNoSpace = errors.New("no space")                             // for a new store; else FailedError.Full tells
	// ErrOlder says that a store has an older schema, which only its next owner moves
	// up.
	ErrOlder = errors.New("an older version of flowrun wrote the store; open it once, such as with `flowrun runs`")
	// ErrExists says that a backup would overwrite a file. It matches fs.ErrExist.
	ErrExists = fmt.Errorf("it is there already and is not overwritten: %w", fs.ErrExist)
)

// LockedError says that another process has the store open.
type LockedError struct{ Path string }

func (e *LockedError) Error() string {
	return fmt.Sprintf("store %s is locked by another process", e.Path)
}

// NewerError says that the file's schema is newer than this program (P19).
type NewerError struct {
	Path   string
	Schema uint64 // of the file
	Known  uint64 // the newest that this program reads
	Needs  string // the flowrun version that reads the file
}

func (e *NewerError) Error() string {
	return fmt.Sprintf("store %s has schema %d, this program reads up to %d: needs flowrun %s or newer",
		e.Path, e.Schema, e.Known, e.Needs)
}

// Is matches ErrNewer.
func (e *NewerError) Is(target error) bool { return target == ErrNewer }

// CorruptError says what is damaged (P14). Nothing is ever repaired by itself.
// Bucket and Key are empty where the file as a whole is damaged.
type CorruptError struct {
	Path   string
	Bucket string
	Key    string // in hex
	Page   uint64 // 0 = not of one page
	Detail string
}

func (e *CorruptError) Error() string {
	if e.Bucket == "" {
		return fmt.Sprintf("store %s is corrupt: %s", e.Path, e.Detail)
	}
	return fmt.Sprintf("store %s is corrupt: %s, record %s: %s", e.Path, e.Bucket, e.Key, e.Detail)
}

// Is matches ErrCorrupt.
func (e *CorruptError) Is(target error) bool { return target == ErrCorrupt }

// RolledBackError says that the store is older than the file beside it: what it had
// stored after Stored, up to Beside at least, is not in it.
type RolledBackError struct {
	Path   string    // of the store
	Mark   string    // of the file beside it
	Stored time.Time // of the last mark in the store; zero = it has none
	Beside time.Time // of the mark in the file beside
	Counts [2]uint64 // of both
}

func (e *RolledBackError) Error() string {
	when := "has no mark of the time when it was written"
	if !e.Stored.IsZero() {
		when = "is as it was at " + e.Stored.UTC().Format(time.RFC3339)
	}
	return fmt.Sprintf("store %s was put back: it %s (mark %d), and %s says that it was written until %s (mark %d)",
		e.Path, when, e.Counts[0], e.Mark, e.Beside.UTC().Format(time.RFC3339), e.Counts[1])
}

// IsRolledBack reports whether an error says that a store was put back.
func IsRolledBack(err error) bool {
	var rolled *RolledBackError
	return errors.As(err, &rolled)
}
