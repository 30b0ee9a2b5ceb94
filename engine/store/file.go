package store

import (
	"context"
	"errors"
	"time"
)

// File is what a store can do that is one file, besides Store.
type File interface {
	// Path returns the path of the file.
	Path() string
	// Backup copies the store while it is in use to a new file, which it checks and
	// gives its name only then (P15). All that was acknowledged before the call is
	// in it. Sealed values stay sealed. ErrExists; ctx ends it between its parts, and
	// nothing remains of an unfinished one. Safe for concurrent use, with different
	// paths.
	Backup(ctx context.Context, path string) (*BackupInfo, error)
	// BucketStats returns the size of every bucket, by name. It reads every page.
	BucketStats() ([]BucketStat, error)
	// Migrated returns the schema that the file had before it was moved up when it was
	// opened, and the copy of it that is kept; 0 when nothing was to be done. The path
	// is empty when an earlier start had made the copy, and had not come to its end.
	Migrated() (from uint64, backup string)
	// Rollback returns what was accepted when the file was opened; nil = the store was
	// not put back.
	Rollback() *Rollback
}

// LargeSuffix is appended to the path of a store, or of a backup: the folder of its large values.
const LargeSuffix = ".blobs"

// ErrNoFile says that a store is not kept in one file: it has ways of its own for copies.
var ErrNoFile = errors.New("the store is not a file")

// FileOf returns what a store can do as a file. One that is none makes no backups
// (ErrNoFile) and has nothing else to tell.
func FileOf(s Store) File {
	if file, ok := s.(File); ok {
		return file
	}
	return noFile{}
}

type noFile struct{}

func (noFile) Path() string                                        { return "" }
func (noFile) Backup(context.Context, string) (*BackupInfo, error) { return nil, ErrNoFile }
func (noFile) BucketStats() ([]BucketStat, error)                  { return nil, nil }
func (noFile) Migrated() (from uint64, backup string)              { return 0, "" }
func (noFile) Rollback() *Rollback                                 { return nil }

// BackupInfo tells of a finished backup.
type BackupInfo struct {
	Path   string
	SHA256 string // in hex; also in PATH.sha256, in the form of sha256sum
	Bytes  int64
	At     time.Time // by the store's clock; zero without it

	LargeValues int   // in the folder PATH.blobs
	LargeBytes  int64 // that they take

	Schema uint64
}

// BucketStat is the size of a bucket's content, with all buckets inside it.
type BucketStat struct {
	Name  string `json:"name"`
	Keys  int    `json:"keys"`
	Bytes int64  `json:"bytes"` // of its pages
}

// RestoreInfo tells of a finished restore.
type RestoreInfo struct {
	Old     string    // where the file that was there lies now; "" = there was none
	SavedAt time.Time // of the backup; zero when it does not say
	Parked  int       // open runs that were paused
	Epoch   uint64    // of the restored store
	Sidecar bool      // the backup's checksum was there, and matched
}

// Rollback tells what became of a store that was put back, when that was accepted.
type Rollback struct {
	Stored, Beside time.Time // see RolledBackError
	Parked         int       // open runs that were paused
	Epoch          uint64
}
