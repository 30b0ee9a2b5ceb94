package boltstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	bolt "github.com/flowrun/flowrun/engine/boltstore/sealedpages"
)

// Compact writes a store that nobody has open anew, without the free pages that
// it has gathered, checks the new file and puts it in place in one step. It
// returns the sizes in bytes. Errors: as those of CheckFile, *CorruptError for a
// damaged file; the store is as it was then.
func Compact(ctx context.Context, path string, o Options) (before, after int64, err error) {
	o = o.withDefaults()
	if before, after, err = compact(ctx, path, o); err != nil {
		return 0, 0, fmt.Errorf("compact store %s: %w", path, err)
	}
	return before, after, nil
}

func compact(ctx context.Context, path string, o Options) (before, after int64, err error) {
	o.walks = true // all of it is read
	old, err := openOffline(path, o)
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, old.shut()) }()
	before = old.fileSize()
	temporary := path + ".compact"
	if err := os.Remove(temporary); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, 0, err
	}
	defer func() { _ = os.Remove(temporary) }()
	if err := writeCompact(ctx, old.db, temporary); err != nil {
		return 0, 0, err
	}
	if err := checkWhole(ctx, temporary); err != nil {
		return 0, 0, err
	}
	info, err := os.Stat(temporary)
	if err != nil {
		return 0, 0, err
	}
	if err := os.Rename(temporary, path); err != nil {
		return 0, 0, err
	}
	old.unclosed = false // it has no name any more
	dropSeal(path)
	return before, info.Size(), syncDir(filepath.Dir(path))
}

// compactTx is how many bytes one transaction of a compaction copies.
const compactTx = 8 << 20

func writeCompact(ctx context.Context, from *bolt.DB, path string) error {
	options := boltOptions(Options{Timeout: DefaultTimeout, InitialMmapSize: 1 << 15})
	options.NoSync, options.NoGrowSync = true, true
	to, err := bolt.Open(path, 0o600, options)
	if err != nil {
		return err
	}
	to.Grow(1 << 20) // the file grows in steps of it
	err = ctx.Err()
	if err == nil {
		err = bolt.Compact(to, from, compactTx)
	}
	if err == nil {
		err = sealCompacted(to)
	}
	if err == nil {
		err = to.Sync()
	}
	return errors.Join(err, to.Close())
}

// sealCompacted gives the census the transaction that it now belongs to. It is
// counted anew and compared: a copy must hold what the store holds.
func sealCompacted(db *bolt.DB) error {
	return db.Update(func(tx *bolt.Tx) error {
		stored, err := getSealed(tx.Bucket(bucketMeta), bucketMeta, keyCensus)
		if err != nil {
			return err
		}
		written, _, _, err := decodeCensus(stored)
		if err != nil {
			return err
		}
		found, err := recount(tx)
		if err != nil {
			return err
		}
		if err := written.compare(found); err != nil {
			return err
		}
		w := &writer{Tx: tx, census: found}
		return w.finish(censusClosed)
	})
}
