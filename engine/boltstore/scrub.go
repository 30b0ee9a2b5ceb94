package boltstore

import (
	"bytes"
	"context"

	bolt "github.com/flowrun/flowrun/engine/boltstore/sealedpages"
)

// DefaultCheckAtStart is the size in bytes up to which the checksum of every
// record is compared before the store opens, and the file is checked as a whole
// after an unclean stop. That of a larger one would hold a start up for too long:
// its pages and its census are still compared before, its records are read while it
// is in use (P14).
const DefaultCheckAtStart = 4 << 30

// DefaultCompareAtStart is the size in bytes up to which the indexes and references of a
// file that was not closed are compared with its runs before it opens. That takes ten
// times as long as to read it: of a larger one it is done at once behind the open (ADR 73).
const DefaultCompareAtStart = 64 << 20

// scrubRows bounds one read transaction of a scrub.
const scrubRows = 1000

// scrub reads every record once, in short transactions. A damaged one stops the
// store, as a failed commit does: nobody shall write on beside it.
func (s *Store) scrub(ctx context.Context) {
	names, err := s.bucketNames()
	for _, name := range names {
		if err != nil {
			break
		}
		err = s.scrubBucket(ctx, [][]byte{name})
	}
	if err == nil || ctx.Err() != nil {
		return
	}
	s.stopOver(err)
}

// compareBehind compares what the file held when it was opened, in one transaction. A
// close waits for its end: only then the file counts as closed.
func (s *Store) compareBehind() {
	if err := s.checkAfterCrash(); err != nil {
		s.compared = s.named(err) // a store that is being closed takes no more
		s.stopOver(s.compared)
	}
}

// stopOver stops the store over damage that was read.
func (s *Store) stopOver(err error) {
	damage := &txError{err}
	_ = s.queue.put(&newCall(0, func(*writer) (bool, error) { return false, damage }).op) // refused: it has stopped already
}

// scrubBucket reads the bucket that a path of names leads to.
func (s *Store) scrubBucket(ctx context.Context, names [][]byte) error {
	for next := []byte{}; next != nil && ctx.Err() == nil; {
		var inner [][]byte
		err := s.view(func(tx *bolt.Tx) (err error) {
			next, inner, err = scrubPart(tx, names, next)
			return err
		})
		if err != nil {
			return err
		}
		for _, name := range inner {
			if err := s.scrubBucket(ctx, append(names[:len(names):len(names)], name)); err != nil {
				return err
			}
		}
	}
	return nil
}

// scrubPart reads rows from a key on. It returns the key to go on at, nil at the
// end, and the buckets that it met.
func scrubPart(tx *bolt.Tx, names [][]byte, from []byte) (next []byte, inner [][]byte, err error) {
	b := tx.Bucket(names[0])
	for _, name := range names[1:] {
		if b != nil {
			b = b.Bucket(name)
		}
	}
	if b == nil {
		return nil, nil, nil
	}
	path := bytes.Join(names, []byte("/"))
	cursor := b.Cursor()
	key, value := cursor.Seek(from)
	for rows, size := 0, 0; key != nil; key, value = cursor.Next() {
		if rows == scrubRows || size > viewBytes {
			return bytes.Clone(key), inner, nil
		}
		rows++
		size += len(value)
		if value == nil {
			inner = append(inner, bytes.Clone(key))
		} else if _, err := unseal(path, key, value); err != nil {
			return nil, nil, err
		}
	}
	return nil, inner, nil
}
