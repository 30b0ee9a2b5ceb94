package boltstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/flowrun/flowrun/engine/boltstore/blobfile"
	bolt "github.com/flowrun/flowrun/engine/boltstore/sealedpages"
	"github.com/flowrun/flowrun/engine/store"
)

// A backup has the finished large values in FILE.blobs beside it. Their files never change,
// so that they are linked where the file system can: a backup on the same disk costs no room
// for them. Uploads on their way are not in it: the call that is made again begins anew.

// largeCopy is one file of a copy.
type largeCopy struct {
	id     blobfile.ID
	digest []byte
	row    largeRow
}

// largeCopies lists the large values of a store file that no engine has open.
func largeCopies(path string, o Options) (copies []largeCopy, err error) {
	db, err := openToRead(path, o)
	if err != nil {
		return nil, err
	}
	err = viewOf(db, func(tx *bolt.Tx) error {
		return eachLarge(tx, bucketLargeFiles, nil, func(key, payload []byte) error {
			row, err := decodeLarge[largeRow](bucketLargeFiles, key, payload)
			if err != nil {
				return err
			}
			id, ok := blobfile.ParseID(row.File)
			if !ok {
				return &store.CorruptError{Bucket: string(bucketLargeFiles), Key: hexKey(key), Detail: "it names no file"}
			}
			copies = append(copies, largeCopy{id, append([]byte(nil), key...), *row})
			return nil
		})
	})
	return copies, errors.Join(err, db.Close())
}

// dropOpenUploads forgets the uploads that are on their way: their files are not copied.
func dropOpenUploads(w *writer) error {
	uploads, err := uploadsIn(w.Tx, nil)
	for _, u := range uploads {
		if err != nil {
			return err
		}
		if u.row.Digest == "" {
			err = w.removeLarge(bucketLargeUploads, u.key)
		}
	}
	return err
}

// copyLarge brings the files of large values into another folder. Those that are there with
// their size stay. It returns how many bytes the values take.
func copyLarge(ctx context.Context, copies []largeCopy, from, to string) (total int64, err error) {
	folders := map[string]bool{}
	for _, c := range copies {
		if err := ctx.Err(); err != nil {
			return total, err
		}
		target := c.id.Path(to)
		if folder := filepath.Dir(target); !folders[folder] {
			if err := os.MkdirAll(folder, 0o700); err != nil {
				return total, err
			}
			folders[folder] = true
		}
		total += c.row.Stored
		if info, err := os.Stat(target); err == nil && info.Size() == c.row.Stored {
			continue
		}
		if err := linkOrCopy(ctx, c.id.Path(from), target); err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				err = &store.BlobDamage{Digest: store.BlobDigest(c.digest), File: c.id.Path(from), Detail: "the file is missing"}
			}
			return total, err
		}
	}
	for folder := range folders {
		if err := syncDir(folder); err != nil {
			return total, err
		}
	}
	if len(folders) == 0 {
		return total, nil
	}
	return total, errors.Join(syncDir(to), syncDir(filepath.Dir(to)))
}

// linkOrCopy gives a file a second name, or copies it where the file system has no links or
// the other folder is on another one. The copy is durable, and whole when it has its name.
func linkOrCopy(ctx context.Context, from, to string) error {
	if err := os.Remove(to); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	err := os.Link(from, to)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return err
	}
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer source.Close()
	temporary := to + ".new"
	target, err := os.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(&contextWriter{ctx: ctx, to: target}, source)
	if err == nil {
		err = target.Sync()
	}
	if err = errors.Join(err, target.Close()); err == nil {
		err = os.Rename(temporary, to)
	}
	if err != nil {
		_ = os.Remove(temporary)
	}
	return err
}

// backUpLarge writes the large values of a finished copy beside the place of a backup. keep
// is to be called when the backup has its name; else the folder goes with drop.
func (s *Store) backUpLarge(ctx context.Context, temporary, path string) (files int, total int64, drop func(), err error) {
	drop = func() {}
	copies, err := largeCopies(temporary, s.options)
	if err != nil || len(copies) == 0 {
		return 0, 0, drop, err
	}
	folder := path + largeSuffix
	if _, err := os.Lstat(folder); !errors.Is(err, fs.ErrNotExist) {
		if err == nil {
			err = fmt.Errorf("%s: %w", folder, store.ErrExists)
		}
		return 0, 0, drop, err
	}
	drop = func() { _ = os.RemoveAll(folder) }
	if err := os.Mkdir(folder, 0o700); err != nil {
		return 0, 0, func() {}, err
	}
	if total, err = copyLarge(ctx, copies, s.large.folder, folder); err != nil {
		drop()
		return 0, 0, func() {}, err
	}
	return len(copies), total, drop, nil
}

// largeOf lists the large values of a backup, whose parts it holds against their checksums.
func (r *restore) largeOf(temporary string) ([]largeCopy, error) {
	copies, err := largeCopies(temporary, r.options)
	if err != nil {
		return nil, err
	}
	for _, c := range copies {
		if err := verifyLarge(r.ctx, r.backup+largeSuffix, c.id, c.digest, &c.row); err != nil {
			if damage := new(blobfile.Damage); errors.As(err, &damage) {
				err = &store.CorruptError{Path: r.backup, Detail: (&store.BlobDamage{
					Digest: store.BlobDigest(c.digest), File: damage.Path, Part: damage.Part, Offset: damage.Offset, Detail: damage.Detail,
				}).Error()}
			}
			return nil, err
		}
	}
	return copies, nil
}

// restoreLarge brings the large values of a backup beside the store. Those of the store that
// was there get a second name beside what is kept of it: a value that both have is one file.
func (r *restore) restoreLarge(copies []largeCopy) error {
	to := r.path + largeSuffix
	if r.info.Old != "" {
		if err := keepOldLarge(r.ctx, to, r.info.Old+largeSuffix); err != nil {
			return err
		}
	}
	_, err := copyLarge(r.ctx, copies, r.backup+largeSuffix, to)
	return err
}

// keepOldLarge gives all files of a folder a second name in another one.
func keepOldLarge(ctx context.Context, from, to string) error {
	files, err := listLarge(ctx, from)
	if err != nil || len(files) == 0 {
		return err
	}
	copies := make([]largeCopy, len(files))
	for i, file := range files {
		copies[i].id, _ = blobfile.ParseID(file.name)
		copies[i].row.Stored = file.size
	}
	_, err = copyLarge(ctx, copies, from, to)
	return err
}
