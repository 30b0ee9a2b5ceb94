// Package fault holds the errors of the engine that others tell apart: what is not there, what
// the state does not allow, what an input lacks, why a store can not be used.
package fault

import (
	"errors"
	"fmt"
	"strings"
	"syscall"

	"github.com/flowrun/flowrun/engine/diag"
)

// ErrRunNotFound says that the store holds no run of that id.
var ErrRunNotFound = errors.New("run not found")

// LockedError says that another process owns the store. PID is 0 where the
// owner left no owner.json.
type LockedError struct {
	Path string
	PID  int
}

func (e *LockedError) Error() string {
	if e.PID == 0 {
		return fmt.Sprintf("store %s is locked by another process", e.Path)
	}
	return fmt.Sprintf("store %s is locked by process %d", e.Path, e.PID)
}

// StoreFault names the cause of a StoreError.
type StoreFault string

// The causes, each with an exit code of its own.
const (
	StoreIO      StoreFault = "io"
	StoreFull    StoreFault = "full"
	StoreCorrupt StoreFault = "corrupt"
	StoreNewer   StoreFault = "newer"
	// StoreRolledBack says that the store was put back to an older copy.
	StoreRolledBack StoreFault = "rolled_back"
)

// FileFault tells want of space from other errors of a file system.
func FileFault(err error) StoreFault {
	for _, full := range []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG} {
		if errors.Is(err, full) {
			return StoreFull
		}
	}
	return StoreIO
}

// StoreError says that the store can't be used, and why.
type StoreError struct {
	Fault StoreFault
	Path  string
	Err   error
	Hint  diag.Hint // what to do; "" = nothing is known
}

func (e *StoreError) Error() string {
	if text := e.Err.Error(); strings.Contains(text, e.Path) {
		return text // it names the file already
	}
	return fmt.Sprintf("store %s: %v", e.Path, e.Err)
}

// Unwrap returns the cause.
func (e *StoreError) Unwrap() error { return e.Err }

// ConflictError says that the run's state does not allow the request.
type ConflictError struct {
	Message string
	Hint    diag.Hint
}

func (e *ConflictError) Error() string { return e.Message }

// InputError says that an input of a run is missing or wrong. Input is its
// name, "" where the error is not about one input.
type InputError struct {
	Input   string
	Pointer string // JSON pointer of what is wrong, in the object of all inputs; "" = none, or Input alone
	Message string
	Hint    diag.Hint
	// Others are what else is wrong, where all that was given has been looked at.
	Others []*InputError
}

// maxTold is how many faults a message holds.
const maxTold = 5

func (e *InputError) Error() string {
	if len(e.Others) == 0 {
		return e.Message
	}
	all := e.All()
	var told []string
	for _, one := range all[:min(len(all), maxTold)] {
		told = append(told, one.Message)
	}
	if more := len(all) - len(told); more > 0 {
		told = append(told, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(told, "; ")
}

// All returns what is wrong, each on its own.
func (e *InputError) All() []*InputError { return append([]*InputError{e}, e.Others...) }

// WrongInputs makes one error of what is wrong; nil of nothing.
func WrongInputs(all []*InputError) error {
	if len(all) == 0 {
		return nil
	}
	first := *all[0]
	first.Others = all[1:]
	return &first
}

// PointerTo is the JSON pointer of an input, and of a part of it.
func PointerTo(input, part string) string {
	return diag.Pointer(input) + part
}

// UnknownError says that there is no thing of that name: a connection, a secret.
type UnknownError struct {
	What string
	Name string
	Hint diag.Hint
}

func (e *UnknownError) Error() string { return fmt.Sprintf("there is no %s `%s`", e.What, e.Name) }

// BusyError says that no new run is taken since too many are there already.
// Nothing was stored: the same request can be sent again later.
type BusyError struct{ Runs int }

func (e *BusyError) Error() string {
	return fmt.Sprintf("%d runs are running or waiting here: no new run is taken until some have ended", e.Runs)
}
