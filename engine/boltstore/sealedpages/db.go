// Package sealedpages is bbolt with pages that are compared with their sums before
// bbolt follows them. bbolt trusts a page: a damaged one ends its search in a loop
// without end, frees pages that are in use, or kills the process where a goroutine of
// bbolt's own meets it. A store that opens without a look at all of its pages (ADR 73)
// is read and written through this package alone: each page on the way to a key is
// compared once, and what a writing transaction may replace is noted, so that the sums
// of all other pages stay those of the last close.
//
// The types are those of bbolt, as far as a store needs them, with its rules: a
// transaction is for one goroutine, a cursor for one transaction.
package sealedpages

import (
	"io"
	"os"

	bbolt "go.etcd.io/bbolt"
)

// The settings of an open file are bbolt's.
type (
	// Options are those of bbolt.
	Options = bbolt.Options
	// Stats are those of bbolt.
	Stats = bbolt.Stats
)

// FreelistMapType is that of bbolt.
const FreelistMapType = bbolt.FreelistMapType

// DB is an open file. Safe for concurrent use as that of bbolt.
type DB struct {
	raw   *bbolt.DB
	guard *Guard
	write Tx // of the one writing transaction at a time
}

// Open opens a file without a guard: every page is trusted. The errors are bbolt's.
func Open(path string, mode os.FileMode, options *Options) (*DB, error) {
	raw, err := bbolt.Open(path, mode, options)
	if err != nil {
		return nil, err
	}
	return &DB{raw: raw}, nil
}

// Watch sets the guard of a file. It is called once, before the first transaction.
func (db *DB) Watch(g *Guard) { db.guard = g }

// Grow sets by how many bytes the file grows.
func (db *DB) Grow(step int) { db.raw.AllocSize = step }

// GrowStep is by how many bytes the file grows.
func (db *DB) GrowStep() int { return db.raw.AllocSize }

// KeepFreeList sets whether each commit from now on stores the list of the free pages. It
// is for whoever writes.
func (db *DB) KeepFreeList(keep bool) { db.raw.NoFreelistSync = !keep }

// PageSize is that of the file in bytes.
func (db *DB) PageSize() int { return db.raw.Info().PageSize }

// Stats are those of bbolt.
func (db *DB) Stats() Stats { return db.raw.Stats() }

// Sync is that of bbolt.
func (db *DB) Sync() error { return db.raw.Sync() }

// Close is that of bbolt.
func (db *DB) Close() error { return db.raw.Close() }

// View runs read in a transaction that reads.
func (db *DB) View(read func(tx *Tx) error) error {
	return db.raw.View(func(raw *bbolt.Tx) error {
		tx := &Tx{}
		tx.begin(raw, db.guard, false)
		return read(tx)
	})
}

// Update runs write in a transaction that writes. What it panics with is passed on.
func (db *DB) Update(write func(tx *Tx) error) error {
	raw, err := db.raw.Begin(true)
	if err != nil {
		return err
	}
	defer forget(raw)
	if err := db.writeIn(raw, write); err != nil {
		return err
	}
	return commit(raw)
}

func (db *DB) writeIn(raw *bbolt.Tx, write func(tx *Tx) error) error {
	tx := &db.write
	tx.begin(raw, db.guard, true)
	defer tx.end()
	return write(tx)
}

// Compact copies all of one file into another, in transactions of at most size bytes.
// Its errors are bbolt's.
func Compact(to, from *DB, size int64) error { return bbolt.Compact(to.raw, from.raw, size) }

// Tx is a transaction.
type Tx struct {
	raw    *bbolt.Tx
	writes bool
	way    way
	used   []*Bucket // that were asked for
	spare  []Bucket
}

func (t *Tx) begin(raw *bbolt.Tx, g *Guard, writes bool) {
	t.raw, t.writes = raw, writes
	t.used = t.used[:0]
	t.way.begin(raw, g, writes)
}

func (t *Tx) end() {
	for i := range t.used {
		*t.used[i] = Bucket{}
	}
	t.raw, t.way.memory = nil, nil
}

// ID is the number of the transaction.
func (t *Tx) ID() int { return t.raw.ID() }

// Size is that of the file as the transaction sees it, in bytes.
func (t *Tx) Size() int64 { return t.raw.Size() }

// Root is the page that the transaction's tree begins at: of one that writes, that of
// the transaction before.
func (t *Tx) Root() uint64 { return uint64(t.raw.Cursor().Bucket().RootPage()) }

// WriteTo writes all that the transaction sees. Its pages are not compared.
func (t *Tx) WriteTo(w io.Writer) (int64, error) { return t.raw.WriteTo(w) }

// wrap returns the bucket for bbolt's. bbolt keeps one for each name while it writes, and
// makes a new one each time while it reads.
func (t *Tx) wrap(raw *bbolt.Bucket) *Bucket {
	if raw == nil {
		return nil
	}
	if !t.writes {
		return &Bucket{raw: raw, tx: t}
	}
	for _, b := range t.used {
		if b.raw == raw {
			return b
		}
	}
	var b *Bucket
	if n := len(t.used); n < cap(t.used) {
		if t.used = t.used[:n+1]; t.used[n] != nil {
			b = t.used[n] // of the transaction before
		}
		t.used = t.used[:n]
	}
	if b == nil {
		if len(t.spare) == 0 {
			t.spare = make([]Bucket, chunk)
		}
		b, t.spare = &t.spare[0], t.spare[1:]
	}
	*b = Bucket{raw: raw, tx: t}
	t.used = append(t.used, b)
	return b
}

// chunk is how many buckets are made at once.
const chunk = 4

// root is the bucket that holds the buckets. It is made anew where it is needed:
// bbolt hands it out with a cursor only.
func (t *Tx) root() *Bucket { return &Bucket{raw: t.raw.Cursor().Bucket(), tx: t} }

// Bucket is that of bbolt; nil where there is none.
func (t *Tx) Bucket(name []byte) *Bucket {
	if t.way.watches() {
		t.way.to(t.way.root, name)
	}
	return t.wrap(t.raw.Bucket(name))
}

// ForEach shows each bucket.
func (t *Tx) ForEach(each func(name []byte, b *Bucket) error) error {
	return t.root().ForEach(func(name, _ []byte) error { return each(name, t.Bucket(name)) })
}

// CreateBucket is that of bbolt.
func (t *Tx) CreateBucket(name []byte) (*Bucket, error) { return t.root().CreateBucket(name) }

// CreateBucketIfNotExists is that of bbolt.
func (t *Tx) CreateBucketIfNotExists(name []byte) (*Bucket, error) {
	return t.root().CreateBucketIfNotExists(name)
}

// DeleteBucket is that of bbolt.
func (t *Tx) DeleteBucket(name []byte) error { return t.root().DeleteBucket(name) }
