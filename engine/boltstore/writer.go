package boltstore

import (
	"fmt"
	"time"

	bolt "github.com/flowrun/flowrun/engine/boltstore/sealedpages"
	"github.com/flowrun/flowrun/engine/runs"
)

// writer is a transaction that writes. Every change of the file goes through it,
// since it keeps the census.
type writer struct {
	*bolt.Tx
	census census
	tells  bool               // changes of runs go to the outbox
	clock  func() time.Time   // nil = the times of runs stand for it
	told   bool               // something went to the outbox
	rows   []runs.Run         // rows of runs that it wrote, for Options.OnRuns
	shows  bool               // rows are wanted
	counts map[countDelta]int // by how much counts of runs change
	ends   bucketEnds         // of the store; nil = pages are cut in the middle
	open   openRows           // of the store
	mark   *mark              // that the transaction stores; nil = none
	files  []string           // of large values, that no row names any more when it is durable
}

// changed notes a run's new row.
func (w *writer) changed(row *runs.Run) {
	if w.shows {
		w.rows = append(w.rows, *row)
	}
}

// put stores payload, sealed, in a top-level bucket.
func (w *writer) put(bucket, key []byte, parts ...[]byte) error {
	at := newLocation(string(bucket), bucket)
	return w.putIn(w.Bucket(bucket), &at, key, parts...)
}

func (w *writer) putIn(b *bolt.Bucket, at *location, key []byte, parts ...[]byte) error {
	if isCensus(at, key) {
		return w.insert(b, at, key, parts...)
	}
	return w.replace(b, at, key, b.Get(key), parts...)
}

// replace is putIn for a key whose stored value is known; nil = there is none.
func (w *writer) replace(b *bolt.Bucket, at *location, key, old []byte, parts ...[]byte) error {
	if old != nil {
		w.census.add(at.top, ^uint64(0), -at.recordSum(key, old))
	}
	return w.insert(b, at, key, parts...)
}

// putNew is put for a key of which the transaction knows that it is not there.
func (w *writer) putNew(bucket, key []byte, parts ...[]byte) error {
	at := newLocation(string(bucket), bucket)
	return w.insert(w.Bucket(bucket), &at, key, parts...)
}

// putRow is put for a row of an index: one of a new run is not there yet.
func (w *writer) putRow(isNew bool, bucket, key []byte, parts ...[]byte) error {
	if isNew {
		return w.putNew(bucket, key, parts...)
	}
	return w.put(bucket, key, parts...)
}

func (w *writer) insert(b *bolt.Bucket, at *location, key []byte, parts ...[]byte) error {
	stored := seal(at.path, key, parts...)
	if !isCensus(at, key) {
		w.census.add(at.top, 1, at.recordSum(key, stored))
	}
	w.ends.put(b, at.top, key)
	if err := b.Put(key, stored); err != nil {
		return fmt.Errorf("put %s %s: %w", at.path, hexKey(key), err)
	}
	return nil
}

// remove deletes a record of a top-level bucket; an absent one is no error.
func (w *writer) remove(bucket, key []byte) error {
	at := newLocation(string(bucket), bucket)
	return w.removeFrom(w.Bucket(bucket), &at, key)
}

func (w *writer) removeFrom(b *bolt.Bucket, at *location, key []byte) error {
	old := b.Get(key)
	if old == nil {
		return nil
	}
	w.census.add(at.top, ^uint64(0), -at.recordSum(key, old))
	if err := b.Delete(key); err != nil {
		return fmt.Errorf("delete %s %s: %w", at.path, hexKey(key), err)
	}
	return nil
}

// next returns the next number of a top-level bucket's sequence.
func (w *writer) next(bucket []byte) (uint64, error) {
	at := newLocation(string(bucket), bucket)
	return w.nextOf(w.Bucket(bucket), &at)
}

func (w *writer) nextOf(b *bolt.Bucket, at *location) (uint64, error) {
	w.census.add(at.top, 0, -at.sequenceSum(b.Sequence()))
	sequence, err := b.NextSequence()
	if err != nil {
		return 0, fmt.Errorf("count on in %s: %w", at.path, err)
	}
	w.census.add(at.top, 0, at.sequenceSum(sequence))
	return sequence, nil
}

// finish stores the counts of runs, then the census: the last write of every
// transaction.
func (w *writer) finish(state byte) error {
	if err := w.putCounts(); err != nil {
		return err
	}
	if w.mark != nil {
		if err := w.put(bucketMeta, keyMark, w.mark.encode()); err != nil {
			return err
		}
	}
	return w.put(bucketMeta, keyCensus, w.census.encode(state, uint64(w.ID())))
}

// recount counts what a transaction sees, for a file that has no census yet.
func recount(tx *bolt.Tx) (census, error) {
	c := census{}
	err := tx.ForEach(func(name []byte, b *bolt.Bucket) error {
		at := newLocation(string(name), name)
		return c.count(&at, b)
	})
	return c, err
}

func (c census) count(at *location, b *bolt.Bucket) error {
	c.add(at.top, 0, at.sequenceSum(b.Sequence()))
	return b.ForEach(func(key, stored []byte) error {
		switch {
		case stored == nil:
			inner := newLocation(at.top, innerName(at.path, key))
			return c.count(&inner, b.Bucket(key))
		case !isCensus(at, key):
			c.add(at.top, 1, at.recordSum(key, stored))
		}
		return nil
	})
}

// innerName is the name of a bucket inside a bucket: kv/tokens.
func innerName(path, key []byte) []byte {
	return append(append(path[:len(path):len(path)], '/'), key...)
}
