package boltstore

import (
	"bytes"
	"fmt"
	"os"
	"slices"

	"github.com/flowrun/flowrun/engine/boltstore/blobfile"
	bolt "github.com/flowrun/flowrun/engine/boltstore/sealedpages"
	"github.com/flowrun/flowrun/engine/store"
)

// uploadRow is an upload. Generation counts how often it was begun anew.
type uploadRow struct {
	File       string `json:"file,omitempty"`
	Generation int    `json:"generation"`
	Digest     string `json:"digest,omitempty"` // of its value; "" = it is not finished
	Note       []byte `json:"note,omitempty"`   // of a finished one; else it stands in the file
}

// uploadKey is the key of an upload. ErrRunNotFound, ErrBlobPart.
func uploadKey(run, upload string) ([]byte, error) {
	if err := store.CheckBlobPart(upload, nil, nil); err != nil {
		return nil, err
	}
	key, err := runKey(run)
	if err != nil {
		return nil, err
	}
	return append(key, upload...), nil
}

// upload reads an upload's row, and the value that it became.
func (s *Store) upload(key []byte) (row *uploadRow, finished *store.BlobInfo, err error) {
	err = s.view(func(tx *bolt.Tx) error {
		row, finished, err = uploadIn(tx, key)
		return err
	})
	return row, finished, err
}

func uploadIn(tx *bolt.Tx, key []byte) (row *uploadRow, finished *store.BlobInfo, err error) {
	row, err = getLarge[uploadRow](tx, bucketLargeUploads, key)
	if err != nil || row == nil || row.Digest == "" {
		return row, nil, err
	}
	sum, err := store.ParseBlobDigest(row.Digest)
	if err != nil {
		return nil, nil, &store.CorruptError{Bucket: string(bucketLargeUploads), Key: hexKey(key), Detail: err.Error()}
	}
	file, err := getLarge[largeRow](tx, bucketLargeFiles, sum)
	if err != nil || file == nil {
		return row, nil, err
	}
	info := file.info(row.Digest)
	return row, &info, nil
}

// beginUpload makes the row of an upload durable, of a new one or of one that begins anew.
func (s *Store) beginUpload(key []byte, offset int64) (row *uploadRow, err error) {
	row, finished, err := s.upload(key)
	if err != nil || row != nil && finished == nil {
		return row, err
	}
	switch {
	case finished != nil && offset != 0:
		return nil, store.ErrBlobFinished
	case offset != 0:
		return nil, &store.BlobOffsetError{Offset: offset}
	}
	run := key[:runKeySize]
	err = s.do(len(key)+100, func(w *writer) (bool, error) {
		stored, err := getRow(w.Tx, run)
		switch {
		case err != nil:
			return false, err
		case stored == nil:
			return false, store.ErrRunNotFound
		case stored.Closed:
			return false, fmt.Errorf("run %s has ended: %w", stored.ID, store.ErrRunEnded)
		}
		old, _, err := uploadIn(w.Tx, key)
		if err != nil {
			return false, err
		}
		epoch, err := getEpoch(w.Tx)
		if err != nil {
			return false, err
		}
		row = &uploadRow{Generation: 1}
		if old != nil {
			row.Generation = old.Generation + 1
		}
		// Another epoch makes other files: a restored store never writes into one that the
		// store before it has, too.
		row.File = blobfile.NewID(fmt.Sprint(epoch), string(key), fmt.Sprint(row.Generation)).String()
		return true, inTx(func() error { return w.putLarge(bucketLargeUploads, key, row) })
	})
	return row, err
}

// finishUpload stores what came of an upload: its file is whole and durable.
func (s *Store) finishUpload(key []byte, row *uploadRow, of blobfile.Info, note []byte) (info store.BlobInfo, err error) {
	digest, run := of.Digest[:], key[:runKeySize]
	err = s.do(len(key)+400, func(w *writer) (bool, error) {
		stored, finished, err := uploadIn(w.Tx, key)
		switch {
		case err != nil:
			return false, err
		case finished != nil:
			info = *finished
			return false, nil
		case stored == nil || stored.File != row.File:
			return false, store.ErrBlobUnknown // its run or call ended meanwhile
		}
		made := &largeRow{File: row.File, Size: of.Size, Parts: of.Parts, Stored: of.Stored, Sealed: of.Sealed}
		there, err := getLarge[largeRow](w.Tx, bucketLargeFiles, digest)
		if err != nil {
			return false, err
		}
		switch {
		case there == nil:
		case made.Sealed && !there.Sealed: // what is a secret now shall not stand in clear beside it
			w.files = append(w.files, there.File)
		default:
			w.files = append(w.files, row.File)
			made = there
		}
		info = made.info(store.BlobDigest(digest))
		return true, inTx(
			func() error { return w.putLarge(bucketLargeFiles, digest, made) },
			func() error { return w.refer(run, digest) },
			func() error {
				return w.putLarge(bucketLargeUploads, key, &uploadRow{Generation: row.Generation, Digest: info.Digest, Note: note})
			},
		)
	})
	return info, err
}

// uploadOf names the upload of a run that a value came from; "" where there is none.
func (s *Store) uploadOf(run, digest string) (name string) {
	key, err := runKey(run)
	if err != nil {
		return ""
	}
	_ = s.view(func(tx *bolt.Tx) error {
		name = uploadNameOf(tx, key, digest)
		return nil
	})
	return name
}

func uploadNameOf(tx *bolt.Tx, run []byte, digest string) (name string) {
	_ = eachLarge(tx, bucketLargeUploads, run, func(key, payload []byte) error {
		if row, err := decodeLarge[uploadRow](bucketLargeUploads, key, payload); err == nil && row.Digest == digest {
			name = string(key[runKeySize:])
		}
		return nil
	})
	return name
}

// counted takes over from the census of a commit how many rows of uploads there are.
func (l *large) counted(c census) { l.rows.Store(c.of(string(bucketLargeUploads)).keys) }

// DropUploads is that of store.Blobs. Where no run has an upload it reads nothing: it is
// asked at the end of every call.
func (v *largeValues) DropUploads(run, prefix string, keep []string) error {
	key, err := runKey(run)
	if err != nil {
		return err
	}
	if v.store.large.rows.Load() == 0 {
		return nil
	}
	from := append(bytes.Clone(key), prefix...)
	there := false
	err = v.store.view(func(tx *bolt.Tx) error {
		uploads, err := uploadsIn(tx, from)
		there = slices.ContainsFunc(uploads, func(u namedUpload) bool { return !slices.Contains(keep, u.row.Digest) })
		return err
	})
	if err != nil || !there {
		return err
	}
	return v.store.do(deleteSize, func(w *writer) (bool, error) {
		dropped, err := uploadsIn(w.Tx, from)
		dropped = slices.DeleteFunc(dropped, func(u namedUpload) bool { return slices.Contains(keep, u.row.Digest) })
		if err != nil || len(dropped) == 0 {
			return false, err
		}
		return true, inTx(func() error { return w.dropUploads(key, dropped) })
	})
}

// namedUpload is an upload with its key.
type namedUpload struct {
	key []byte
	row *uploadRow
}

func uploadsIn(tx *bolt.Tx, prefix []byte) (uploads []namedUpload, err error) {
	err = eachLarge(tx, bucketLargeUploads, prefix, func(key, payload []byte) error {
		row, err := decodeLarge[uploadRow](bucketLargeUploads, key, payload)
		uploads = append(uploads, namedUpload{bytes.Clone(key), row})
		return err
	})
	return uploads, err
}

// dropUploads removes uploads of a run with their values, but for those that another upload
// of the run gave, too.
func (w *writer) dropUploads(run []byte, dropped []namedUpload) error {
	for _, u := range dropped {
		if u.row.File != "" {
			w.files = append(w.files, u.row.File)
		}
		if err := w.removeLarge(bucketLargeUploads, u.key); err != nil {
			return err
		}
	}
	left, err := uploadsIn(w.Tx, run)
	if err != nil {
		return err
	}
	given := map[string]bool{"": true}
	for _, u := range left {
		given[u.row.Digest] = true
	}
	for _, u := range dropped {
		if given[u.row.Digest] {
			continue
		}
		sum, err := store.ParseBlobDigest(u.row.Digest)
		if err != nil {
			continue
		}
		if err := w.unrefer(run, sum); err != nil {
			return err
		}
	}
	return nil
}

// endUploads removes the uploads that a run has not finished when it ends.
func (w *writer) endUploads(run []byte) error {
	if w.census.of(string(bucketLargeUploads)).keys == 0 {
		return nil
	}
	uploads, err := uploadsIn(w.Tx, run)
	if err != nil {
		return err
	}
	uploads = slices.DeleteFunc(uploads, func(u namedUpload) bool { return u.row.Digest != "" })
	for _, u := range uploads {
		w.files = append(w.files, u.row.File)
		if err := w.removeLarge(bucketLargeUploads, u.key); err != nil {
			return err
		}
	}
	return nil
}

// staged is what the file of an upload takes that is on its way.
func (s *Store) staged(row *uploadRow) int64 {
	id, ok := blobfile.ParseID(row.File)
	if !ok {
		return 0
	}
	info, err := os.Stat(id.Path(s.large.folder))
	if err != nil {
		return 0
	}
	return info.Size()
}
