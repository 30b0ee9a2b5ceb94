package cli

import (
	"cmp"
	"context"
	"errors"
	"syscall"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/fault"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/workspace"
	"github.com/flowrun/flowrun/internal/web"
	"github.com/flowrun/flowrun/internal/web/wire"
)

// The exit codes (docs/commands.md): families by cause.
const (
	exitOK           = 0
	exitInternal     = 1
	exitUsage        = 2   // usage, or a missing or wrong input
	exitInvalid      = 3   // the workflow or the project file is invalid; a call was refused before sending
	exitLogin        = 4   // a login is needed
	exitFailed       = 5   // the run, or the call, failed
	exitCanceled     = 6   // the run was canceled
	exitTimedOut     = 7   // the run timed out
	exitWaiting      = 8   // it waits for a person, or is paused
	exitNotFound     = 9   // there is no such thing
	exitConflict     = 10  // the run's state does not allow it
	exitPlugin       = 11  // a plugin does not start or shake hands
	exitNoServer     = 12  // no owner answers
	exitLocked       = 73  // the store is locked and its owner does not answer
	exitStoreIO      = 74  // the store can't be read or written
	exitStoreFull    = 75  // the disk or the store is full
	exitStoreCorrupt = 76  // the store is damaged
	exitStoreNewer   = 77  // a newer flowrun wrote the store
	exitInterrupted  = 130 // Ctrl-C, once the run has ended or at the second; other signals are 128 and their number
	exitTerminated   = 143 // SIGTERM
	exitPipe         = 141 // the reader of our output went away
)

// exitOfCode is the exit code of what the owner's API refused.
var exitOfCode = map[wire.Code]int{
	wire.CodeBadRequest:      exitUsage,
	wire.CodeNotFound:        exitNotFound,
	wire.CodeConflict:        exitConflict,
	wire.CodePlugin:          exitPlugin,
	wire.CodeInvalidWorkflow: exitInvalid,
	wire.CodeInvalidInput:    exitUsage,
	wire.CodeTooLarge:        exitUsage,
	wire.CodeForbidden:       exitStoreIO, // on the socket: this process may not use it
	wire.CodeStoreIO:         exitStoreIO,
	wire.CodeStoreFull:       exitStoreFull,
	wire.CodeStoreCorrupt:    exitStoreCorrupt,
	wire.CodeStoreNewer:      exitStoreNewer,
}

// exitOfFault is the exit code of what keeps a store from being used.
var exitOfFault = map[fault.StoreFault]int{
	fault.StoreIO: exitStoreIO, fault.StoreFull: exitStoreFull, fault.StoreCorrupt: exitStoreCorrupt, fault.StoreNewer: exitStoreNewer,
	fault.StoreRolledBack: exitStoreCorrupt,
}

// codedError is an error with its exit code and a hint. A silent one was
// printed already, or needs no words.
type codedError struct {
	code   int
	err    error
	hint   string
	silent bool
	run    string        // that is not there, where the arguments name several
	looked []runs.Filter // of a run that was named without its id: what was looked for
}

func (e *codedError) Error() string { return e.err.Error() }
func (e *codedError) Unwrap() error { return e.err }

var errSilent = errors.New("see above")

// exitWith ends the command with a code and without another word.
func exitWith(code int) error {
	if code == exitOK {
		return nil
	}
	return &codedError{code: code, err: errSilent, silent: true}
}

func usageError(err error, hint string) error {
	return &codedError{code: exitUsage, err: err, hint: hint}
}

func notFoundError(err error, hint string) error {
	return &codedError{code: exitNotFound, err: err, hint: hint}
}

// exitCode returns the exit code of an error.
func exitCode(err error) int {
	var (
		coded    *codedError
		problem  *web.Problem
		gone     *web.GoneError
		locked   *fault.LockedError
		store    *fault.StoreError
		conflict *fault.ConflictError
		killed   *killedError
		loose    *workspace.UnconfinedError
		lock     *workspace.LockError
		list     diag.List
	)
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, syscall.EPIPE):
		return exitPipe
	case errors.As(err, &killed):
		return killed.exitCode()
	case errors.As(err, &coded):
		return coded.code
	case errors.As(err, &loose):
		return exitPlugin
	case errors.As(err, &problem):
		return cmp.Or(exitOfCode[problem.Code], exitInternal)
	case errors.As(err, &locked):
		return exitLocked
	case errors.As(err, &store):
		return cmp.Or(exitOfFault[store.Fault], exitInternal)
	case errors.As(err, &gone):
		return exitNoServer
	case errors.As(err, &conflict):
		return exitConflict
	case errors.Is(err, fault.ErrRunNotFound), errors.Is(err, workspace.ErrUnknownPlugin):
		return exitNotFound
	case errors.As(err, &list), errors.As(err, &lock):
		return exitInvalid
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	}
	return exitInternal
}

// exitOfStatus is the exit code of a run that has ended.
var exitOfStatus = map[runs.Status]int{
	runs.RunSucceeded: exitOK, runs.RunFailed: exitFailed, runs.RunCanceled: exitCanceled, runs.RunTimedOut: exitTimedOut,
}

// exitOfRun is the exit code of a command that followed a run to where it
// stands now.
func exitOfRun(run runs.Run) int {
	if code, ok := exitOfStatus[run.Status]; ok {
		return code
	}
	if run.Status == runs.RunPaused && run.Paused == runs.PausedAuthRequired {
		return exitLogin
	}
	return exitWaiting
}

// exitOfCall is the exit code of a call that ended with an error. What was
// refused before anything was sent has no HTTP status.
func exitOfCall(err *runs.Error) int {
	switch {
	case err == nil:
		return exitOK
	case err.Kind == plan.KindAuthRequired:
		return exitLogin
	case err.Kind == plan.KindCrashed && err.Applied == runs.NotApplied:
		return exitPlugin // it did not start
	case err.Kind == plan.KindInvalid && err.HTTPStatus == 0 && err.Applied == runs.NotApplied:
		return exitInvalid
	case err.Kind == plan.KindUnsupported && err.Attempt == 0: // an action that calls don't have: no attempt was made
		return exitInvalid
	}
	return exitFailed
}
