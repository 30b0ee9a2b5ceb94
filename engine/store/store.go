// Package store is what an engine asks of the place where it keeps everything:
// runs and their journals, what runs leave for later ones, what triggers did, rows
// of others. It holds the interfaces, small ones by idea, with their plain types and
// errors, and the rules that each store applies alike. A store is a package of its
// own; storetest tells whether it does what is written here.
//
// Of every store: a write returns when it is durable, and is seen by every read that
// begins after that. What one call writes is one transaction. Rows that are given in
// and out are the caller's own from then on. All methods are safe for concurrent use.
// After a write has failed the store has stopped: every later one fails with
// ErrFailed, reads go on. After Close every call fails with ErrClosed.
package store

import (
	"time"

	"github.com/flowrun/flowrun/engine/runs"
)

// Store is all that an engine keeps. What only a file can do besides is File.
type Store interface {
	Journal
	Runs
	Totals
	Memory
	Changes
	Slots
	Fires
	Triggers
	Outbox
	Logs
	Sessions
	Upkeep
	BlobKeeper

	// KV returns the store's rows for others.
	KV() KV
	// Close stores what was handed over. A second one returns the first one's error.
	Close() error
}

// DefaultLimit is the length of a page where none is asked for.
const DefaultLimit = 50

// Hooks are what a store is given and what it calls. A zero field is not called. None
// of them may call the store.
type Hooks struct {
	Now    func() time.Time // stamps what the store itself says; nil leaves such stamps out
	OnFail func(error)      // called once, on a goroutine of the store, when it stops

	// OnRuns is given the rows of runs that a transaction has changed, when it is
	// durable and before anybody hears of it otherwise. It must return at once.
	OnRuns func(rows []runs.Run)

	// OnOutbox is called likewise when a transaction has written to the outbox.
	OnOutbox func()

	// OnCommit is called around each transaction, one after the other: fault suites
	// end the process there.
	OnCommit func(CommitStage)
}

// CommitStage is a moment of a commit.
type CommitStage string

// The stages of a commit.
const (
	BeforeCommit CommitStage = "before" // nothing of the group is durable
	AfterCommit  CommitStage = "after"  // all of it is durable, nobody has heard of it
)
