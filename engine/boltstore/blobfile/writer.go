package blobfile

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Writer adds parts to a file. Not safe for concurrent use. After an error of the disk it
// is to be closed: the next Resume finds all that was acknowledged.
type Writer struct {
	file    *os.File
	id      ID
	sealer  Sealer
	max     int // frames
	content content
	number  int
	end     int64 // of the last whole frame
	sum     [sha256.Size]byte
	loose   bool // the note stands in no part of the file any more
	broken  error
}

// Create makes a new file; what lay there is gone. It is durable, empty as it is, with the
// folders that it lies in. max bounds its frames.
func Create(folder string, id ID, sealer Sealer, max int) (*Writer, error) {
	path := id.Path(folder)
	if err := makeFolders(folder, filepath.Dir(path)); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	w := newWriter(file, id, sealer, max)
	if _, err = file.Write(id.header()); err == nil {
		err = file.Sync()
	}
	if err == nil {
		err = syncFolder(filepath.Dir(path))
	}
	if err != nil {
		_ = file.Close()
		_ = os.Remove(path)
		return nil, err
	}
	return w, nil
}

func newWriter(file *os.File, id ID, sealer Sealer, max int) *Writer {
	return &Writer{file: file, id: id, sealer: sealer, max: max, content: content{hash: sha256.New()}, end: int64(headerSize), sum: sha256.Sum256(id.header())}
}

// makeFolders makes the folder of all files, and the one of a file in it.
func makeFolders(folders ...string) error {
	for _, folder := range folders {
		err := os.Mkdir(folder, 0o700)
		switch {
		case err == nil:
			if err := syncFolder(filepath.Dir(folder)); err != nil {
				return err
			}
		case !errors.Is(err, os.ErrExist):
			return err
		}
	}
	return nil
}

func syncFolder(path string) error {
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}

// Resume goes on with a file. What a crash has left behind the last whole part is cut off:
// nobody was told that it is there. A file that has not even its header is fs.ErrNotExist.
func Resume(folder string, id ID, sealer Sealer, max int) (*Writer, error) {
	path := id.Path(folder)
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	w := newWriter(file, id, sealer, max)
	if err := w.read(); err != nil {
		_ = file.Close()
		return nil, err
	}
	return w, nil
}

func (w *Writer) read() error {
	path := w.file.Name()
	s, err := newScan(w.file, w.id)
	if err != nil {
		if info, statErr := w.file.Stat(); statErr == nil && info.Size() <= int64(headerSize) {
			return fmt.Errorf("%w: %w", os.ErrNotExist, err)
		}
		return err
	}
	var buffer []byte
	for {
		f, err := s.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		var note, stored []byte
		if err == nil {
			note, stored, buffer, err = f.body(w.file, path, buffer)
		}
		if damage := new(Damage); errors.As(err, &damage) {
			return w.cutTail() // torn: the disk did not get all of it before the crash
		}
		if err != nil {
			return err
		}
		if err := w.content.add(&f, path, w.id, note, stored, w.sealer); err != nil {
			return err
		}
		if w.content.hash == nil {
			return ErrNoKey // the digest needs the parts in clear
		}
		s.pass(&f)
		if f.kind != kindEnd { // which is written anew
			w.end, w.sum, w.number = s.at, s.sum, s.number
		}
	}
}

// cutTail cuts what stands behind the last whole part.
func (w *Writer) cutTail() error {
	if err := w.file.Truncate(w.end); err != nil {
		return err
	}
	return w.file.Sync()
}

// Size is that of the content so far.
func (w *Writer) Size() int64 { return w.content.info.Size }

// Stored is what the file takes.
func (w *Writer) Stored() int64 { return w.end }

// Note is what the writer left last.
func (w *Writer) Note() []byte { return bytes.Clone(w.content.note) }

// Border returns the begin of the part that an offset lies in; the end for what lies
// behind it.
func (w *Writer) Border(offset int64) int64 {
	border := int64(0)
	for _, f := range w.content.frames {
		if f.clear0 > offset {
			return border
		}
		border = f.clear0
	}
	if offset >= w.Size() {
		return w.Size()
	}
	return border
}

// Part is a part in clear.
type Part struct {
	Offset int64
	Data   []byte
	Sealed bool
}

// Before returns the parts that hold the last length bytes before an offset.
func (w *Writer) Before(offset, length int64) (parts []Part, err error) {
	for i := range w.content.frames {
		f := &w.content.frames[i]
		if f.clear0 >= offset || f.clear0+int64(f.clear) <= offset-length {
			continue
		}
		_, stored, _, err := f.body(w.file, w.file.Name(), nil)
		if err != nil {
			return nil, err
		}
		clear, err := f.open(w.file.Name(), w.id, stored, w.sealer)
		if err != nil {
			return nil, err
		}
		parts = append(parts, Part{f.clear0, clear, f.sealed()})
	}
	return parts, nil
}

// Cut drops what stands behind offset, which is a border. The note stays, and is written
// with the next part.
func (w *Writer) Cut(offset int64) error {
	if offset == w.Size() && !w.content.ended {
		return nil
	}
	note := w.content.note
	to := int64(headerSize)
	for _, f := range w.content.frames {
		if f.clear0 < offset {
			to = f.at + f.size()
		}
	}
	if err := w.file.Truncate(to); err != nil {
		return w.fail(err)
	}
	fresh := newWriter(w.file, w.id, w.sealer, w.max)
	if err := fresh.read(); err != nil {
		return w.fail(err)
	}
	*w = *fresh
	w.loose = note != nil && !bytes.Equal(note, w.content.note)
	w.content.note = note
	return nil
}

// Append adds a part at the end, and a note where it is not nil: durable when it returns.
func (w *Writer) Append(part []byte, sealed bool, note []byte) error {
	if w.broken != nil {
		return w.broken
	}
	if w.content.ended {
		if err := w.Cut(w.Size()); err != nil {
			return err
		}
	}
	if w.number >= w.max {
		return ErrTooMany
	}
	if note == nil && w.loose {
		note = w.content.note
	}
	if len(part) == 0 && note == nil {
		return nil
	}
	h := head{kind: kindPart, note: -1, clear: len(part)}
	if note != nil {
		h.note = len(note)
	}
	stored := part
	if sealed && len(part) > 0 {
		if w.sealer == nil {
			return ErrNoKey
		}
		var err error
		if stored, err = w.sealer.Seal(w.id.place(w.number), part); err != nil {
			return fmt.Errorf("seal part %d: %w", w.number+1, err)
		}
		h.flags |= flagSealed
	}
	h.stored = len(stored)
	f, err := w.write(h, note, stored)
	if err != nil {
		return err
	}
	if len(part) > 0 {
		w.content.info.Parts++
		w.content.info.Sealed = w.content.info.Sealed || h.sealed()
		w.content.frames = append(w.content.frames, f)
		_, _ = w.content.hash.Write(part)
	}
	w.content.info.Size += int64(len(part))
	if note != nil {
		w.content.note, w.loose = bytes.Clone(note), false
	}
	return nil
}

// write puts a frame behind the others, durably.
func (w *Writer) write(h head, note, stored []byte) (frame, error) {
	f := frame{number: w.number, clear0: w.content.info.Size, at: w.end, before: w.sum}
	h.sum = h.checksum(w.sum, note, stored)
	f.head = h
	data := append(append(append(make([]byte, 0, h.size()), h.encode()...), note...), stored...)
	if _, err := w.file.WriteAt(data, w.end); err != nil {
		return f, w.fail(err)
	}
	if err := w.file.Sync(); err != nil {
		return f, w.fail(err)
	}
	w.end += h.size()
	w.sum = h.sum
	w.number++
	return f, nil
}

// fail takes back what a failing disk may have got of a part. A part that was not
// acknowledged may stand there all the same: it is what its writer meant to write, or it is
// torn and cut off.
func (w *Writer) fail(err error) error {
	w.broken = fmt.Errorf("write %s: %w", w.file.Name(), err)
	_ = w.file.Truncate(w.end)
	return w.broken
}

// Finish writes the end of the file. It can be called again.
func (w *Writer) Finish() (Info, error) {
	if w.broken != nil {
		return Info{}, w.broken
	}
	if w.content.ended {
		info := w.content.info
		info.Stored = w.end + headSize + endSize
		return info, nil
	}
	info := w.content.info
	copy(info.Digest[:], w.content.hash.Sum(nil))
	end := w.end
	number, sum := w.number, w.sum
	if _, err := w.write(head{kind: kindEnd, note: -1, stored: endSize}, nil, info.end()); err != nil {
		return Info{}, err
	}
	info.Stored = w.end
	w.end, w.number, w.sum = end, number, sum // parts go on before it
	w.content.ended, w.content.info.Digest = true, info.Digest
	return info, nil
}

// Close closes the file.
func (w *Writer) Close() error { return w.file.Close() }
