// Package boltstore keeps runs, their journals, plans, logs and indexes, and
// versioned rows for others, in one bbolt file. It is the only importer of
// bbolt. One committer goroutine writes: it takes all that waits into one
// transaction and answers after the fsync (docs/reliability.md P1, P4, P5).
package boltstore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	bolt "github.com/flowrun/flowrun/engine/boltstore/sealedpages"
	"github.com/flowrun/flowrun/engine/store"
)

// The defaults of Options (docs/reliability.md, "Limits").
const (
	DefaultTimeout         = 2 * time.Second
	DefaultMaxSize         = 8 << 30
	DefaultInitialMmapSize = 1 << 30
	DefaultBallast         = 16 << 20 // for an engine; a store has none unless it is asked for
)

// Options are the settings of a store. A zero field takes its default.
type Options struct {
	store.Hooks

	Timeout         time.Duration // of the wait for the file lock
	MaxSize         int           // bytes; a commit above it fails the store as full
	InitialMmapSize int           // bytes of address space, not of file

	// Verify is asked for the file's state after an unclean stop, before the file
	// is mapped: the engine runs `flowrun db check` in a child process. An error
	// refuses the open. nil = the check runs in this process.
	Verify func(ctx context.Context, path string) error

	// CheckAtStart is the size in bytes above which the records of a file are not
	// read before it opens, but while it is in use.
	CheckAtStart int64

	// CompareAtStart is the size in bytes above which indexes and references are not
	// compared with the runs before a file opens that was not closed, but at once behind.
	CompareAtStart int64

	// FreeSpace returns the free and total bytes of a folder's file system; nil =
	// statfs.
	FreeSpace func(dir string) (free, total uint64, err error)

	// Ballast is the size in bytes of a file beside the store that is given up
	// when space ends, so that what is in flight can still be written (P12). 0 =
	// none.
	Ballast int64

	// Marks keeps the file beside the store that tells an older copy from it: for
	// whoever owns the store, not for who looks at copies.
	Marks bool

	// AcceptRollback takes a store that is older than the file beside it, as a restore
	// does, in place of a *RolledBackError.
	AcceptRollback bool

	rowsOnly bool // a check does not read the files of large values
	walks    bool // every page is read, whatever the seal says
	stays    bool // what is left to compare may be compared behind the open
}

// largeFolder is where the large values of a file are; "" where they are not looked at.
func (o Options) largeFolder(path string) string {
	if o.rowsOnly {
		return ""
	}
	return path + largeSuffix
}

// Store is an open store file. Safe for concurrent use. After a commit error it
// is stopped: every later write fails with the same error, reads go on.
type Store struct {
	path    string
	db      *bolt.DB
	file    *os.File // of db, for its size; closed by db
	options Options

	pageSize  int
	schema    uint64
	pageCheck pageCheck
	census    census // of the last transaction; the committer's
	unclosed  bool   // the file does not say that it was closed
	migrated  migration
	ends      bucketEnds // the committer's
	open      openRows   // the committer's
	scratch   scratch    // the committer's
	marks     marks
	rollback  *store.Rollback
	queue     queue
	large     large
	space     space
	committer sync.WaitGroup
	scrubs    bool // the records are still to be read
	compares  bool // indexes and references are still to be compared
	compared  error
	scrubber  sync.WaitGroup
	stopScrub func()
	counters  counters
	onFail    sync.Once
	closeOnce sync.Once
	closeErr  error
}

var (
	_ store.Store = (*Store)(nil)
	_ store.File  = (*Store)(nil)
)

// Open opens the store file, and creates it where it is absent: atomically, with
// mode 0600. The folder must exist. Errors: *LockedError when another process
// owns it, *NewerError, *CorruptError, *RolledBackError, else those of the file system.
func Open(path string, o Options) (*Store, error) {
	o = o.withDefaults()
	created, err := ensureFile(path, o)
	if err != nil {
		return nil, err
	}
	o.stays = true
	s, err := openOffline(path, o)
	if err != nil {
		return nil, err
	}
	s.pageCheck.keeps = true
	if o.Marks {
		if err := s.keepMarks(created); err != nil {
			s.pageCheck.close()
			return nil, closing(err, s.db)
		}
	}
	s.queue.init()
	s.committer.Go(s.commitLoop)
	ctx, cancel := context.WithCancel(context.Background())
	s.stopScrub = cancel
	if s.scrubs {
		s.scrubber.Go(func() { s.scrub(ctx) })
	}
	if s.compares {
		s.scrubber.Go(s.compareBehind)
	}
	if !s.pageCheck.guard.Whole() {
		s.scrubber.Go(func() { s.scrubPages(ctx) })
	}
	return s, nil
}

// openOffline opens a file without its committer. Its pages, its census and the
// checksum of each record are compared; after an unclean stop it is checked as a
// whole, an older schema is moved up, and what was being deleted is
// gone (P14, P19).
func openOffline(path string, o Options) (*Store, error) {
	f, err := openFile(path, o)
	if err != nil {
		return nil, err
	}
	s := &Store{path: path, db: f.db, file: f.file, options: o, pageSize: f.db.PageSize(), census: f.state.found, ends: newBucketEnds(), open: openRows{}}
	s.watch(f.state)
	s.unclosed = !f.state.closed
	s.large.folder, s.large.uploads = path+largeSuffix, map[string]*openUpload{}
	s.space.start(s, f.state)
	if err := s.prepare(f.state); err != nil {
		s.pageCheck.close()
		return nil, closing(s.named(err), f.db)
	}
	return s, nil
}

func (s *Store) prepare(state *fileState) error {
	if err := s.view(func(tx *bolt.Tx) (err error) {
		if s.schema, err = checkSchema(tx); err == nil && state.sealed != nil {
			s.census, err = closedCensus(tx)
		}
		return err
	}); err != nil {
		return err
	}
	late := state.size > s.options.CheckAtStart && s.schema == schemaVersion
	s.scrubs = late && !state.verified
	s.compares = !state.closed && !state.verified && !late && s.options.stays &&
		state.size > s.options.CompareAtStart && s.schema == schemaVersion
	if !state.closed && !state.verified && !late && !s.compares {
		if err := s.checkAfterCrash(); err != nil {
			return err
		}
	}
	if err := s.migrate(); err != nil {
		return err
	}
	s.large.counted(s.census)
	return s.finishDeletions()
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
	if o.CheckAtStart == 0 {
		o.CheckAtStart = DefaultCheckAtStart
	}
	if o.CompareAtStart == 0 {
		o.CompareAtStart = DefaultCompareAtStart
	}
	if o.FreeSpace == nil {
		o.FreeSpace = diskSpace
	}
	return o
}

// Path is that of store.File.
func (s *Store) Path() string { return s.path }

// Close commits what was handed over, then closes the file. Later calls fail
// with ErrClosed. A second Close returns the first one's error.
func (s *Store) Close() error {
	s.closeOnce.Do(func() {
		s.stopScrub()
		s.queue.close()
		s.scrubber.Wait()
		s.committer.Wait()
		s.large.close()
		s.closeErr = s.shut()
	})
	return s.closeErr
}

// shut closes a file whose committer has ended, or that never had one.
func (s *Store) shut() error {
	scrubbed := s.scrubPiece()
	err := s.markClosed()
	scrubbed()
	if err == nil {
		s.keepSeal()
	}
	s.pageCheck.close()
	if closeErr := s.db.Close(); closeErr != nil {
		err = errors.Join(err, fmt.Errorf("close store %s: %w", s.path, closeErr))
	}
	return err
}

// markClosed says in the file that nothing was written behind its census: the
// next start needs no full check. A store that has stopped is left as it is.
func (s *Store) markClosed() error {
	if s.compared != nil {
		return s.compared
	}
	if !s.unclosed && !s.wantsSeal() || s.queue.hasFailed() {
		return nil
	}
	s.pageCheck.closing = s.sealable()
	if err := s.updateMarked(true, func(w *writer) error { return w.finish(censusClosed) }); err != nil {
		return fmt.Errorf("close store %s: %w", s.path, err)
	}
	s.unclosed = false
	return nil
}

func closing(err error, db *bolt.DB) error {
	_ = db.Close()
	return err
}
