package store

import "fmt"

// KV holds versioned rows in named buckets, for plugin state, tokens, limiters
// and sealed secrets. A version is never used twice in a bucket, not even after
// a delete. Names and keys have 1 to 4 KiB, values at most 8 MiB. Safe for
// concurrent use.
type KV interface {
	// Get returns a copy of a row's value and its version.
	Get(bucket, key string) (value []byte, version uint64, found bool, err error)
	// Put stores a value and returns its new version, when it is durable. With
	// ifVersion it does so only when that is the stored version, 0 meaning that
	// there must be no row; else ErrConflict.
	Put(bucket, key string, value []byte, ifVersion *uint64) (version uint64, err error)
	// Delete removes a row; an absent one is no error. With ifVersion it does so only
	// when that is the stored version; else ErrConflict.
	Delete(bucket, key string, ifVersion *uint64) error
	// DeleteBefore removes the rows of a bucket whose keys stand before key, at most
	// 10,000 of them, in one transaction.
	DeleteBefore(bucket, key string) error
	// List returns the keys of a bucket that begin with prefix, in order.
	List(bucket, prefix string) (keys []string, err error)
	// Sizes returns what the rows of a bucket take whose keys begin with prefix, in
	// order.
	Sizes(bucket, prefix string) (sizes []KVSize, err error)
	// Rewrite shows change the rows of a bucket behind the key after ("" = from the
	// first), in the order of their keys, at most limit of them, and stores the
	// values that it returns in their places, in one transaction; nil leaves a row as
	// it is. Versions stay: whoever compares and sets is not disturbed. last is the
	// key to go on behind, "" at the end. An error of change leaves all rows as they
	// are. change must not call the store.
	Rewrite(bucket, after string, limit int, change func(key string, value []byte) ([]byte, error)) (last string, rewritten int, err error)
}

// KVSize is what a row takes in the store.
type KVSize struct {
	Key   string
	Bytes int64 // key and value, as they are stored
}

// The bounds of a KV row, in bytes.
const (
	maxRowKey   = 4 << 10
	maxRowValue = 8 << 20
)

// CheckRow refuses what is out of the bounds of a row.
func CheckRow(bucket, key string, value []byte) error {
	switch {
	case bucket == "" || len(bucket) > maxRowKey:
		return fmt.Errorf("put: bucket name of %d bytes", len(bucket))
	case key == "" || len(key) > maxRowKey:
		return fmt.Errorf("put %s: key of %d bytes, allowed are 1 to %d", bucket, len(key), maxRowKey)
	case len(value) > maxRowValue:
		return fmt.Errorf("put %s: value of %d bytes, allowed are %d", bucket, len(value), maxRowValue)
	}
	return nil
}
