package boltstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/flowrun/flowrun/engine/boltstore/blobfile"
	bolt "github.com/flowrun/flowrun/engine/boltstore/sealedpages"
	"github.com/flowrun/flowrun/engine/store"
)

// SweepBlobs is that of store.BlobKeeper. A file of an upload has a row before it is there:
// a file that was listed before the rows were read, and that none of them names, is nobody's.
func (s *Store) SweepBlobs(ctx context.Context) (sweep store.BlobSweep, err error) {
	if sweep.Refs, err = s.sweepRefs(ctx); err != nil {
		return sweep, err
	}
	files, err := listLarge(ctx, s.large.folder)
	if err != nil || len(files) == 0 {
		return sweep, err
	}
	needed := map[string]bool{}
	if err := s.view(func(tx *bolt.Tx) error { return neededFiles(tx, needed) }); err != nil {
		return sweep, err
	}
	s.large.mu.Lock()
	defer s.large.mu.Unlock()
	if s.large.held > 0 {
		return sweep, nil // a copy is made: the next sweep has them
	}
	for _, file := range files {
		if needed[file.name] || ctx.Err() != nil {
			continue
		}
		if err := os.Remove(filepath.Join(s.large.folder, file.name[:2], file.name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return sweep, fmt.Errorf("remove what is left of a large value: %w", err)
		}
		sweep.Files++
		sweep.Bytes += file.size
	}
	return sweep, ctx.Err()
}

// largeFile is a file in the folder of large values.
type largeFile struct {
	name string
	size int64
}

// listLarge lists the files of a folder of large values. What has another name is not of
// this program, and left alone.
func listLarge(ctx context.Context, folder string) (files []largeFile, err error) {
	shards, err := os.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list the large values: %w", err)
	}
	for _, shard := range shards {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if !shard.IsDir() || len(shard.Name()) != 2 {
			continue
		}
		entries, err := os.ReadDir(filepath.Join(folder, shard.Name()))
		if err != nil {
			return nil, fmt.Errorf("list the large values: %w", err)
		}
		for _, entry := range entries {
			if id, ok := blobfile.ParseID(entry.Name()); !ok || id.String()[:2] != shard.Name() {
				continue
			}
			if info, err := entry.Info(); err == nil && info.Mode().IsRegular() {
				files = append(files, largeFile{entry.Name(), info.Size()})
			}
		}
	}
	return files, nil
}

// neededFiles collects the files that rows name.
func neededFiles(tx *bolt.Tx, needed map[string]bool) error {
	err := eachLarge(tx, bucketLargeFiles, nil, func(key, payload []byte) error {
		row, err := decodeLarge[largeRow](bucketLargeFiles, key, payload)
		if err == nil {
			needed[row.File] = true
		}
		return err
	})
	if err != nil {
		return err
	}
	return eachLarge(tx, bucketLargeUploads, nil, func(key, payload []byte) error {
		row, err := decodeLarge[uploadRow](bucketLargeUploads, key, payload)
		if err == nil && row.File != "" {
			needed[row.File] = true
		}
		return err
	})
}

// sweepRefs removes what refers to values for runs that are not there.
func (s *Store) sweepRefs(ctx context.Context) (removed int, err error) {
	lost, err := s.lostRuns()
	for _, run := range lost {
		if err != nil || ctx.Err() != nil {
			return removed, errors.Join(err, ctx.Err())
		}
		err = s.do(deleteSize, func(w *writer) (bool, error) {
			if w.Bucket(bucketRuns).Get(run) != nil {
				return false, nil // it came after all
			}
			return true, inTx(func() error {
				refs, err := w.dropLarge(run, nil)
				removed += refs
				return err
			})
		})
	}
	return removed, err
}

// lostRuns are runs that rows of large values name, that are not there and won't come.
func (s *Store) lostRuns() (lost [][]byte, err error) {
	seen := map[string]bool{}
	look := func(tx *bolt.Tx, run []byte) {
		if len(run) < runKeySize || seen[string(run[:runKeySize])] {
			return
		}
		run = bytes.Clone(run[:runKeySize])
		seen[string(run)] = true
		if tx.Bucket(bucketRuns).Get(run) == nil && tx.Bucket(bucketDeletions).Get(run) == nil && !store.MayBeCreated(runID(run), s.options.Now) {
			lost = append(lost, run)
		}
	}
	err = s.view(func(tx *bolt.Tx) error {
		if err := eachLarge(tx, bucketLargeRefs, []byte{refOfRun}, func(key, _ []byte) error { look(tx, key[1:]); return nil }); err != nil {
			return err
		}
		return eachLarge(tx, bucketLargeUploads, nil, func(key, _ []byte) error { look(tx, key); return nil })
	})
	return lost, err
}

// dropLarge removes what a run has of large values, as far as there is room (nil = all). It
// returns how many references went.
func (w *writer) dropLarge(run []byte, room *deletion) (refs int, err error) {
	if room == nil {
		room = &deletion{rows: 1 << 30, bytes: 1 << 30}
	}
	var keys [][]byte
	collect := func(key, _ []byte) error {
		if room.left() {
			return errEnough
		}
		room.rows -= 4
		keys = append(keys, bytes.Clone(key))
		return nil
	}
	prefix := append([]byte{refOfRun}, run...)
	if err := eachLarge(w.Tx, bucketLargeRefs, prefix, collect); err != nil && !errors.Is(err, errEnough) {
		return 0, err
	}
	for _, key := range keys {
		if err := w.unrefer(run, key[len(prefix):]); err != nil {
			return refs, err
		}
		refs++
	}
	keys = nil
	if err := eachLarge(w.Tx, bucketLargeUploads, run, collect); err != nil && !errors.Is(err, errEnough) {
		return refs, err
	}
	for _, key := range keys {
		row, err := getLarge[uploadRow](w.Tx, bucketLargeUploads, key)
		if err != nil {
			return refs, err
		}
		if row != nil && row.File != "" {
			w.files = append(w.files, row.File)
		}
		if err := w.removeLarge(bucketLargeUploads, key); err != nil {
			return refs, err
		}
	}
	return refs, nil
}

// errEnough ends a walk.
var errEnough = errors.New("enough")
