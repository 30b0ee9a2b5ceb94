// Package boltstore keeps runs, their journals, plans, logs and indexes, and
// versioned rows for others, in one bbolt file. It is the only importer of
// bbolt. One committer goroutine writes: it takes all that waits into one
// transaction and answers after the fsync (RELIABILITY.md P1, P4, P5).
package boltstore

import (
	"fmt"
	"os"
	"sync"
	"time"

	bolt "go.etcd.io/bbolt"
)

// The defaults of Options (RELIABILITY.md, section 5).
const (
	DefaultTimeout         = 2 * time.Second
	DefaultMaxSize         = 8 << 30
	DefaultInitialMmapSize = 1 << 30
)

// Options are the settings of a store. A zero field takes its default.
type Options struct {
	Timeout         time.Duration    // of the wait for the file lock
	MaxSize         int              // bytes; a commit above it fails the store as full
	InitialMmapSize int              // bytes of address space, not of file
	Now             func() time.Time // stamps what the store itself says in logs; nil leaves such stamps out
	OnFail          func(error)      // called once, on a goroutine of the store, when it stops; must not call the store

	// OnCommit is called on the committer's goroutine around each transaction:
	// fault suites end the process there. It must not call the store.
	OnCommit func(CommitStage)
}

// CommitStage is a moment of a commit.
type CommitStage string

// The stages of a commit.
const (
	BeforeCommit CommitStage = "before" // nothing of the group is durable
	AfterCommit  CommitStage = "after"  // all of it is durable, nobody has heard of it
)

// Store is an open store file. Safe for concurrent use. After a commit error it
// is stopped: every later write fails with the same error, reads go on.
type Store struct {
	path    string
	db      *bolt.DB
	file    *os.File // of db, for its size; closed by db
	options Options

	pageSize  int
	queue     queue
	committer sync.WaitGroup
	counters  counters
	onFail    sync.Once
	closeOnce sync.Once
	closeErr  error
}

// Open opens the store file, and creates it where it is absent: atomically, with
// mode 0600. The folder must exist. Errors: *LockedError when another process
// owns it, *NewerError, *CorruptError, else those of the file system.
func Open(path string, o Options) (*Store, error) {
	o = o.withDefaults()
	if err := ensureFile(path, o); err != nil {
		return nil, err
	}
	db, file, err := openFile(path, o)
	if err != nil {
		return nil, err
	}
	s := &Store{path: path, db: db, file: file, options: o, pageSize: db.Info().PageSize}
	if err := s.checkSchema(); err != nil {
		return nil, closing(err, db)
	}
	if err := s.addBuckets(); err != nil {
		return nil, closing(s.named(err), db)
	}
	s.queue.init()
	s.committer.Go(s.commitLoop)
	return s, nil
}

func (o Options) withDefaults() Options {
	if o.Timeout == 0 {
		o.Timeout = DefaultTimeout
	}
	if o.MaxSize == 0 {
		o.MaxSize = DefaultMaxSize
	}
	if o.InitialMmapSize == 0 {
		o.InitialMmapSize = DefaultInitialMmapSize
	}
	return o
}

// Path returns the path that Open was given.
func (s *Store) Path() string { return s.path }

// Close commits what was handed over, then closes the file. Later calls fail
// with ErrClosed. A second Close returns the first one's error.
func (s *Store) Close() error {
	s.closeOnce.Do(func() {
		s.queue.close()
		s.committer.Wait()
		if err := s.db.Close(); err != nil {
			s.closeErr = fmt.Errorf("close store %s: %w", s.path, err)
		}
	})
	return s.closeErr
}

func closing(err error, db *bolt.DB) error {
	_ = db.Close()
	return err
}
