package boltstore

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"runtime/debug"

	berrors "go.etcd.io/bbolt/errors"

	bolt "github.com/flowrun/flowrun/engine/boltstore/sealedpages"
	"github.com/flowrun/flowrun/engine/store"
)

// Every value is stored as [version][CRC32C][payload]. The sum covers bucket and
// key too, so that a record in a wrong place is found like a changed one.
const (
	sealVersion byte = 1
	sealHeader  int  = 5
)

func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

func sealSum(bucket, key, payload []byte) uint32 {
	return sealSumFrom(sealStart(bucket), key, payload)
}

// sealStart is the sum of a bucket's name and a zero byte.
func sealStart(bucket []byte) uint32 {
	sum := crc32.Update(0, castagnoli(), bucket)
	return crc32.Update(sum, castagnoli(), []byte{0})
}

func sealSumFrom(start uint32, key, payload []byte) uint32 {
	return crc32.Update(crc32.Update(start, castagnoli(), key), castagnoli(), payload)
}

// seal returns the stored form of payload. The parts are joined without another
// copy.
func seal(bucket, key []byte, parts ...[]byte) []byte {
	at := newLocation("", bucket)
	return at.sealInto(make([]byte, sealedSize(parts)), key, parts)
}

func sealedSize(parts [][]byte) int {
	size := sealHeader
	for _, part := range parts {
		size += len(part)
	}
	return size
}

// sealInto writes the stored form of the parts into value, which has their sealedSize.
func (l *location) sealInto(value, key []byte, parts [][]byte) []byte {
	payload := value[sealHeader:sealHeader]
	for _, part := range parts {
		payload = append(payload, part...)
	}
	value[0] = sealVersion
	binary.BigEndian.PutUint32(value[1:], sealSumFrom(l.seal, key, payload))
	return value
}

// unseal checks a stored value and returns its payload, which is valid as long
// as the transaction.
func unseal(bucket, key, value []byte) ([]byte, error) {
	damaged := func(detail string) error {
		return &store.CorruptError{Bucket: string(bucket), Key: hexKey(key), Detail: detail}
	}
	switch {
	case len(value) < sealHeader:
		return nil, damaged(fmt.Sprintf("%d bytes are no record", len(value)))
	case value[0] != sealVersion:
		return nil, damaged(fmt.Sprintf("record version %d is not known", value[0]))
	case binary.BigEndian.Uint32(value[1:]) != sealSum(bucket, key, value[sealHeader:]):
		return nil, damaged("checksum does not match")
	}
	return value[sealHeader:], nil
}

// getSealed returns nil without an error when the key is absent.
func getSealed(b *bolt.Bucket, bucket, key []byte) ([]byte, error) {
	return unsealOld(bucket, key, b.Get(key))
}

// unsealOld is unseal for a value that may be absent.
func unsealOld(bucket, key, value []byte) ([]byte, error) {
	if value == nil {
		return nil, nil
	}
	return unseal(bucket, key, value)
}

func hexKey(key []byte) string { return hex.EncodeToString(key) }

// view runs read in a read transaction. What leaves read must be copied. Damage
// that bbolt answers with a panic or a fault comes back as *CorruptError.
func (s *Store) view(read func(tx *bolt.Tx) error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = s.named(unreadable(s.path, p))
			s.pageDamaged(p, err)
		}
	}()
	if err := s.db.View(read); err != nil {
		if errors.Is(err, berrors.ErrDatabaseNotOpen) {
			return store.ErrClosed
		}
		return s.named(err)
	}
	return nil
}
