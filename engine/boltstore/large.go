package boltstore

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"sync/atomic"

	"github.com/flowrun/flowrun/engine/boltstore/blobfile"
	"github.com/flowrun/flowrun/engine/store"
)

// Large values lie in files beside the store, in parts that are durable one by one
// (blobfile); rows say what belongs to whom (large_rows.go). Two orders hold, so that a
// crash at any moment leaves at most a file that no row names, which a sweep removes:
// of an upload the row comes before its file, and its file is whole before the row says so;
// of a removal the row goes before the file.

// largeSuffix is appended to the store's path: the folder of its large values.
const largeSuffix = store.LargeSuffix

// maxOpenUploads bounds the uploads whose files are kept open.
const maxOpenUploads = 64

// large are the uploads under way, and the files that wait for their removal.
type large struct {
	folder string
	rows   atomic.Uint64 // of uploads, in the file as it is committed

	mu      sync.Mutex
	uploads map[string]*openUpload // by uploadKey
	clock   uint64
	closed  bool
	held    int      // copies of the files are being made: none is removed
	waiting []string // files that go when no copy is made any more
}

// openUpload is an upload that somebody writes, or wrote a moment ago.
type openUpload struct {
	mu     sync.Mutex // of what follows; held for the length of one write
	file   string
	writer *blobfile.Writer // nil = not open

	users int    // guarded by large.mu, as what follows
	used  uint64 // when
	gone  bool   // its row was removed
}

// acquire returns the state of an upload, which nobody else writes until release.
func (l *large) acquire(key []byte) (*openUpload, error) {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return nil, store.ErrClosed
	}
	u := l.uploads[string(key)]
	if u == nil {
		u = &openUpload{}
		l.uploads[string(key)] = u
	}
	u.users++
	l.mu.Unlock()
	u.mu.Lock()
	l.mu.Lock()
	if u.gone || l.closed {
		u.gone = false
		u.close()
	}
	l.mu.Unlock()
	return u, nil
}

// release gives an upload back. Of those that are open the one that was not written for
// longest is closed when there are too many.
func (l *large) release(key []byte, u *openUpload) {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer u.mu.Unlock()
	l.clock++
	u.users, u.used = u.users-1, l.clock
	if u.users == 0 && (u.writer == nil || l.closed || u.gone) {
		u.close()
		delete(l.uploads, string(key))
	}
	for open := 0; ; open = 0 {
		var oldest *openUpload
		oldestKey := ""
		for name, other := range l.uploads {
			if open++; other.users == 0 && (oldest == nil || other.used < oldest.used) {
				oldest, oldestKey = other, name
			}
		}
		if open <= maxOpenUploads || oldest == nil {
			return
		}
		oldest.close() // nobody uses it: its lock is free
		delete(l.uploads, oldestKey)
	}
}

// close closes the file. u.mu is held, or nobody uses it.
func (u *openUpload) close() {
	if u.writer != nil {
		_ = u.writer.Close()
		u.writer = nil
	}
}

// remove removes files that no row names any more: at once, or when the copies of them
// are made.
func (l *large) remove(files []string) {
	if len(files) == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, u := range l.uploads {
		for _, file := range files {
			u.gone = u.gone || u.file == file
		}
	}
	if l.held > 0 {
		l.waiting = append(l.waiting, files...)
		return
	}
	l.unlink(files)
}

func (l *large) unlink(files []string) {
	for _, file := range files {
		if id, ok := blobfile.ParseID(file); ok {
			_ = os.Remove(id.Path(l.folder)) // one that stays is swept later
		}
	}
}

// hold keeps all files until the returned function is called.
func (l *large) hold() (release func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held++
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.held--; l.held == 0 {
			l.unlink(l.waiting)
			l.waiting = nil
		}
	}
}

// close closes all files.
func (l *large) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	for key, u := range l.uploads {
		if u.users == 0 {
			u.close()
			delete(l.uploads, key)
		}
	}
}

// largeValues are the large values through one sealer.
type largeValues struct {
	store  *Store
	sealer store.BlobSealer
}

var _ store.Blobs = (*largeValues)(nil)

// Blobs is that of store.BlobKeeper.
func (s *Store) Blobs(sealer store.BlobSealer) store.Blobs { return &largeValues{s, sealer} }

// fileSealer is the sealer as blobfile takes it; nil stays nil.
func (v *largeValues) fileSealer() blobfile.Sealer {
	if v.sealer == nil {
		return nil
	}
	return v.sealer
}

// StageBlob is that of store.Blobs.
func (v *largeValues) StageBlob(run, upload string) (stage store.BlobStage, err error) {
	key, err := uploadKey(run, upload)
	if err != nil {
		return stage, err
	}
	u, err := v.store.large.acquire(key)
	if err != nil {
		return stage, err
	}
	defer v.store.large.release(key, u)
	row, info, err := v.store.upload(key)
	switch {
	case err != nil || row == nil:
		return stage, err
	case info != nil:
		return store.BlobStage{Size: info.Size, Note: row.Note, Finished: info}, nil
	}
	if err := v.open(u, row, false); err != nil || u.writer == nil {
		return stage, v.failed("look at", run, upload, err)
	}
	return store.BlobStage{Size: u.writer.Size(), Note: u.writer.Note()}, nil
}

// open opens the file of an upload where it is not open; create makes it where it is not
// there.
func (v *largeValues) open(u *openUpload, row *uploadRow, create bool) error {
	if u.writer != nil && u.file == row.File {
		return nil
	}
	u.close()
	id, ok := blobfile.ParseID(row.File)
	if !ok {
		return &store.CorruptError{Bucket: string(bucketLargeUploads), Detail: "it names no file"}
	}
	writer, err := blobfile.Resume(v.store.large.folder, id, v.fileSealer(), store.MaxBlobParts)
	if errors.Is(err, fs.ErrNotExist) {
		if !create {
			return nil
		}
		writer, err = blobfile.Create(v.store.large.folder, id, v.fileSealer(), store.MaxBlobParts)
	}
	if err != nil {
		return err
	}
	v.store.large.mu.Lock()
	defer v.store.large.mu.Unlock()
	u.file, u.writer = row.File, writer
	return nil
}

// AppendBlob is that of store.Blobs.
func (v *largeValues) AppendBlob(run, upload string, offset int64, part []byte, sealed bool, note []byte) error {
	if err := store.CheckBlobPart(upload, part, note); err != nil {
		return err
	}
	if sealed && v.sealer == nil {
		return store.ErrBlobSealed
	}
	if pressure := v.store.Pressure(); pressure.Level >= store.PauseDispatch {
		return fmt.Errorf("no part of a large value is taken: %s: %w", pressure.Reason, store.ErrPressure)
	}
	if err := v.store.queue.failure(); err != nil {
		return err
	}
	key, err := uploadKey(run, upload)
	if err != nil {
		return err
	}
	u, err := v.store.large.acquire(key)
	if err != nil {
		return err
	}
	defer v.store.large.release(key, u)
	if u.writer == nil {
		if err := v.begin(u, key, offset); err != nil {
			return v.failed("write", run, upload, err)
		}
	}
	w := u.writer
	if border := w.Border(offset); border != offset {
		return &store.BlobOffsetError{Offset: offset, Size: w.Size(), Border: border}
	}
	if err = w.Cut(offset); err == nil {
		err = w.Append(part, sealed, note)
	}
	if err != nil && !errors.Is(err, blobfile.ErrTooMany) {
		u.close() // the next one reads what is there
	}
	return v.failed("write", run, upload, err)
}

// StagedParts is that of store.Blobs.
func (v *largeValues) StagedParts(run, upload string, offset, length int64) (parts []store.StagedPart, err error) {
	key, err := uploadKey(run, upload)
	if err != nil {
		return nil, err
	}
	u, err := v.store.large.acquire(key)
	if err != nil {
		return nil, err
	}
	defer v.store.large.release(key, u)
	row, finished, err := v.store.upload(key)
	if err != nil || row == nil || finished != nil {
		return nil, err
	}
	if err := v.open(u, row, false); err != nil || u.writer == nil {
		return nil, v.failed("read", run, upload, err)
	}
	of, err := u.writer.Before(offset, length)
	for _, part := range of {
		parts = append(parts, store.StagedPart(part))
	}
	return parts, v.failed("read", run, upload, err)
}

// begin opens the file of an upload for writing, after the row that names it is durable.
func (v *largeValues) begin(u *openUpload, key []byte, offset int64) error {
	row, err := v.store.beginUpload(key, offset)
	if err != nil {
		return err
	}
	return v.open(u, row, true)
}

// failed says what was being done. What the disk refused is store.ErrBlobFile.
func (v *largeValues) failed(doing, run, upload string, err error) error {
	damage := new(blobfile.Damage)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, blobfile.ErrTooMany):
		return fmt.Errorf("%w: allowed are %d; send larger parts", store.ErrBlobTooMany, store.MaxBlobParts)
	case errors.Is(err, blobfile.ErrNoKey):
		return store.ErrBlobSealed
	case errors.As(err, &damage):
		return &store.BlobDamage{Run: run, Upload: upload, File: damage.Path, Part: damage.Part, Offset: damage.Offset, Detail: damage.Detail}
	case isFileError(err):
		return fmt.Errorf("%s a large value of run %s: %w: %w", doing, run, store.ErrBlobFile, err)
	}
	return err
}

// isFileError reports an error of the file system.
func isFileError(err error) bool {
	path, link := new(fs.PathError), new(os.LinkError)
	return errors.As(err, &path) || errors.As(err, &link)
}

// FinishBlob is that of store.Blobs.
func (v *largeValues) FinishBlob(run, upload string) (info store.BlobInfo, err error) {
	key, err := uploadKey(run, upload)
	if err != nil {
		return info, err
	}
	u, err := v.store.large.acquire(key)
	if err != nil {
		return info, err
	}
	defer v.store.large.release(key, u)
	row, finished, err := v.store.upload(key)
	switch {
	case err != nil:
		return info, err
	case finished != nil:
		return *finished, nil
	case row == nil:
		return info, store.ErrBlobUnknown
	}
	if err := v.open(u, row, false); err != nil {
		return info, v.failed("finish", run, upload, err)
	}
	if u.writer == nil {
		return info, store.ErrBlobUnknown
	}
	of, err := u.writer.Finish()
	if err != nil {
		u.close()
		return info, v.failed("finish", run, upload, err)
	}
	note := u.writer.Note()
	u.close()
	return v.store.finishUpload(key, row, of, note)
}

// OpenBlob is that of store.Blobs.
func (v *largeValues) OpenBlob(run, digest string) (store.BlobReader, error) {
	for try := 0; ; try++ {
		row, _, err := v.store.fileOf(run, digest)
		if err != nil {
			return nil, err
		}
		if row.Sealed && v.sealer == nil {
			return nil, store.ErrBlobSealed
		}
		id, ok := blobfile.ParseID(row.File)
		if !ok {
			return nil, &store.CorruptError{Bucket: string(bucketLargeFiles), Key: digest, Detail: "it names no file"}
		}
		reader, err := blobfile.Open(v.store.large.folder, id, v.fileSealer())
		r := &largeReader{Reader: reader, store: v.store, run: run, info: row.info(digest)}
		switch {
		case errors.Is(err, fs.ErrNotExist) && try == 0:
			continue // another file took its place in this moment
		case err != nil:
			return nil, r.named(v.store.missing(id, err))
		}
		if of := reader.Info(); store.BlobDigest(of.Digest[:]) != digest || of.Size != row.Size {
			_ = reader.Close()
			return nil, r.named(&blobfile.Damage{Path: id.Path(v.store.large.folder), Detail: "it holds another value than was stored"})
		}
		return r, nil
	}
}

// missing is the damage of a file that is not there.
func (s *Store) missing(id blobfile.ID, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return &blobfile.Damage{Path: id.Path(s.large.folder), Detail: "the file is missing"}
	}
	return err
}

// largeReader is a reader of one value of a run.
type largeReader struct {
	*blobfile.Reader
	store *Store
	run   string
	info  store.BlobInfo
}

func (r *largeReader) Size() int64          { return r.info.Size }
func (r *largeReader) Info() store.BlobInfo { return r.info }

func (r *largeReader) ReadAt(p []byte, offset int64) (int, error) {
	n, err := r.Reader.ReadAt(p, offset)
	return n, r.named(err)
}

// named says in which value of which run and step a part is damaged.
func (r *largeReader) named(err error) error {
	damage := new(blobfile.Damage)
	switch {
	case errors.As(err, &damage):
		return &store.BlobDamage{
			Run: r.run, Upload: r.store.uploadOf(r.run, r.info.Digest), Digest: r.info.Digest,
			File: damage.Path, Part: damage.Part, Offset: damage.Offset, Detail: damage.Detail,
		}
	case err != nil && isFileError(err):
		return fmt.Errorf("read large value %s of run %s: %w: %w", r.info.Digest, r.run, store.ErrBlobFile, err)
	}
	return err
}
