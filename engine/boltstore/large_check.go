package boltstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/flowrun/flowrun/engine/boltstore/blobfile"
	bolt "github.com/flowrun/flowrun/engine/boltstore/sealedpages"
	"github.com/flowrun/flowrun/engine/store"
)

// largeFile checks the row of a large value, that somebody refers to it, and, in a deep
// check, each part of its file.
func (c *contentCheck) largeFile(key, payload []byte) {
	row, err := decodeLarge[largeRow](bucketLargeFiles, key, payload)
	if err != nil {
		c.report.Add(err)
		return
	}
	c.report.LargeValues++
	c.report.LargeBytes += row.Stored
	c.large[row.File] = true
	refs := append([]byte{refOfFile}, key...)
	owner := firstRef(c.tx, refs)
	if owner == nil {
		c.damaged(bucketLargeFiles, key, "no run refers to the large value")
	}
	id, ok := blobfile.ParseID(row.File)
	if !ok {
		c.damaged(bucketLargeFiles, key, "it names no file")
		return
	}
	if c.folder == "" {
		return
	}
	if err := verifyLarge(c.ctx, c.folder, id, key, row); err != nil {
		c.report.Add(namedDamage(c.tx, err, owner, key))
	}
}

// verifyLarge reads the file of a large value whole.
func verifyLarge(ctx context.Context, folder string, id blobfile.ID, digest []byte, row *largeRow) error {
	path := id.Path(folder)
	info, err := blobfile.Verify(ctx, path, id)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &blobfile.Damage{Path: path, Detail: "the file is missing"}
	case err != nil:
		return err
	case !bytes.Equal(info.Digest[:], digest) || info.Size != row.Size || info.Parts != row.Parts:
		return &blobfile.Damage{Path: path, Detail: fmt.Sprintf("it holds another value than was stored: %s of %d bytes", store.BlobDigest(info.Digest[:]), info.Size)}
	}
	return nil
}

// namedDamage says whose value is damaged.
func namedDamage(tx *bolt.Tx, err error, owner, digest []byte) error {
	damage := new(blobfile.Damage)
	if !errors.As(err, &damage) {
		return fmt.Errorf("large value %s: %w", store.BlobDigest(digest), err)
	}
	named := &store.BlobDamage{Digest: store.BlobDigest(digest), File: damage.Path, Part: damage.Part, Offset: damage.Offset, Detail: damage.Detail}
	if owner != nil {
		named.Run, named.Upload = runID(owner), uploadNameOf(tx, owner, named.Digest)
	}
	return named
}

// firstRef is the first run that a prefix of references leads to; nil = none.
func firstRef(tx *bolt.Tx, prefix []byte) []byte {
	b := tx.Bucket(bucketLargeRefs)
	if b == nil {
		return nil
	}
	key, _ := b.Cursor().Seek(prefix)
	if !bytes.HasPrefix(key, prefix) || len(key) != len(prefix)+runKeySize {
		return nil
	}
	return bytes.Clone(key[len(prefix):])
}

// largeRef checks that a reference leads to a value, and has its twin.
func (c *contentCheck) largeRef(key, _ []byte) {
	if len(key) != 1+runKeySize+32 {
		c.damaged(bucketLargeRefs, key, "it is no reference")
		return
	}
	var run, digest []byte
	switch key[0] {
	case refOfRun:
		run, digest = key[1:1+runKeySize], key[1+runKeySize:]
	case refOfFile:
		digest, run = key[1:33], key[33:]
	default:
		c.damaged(bucketLargeRefs, key, "it is no reference")
		return
	}
	if !hasLarge(c.tx, bucketLargeFiles, digest) {
		c.damaged(bucketLargeRefs, key, "the large value %s of run %s is missing", store.BlobDigest(digest), runID(run))
	}
	for _, ref := range largeRefs(run, digest) {
		if !hasLarge(c.tx, bucketLargeRefs, ref) {
			c.damaged(bucketLargeRefs, ref, "the row is missing: run %s wants it", runID(run))
		}
	}
}

// largeUpload checks that what an upload became is there.
func (c *contentCheck) largeUpload(key, payload []byte) {
	row, err := decodeLarge[uploadRow](bucketLargeUploads, key, payload)
	switch {
	case err != nil:
		c.report.Add(err)
		return
	case len(key) <= runKeySize:
		c.damaged(bucketLargeUploads, key, "the key names no run")
		return
	case row.Digest == "":
		c.large[row.File] = true
		return
	}
	sum, err := store.ParseBlobDigest(row.Digest)
	if err != nil || !hasLarge(c.tx, bucketLargeRefs, largeRefs(key[:runKeySize], sum)[0]) {
		c.damaged(bucketLargeUploads, key, "run %s has no reference to the large value that it has made: %q", runID(key), row.Digest)
	}
}

// largeLeft counts the files that no row names: a sweep removes them.
func (c *contentCheck) largeLeft(ctx context.Context) error {
	if c.folder == "" {
		return nil
	}
	files, err := listLarge(ctx, c.folder)
	for _, file := range files {
		if !c.large[file.name] {
			c.report.LargeLeft++
		}
	}
	return err
}
