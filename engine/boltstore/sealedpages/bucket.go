package sealedpages

import (
	"bytes"

	bbolt "go.etcd.io/bbolt"
)

// Bucket is a bucket of one transaction.
type Bucket struct {
	raw   *bbolt.Bucket
	tx    *Tx
	place *bbolt.Cursor // of Take
}

func (b *Bucket) root() uint64 { return uint64(b.raw.RootPage()) }

// Tx is the bucket's transaction.
func (b *Bucket) Tx() *Tx { return b.tx }

// Fill sets how far a page that is cut in two is filled: bbolt's FillPercent, for the
// rest of the transaction.
func (b *Bucket) Fill(percent float64) { b.raw.FillPercent = percent }

// Get is that of bbolt.
func (b *Bucket) Get(key []byte) []byte {
	if b.tx.way.watches() {
		b.tx.way.to(b.root(), key)
	}
	return b.raw.Get(key)
}

// Put is that of bbolt.
func (b *Bucket) Put(key, value []byte) error {
	if b.tx.way.watches() {
		b.tx.way.to(b.root(), key)
	}
	return b.raw.Put(key, value)
}

// Delete is that of bbolt. What is left of a page may be joined with a neighbour.
func (b *Bucket) Delete(key []byte) error {
	if b.tx.way.watches() {
		b.tx.way.around(b.root(), key)
	}
	return b.raw.Delete(key)
}

// Take removes a key and returns what it held, for the length of the transaction; nil
// where it is not there. It looks for the key once, and makes no cursor but the first.
func (b *Bucket) Take(key []byte) (value []byte, err error) {
	if b.tx.way.watches() {
		b.tx.way.around(b.root(), key)
	}
	if b.place == nil {
		b.place = b.raw.Cursor()
	}
	found, value := b.place.Seek(key)
	if value == nil || !bytes.Equal(found, key) {
		return nil, nil
	}
	return value, b.place.Delete()
}

// Bucket is the bucket inside with that name; nil where there is none.
func (b *Bucket) Bucket(name []byte) *Bucket {
	if b.tx.way.watches() {
		b.tx.way.to(b.root(), name)
	}
	return b.tx.wrap(b.raw.Bucket(name))
}

// CreateBucket is that of bbolt.
func (b *Bucket) CreateBucket(name []byte) (*Bucket, error) {
	if b.tx.way.watches() {
		b.tx.way.to(b.root(), name)
	}
	made, err := b.raw.CreateBucket(name)
	return b.tx.wrap(made), err
}

// CreateBucketIfNotExists is that of bbolt.
func (b *Bucket) CreateBucketIfNotExists(name []byte) (*Bucket, error) {
	if b.tx.way.watches() {
		b.tx.way.to(b.root(), name)
	}
	made, err := b.raw.CreateBucketIfNotExists(name)
	return b.tx.wrap(made), err
}

// DeleteBucket is that of bbolt: all pages of the bucket inside become free.
func (b *Bucket) DeleteBucket(name []byte) error {
	if b.tx.way.watches() {
		b.tx.way.around(b.root(), name)
		if inner := b.raw.Bucket(name); inner != nil {
			b.tx.wrap(inner).whole()
		}
	}
	return b.raw.DeleteBucket(name)
}

// whole compares all pages of a bucket, and of those inside.
func (b *Bucket) whole() {
	b.tx.way.below(b.root(), 0)
	_ = b.raw.ForEachBucket(func(name []byte) error {
		b.tx.wrap(b.raw.Bucket(name)).whole()
		return nil
	})
}

// Sequence is that of bbolt.
func (b *Bucket) Sequence() uint64 { return b.raw.Sequence() }

// NextSequence is that of bbolt.
func (b *Bucket) NextSequence() (uint64, error) {
	if b.tx.way.watches() && b.root() != 0 {
		b.tx.way.page(b.root())
	}
	return b.raw.NextSequence()
}

// Stats are those of bbolt, of the bucket and those inside.
func (b *Bucket) Stats() bbolt.BucketStats {
	if b.tx.way.watches() {
		b.whole()
	}
	return b.raw.Stats()
}

// ForEach shows each key with its value; nil is the value of a bucket.
func (b *Bucket) ForEach(each func(key, value []byte) error) error {
	c := b.Cursor()
	for key, value := c.First(); key != nil; key, value = c.Next() {
		if err := each(key, value); err != nil {
			return err
		}
	}
	return nil
}

// Cursor returns a cursor over the keys.
func (b *Bucket) Cursor() *Cursor { return &Cursor{raw: b.raw.Cursor(), b: b} }
