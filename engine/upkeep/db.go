package upkeep

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/fault"
	"github.com/flowrun/flowrun/engine/order"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/services"
	"github.com/flowrun/flowrun/engine/store"
)

// BackupFolder is where backups go that are given no other place, inside the
// state directory.
const BackupFolder = "backups"

// backupKey is the row of the last backup.
const backupKey = "last_backup"

// BackupRequest names the file or folder of a backup by its absolute path; "" =
// the state directory's folder of backups. A temporary one, which its caller
// removes, does not count as the last backup.
type BackupRequest struct {
	Path      string `json:"path,omitempty"`
	Temporary bool   `json:"temporary,omitempty"`
}

// BackupReport tells of a finished backup. The key file is not part of it.
type BackupReport struct {
	Path    string    `json:"path"`
	SHA256  string    `json:"sha256"` // in hex; beside the file too, in Path.sha256
	Bytes   int64     `json:"bytes"`
	At      time.Time `json:"at"`
	Schema  uint64    `json:"schema,omitempty"`
	KeyFile string    `json:"key_file,omitempty"` // to be kept apart
	Sealed  int       `json:"sealed,omitempty"`   // values that only the key file opens

	LargeValues int   `json:"large_values,omitempty"` // in the folder Path.blobs, which belongs to the file
	LargeBytes  int64 `json:"large_bytes,omitempty"`  // that they take; links where the file system has them
}

// Backup writes a copy of the store while runs go on: all that was acknowledged
// before the call is in it (docs/reliability.md, P15). A file must not exist, a folder
// gets one with the time in its name. It is checked before it appears under its
// name. *ConflictError where the file exists.
func (u *Upkeep) Backup(ctx context.Context, request BackupRequest) (*BackupReport, error) {
	path, err := u.backupPath(request.Path)
	if err != nil {
		return nil, err
	}
	info, err := u.file.Backup(ctx, path)
	switch {
	case errors.Is(err, store.ErrExists):
		return nil, backupExists(path)
	case err != nil:
		return nil, u.backupFault(path, err)
	}
	report := &BackupReport{Path: info.Path, SHA256: info.SHA256, Bytes: info.Bytes, At: info.At, Schema: info.Schema, KeyFile: u.project.KeyPath(), LargeValues: info.LargeValues, LargeBytes: info.LargeBytes}
	if report.Sealed, err = services.SealedValues(u.store.KV()); err != nil {
		return nil, u.Fault(err)
	}
	if request.Temporary {
		return report, nil
	}
	return report, u.noteBackup(report)
}

// RemoveBackup removes a backup with all that belongs to it.
func RemoveBackup(path string) error {
	return errors.Join(os.Remove(path), os.Remove(path+".sha256"), os.RemoveAll(path+store.LargeSuffix))
}

func backupExists(path string) error {
	return &fault.ConflictError{Message: fmt.Sprintf("the backup is not written: %s exists", path), Hint: diag.Say("name another file, or a folder")}
}

// backupPath settles the file's name, which no file has yet.
func (u *Upkeep) backupPath(path string) (string, error) {
	config := u.config
	if path == "" {
		path = filepath.Join(config.StateDir, BackupFolder)
		if err := os.MkdirAll(path, 0o700); err != nil {
			return "", &fault.StoreError{Fault: fault.FileFault(err), Path: path, Err: err}
		}
	}
	if !filepath.IsAbs(path) {
		return "", &fault.InputError{Input: "path", Message: "the path of a backup must be absolute"}
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return "", &fault.StoreError{Fault: fault.FileFault(err), Path: path, Err: err}
	case !info.IsDir():
		return "", backupExists(path)
	default:
		return freeName(path, "flowrun-"+config.Now().UTC().Format("20060102T150405Z"))
	}
	if _, err := os.Stat(filepath.Dir(path)); err != nil {
		return "", &fault.InputError{Input: "path", Message: fmt.Sprintf("there is no folder %s for the backup", filepath.Dir(path)), Hint: diag.Say("make it first")}
	}
	return path, nil
}

// freeName returns the path of a new file in a folder: two backups may be made
// in one second.
func freeName(folder, name string) (string, error) {
	for n := 1; ; n++ {
		path := filepath.Join(folder, name+".db")
		if n > 1 {
			path = filepath.Join(folder, fmt.Sprintf("%s-%d.db", name, n))
		}
		_, err := os.Lstat(path)
		if errors.Is(err, fs.ErrNotExist) {
			return path, nil
		}
		if err != nil {
			return "", &fault.StoreError{Fault: fault.FileFault(err), Path: path, Err: err}
		}
	}
}

// backupFault tells a fault of the store from one of the backup's place.
func (u *Upkeep) backupFault(path string, err error) error {
	if fault := u.Fault(err); fault != err { //nolint:errorlint // fault returns what it does not know as it is
		return fault
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return &fault.StoreError{Fault: fault.FileFault(err), Path: path, Err: fmt.Errorf("write the backup: %w", err)}
}

// noteBackup lets `db stats` name the last backup, wherever it lies.
func (u *Upkeep) noteBackup(report *BackupReport) error {
	if err := store.PutJSON(u.store.KV(), store.EngineBucket, backupKey, report, nil); err != nil {
		return u.Fault(fmt.Errorf("note the backup: %w", err))
	}
	return nil
}

// LastBackup returns the last backup that was noted; nil = none was made.
func (u *Upkeep) LastBackup() *BackupReport {
	report := new(BackupReport)
	if _, ok, err := store.GetJSON(u.store.KV(), store.EngineBucket, backupKey, report); err != nil || !ok {
		return nil
	}
	return report
}

// RolledBack tells that Open has accepted a store which was put back: how it was
// then, until when it had gone on at least, and how many runs are paused; ok is false
// when it was not.
func (u *Upkeep) RolledBack() (stored, beside time.Time, parked int, ok bool) {
	rolled := u.file.Rollback()
	if rolled == nil {
		return time.Time{}, time.Time{}, 0, false
	}
	return rolled.Stored, rolled.Beside, rolled.Parked, true
}

// Migrated tells that Open moved the store up from an older schema, and where the
// copy of the file lies that was made before; from is 0 when it did not.
func (u *Upkeep) Migrated() (from uint64, backup string) { return u.file.Migrated() }

// DBStats says what the store holds and what room it has.
type DBStats struct {
	Path       string              `json:"path"`
	Schema     uint64              `json:"schema"`
	FileBytes  int64               `json:"file_bytes"`
	UsedBytes  int64               `json:"used_bytes"` // of the file
	FreeBytes  int64               `json:"free_bytes"` // of the file: used again before it grows, given back by `db compact`
	MaxBytes   int64               `json:"max_bytes"`  // the file never grows above it
	DiskFree   uint64              `json:"disk_free_bytes"`
	DiskTotal  uint64              `json:"disk_total_bytes"`
	Pressure   string              `json:"pressure,omitempty"` // why no run is accepted; "" = there is room
	Runs       map[runs.Status]int `json:"runs"`
	Oldest     string              `json:"oldest_run,omitempty"`
	OldestAt   *time.Time          `json:"oldest_at,omitempty"`
	Keep       string              `json:"retention_keep"`     // "90d"
	MaxRuns    int                 `json:"retention_max_runs"` // of each workflow
	MaxTotal   int                 `json:"retention_max_total"`
	Cut        []HistoryCut        `json:"history_cut,omitempty"`
	LastBackup *BackupReport       `json:"last_backup"` // null = none was made
	Buckets    []store.BucketStat  `json:"buckets"`     // the largest first
	Kernel     string              `json:"kernel_warning,omitempty"`

	LargeValues int   `json:"large_values,omitempty"`
	LargeBytes  int64 `json:"large_bytes,omitempty"` // that they take beside the file, those on their way too
	Uploads     int   `json:"large_uploads,omitempty"`
}

// DBBucket is the size of one kind of rows.
type DBBucket = store.BucketStat

// DBStats counts. It reads the whole store in short transactions.
func (u *Upkeep) DBStats(context.Context) (*DBStats, error) {
	buckets, err := u.file.BucketStats()
	if err != nil {
		return nil, u.Fault(err)
	}
	census, err := u.store.Census()
	if err != nil {
		return nil, u.Fault(err)
	}
	usage, keep := u.store.Usage(), u.project.Retention()
	stats := &DBStats{
		Path: u.file.Path(), Schema: census.Schema, FileBytes: usage.FileBytes, UsedBytes: usage.FileBytes - usage.FreeBytes, FreeBytes: usage.FreeBytes,
		MaxBytes: usage.MaxBytes, DiskFree: usage.DiskFree, DiskTotal: usage.DiskTotal, Runs: census.Runs, Oldest: census.Oldest,
		Keep: keep.KeepText(), MaxRuns: keep.MaxRuns, MaxTotal: keep.MaxTotal, LastBackup: u.LastBackup(), Buckets: append([]store.BucketStat{}, buckets...), Kernel: u.files.KernelWarning(),
	}
	large, err := u.store.BlobUsage()
	if err != nil {
		return nil, u.Fault(err)
	}
	stats.LargeValues, stats.LargeBytes, stats.Uploads = large.Values, large.Bytes+large.Staged, large.Uploads
	if stats.Cut, err = u.HistoryCuts(); err != nil {
		return nil, err
	}
	if pressure := u.store.Pressure(); pressure.Level != store.None {
		stats.Pressure = pressure.Reason
	}
	if at, ok := runs.IDTime(census.Oldest); ok {
		stats.OldestAt = &at
	}
	order.Sort(stats.Buckets, func(a, b store.BucketStat) int { return cmp.Compare(b.Bytes, a.Bytes) })
	return stats, nil
}
