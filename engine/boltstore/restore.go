package boltstore

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/store"
)

// Restore puts a backup in the place of a store that nobody has open (P15). The
// backup is copied, checked, given a new epoch, and its open runs are paused,
// before it takes the name in one step; what lay there is kept as PATH.bak, or
// PATH.bak.2. Errors: *LockedError, *CorruptError for a damaged backup,
// *NewerError, else those of the file system; the store is as it was then.
func Restore(ctx context.Context, backup, path string, o Options) (*store.RestoreInfo, error) {
	o = o.withDefaults()
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return nil, fmt.Errorf("restore store %s: %w", path, err)
	}
	defer dir.Close()
	r := restore{ctx: ctx, backup: backup, path: path, options: o, info: &store.RestoreInfo{}}
	switch err := lockFile(dir, o.Timeout); {
	case errors.Is(err, errLocked):
		return nil, &store.LockedError{Path: path} // by a process that creates or restores it
	case err != nil:
		return nil, fmt.Errorf("restore store %s: lock its folder: %w", path, err)
	}
	if err := r.run(); err != nil {
		return nil, fmt.Errorf("restore store %s from %s: %w", path, backup, err)
	}
	return r.info, dir.Sync()
}

type restore struct {
	ctx          context.Context
	backup, path string
	options      Options
	info         *store.RestoreInfo
	marked       mark   // of the restored store: behind both
	from         string // what the store was put back from; "" = the backup
}

func (r *restore) run() error {
	old, err := openLocked(r.path, os.O_RDWR, lockExclusive, r.options.Timeout)
	switch {
	case errors.Is(err, errLocked):
		return &store.LockedError{Path: r.path}
	case err == nil:
		defer old.Close()
		r.info.Epoch = epochOf(old)
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	temporary := r.path + ".restore"
	defer func() { _ = os.Remove(temporary) }()
	if err := r.copy(temporary); err != nil {
		return err
	}
	if err := editFile(temporary, r.options, r.editRestored); err != nil {
		return named(r.backup, err)
	}
	if err := checkWhole(r.ctx, temporary); err != nil {
		return err
	}
	copies, err := r.largeOf(temporary)
	if err != nil {
		return err
	}
	if old != nil {
		if err := r.keepOld(); err != nil {
			return err
		}
	}
	if err := r.restoreLarge(copies); err != nil {
		return err
	}
	if err := os.Rename(temporary, r.path); err != nil {
		return err
	}
	dropSeal(r.path)
	if !r.options.Marks {
		return nil
	}
	return writeBeside(r.path, r.marked)
}

// copy copies the backup and compares it with its checksum.
func (r *restore) copy(temporary string) error {
	want, err := readSidecar(r.backup)
	if err != nil {
		return err
	}
	file, err := os.Open(r.backup)
	if err != nil {
		return err
	}
	defer file.Close()
	if err := copyFile(file, temporary); err != nil {
		return err
	}
	sum, _, err := hashFile(r.ctx, temporary)
	if err != nil {
		return err
	}
	if want != "" && sum != want {
		return &store.CorruptError{Path: r.backup, Detail: fmt.Sprintf("its SHA-256 is %s, %s says %s", sum, r.backup+sidecarSuffix, want)}
	}
	r.info.Sidecar = want != ""
	if err := checkWhole(r.ctx, temporary); err != nil {
		if corrupt, ok := errors.AsType[*store.CorruptError](err); ok {
			corrupt.Path = r.backup
		}
		return err
	}
	return nil
}

// keepOld gives the old file a second name: at every moment one of the two files
// lies under path.
func (r *restore) keepOld() (err error) {
	if r.info.Old, err = freeName(r.path + ".bak"); err != nil {
		return err
	}
	if err := os.Link(r.path, r.info.Old); err == nil {
		return nil
	}
	return os.Rename(r.path, r.info.Old) // a file system without links
}

// editRestored makes the backup the store that goes on behind what lay there.
func (r *restore) editRestored(w *writer) error {
	stored, err := getMark(w.Tx)
	if err != nil {
		return err
	}
	beside, _, err := readBeside(r.path)
	if err != nil {
		return err
	}
	r.marked = mark{Count: max(stored.Count, beside.Count) + 1, At: stored.At}
	if now := r.options.Now; now != nil {
		r.marked.At = now().UTC()
	}
	if err := w.put(bucketMeta, keyMark, r.marked.encode()); err != nil {
		return err
	}
	return r.edit(w)
}

// edit makes the restored file a store of its own.
func (r *restore) edit(w *writer) error {
	w.tells = false // whoever restores hears how many runs are paused
	epoch, err := getEpoch(w.Tx)
	if err != nil {
		return err
	}
	r.info.Epoch = max(r.info.Epoch, epoch) + 1
	if now := r.options.Now; now != nil {
		// What the old file says may be lost with it: the clock goes on.
		r.info.Epoch = max(r.info.Epoch, uint64(max(0, now().Unix())))
	}
	if err := w.put(bucketMeta, keyEpoch, binary.BigEndian.AppendUint64(nil, r.info.Epoch)); err != nil {
		return err
	}
	saved, err := getSealed(w.Bucket(bucketMeta), bucketMeta, keySavedAt)
	if err != nil {
		return err
	}
	if at, err := time.Parse(time.RFC3339Nano, string(saved)); err == nil {
		r.info.SavedAt = at
	}
	// A login of then may have been ended since.
	var sessions [][]byte
	if err := w.Bucket(bucketSessions).ForEach(func(key, _ []byte) error {
		sessions = append(sessions, bytes.Clone(key))
		return nil
	}); err != nil {
		return err
	}
	if err := removeSessions(w, sessions); err != nil {
		return err
	}
	return r.park(w)
}

// park pauses every open run: what it did after the backup is not known, so it
// must not go on by itself.
func (r *restore) park(w *writer) error {
	var keys [][]byte
	if err := w.Bucket(bucketOpen).ForEach(func(key, _ []byte) error {
		keys = append(keys, bytes.Clone(key))
		return nil
	}); err != nil {
		return err
	}
	for _, key := range keys {
		row, err := indexedRow(w.Tx, bucketOpen, key)
		if err != nil {
			return err
		}
		if row.Status.Ended() {
			continue // only its handlers are left; they say themselves what they may repeat
		}
		change, err := newRowChange(key, r.parked(row))
		if err != nil {
			return err
		}
		change.old = row
		if err := change.put(w); err != nil {
			return err
		}
		r.info.Parked++
	}
	return nil
}

// parked is the row of a run that was open when its store was backed up.
func (r *restore) parked(row *runs.Run) *runs.Run {
	parked := clone(row)
	parked.Status, parked.Paused = runs.RunPaused, runs.PausedError
	from := r.from
	switch {
	case from != "":
	case !r.info.SavedAt.IsZero():
		from = "the backup of " + r.info.SavedAt.Format(time.RFC3339)
	default:
		from = "the backup " + filepath.Base(r.backup)
	}
	parked.Error = &runs.Error{
		Kind:    plan.KindUnknownOutcome,
		Reason:  "restored",
		Message: "the store was restored from " + from + ": what this run did after it is not known",
		Hint:    diag.Sayf("look at what it did, then %s, or %s", diag.Command{"runs", "resume", row.ID}, diag.Command{"runs", "cancel", row.ID}),
	}
	if parked.Slot != nil {
		slot := *parked.Slot
		slot.State = runs.SlotFree
		parked.Slot = &slot
	}
	return parked
}

// epochOf reads the epoch of the file that will be replaced, as far as it can be
// read.
func epochOf(file *os.File) uint64 {
	info, err := file.Stat()
	if err != nil || info.Size() == 0 {
		return 0
	}
	walk, _, err := walkFile(file, false, nil)
	if err != nil {
		return 0
	}
	stored, err := walk.meta(keyEpoch)
	if err != nil || len(stored) != 8 {
		return 0
	}
	return binary.BigEndian.Uint64(stored)
}
