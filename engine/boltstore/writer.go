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
	scratch *scratch // of the store; nil = it has its own
	census  census
	tells   bool             // changes of runs go to the outbox
	clock   func() time.Time // nil = the times of runs stand for it
	told    bool             // something went to the outbox
	rows    []runs.Run       // rows of runs that it wrote, for Options.OnRuns
	shows   bool             // rows are wanted
	counts  map[runCount]int // by how much counts of runs change
	ends    bucketEnds       // of the store; nil = pages are cut in the middle
	open    openRows         // of the store
	mark    *mark            // that the transaction stores; nil = none
	files   []string         // of large values, that no row names any more when it is durable
	epoch   *uint64          // of the store, once it was looked up
	oldest  uint64           // number of an entry of the outbox that no other one comes before; 0 = not looked up
}

// reuses returns what the writer's transaction uses again.
func (w *writer) reuses() *scratch {
	if w.scratch == nil {
		w.scratch = &scratch{}
	}
	return w.scratch
}

func (w *writer) at(bucket []byte) *location { return w.reuses().place(bucket) }

// key joins the parts of a key, for the length of the transaction.
func (w *writer) key(parts ...[]byte) []byte { return w.reuses().memory.join(parts...) }

// changed notes a run's new row.
func (w *writer) changed(row *runs.Run) {
	if w.shows {
		w.rows = append(w.rows, *row)
	}
}

// put stores payload, sealed, in a top-level bucket.
func (w *writer) put(bucket, key []byte, parts ...[]byte) error {
	return w.putIn(w.Bucket(bucket), w.at(bucket), key, parts...)
}

func (w *writer) putIn(b *bolt.Bucket, at *location, key []byte, parts ...[]byte) error {
	if isCensus(at, key) {
		_, err := w.insert(b, at, key, parts)
		return err
	}
	return w.replace(b, at, key, b.Get(key), parts...)
}

// replace is putIn for a key whose stored value is known; nil = there is none.
func (w *writer) replace(b *bolt.Bucket, at *location, key, old []byte, parts ...[]byte) error {
	if old != nil {
		w.census.add(at.top, ^uint64(0), -at.recordSum(key, old))
	}
	_, err := w.insert(b, at, key, parts)
	return err
}

// replaceSum is replace for a key of whose stored value the sum is known; 0 = it is looked
// up. It returns that of the new one.
func (w *writer) replaceSum(bucket, key []byte, old uint64, parts ...[]byte) (sum uint64, err error) {
	b, at := w.Bucket(bucket), w.at(bucket)
	if old == 0 {
		if stored := b.Get(key); stored != nil {
			old = at.recordSum(key, stored)
		}
	}
	if old != 0 {
		w.census.add(at.top, ^uint64(0), -old)
	}
	return w.insert(b, at, key, parts)
}

// putNew is put for a key of which the transaction knows that it is not there.
func (w *writer) putNew(bucket, key []byte, parts ...[]byte) error {
	_, err := w.insert(w.Bucket(bucket), w.at(bucket), key, parts)
	return err
}

// putRow is put for a row of an index: one of a new run is not there yet.
func (w *writer) putRow(isNew bool, bucket, key []byte, parts ...[]byte) error {
	if isNew {
		return w.putNew(bucket, key, parts...)
	}
	return w.put(bucket, key, parts...)
}

// insert stores a record whose key is not there, or was taken out of the census. sum is
// its part of the census.
func (w *writer) insert(b *bolt.Bucket, at *location, key []byte, parts [][]byte) (sum uint64, err error) {
	stored := at.sealInto(w.reuses().memory.take(sealedSize(parts)), key, parts)
	if !isCensus(at, key) {
		sum = at.recordSum(key, stored)
		w.census.add(at.top, 1, sum)
	}
	w.ends.put(b, at.top, key)
	if err := b.Put(key, stored); err != nil {
		return 0, fmt.Errorf("put %s %s: %w", at.path, hexKey(key), err)
	}
	return sum, nil
}

// remove deletes a record of a top-level bucket; an absent one is no error.
func (w *writer) remove(bucket, key []byte) error {
	return w.removeFrom(w.Bucket(bucket), w.at(bucket), key)
}

func (w *writer) removeFrom(b *bolt.Bucket, at *location, key []byte) error {
	old, err := b.Take(key)
	if err != nil {
		return fmt.Errorf("delete %s %s: %w", at.path, hexKey(key), err)
	}
	if old != nil {
		w.census.add(at.top, ^uint64(0), -at.recordSum(key, old))
	}
	return nil
}

// next returns the next number of a top-level bucket's sequence.
func (w *writer) next(bucket []byte) (uint64, error) {
	return w.nextOf(w.Bucket(bucket), w.at(bucket))
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
	reused := w.reuses()
	reused.census = w.census.encode(reused.census[:0], state, uint64(w.ID()))
	if err := w.put(bucketMeta, keyCensus, reused.census); err != nil {
		return err
	}
	return w.JoinRoot()
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

func (c *census) count(at *location, b *bolt.Bucket) error {
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
