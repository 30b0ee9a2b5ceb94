package memstore

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/flowrun/flowrun/engine/store"
)

// uploadKey names an upload.
type uploadKey struct{ run, name string }

// upload is a large value on its way, or one that is finished.
type upload struct {
	parts    []blobPart
	note     []byte
	finished *store.BlobInfo
}

// blobPart is one part as it would lie on a disk.
type blobPart struct {
	stored []byte
	size   int64 // in clear
	sealed bool
}

func (u *upload) size() (size int64) {
	for _, part := range u.parts {
		size += part.size
	}
	return size
}

func (u *upload) stored() (size int64) {
	for _, part := range u.parts {
		size += int64(len(part.stored))
	}
	return size
}

// blob is a finished value.
type blob struct {
	info  store.BlobInfo
	parts []blobPart
}

// blobRef is a run's reference to a value, by digest.
type blobRef struct{ run, digest string }

// blobs are the large values through one sealer.
type blobs struct {
	store  *Store
	sealer store.BlobSealer
}

// Blobs is that of store.BlobKeeper.
func (s *Store) Blobs(sealer store.BlobSealer) store.Blobs { return &blobs{s, sealer} }

func partPlace(key uploadKey, number int) string {
	return fmt.Sprintf("blob\x00%s\x00%s\x00%d", key.run, key.name, number)
}

func (b *blobs) StageBlob(run, name string) (stage store.BlobStage, err error) {
	err = b.store.view(func(d *data) error {
		if u := d.uploads[uploadKey{run, name}]; u != nil {
			stage = store.BlobStage{Size: u.size(), Note: bytes.Clone(u.note)}
			if u.finished != nil {
				info := *u.finished
				stage.Finished, stage.Size = &info, info.Size
			}
		}
		return nil
	})
	return stage, err
}

func (b *blobs) AppendBlob(run, name string, offset int64, part []byte, sealed bool, note []byte) error {
	if err := store.CheckBlobPart(name, part, note); err != nil {
		return err
	}
	return b.store.update(func(t *tx) error {
		switch r := t.runs[run]; {
		case r == nil:
			return store.ErrRunNotFound
		case r.row.Closed:
			return fmt.Errorf("run %s has ended: %w", run, store.ErrRunEnded)
		}
		if pressure := b.store.Pressure(); pressure.Level >= store.PauseDispatch {
			return fmt.Errorf("no part of a large value is taken: %s: %w", pressure.Reason, store.ErrPressure)
		}
		key := uploadKey{run, name}
		next := &upload{}
		if old := t.uploads[key]; old != nil {
			next.parts, next.note = slices.Clone(old.parts), old.note
			if old.finished != nil && offset > 0 {
				return store.ErrBlobFinished
			}
		}
		if err := next.cut(offset); err != nil {
			return err
		}
		if note != nil {
			next.note = bytes.Clone(note)
		}
		if len(part) > 0 {
			if len(next.parts) == store.MaxBlobParts {
				return store.ErrBlobTooMany
			}
			kept := blobPart{stored: bytes.Clone(part), size: int64(len(part)), sealed: sealed}
			if sealed {
				if b.sealer == nil {
					return store.ErrBlobSealed
				}
				var err error
				if kept.stored, err = b.sealer.Seal(partPlace(key, len(next.parts)), part); err != nil {
					return err
				}
			}
			next.parts = append(next.parts, kept)
		}
		t.uploads[key], t.wrote = next, true
		return nil
	})
}

func (b *blobs) StagedParts(run, name string, offset, length int64) (parts []store.StagedPart, err error) {
	err = b.store.view(func(d *data) error {
		key := uploadKey{run, name}
		u, at := d.uploads[key], int64(0)
		if u == nil {
			return nil
		}
		for i, part := range u.parts {
			if at < offset && at+part.size > offset-length {
				clear, err := b.clear(part, partPlace(key, i))
				if err != nil {
					return err
				}
				parts = append(parts, store.StagedPart{Offset: at, Data: bytes.Clone(clear), Sealed: part.sealed})
			}
			at += part.size
		}
		return nil
	})
	return parts, err
}

// cut drops what stands behind offset.
func (u *upload) cut(offset int64) error {
	at := int64(0)
	for i, part := range u.parts {
		switch {
		case at == offset:
			u.parts = u.parts[:i]
			return nil
		case offset < at+part.size:
			return &store.BlobOffsetError{Offset: offset, Size: u.size(), Border: at}
		}
		at += part.size
	}
	if offset != at {
		return &store.BlobOffsetError{Offset: offset, Size: at, Border: at}
	}
	return nil
}

func (b *blobs) FinishBlob(run, name string) (info store.BlobInfo, err error) {
	err = b.store.update(func(t *tx) error {
		key := uploadKey{run, name}
		u := t.uploads[key]
		switch {
		case u == nil:
			return store.ErrBlobUnknown
		case u.finished != nil:
			info = *u.finished
			return nil
		}
		hash := sha256.New()
		for i, part := range u.parts {
			clear, err := b.clear(part, partPlace(key, i))
			if err != nil {
				return err
			}
			hash.Write(clear)
		}
		info = store.BlobInfo{
			Digest: store.BlobDigest(hash.Sum(nil)), Size: u.size(), Parts: len(u.parts), Stored: u.stored(),
			Sealed: slices.ContainsFunc(u.parts, func(p blobPart) bool { return p.sealed }),
		}
		if there := t.blobs[info.Digest]; there == nil || info.Sealed && !there.info.Sealed {
			kept := &blob{info: info}
			for i, part := range u.parts { // under the place of its digest
				if part.sealed {
					clear, err := b.clear(part, partPlace(key, i))
					if err != nil {
						return err
					}
					if part.stored, err = b.sealer.Seal(partPlace(uploadKey{"", info.Digest}, i), clear); err != nil {
						return err
					}
				}
				kept.parts = append(kept.parts, part)
			}
			t.blobs[info.Digest] = kept
		} else {
			info = there.info
		}
		finished := info
		t.uploads[key] = &upload{note: u.note, finished: &finished}
		t.blobRefs[blobRef{run, info.Digest}], t.wrote = true, true
		return nil
	})
	return info, err
}

func (b *blobs) clear(part blobPart, place string) ([]byte, error) {
	switch {
	case !part.sealed:
		return part.stored, nil
	case b.sealer == nil:
		return nil, store.ErrBlobSealed
	}
	return b.sealer.Open(place, part.stored)
}

func (b *blobs) BlobInfo(run, digest string) (info store.BlobInfo, err error) {
	if _, err := store.ParseBlobDigest(digest); err != nil {
		return store.BlobInfo{}, err
	}
	err = b.store.view(func(d *data) error {
		if !d.blobRefs[blobRef{run, digest}] {
			return store.ErrBlobNotFound
		}
		info = d.blobs[digest].info
		return nil
	})
	return info, err
}

func (b *blobs) OpenBlob(run, digest string) (store.BlobReader, error) {
	info, err := b.BlobInfo(run, digest)
	if err != nil {
		return nil, err
	}
	if info.Sealed && b.sealer == nil {
		return nil, store.ErrBlobSealed
	}
	reader := &blobReader{info: info}
	err = b.store.view(func(d *data) error {
		kept := d.blobs[digest]
		for i, part := range kept.parts {
			clear, err := b.clear(part, partPlace(uploadKey{"", digest}, i))
			if err != nil {
				return err
			}
			reader.content = append(reader.content, clear...)
		}
		return nil
	})
	return reader, err
}

type blobReader struct {
	info    store.BlobInfo
	content []byte
}

func (r *blobReader) ReadAt(p []byte, offset int64) (int, error) {
	return bytes.NewReader(r.content).ReadAt(p, offset)
}
func (r *blobReader) Size() int64          { return r.info.Size }
func (r *blobReader) Info() store.BlobInfo { return r.info }
func (r *blobReader) Close() error         { return nil }

var _ io.ReaderAt = (*blobReader)(nil)

func (b *blobs) ShareBlob(from, to, digest string) error {
	if _, err := b.BlobInfo(from, digest); err != nil {
		return err
	}
	if _, err := store.ParseID(to); err != nil {
		return err
	}
	return b.store.update(func(t *tx) error {
		if !t.blobRefs[blobRef{from, digest}] {
			return store.ErrBlobNotFound
		}
		t.blobRefs[blobRef{to, digest}], t.wrote = true, true
		return nil
	})
}

func (b *blobs) DropUploads(run, prefix string, keep []string) error {
	return b.store.update(func(t *tx) error {
		var digests []string
		for key, u := range t.uploads {
			if key.run != run || !strings.HasPrefix(key.name, prefix) {
				continue
			}
			if u.finished != nil {
				if slices.Contains(keep, u.finished.Digest) {
					continue
				}
				digests = append(digests, u.finished.Digest)
			}
			delete(t.uploads, key)
			t.wrote = true
		}
		for _, digest := range digests {
			if !t.uploaded(run, digest) {
				t.dropRef(blobRef{run, digest})
			}
		}
		return nil
	})
}

// uploaded reports whether another upload of the run gave the value, too.
func (d *data) uploaded(run, digest string) bool {
	for key, u := range d.uploads {
		if key.run == run && u.finished != nil && u.finished.Digest == digest {
			return true
		}
	}
	return false
}

func (t *tx) dropRef(ref blobRef) {
	delete(t.blobRefs, ref)
	t.wrote = true
	for other := range t.blobRefs {
		if other.digest == ref.digest {
			return
		}
	}
	delete(t.blobs, ref.digest)
}

// dropBlobs takes away what a run has of large values: all of it, or what it has not
// finished.
func (t *tx) dropBlobs(run string, all bool) {
	for key, u := range t.uploads {
		if key.run == run && (all || u.finished == nil) {
			delete(t.uploads, key)
		}
	}
	if !all {
		return
	}
	for ref := range t.blobRefs {
		if ref.run == run {
			t.dropRef(ref)
		}
	}
}

func (b *blobs) RunBlobs(run string) (infos []store.BlobInfo, err error) {
	err = b.store.view(func(d *data) error {
		if d.runs[run] == nil {
			return store.ErrRunNotFound
		}
		for ref := range d.blobRefs {
			if ref.run == run {
				infos = append(infos, d.blobs[ref.digest].info)
			}
		}
		return nil
	})
	slices.SortFunc(infos, func(a, b store.BlobInfo) int { return cmp.Compare(a.Digest, b.Digest) })
	return infos, err
}

func (b *blobs) BlobBytes(run string) (total int64, err error) {
	err = b.store.view(func(d *data) error {
		total = d.blobBytes(run)
		return nil
	})
	return total, err
}

func (d *data) blobBytes(run string) (total int64) {
	for ref := range d.blobRefs {
		if ref.run == run {
			total += d.blobs[ref.digest].info.Stored
		}
	}
	for key, u := range d.uploads {
		if key.run == run {
			total += u.stored()
		}
	}
	return total
}

// BlobUsage is that of store.BlobKeeper.
func (s *Store) BlobUsage() (usage store.BlobUsage, err error) {
	err = s.view(func(d *data) error {
		for _, kept := range d.blobs {
			usage.Values, usage.Bytes = usage.Values+1, usage.Bytes+kept.info.Stored
		}
		for _, u := range d.uploads {
			if u.finished == nil {
				usage.Uploads, usage.Staged = usage.Uploads+1, usage.Staged+u.stored()
			}
		}
		return nil
	})
	return usage, err
}

// SweepBlobs is that of store.BlobKeeper: there are no files.
func (s *Store) SweepBlobs(ctx context.Context) (sweep store.BlobSweep, err error) {
	if err := ctx.Err(); err != nil {
		return sweep, err
	}
	err = s.update(func(t *tx) error {
		for ref := range t.blobRefs {
			if t.runs[ref.run] == nil && !store.MayBeCreated(ref.run, s.options.Now) {
				t.dropRef(ref)
				sweep.Refs++
			}
		}
		return nil
	})
	return sweep, err
}
