package boltstore

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	bolt "github.com/flowrun/flowrun/engine/boltstore/sealedpages"
	"github.com/flowrun/flowrun/engine/store"
)

// A census is what each bucket holds: how many keys, and a sum over them that
// does not depend on their order. The one committer keeps it up with every write
// and stores it in the same transaction. A checksum proves one record; only the
// census proves that none is missing, too many, or an older one (P14, ADR 11).
// Its buckets are in the order of their names.
type census []tally

// tally is the census of one bucket with all that lies inside it.
type tally struct {
	bucket string
	keys   uint64
	sum    uint64
}

// The parts of FNV-1a, 64 bits. A record's sum covers its place and its header:
// the header holds the checksum of its content.
const (
	fnvOffset uint64 = 14695981039346656037
	fnvPrime  uint64 = 1099511628211
)

func fnvAdd(sum uint64, data []byte) uint64 {
	for _, b := range data {
		sum = (sum ^ uint64(b)) * fnvPrime
	}
	return sum
}

// fnvAddNumber is fnvAdd of a number's eight bytes, the highest first.
func fnvAddNumber(sum, number uint64) uint64 {
	for shift := 56; shift >= 0; shift -= 8 {
		sum = (sum ^ number>>shift&0xff) * fnvPrime
	}
	return sum
}

// spread makes every bit of a sum depend on all others, so that sums can be
// added up.
func spread(sum uint64) uint64 {
	sum = (sum ^ sum>>30) * 0xbf58476d1ce4e5b9
	sum = (sum ^ sum>>27) * 0x94d049bb133111eb
	return sum ^ sum>>31
}

// location is where records are counted: a top-level bucket, and the name that
// their checksums cover.
type location struct {
	top  string
	path []byte
	base uint64 // the FNV of path and a zero byte
	seal uint32 // the CRC of the same
}

func newLocation(top string, path []byte) location {
	return location{top: top, path: path, base: fnvAdd(fnvOffset, path) * fnvPrime, seal: sealStart(path)}
}

// recordSum is the part of one record.
func (l *location) recordSum(key, stored []byte) uint64 {
	sum := fnvAdd(l.base, key)
	sum = fnvAdd(sum, stored[:min(len(stored), sealHeader)])
	return spread(fnvAddNumber(sum, uint64(len(stored))))
}

// sequenceSum is the part of a bucket's sequence: a version that fell back would
// be given twice.
func (l *location) sequenceSum(sequence uint64) uint64 {
	if sequence == 0 {
		return 0
	}
	return ^spread(fnvAddNumber(l.base, sequence))
}

func (c census) find(bucket string) (at int, found bool) {
	return slices.BinarySearchFunc(c, bucket, func(t tally, name string) int { return strings.Compare(t.bucket, name) })
}

// of is the census of one bucket.
func (c census) of(bucket string) tally {
	if at, found := c.find(bucket); found {
		return c[at]
	}
	return tally{bucket: bucket}
}

func (c *census) add(bucket string, keys, sum uint64) {
	at, found := c.find(bucket)
	if !found {
		*c = slices.Insert(*c, at, tally{bucket: bucket})
	}
	t := &(*c)[at]
	t.keys += keys
	t.sum += sum
}

// drop lets go of a bucket that is removed as a whole.
func (c *census) drop(bucket string) {
	if at, found := c.find(bucket); found {
		*c = slices.Delete(*c, at, at+1)
	}
}

// isCensus reports whether a record is the census itself, which is not counted.
func isCensus(l *location, key []byte) bool {
	return l.top == string(bucketMeta) && string(key) == string(keyCensus)
}

// A stored census begins with whether the store was closed after it, and with
// the id of its transaction: one that is not of the last transaction belongs to
// pages that are older than the rest.
const (
	censusRunning byte = 0
	censusClosed  byte = 1
	censusHeader  int  = 9
)

// encode appends to data, for each bucket: length of the name, name, keys, sum.
func (c census) encode(data []byte, state byte, txid uint64) []byte {
	data = binary.BigEndian.AppendUint64(append(data, state), txid)
	for i := range c {
		t := &c[i]
		if t.keys == 0 && t.sum == 0 {
			continue
		}
		data = append(append(data, byte(len(t.bucket))), t.bucket...)
		data = binary.AppendUvarint(data, t.keys)
		data = binary.BigEndian.AppendUint64(data, t.sum)
	}
	return data
}

func decodeCensus(data []byte) (c census, closed bool, txid uint64, err error) {
	c = census{}
	damaged := &store.CorruptError{Bucket: string(bucketMeta), Key: hexKey(keyCensus), Detail: "not a census"}
	if len(data) < censusHeader {
		return nil, false, 0, damaged
	}
	closed, txid = data[0] == censusClosed, binary.BigEndian.Uint64(data[1:])
	data = data[censusHeader:]
	for len(data) > 0 {
		length := int(data[0])
		if len(data) < 1+length {
			return nil, false, 0, damaged
		}
		name := string(data[1 : 1+length])
		data = data[1+length:]
		keys, n := binary.Uvarint(data)
		if n <= 0 || len(data) < n+8 {
			return nil, false, 0, damaged
		}
		c.add(name, keys, binary.BigEndian.Uint64(data[n:]))
		data = data[n+8:]
	}
	return c, closed, txid, nil
}

// storedCensus is what the last transaction left.
func storedCensus(tx *bolt.Tx) (census, error) {
	stored, err := getSealed(tx.Bucket(bucketMeta), bucketMeta, keyCensus)
	if err != nil {
		return nil, err
	}
	counted, _, _, err := decodeCensus(stored)
	return counted, err
}

// compare returns a *CorruptError that names the first bucket whose content is
// not what was counted when it was written.
func (c census) compare(found census) error {
	var names []string
	for _, t := range slices.Concat(c, found) {
		names = append(names, t.bucket)
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		want, got := c.of(name), found.of(name)
		switch {
		case want.keys > got.keys:
			return censusError(name, fmt.Sprintf("%d of %d records are missing", want.keys-got.keys, want.keys))
		case want.keys < got.keys:
			return censusError(name, fmt.Sprintf("it holds %d records, %d were written", got.keys, want.keys))
		case want.sum != got.sum:
			return censusError(name, fmt.Sprintf("among its %d records are others than were written last", want.keys))
		}
	}
	return nil
}

func censusError(bucket, detail string) error {
	return &store.CorruptError{Detail: fmt.Sprintf("bucket %s: %s", bucket, detail)}
}
