package sealedpages

import bbolt "go.etcd.io/bbolt"

// Cursor goes through the keys of a bucket in their order, as that of bbolt.
type Cursor struct {
	raw *bbolt.Cursor
	b   *Bucket
	key []byte // that it stands at

	// With known, the page of the keys from least to before end was compared, and the
	// pages before and behind it: bbolt may step to them.
	known      bool
	least, end []byte
}

// around compares the page of a key and those beside it.
func (c *Cursor) around(key []byte) {
	w := &c.b.tx.way
	if !w.watches() || c.known && within(key, c.least, c.end) {
		return
	}
	c.least, c.end = w.beside(c.b.root(), key)
	c.known = true
}

func (c *Cursor) at(key, value []byte) (k, v []byte) {
	if key != nil {
		c.key = key
	}
	return key, value
}

// Seek is that of bbolt.
func (c *Cursor) Seek(key []byte) (found, value []byte) {
	c.around(key)
	c.key = key
	return c.at(c.raw.Seek(key))
}

// First is that of bbolt.
func (c *Cursor) First() (key, value []byte) {
	c.around(nil)
	return c.at(c.raw.First())
}

// Last is that of bbolt, which does not come back where a transaction has removed all keys.
func (c *Cursor) Last() (key, value []byte) {
	if c.b.tx.writes {
		if first, _ := c.First(); first == nil {
			return nil, nil
		}
	}
	if w := &c.b.tx.way; w.watches() {
		c.least, c.end = w.last(c.b.root())
		c.known = true
	}
	return c.at(c.raw.Last())
}

// Next is that of bbolt.
func (c *Cursor) Next() (key, value []byte) {
	c.around(c.key)
	return c.at(c.raw.Next())
}

// Prev is that of bbolt.
func (c *Cursor) Prev() (key, value []byte) {
	c.around(c.key)
	return c.at(c.raw.Prev())
}
