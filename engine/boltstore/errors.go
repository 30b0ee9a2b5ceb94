package boltstore

import (
	"errors"
	"fmt"
	"strings"
	"syscall"

	berrors "go.etcd.io/bbolt/errors"
)

// The errors that callers branch on.
var (
	ErrRunNotFound  = errors.New("run not found")
	ErrRunExists    = errors.New("run exists already")
	ErrPlanNotFound = errors.New("plan not found")
	ErrConflict     = errors.New("version conflict")           // a KV write with another version than the stored one
	ErrEnough       = errors.New("enough rows were looked at") // Filter.Match ends a page with it
	ErrClosed       = errors.New("store is closed")
	ErrNewer        = errors.New("store was written by a newer version") // matches *NewerError
	ErrCorrupt      = errors.New("store is corrupt")                     // matches *CorruptError
	ErrFailed       = errors.New("store has stopped")                    // matches *FailedError
	ErrNoSpace      = errors.New("no space")                             // for a new store; else FailedError.Full tells
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

// unreadable is the error of damage that bbolt answers with a panic or a fault.
func unreadable(path string, recovered any) *CorruptError {
	return &CorruptError{Path: path, Detail: fmt.Sprintf("its pages contradict each other: %v", recovered)}
}

// Is matches ErrCorrupt.
func (e *CorruptError) Is(target error) bool { return target == ErrCorrupt }

// FailedError says that a commit failed, so that the store has stopped (P13).
// What that commit held is of unknown outcome. Full means want of space: of the
// disk, or of the store's own limit.
type FailedError struct {
	Path  string
	Full  bool
	Usage Usage // when it is full
	Err   error
}

func (e *FailedError) Error() string {
	if e.Full {
		return fmt.Sprintf("store %s has stopped, no space (it has %d bytes of at most %d, %d bytes are free on its disk): %v",
			e.Path, e.Usage.FileBytes, e.Usage.MaxBytes, e.Usage.DiskFree, e.Err)
	}
	return fmt.Sprintf("store %s has stopped: %v", e.Path, e.Err)
}

// Unwrap returns the cause.
func (e *FailedError) Unwrap() error { return e.Err }

// Is matches ErrFailed.
func (e *FailedError) Is(target error) bool { return target == ErrFailed }

// wantsSpace classifies by text too: bbolt wraps some system errors without %w.
func wantsSpace(err error) bool {
	for _, known := range []error{berrors.ErrMaxSizeReached, syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG} {
		if errors.Is(err, known) || strings.Contains(err.Error(), known.Error()) {
			return true
		}
	}
	return false
}
