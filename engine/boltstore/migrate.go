package boltstore

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	bolt "github.com/flowrun/flowrun/engine/boltstore/sealedpages"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/store"
)

// migrationRows bounds what one transaction of a migration writes.
const migrationRows = 1000

// migration tells what Open has moved up.
type migration struct {
	from   uint64 // 0 = nothing
	backup string
}

// Migrated is that of store.File.
func (s *Store) Migrated() (from uint64, backup string) { return s.migrated.from, s.migrated.backup }

// migrate moves an older file up to the schema of this program, step by step
// (P19). Before the first step the file is copied to PATH.schemaN.bak; a process
// that goes on where another was killed between two steps copies it again. A step
// may begin anew at any moment: the version changes with its last transaction.
func (s *Store) migrate() error {
	steps := map[uint64]func() error{1: s.migrateToTwo, 2: s.migrateToThree, 3: s.migrateToFour}
	for s.schema < schemaVersion {
		step := steps[s.schema]
		if step == nil {
			return fmt.Errorf("open store %s: no way leads from its schema %d to %d", s.path, s.schema, schemaVersion)
		}
		if err := s.backupOfSchema(); err != nil {
			return fmt.Errorf("migrate store %s: copy it: %w", s.path, err)
		}
		if err := step(); err != nil {
			return fmt.Errorf("migrate store %s from schema %d: %w", s.path, s.schema, err)
		}
		if s.migrated.from == 0 {
			s.migrated.from = s.schema
		}
		s.schema++
		s.unclosed = true
	}
	return nil
}

// backupOfSchema copies the file, unless a migration that did not end has done
// so. Nobody else writes: the lock is held.
func (s *Store) backupOfSchema() error {
	begun := s.migrated.backup != ""
	if err := s.view(func(tx *bolt.Tx) error {
		begun = begun || tx.Bucket(bucketMeta).Get(keyMigrating) != nil
		return nil
	}); err != nil || begun {
		return err
	}
	target, err := freeName(fmt.Sprintf("%s.schema%d.bak", s.path, s.schema))
	if err != nil {
		return err
	}
	if err := copyFile(s.file, target+".new"); err != nil {
		return err
	}
	if err := os.Rename(target+".new", target); err != nil {
		return err
	}
	s.migrated.backup = target
	return syncDir(filepath.Dir(target))
}

// freeName returns the first of name, name.2, name.3 that does not exist.
func freeName(name string) (string, error) {
	for n := 1; ; n++ {
		candidate := name
		if n > 1 {
			candidate = fmt.Sprintf("%s.%d", name, n)
		}
		switch _, err := os.Lstat(candidate); {
		case errors.Is(err, fs.ErrNotExist):
			return candidate, nil
		case err != nil:
			return "", err
		}
	}
}

// copyFile writes a private copy, through to the disk. A file in its place is
// one that a copier left who died.
func copyFile(from *os.File, to string) error {
	info, err := from.Stat()
	if err != nil {
		return err
	}
	if err := os.Remove(to); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	file, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if _, err = io.Copy(file, io.NewSectionReader(from, 0, info.Size())); err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		_ = os.Remove(to)
	}
	return err
}

func syncDir(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// migrateToTwo adds the index of references and the census. Stores of the first
// programs have neither state nor an index of labels.
func (s *Store) migrateToTwo() error {
	if err := s.update(addBuckets); err != nil {
		return err
	}
	if err := s.eachRow(bucketRuns, refsOfRow); err != nil {
		return err
	}
	if err := s.eachRow(bucketRequests, refOfRequest); err != nil {
		return err
	}
	if err := s.eachRow(bucketPlans, refsOfPlan); err != nil {
		return err
	}
	if err := s.eachRow(bucketJournal, refsOfRecord); err != nil {
		return err
	}
	return s.update(func(w *writer) (err error) {
		if err := w.remove(bucketMeta, keyMigrating); err != nil {
			return err
		}
		if err := putSchema(w, 2); err != nil {
			return err
		}
		if w.census, err = recount(w.Tx); err != nil {
			return err
		}
		return w.finish(censusRunning)
	})
}

func addBuckets(w *writer) error {
	for _, name := range buckets(2) {
		if _, err := w.CreateBucketIfNotExists(name); err != nil {
			return fmt.Errorf("create bucket %s: %w", name, err)
		}
	}
	return w.put(bucketMeta, keyMigrating, binary.BigEndian.AppendUint64(nil, 2))
}

// migrateToThree adds the buckets of triggers. They are empty, so that the census
// stays as it is.
func (s *Store) migrateToThree() error {
	return s.update(func(w *writer) error {
		for _, name := range buckets(3) {
			if _, err := w.CreateBucketIfNotExists(name); err != nil {
				return fmt.Errorf("create bucket %s: %w", name, err)
			}
		}
		if err := putSchema(w, 3); err != nil {
			return err
		}
		return w.finish(censusRunning)
	})
}

// eachRow shows every row of a bucket to a part of a migration, in transactions
// of bounded size. They write other buckets only.
func (s *Store) eachRow(bucket []byte, each func(w *writer, key, payload []byte) error) error {
	for next := []byte{}; next != nil; {
		err := s.update(func(w *writer) error {
			cursor := w.Bucket(bucket).Cursor()
			key, value := cursor.Seek(next)
			next = nil
			for rows := 0; key != nil; key, value = cursor.Next() {
				if rows++; rows > migrationRows {
					next = bytes.Clone(key)
					return s.finishPart(w)
				}
				payload, err := unseal(bucket, key, value)
				if err != nil {
					return err
				}
				if err := each(w, key, payload); err != nil {
					return err
				}
			}
			return s.finishPart(w)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// finishPart ends a transaction of a migration. Before schema 2 there is no census.
func (s *Store) finishPart(w *writer) error {
	if s.schema < 2 {
		return nil
	}
	return w.finish(censusRunning)
}

func refsOfRow(w *writer, run, payload []byte) error {
	row := new(runs.Run)
	if err := json.Unmarshal(payload, row); err != nil {
		return &store.CorruptError{Bucket: string(bucketRuns), Key: hexKey(run), Detail: err.Error()}
	}
	if key, ok := decodeHash(row.PlanHash); ok && w.Bucket(bucketRefs).Get(planRef(key, run)) == nil {
		if err := w.put(bucketRefs, planRef(key, run)); err != nil {
			return err
		}
	}
	keys, err := indexKeys(row, run)
	if err != nil {
		return err
	}
	for _, key := range keys {
		if bytes.Equal(key.bucket, bucketByLabel) {
			if err := w.put(key.bucket, key.key); err != nil {
				return err
			}
		}
	}
	return nil
}

// refOfRequest notes a run's request beside its plan, so that both are found
// from the run.
func refOfRequest(w *writer, request, run []byte) error {
	if len(run) != runKeySize {
		return &store.CorruptError{Bucket: string(bucketRequests), Key: hexKey(request), Detail: "not a run id"}
	}
	row, err := getRow(w.Tx, run)
	if err != nil || row == nil {
		return err
	}
	key, ok := decodeHash(row.PlanHash)
	if !ok {
		return nil
	}
	return w.put(bucketRefs, planRef(key, run), request)
}

func refsOfPlan(w *writer, _, payload []byte) error {
	if len(payload) == 0 || payload[0] != planBlob {
		return nil
	}
	return w.put(bucketRefs, blobRef(payload[1:], noRun()))
}

func refsOfRecord(w *writer, key, payload []byte) error {
	return eachBlob(key, payload, func(blob []byte) error { return w.put(bucketRefs, blobRef(blob, key[:runKeySize])) })
}
