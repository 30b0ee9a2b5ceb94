package boltstore

import (
	"bytes"
	"encoding/json"
	"fmt"

	bolt "github.com/flowrun/flowrun/engine/boltstore/sealedpages"
	"github.com/flowrun/flowrun/engine/store"
)

// The rows of large values. Their buckets are made with the first one: a store without
// large values is as older programs know it, and one with them opens in those, too.
var (
	bucketLargeFiles   = []byte("large_files")   // sha256 -> largeRow
	bucketLargeRefs    = []byte("large_refs")    // 'r' run sha256, and 'd' sha256 run -> nothing
	bucketLargeUploads = []byte("large_uploads") // run name -> uploadRow
)

// The two ways to go through references.
const (
	refOfRun  byte = 'r'
	refOfFile byte = 'd'
)

// largeRow is a finished large value.
type largeRow struct {
	File   string `json:"file"`
	Size   int64  `json:"size"`
	Parts  int    `json:"parts"`
	Stored int64  `json:"stored"`
	Sealed bool   `json:"sealed,omitempty"`
}

func (r *largeRow) info(digest string) store.BlobInfo {
	return store.BlobInfo{Digest: digest, Size: r.Size, Parts: r.Parts, Stored: r.Stored, Sealed: r.Sealed}
}

func largeRefs(run, digest []byte) [][]byte {
	return [][]byte{
		append(append([]byte{refOfRun}, run...), digest...),
		append(append([]byte{refOfFile}, digest...), run...),
	}
}

// getLarge reads a row of a bucket that may not be there.
func getLarge[T any](tx *bolt.Tx, bucket, key []byte) (*T, error) {
	b := tx.Bucket(bucket)
	if b == nil {
		return nil, nil
	}
	stored, err := getSealed(b, bucket, key)
	if err != nil || stored == nil {
		return nil, err
	}
	return decodeLarge[T](bucket, key, stored)
}

func decodeLarge[T any](bucket, key, stored []byte) (*T, error) {
	row := new(T)
	if err := json.Unmarshal(stored, row); err != nil {
		return nil, &store.CorruptError{Bucket: string(bucket), Key: hexKey(key), Detail: err.Error()}
	}
	return row, nil
}

func hasLarge(tx *bolt.Tx, bucket, key []byte) bool {
	b := tx.Bucket(bucket)
	return b != nil && b.Get(key) != nil
}

// putLarge stores a row, and makes its bucket where it is the first one.
func (w *writer) putLarge(bucket, key []byte, row any) error {
	if _, err := w.CreateBucketIfNotExists(bucket); err != nil {
		return fmt.Errorf("create bucket %s: %w", bucket, err)
	}
	if row == nil {
		return w.put(bucket, key)
	}
	encoded, err := json.Marshal(row)
	if err != nil {
		return fmt.Errorf("encode a row of %s: %w", bucket, err)
	}
	return w.put(bucket, key, encoded)
}

// removeLarge removes a row of a bucket that may not be there.
func (w *writer) removeLarge(bucket, key []byte) error {
	if w.Bucket(bucket) == nil {
		return nil
	}
	return w.remove(bucket, key)
}

// eachLarge visits the rows of a bucket whose keys begin with prefix.
func eachLarge(tx *bolt.Tx, bucket, prefix []byte, visit func(key, payload []byte) error) error {
	b := tx.Bucket(bucket)
	if b == nil {
		return nil
	}
	cursor := b.Cursor()
	for key, value := cursor.Seek(prefix); key != nil && bytes.HasPrefix(key, prefix); key, value = cursor.Next() {
		payload, err := unseal(bucket, key, value)
		if err != nil {
			return err
		}
		if err := visit(key, payload); err != nil {
			return err
		}
	}
	return nil
}

func (w *writer) refer(run, digest []byte) error {
	for _, ref := range largeRefs(run, digest) {
		if err := w.putLarge(bucketLargeRefs, ref, nil); err != nil {
			return err
		}
	}
	return nil
}

// unrefer removes a run's reference, and the value with its last one.
func (w *writer) unrefer(run, digest []byte) error {
	for _, ref := range largeRefs(run, digest) {
		if err := w.removeLarge(bucketLargeRefs, ref); err != nil {
			return err
		}
	}
	if b := w.Bucket(bucketLargeRefs); b != nil {
		prefix := append([]byte{refOfFile}, digest...)
		if key, _ := b.Cursor().Seek(prefix); bytes.HasPrefix(key, prefix) {
			return nil
		}
	}
	row, err := getLarge[largeRow](w.Tx, bucketLargeFiles, digest)
	if err != nil || row == nil {
		return err
	}
	w.files = append(w.files, row.File)
	return w.removeLarge(bucketLargeFiles, digest)
}

// fileOf returns the row of a value that a run refers to.
func (s *Store) fileOf(run, digest string) (row *largeRow, sum []byte, err error) {
	if sum, err = store.ParseBlobDigest(digest); err != nil {
		return nil, nil, err
	}
	key, err := runKey(run)
	if err != nil {
		return nil, nil, err
	}
	err = s.view(func(tx *bolt.Tx) error {
		if !hasLarge(tx, bucketLargeRefs, largeRefs(key, sum)[0]) {
			return store.ErrBlobNotFound
		}
		row, err = getLarge[largeRow](tx, bucketLargeFiles, sum)
		if err == nil && row == nil {
			err = &store.BlobDamage{Run: run, Digest: digest, File: "of no name", Detail: "its row is missing"}
		}
		return err
	})
	return row, sum, err
}

// BlobInfo is that of store.Blobs.
func (v *largeValues) BlobInfo(run, digest string) (store.BlobInfo, error) {
	row, _, err := v.store.fileOf(run, digest)
	if err != nil {
		return store.BlobInfo{}, err
	}
	return row.info(digest), nil
}

// ShareBlob is that of store.Blobs.
func (v *largeValues) ShareBlob(from, to, digest string) error {
	sum, err := store.ParseBlobDigest(digest)
	if err != nil {
		return err
	}
	source, err := runKey(from)
	if err != nil {
		return err
	}
	target, err := runKey(to)
	if err != nil {
		return err
	}
	return v.store.do(200, func(w *writer) (bool, error) {
		if !hasLarge(w.Tx, bucketLargeRefs, largeRefs(source, sum)[0]) {
			return false, store.ErrBlobNotFound
		}
		if hasLarge(w.Tx, bucketLargeRefs, largeRefs(target, sum)[0]) {
			return false, nil
		}
		return true, inTx(func() error { return w.refer(target, sum) })
	})
}

// RunBlobs is that of store.Blobs.
func (v *largeValues) RunBlobs(run string) (infos []store.BlobInfo, err error) {
	key, err := runKey(run)
	if err != nil {
		return nil, err
	}
	err = v.store.view(func(tx *bolt.Tx) error {
		if tx.Bucket(bucketRuns).Get(key) == nil {
			return store.ErrRunNotFound
		}
		infos, err = blobsOf(tx, key)
		return err
	})
	return infos, err
}

func blobsOf(tx *bolt.Tx, run []byte) (infos []store.BlobInfo, err error) {
	prefix := append([]byte{refOfRun}, run...)
	err = eachLarge(tx, bucketLargeRefs, prefix, func(key, _ []byte) error {
		sum := key[len(prefix):]
		row, err := getLarge[largeRow](tx, bucketLargeFiles, sum)
		if err == nil && row != nil {
			infos = append(infos, row.info(store.BlobDigest(sum)))
		}
		return err
	})
	return infos, err
}

// BlobBytes is that of store.Blobs.
func (v *largeValues) BlobBytes(run string) (total int64, err error) {
	key, err := runKey(run)
	if err != nil {
		return 0, err
	}
	err = v.store.view(func(tx *bolt.Tx) error {
		total, err = v.store.largeBytes(tx, key)
		return err
	})
	return total, err
}

// largeBytes is what the large values of a run take.
func (s *Store) largeBytes(tx *bolt.Tx, run []byte) (total int64, err error) {
	infos, err := blobsOf(tx, run)
	for _, info := range infos {
		total += info.Stored
	}
	if err != nil {
		return total, err
	}
	uploads, err := uploadsIn(tx, run)
	for _, u := range uploads {
		total += s.staged(u.row)
	}
	return total, err
}

// BlobUsage is that of store.BlobKeeper.
func (s *Store) BlobUsage() (usage store.BlobUsage, err error) {
	err = s.view(func(tx *bolt.Tx) error {
		if err := eachLarge(tx, bucketLargeFiles, nil, func(key, payload []byte) error {
			row, err := decodeLarge[largeRow](bucketLargeFiles, key, payload)
			if err == nil {
				usage.Values, usage.Bytes = usage.Values+1, usage.Bytes+row.Stored
			}
			return err
		}); err != nil {
			return err
		}
		return eachLarge(tx, bucketLargeUploads, nil, func(key, payload []byte) error {
			row, err := decodeLarge[uploadRow](bucketLargeUploads, key, payload)
			if err == nil && row.Digest == "" {
				usage.Uploads, usage.Staged = usage.Uploads+1, usage.Staged+s.staged(row)
			}
			return err
		})
	})
	return usage, err
}
