package secret

import (
	"errors"
	"io"
)

// Rows reads rows of a store, as they are stored.
type Rows interface {
	Get(bucket, key string) (value []byte, found bool, err error)
}

// readOnly is Rows as a KV that nobody can write to.
type readOnly struct{ rows Rows }

var errReadOnly = errors.New("this store is only read")

func (r readOnly) Get(bucket, key string) (value []byte, version uint64, ok bool, err error) {
	value, ok, err = r.rows.Get(bucket, key)
	return value, 0, ok, err
}

func (readOnly) Put(string, string, []byte, *uint64) (uint64, error) { return 0, errReadOnly }
func (readOnly) Delete(string, string, *uint64) error                { return errReadOnly }
func (readOnly) List(string, string) ([]string, error)               { return nil, errReadOnly }

// ReadStored reads one stored secret of a store that is not open here. The key file
// must be there.
func ReadStored(rows Rows, keyFile string, entropy io.Reader, name string) (value string, ok bool, err error) {
	ring, err := readKeys(keyFile)
	if err != nil {
		return "", false, err
	}
	sealer, err := NewSealer(ring[0], entropy, ring[1:]...)
	if err != nil {
		return "", false, err
	}
	stored, _, ok, err := Seal(readOnly{rows}, sealer).Get(StoredBucket, name)
	return string(stored), ok, err
}
