// Package access says who may use a server: its tokens and the sessions of its page, as
// rows of a store.
package access

import (
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/flowrun/flowrun/engine/store"
)

// Control says who may use a server: its tokens and the sessions of its page. Safe for
// concurrent use.
type Control struct {
	mu      sync.Mutex // held while tokens change
	store   store.Store
	now     func() time.Time
	entropy io.Reader
	log     *slog.Logger
	fault   func(error) error
}

// New works on the rows of a store. fault makes the engine's own errors of the
// store's.
func New(rows store.Store, now func() time.Time, entropy io.Reader, log *slog.Logger, fault func(error) error) *Control {
	return &Control{store: rows, now: now, entropy: entropy, log: log, fault: fault}
}
