package boltstore

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"runtime/debug"

	bolt "github.com/flowrun/flowrun/engine/boltstore/sealedpages"
	"github.com/flowrun/flowrun/engine/store"
)

// ReadRow reads one row of a store file that no engine has open, and changes
// nothing: not even that the file was opened. Errors: *LockedError, *NewerError,
// ErrOlder, *CorruptError, those of the file system.
func ReadRow(path string, o Options, bucket, key string) (value []byte, exists bool, err error) {
	err = readFile(path, o, func(tx *bolt.Tx) error {
		stored, _, ok, err := getKV(tx, bucket, key)
		value, exists = bytes.Clone(stored), ok
		return err
	})
	return value, exists, err
}

// HasRun is ReadRow for the question whether a run is stored.
func HasRun(path string, o Options, id string) (ok bool, err error) {
	key, err := runKey(id)
	if err != nil {
		return false, err
	}
	err = readFile(path, o, func(tx *bolt.Tx) error {
		row, err := getRow(tx, key)
		ok = row != nil
		return err
	})
	return ok, err
}

func readFile(path string, o Options, read func(*bolt.Tx) error) error {
	return readFileOf(path, o, 0, read)
}

// readFileOf is readFile for a file of at most most bytes, where it was not closed well:
// all of such a file is read first. 0 = any.
func readFileOf(path string, o Options, most int64, read func(*bolt.Tx) error) error {
	o = o.withDefaults()
	file, err := openLocked(path, os.O_RDONLY, lockShared, o.Timeout)
	if errors.Is(err, errLocked) {
		return &store.LockedError{Path: path}
	}
	if err != nil {
		return fmt.Errorf("read store %s: %w", path, err)
	}
	defer file.Close()
	sealed := readSealed(file, path, o)
	if sealed == nil {
		if info, err := file.Stat(); err != nil || most > 0 && info.Size() > most {
			return errors.Join(err, errTooLong)
		}
		if _, err := preflight(file, o.CheckAtStart, nil); err != nil {
			return fmt.Errorf("read store %s: %w", path, err)
		}
	} else {
		defer sealed.sealed.file.Close()
	}
	db, err := openToRead(path, o)
	if err != nil {
		return fmt.Errorf("read store %s: %w", path, err)
	}
	if sealed != nil {
		db.Watch(bolt.NewGuard(sealed.sums, sealed.pages, sealed.free, false, func(at bolt.Snapshot) error {
			return named(path, lookAtAll(file, sealed.pageSize, at))
		}))
	}
	return errors.Join(viewOf(db, read), db.Close())
}

// openToRead maps a file that was walked. Where bbolt fails over it, the file and
// its lock are given back.
func openToRead(path string, o Options) (*bolt.DB, error) {
	var opened *os.File
	options := boltOptions(o)
	options.ReadOnly = true
	options.OpenFile = func(name string, flag int, mode os.FileMode) (file *os.File, err error) {
		file, err = os.OpenFile(name, flag, mode)
		opened = file
		return file, err
	}
	db, err := guardedOpen(path, options)
	if err != nil && opened != nil {
		_ = opened.Close() // bbolt has closed it already unless it panicked
	}
	return db, err
}

func viewOf(db *bolt.DB, read func(*bolt.Tx) error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = unreadable("", p)
		}
	}()
	return db.View(func(tx *bolt.Tx) error {
		schema, err := checkSchema(tx)
		switch {
		case err != nil:
			return err
		case schema != schemaVersion:
			return store.ErrOlder
		}
		return read(tx)
	})
}
