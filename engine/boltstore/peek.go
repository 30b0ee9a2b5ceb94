package boltstore

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"runtime/debug"

	bolt "go.etcd.io/bbolt"
)

// ErrOlder says that a store has an older schema, which only its next owner moves
// up.
var ErrOlder = errors.New("an older version of flowrun wrote the store; open it once, such as with `flowrun runs`")

// ReadRow reads one row of a store file that no engine has open, and changes
// nothing: not even that the file was opened. Errors: *LockedError, *NewerError,
// ErrOlder, *CorruptError, those of the file system.
func ReadRow(path string, o Options, bucket, key string) (value []byte, found bool, err error) {
	o = o.withDefaults()
	file, err := openLocked(path, os.O_RDONLY, lockShared, o.Timeout)
	if errors.Is(err, errLocked) {
		return nil, false, &LockedError{Path: path}
	}
	if err != nil {
		return nil, false, fmt.Errorf("read store %s: %w", path, err)
	}
	defer file.Close()
	if _, err := preflight(file); err != nil {
		return nil, false, fmt.Errorf("read store %s: %w", path, err)
	}
	options := boltOptions(o)
	options.ReadOnly = true
	db, err := guardedOpen(path, options)
	if err != nil {
		return nil, false, fmt.Errorf("read store %s: %w", path, err)
	}
	value, found, err = readRow(db, bucket, key)
	return value, found, errors.Join(err, db.Close())
}

func readRow(db *bolt.DB, bucket, key string) (value []byte, found bool, err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = &CorruptError{Detail: fmt.Sprint(p)}
		}
	}()
	err = db.View(func(tx *bolt.Tx) error {
		schema, err := checkSchema(tx)
		switch {
		case err != nil:
			return err
		case schema != schemaVersion:
			return ErrOlder
		}
		stored, _, ok, err := getKV(tx, bucket, key)
		value, found = bytes.Clone(stored), ok
		return err
	})
	return value, found, err
}
