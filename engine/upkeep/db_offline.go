package upkeep

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/fault"
	"github.com/flowrun/flowrun/engine/order"
	"github.com/flowrun/flowrun/engine/secret"
	"github.com/flowrun/flowrun/engine/services"
	"github.com/flowrun/flowrun/engine/store"
	"github.com/flowrun/flowrun/engine/workspace"
)

// CheckReport says whether a store file is whole.
type CheckReport struct {
	store.Report
	Backup *GoodBackup `json:"newest_good_backup,omitempty"`
	Kernel string      `json:"kernel_warning,omitempty"`
}

// RestoreReport tells of a finished restore.
type RestoreReport struct {
	Path    string     `json:"path"`
	From    string     `json:"from"`
	Old     string     `json:"old,omitempty"`      // where the store lies that was there
	SavedAt *time.Time `json:"saved_at,omitempty"` // of the backup
	Sum     bool       `json:"checksum"`           // there was one beside the backup, and it matched
	Parked  int        `json:"parked"`             // runs that had not ended: paused until somebody resumes or cancels them
	Epoch   uint64     `json:"epoch"`
	KeyFile string     `json:"key_file"`
	Sealed  int        `json:"sealed"` // values that only the key file opens
	Lost    int        `json:"lost"`   // of them, those that it does not open
}

// CompactReport tells of a finished compaction, in bytes.
type CompactReport struct {
	Path   string `json:"path"`
	Before int64  `json:"before_bytes"`
	After  int64  `json:"after_bytes"`
}

// Files is what can be done with the file of a store that nobody has open.
type Files interface {
	// Check looks at pages, records and indexes, and changes nothing.
	Check(ctx context.Context, path string) (*store.Report, error)
	// Restore puts a backup in the place of a store.
	Restore(ctx context.Context, backup, path string) (*store.RestoreInfo, error)
	// Compact writes a store anew without the room that it does not use, in bytes.
	Compact(ctx context.Context, path string) (before, after int64, err error)
	// Open opens a store that is closed again soon.
	Open(path string) (store.Store, error)
	// KernelWarning says that this kernel may damage such a file; "" = it does not.
	KernelWarning() string
}

// CheckStore checks a store file that nobody has open: pages, every record,
// indexes, what they refer to. It changes nothing. Faults are in the report; an
// error says that it could not be checked: *LockedError, *StoreError.
func CheckStore(ctx context.Context, files Files, c workspace.Config, path string) (*CheckReport, error) {
	checked, err := files.Check(ctx, path)
	if err != nil {
		return nil, StoreError(path, filepath.Dir(path), err)
	}
	report := &CheckReport{Report: *checked, Kernel: files.KernelWarning()}
	report.Path, report.Problems = path, []store.Problem{}
	if exists, same := compareSum(path); exists && !same {
		report.Problems = append(report.Problems, store.Problem{Detail: "its content has another SHA-256 than " + filepath.Base(path) + ".sha256 says"})
	}
	report.Problems = append(report.Problems, checked.Problems...)
	if len(report.Problems) > 0 {
		report.Backup = NewestBackup(c.StateDir)
	}
	return report, nil
}

// RestoreStore puts a backup in the place of the store of the state directory,
// which nobody may have open; the store that was there is kept beside. Runs that
// had not ended when the backup was made are paused. *LockedError, *StoreError.
func RestoreStore(ctx context.Context, files Files, c workspace.Config, backup string) (*RestoreReport, error) {
	if err := workspace.CheckStateFolder(c.StateDir); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(c.StateDir, 0o700); err != nil {
		return nil, &fault.StoreError{Fault: fault.FileFault(err), Path: c.StateDir, Err: err}
	}
	path := filepath.Join(c.StateDir, workspace.StoreFile)
	info, err := files.Restore(ctx, backup, path)
	if err != nil {
		return nil, restoreFault(c, backup, path, err)
	}
	report := &RestoreReport{
		Path: path, From: backup, Old: info.Old, Parked: info.Parked, Epoch: info.Epoch, KeyFile: filepath.Join(c.StateDir, services.KeyFile),
	}
	if !info.SavedAt.IsZero() {
		report.SavedAt = &info.SavedAt
	}
	report.Sum = info.Sidecar
	report.Sealed, report.Lost, err = sealedOf(ctx, files, c, path, report.KeyFile)
	return report, err
}

// restoreFault tells a damaged backup from what is wrong with the store.
func restoreFault(c workspace.Config, backup, path string, err error) error {
	var corrupt *store.CorruptError
	if !errors.As(err, &corrupt) || corrupt.Path != backup {
		return StoreError(path, c.StateDir, err)
	}
	hint := "nothing was changed: take another backup"
	if good := NewestBackup(c.StateDir); good != nil && good.Path != backup {
		hint += fmt.Sprintf("; the newest good one is %s", good.Path)
	}
	return &fault.StoreError{Fault: fault.StoreCorrupt, Path: backup, Err: corrupt, Hint: diag.Say(hint)}
}

// sealedOf counts the sealed values of a store file, and those that a key file
// does not open: all of them where it is not there.
func sealedOf(ctx context.Context, files Files, c workspace.Config, path, keyFile string) (sealed, lost int, err error) {
	file, err := files.Open(path)
	if err != nil {
		return 0, 0, StoreError(path, c.StateDir, err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	places, sealed, err := secret.CheckKeyFile(ctx, file.KV(), keyFile, services.SealedBuckets())
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, secret.ErrBadKey) {
		if sealed, err = services.SealedValues(file.KV()); err != nil {
			return 0, 0, StoreError(path, c.StateDir, err)
		}
		return sealed, sealed, nil
	}
	return sealed, len(places), err
}

// CompactStore writes the store anew without the room that it does not use.
// Nobody may have it open. *LockedError, *StoreError.
func CompactStore(ctx context.Context, files Files, c workspace.Config) (*CompactReport, error) {
	if err := workspace.CheckStateFolder(c.StateDir); err != nil {
		return nil, err
	}
	path := filepath.Join(c.StateDir, workspace.StoreFile)
	before, after, err := files.Compact(ctx, path)
	if err != nil {
		return nil, StoreError(path, c.StateDir, err)
	}
	return &CompactReport{Path: path, Before: before, After: after}, nil
}

// GoodBackup is a backup whose content has the sum that was written beside it.
type GoodBackup struct {
	Path string    `json:"path"`
	At   time.Time `json:"at"`
}

// NewestBackup returns the newest good backup in the state directory, nil where
// there is none. It reads the files whole.
func NewestBackup(stateDir string) *GoodBackup {
	paths, err := filepath.Glob(filepath.Join(stateDir, BackupFolder, "*.db"))
	if err != nil {
		return nil // the pattern is ours
	}
	var backups []GoodBackup
	for _, path := range paths {
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			backups = append(backups, GoodBackup{Path: path, At: info.ModTime().UTC()})
		}
	}
	order.Sort(backups, func(a, b GoodBackup) int { return b.At.Compare(a.At) })
	for _, backup := range backups {
		if _, same := compareSum(backup.Path); same {
			return &backup
		}
	}
	return nil
}

// compareSum compares a file with the SHA-256 in the file beside it, where there
// is one.
func compareSum(path string) (exists, same bool) {
	beside, err := os.ReadFile(path + ".sha256")
	if err != nil {
		return false, false
	}
	fields := bytes.Fields(beside)
	if len(fields) == 0 {
		return true, false
	}
	file, err := os.Open(path)
	if err != nil {
		return true, false
	}
	defer file.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return true, false
	}
	return true, hex.EncodeToString(sum.Sum(nil)) == string(fields[0])
}
