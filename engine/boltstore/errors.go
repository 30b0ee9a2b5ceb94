package boltstore

import (
	"errors"
	"fmt"
	"strings"
	"syscall"

	berrors "go.etcd.io/bbolt/errors"

	"github.com/flowrun/flowrun/engine/store"
)

// unreadable is the error of damage that bbolt answers with a panic or a fault.
func unreadable(path string, recovered any) *store.CorruptError {
	if err, ok := recovered.(error); ok {
		if corrupt, ok := errors.AsType[*store.CorruptError](err); ok {
			return corrupt // of a page that was compared before it was used
		}
	}
	return &store.CorruptError{Path: path, Detail: fmt.Sprintf("its pages contradict each other: %v", recovered)}
}

// wantsSpace classifies by text too: bbolt wraps some system errors without %w.
func wantsSpace(err error) bool {
	for _, known := range []error{berrors.ErrMaxSizeReached, syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG} {
		if errors.Is(err, known) || strings.Contains(err.Error(), known.Error()) {
			return true
		}
	}
	return false
}
