//go:build linux && (amd64 || arm64)

package storefaults_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"iter"
	"math/rand/v2"
	"slices"

	bolt "go.etcd.io/bbolt"
)

const pageSize = 4096

// specimen is a store file with what it was before.
type specimen struct {
	content  []byte
	versions [][]byte // the same file at earlier times, oldest first
	acks     acknowledged
	script   script
	name     string
	seal     []byte // of a file that was closed well
}

// used is how many bytes the newest meta page says are in use: what lies beyond
// is of no meaning.
func (s *specimen) used() int {
	pages := func(page int) (txid, count uint64) {
		meta := s.content[page*pageSize+16:]
		return binary.NativeEndian.Uint64(meta[48:]), binary.NativeEndian.Uint64(meta[40:])
	}
	first, count := pages(0)
	if second, other := pages(1); second > first {
		count = other
	}
	return int(count) * pageSize
}

func (s *specimen) page(source *rand.Rand) int { return source.IntN(s.used()/pageSize) * pageSize }

// mutator damages a copy of a specimen's content.
type mutator func(source *rand.Rand, s *specimen, content []byte) []byte

func mutators() map[string]mutator {
	return map[string]mutator{
		"truncate": func(r *rand.Rand, s *specimen, c []byte) []byte { return c[:r.IntN(s.used())] },
		"zero a page": func(r *rand.Rand, s *specimen, c []byte) []byte {
			at := s.page(r)
			clear(c[at : at+pageSize])
			return c
		},
		"64 random bytes": func(r *rand.Rand, s *specimen, c []byte) []byte {
			at := r.IntN(s.used() - 64)
			for i := range 64 {
				c[at+i] = byte(r.Uint32())
			}
			return c
		},
		"swap pages": func(r *rand.Rand, s *specimen, c []byte) []byte {
			a, b := s.page(r), s.page(r)
			kept := bytes.Clone(c[a : a+pageSize])
			copy(c[a:a+pageSize], c[b:b+pageSize])
			copy(c[b:b+pageSize], kept)
			return c
		},
		"spoil a meta page": func(r *rand.Rand, _ *specimen, c []byte) []byte {
			c[r.IntN(2)*pageSize+16+r.IntN(64)] ^= byte(1 + r.IntN(255))
			return c
		},
		"flip a bit": func(r *rand.Rand, s *specimen, c []byte) []byte {
			c[r.IntN(s.used())] ^= 1 << r.IntN(8)
			return c
		},
		"stale page":         stalePage,
		"change a way's key": changeWay,
	}
}

// changeWay lowers a byte of a key by which a branch leads to a page: what lies between
// the two keys is nothing, so that all that was written is still found by it.
func changeWay(r *rand.Rand, s *specimen, c []byte) []byte {
	const branch, header, element = 0x01, 16, 16
	var branches []int
	for at := 2 * pageSize; at < s.used(); at += pageSize {
		if binary.NativeEndian.Uint64(c[at:]) == uint64(at/pageSize) && binary.NativeEndian.Uint16(c[at+8:]) == branch {
			branches = append(branches, at)
		}
	}
	if len(branches) == 0 {
		return c
	}
	at := branches[r.IntN(len(branches))]
	count := int(binary.NativeEndian.Uint16(c[at+10:]))
	place := at + header + r.IntN(count)*element
	from, size := place+int(binary.NativeEndian.Uint32(c[place:])), int(binary.NativeEndian.Uint32(c[place+4:]))
	if size > 0 && c[from+size-1] > 0 {
		c[from+size-1]--
	}
	return c
}

// stalePage puts an older version of a page back: a write that the disk has
// acknowledged and lost.
func stalePage(r *rand.Rand, s *specimen, c []byte) []byte {
	for range 1000 {
		older := s.versions[r.IntN(len(s.versions))]
		at := s.page(r)
		if at+pageSize <= len(older) && !bytes.Equal(older[at:at+pageSize], c[at:at+pageSize]) {
			copy(c[at:], older[at:at+pageSize])
			return c
		}
	}
	return c
}

// sealed is how the store writes a value: version, checksum over its place and
// content, content.
func sealed(bucket string, key, payload []byte) []byte {
	table := crc32.MakeTable(crc32.Castagnoli)
	sum := crc32.Update(0, table, append([]byte(bucket), 0))
	sum = crc32.Update(sum, table, key)
	sum = crc32.Update(sum, table, payload)
	return append(binary.BigEndian.AppendUint32([]byte{1}, sum), payload...)
}

// forge changes a file by the rules of bbolt, with checksums that are right and
// the number of the last transaction: only the count and the sum that the store
// keeps of all its records can tell.
func forge(path string, source *rand.Rand) (what string, err error) {
	db, err := bolt.Open(path, 0o600, &bolt.Options{NoSync: true})
	if err != nil {
		return "", err
	}
	defer db.Close()
	err = db.Update(func(tx *bolt.Tx) error {
		if err := forgeTransaction(tx); err != nil {
			return err
		}
		buckets := []string{"journal", "runs", "runs_open", "runs_by_status", "runs_by_workflow", "state", "logs"}
		name := buckets[source.IntN(len(buckets))]
		b := tx.Bucket([]byte(name))
		var keys [][]byte
		for key := range eachKey(b) {
			keys = append(keys, bytes.Clone(key))
		}
		if len(keys) == 0 {
			return fmt.Errorf("bucket %s is empty", name)
		}
		key := keys[source.IntN(len(keys))]
		value := slices.Clone(b.Get(key))
		if source.IntN(2) == 0 || len(value) < 30 {
			what = "removed a record of " + name
			return b.Delete(key)
		}
		what = "changed a record of " + name
		payload := value[5:]
		payload[source.IntN(len(payload))]++
		return b.Put(key, sealed(name, key, payload))
	})
	return what, err
}

func eachKey(b *bolt.Bucket) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		cursor := b.Cursor()
		for key, _ := cursor.First(); key != nil && yield(key); {
			key, _ = cursor.Next()
		}
	}
}

// forgeTransaction makes the stored census one of this transaction: it begins
// with a byte and the transaction's number.
func forgeTransaction(tx *bolt.Tx) error {
	b, key := tx.Bucket([]byte("meta")), []byte("census")
	value := bytes.Clone(b.Get(key))
	if len(value) < 5+9 {
		return fmt.Errorf("a census of %d bytes", len(value))
	}
	binary.BigEndian.PutUint64(value[6:], uint64(tx.ID()))
	return b.Put(key, sealed("meta", key, value[5:]))
}
