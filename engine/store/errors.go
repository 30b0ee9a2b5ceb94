package store

import (
	"errors"
	"fmt"
)

// The errors of every store that callers branch on.
var (
	ErrRunNotFound  = errors.New("run not found")
	ErrRunExists    = errors.New("run exists already")
	ErrRunOpen      = errors.New("run has not ended") // it cannot be removed
	ErrPlanNotFound = errors.New("plan not found")
	ErrConflict     = errors.New("version conflict")             // a write with another version than the stored one
	ErrSlotTaken    = errors.New("the slot was skipped already") // it was decided before that a slot gets no run
	ErrEnough       = errors.New("enough rows were looked at")   // Filter.Match ends a page with it
	ErrClosed       = errors.New("store is closed")
	ErrCorrupt      = errors.New("store is corrupt")  // what was read is not what was written
	ErrFailed       = errors.New("store has stopped") // matches *FailedError
	ErrPressure     = errors.New("space is short")    // matches *PressureError
)

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

// PressureError says that no new run is taken for want of space (P12).
type PressureError struct{ Reason string }

func (e *PressureError) Error() string { return "no new run is taken: " + e.Reason }

// Is matches ErrPressure.
func (e *PressureError) Is(target error) bool { return target == ErrPressure }
