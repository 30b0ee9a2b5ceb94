package blobfile

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
)

// frame is one part of a file, with what its checksum needs.
type frame struct {
	head
	number int   // of all frames, from 0
	clear0 int64 // offset of its content, in clear
	at     int64 // offset of its head
	before [sha256.Size]byte
}

// scan goes through a file from its begin.
type scan struct {
	file io.ReaderAt
	path string
	size int64 // of the file

	at     int64 // where the next frame begins
	clear0 int64
	number int
	sum    [sha256.Size]byte
}

// newScan reads the header.
func newScan(file *os.File, id ID) (*scan, error) {
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	s := &scan{file: file, path: file.Name(), size: info.Size(), at: int64(headerSize)}
	header := make([]byte, headerSize)
	if _, err := file.ReadAt(header, 0); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if !bytes.Equal(header, id.header()) {
		return nil, &Damage{Path: s.path, Detail: "it does not begin as this large value does"}
	}
	s.sum = sha256.Sum256(header)
	return s, nil
}

// next reads the head of the next frame; io.EOF at the end of the file.
func (s *scan) next() (f frame, err error) {
	if s.at == s.size {
		return f, io.EOF
	}
	f = frame{number: s.number, clear0: s.clear0, at: s.at, before: s.sum}
	if s.size-s.at < headSize {
		return f, s.damage(&f, "the file ends inside it")
	}
	data := make([]byte, headSize)
	if _, err := s.file.ReadAt(data, s.at); err != nil {
		return f, readFault(s.path, &f, err)
	}
	var fault string
	if f.head, fault = parseHead(data); fault != "" {
		return f, s.damage(&f, fault)
	}
	if s.size-s.at < f.size() {
		return f, s.damage(&f, "the file ends inside it")
	}
	return f, nil
}

// pass goes behind a frame.
func (s *scan) pass(f *frame) {
	s.at += f.size()
	s.clear0 += int64(f.clear)
	s.number++
	s.sum = f.sum
}

func (s *scan) damage(f *frame, detail string) error {
	return &Damage{Path: s.path, Part: f.number + 1, Offset: f.at, Detail: detail}
}

// readFault is what the disk says, unless the file ended.
func readFault(path string, f *frame, err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return &Damage{Path: path, Part: f.number + 1, Offset: f.at, Detail: "the file ends inside it"}
	}
	return fmt.Errorf("part %d at offset %d: %w", f.number+1, f.at, err)
}

// body reads note and stored bytes of a frame, and holds them against its checksum. The
// bytes lie in buffer, which grows where it must.
func (f *frame) body(file io.ReaderAt, path string, buffer []byte) (note, stored, grown []byte, err error) {
	length := max(0, f.note) + f.stored
	if cap(buffer) < length {
		buffer = make([]byte, length)
	}
	buffer = buffer[:length]
	if _, err := file.ReadAt(buffer, f.at+headSize); err != nil && length > 0 {
		return nil, nil, buffer, readFault(path, f, err)
	}
	note, stored = buffer[:max(0, f.note)], buffer[max(0, f.note):]
	if f.checksum(f.before, note, stored) != f.sum {
		return nil, nil, buffer, &Damage{Path: path, Part: f.number + 1, Offset: f.at, Detail: "its checksum does not match"}
	}
	return note, stored, buffer, nil
}

// open returns what a frame holds, in clear.
func (f *frame) open(path string, id ID, stored []byte, sealer Sealer) ([]byte, error) {
	if !f.sealed() {
		if f.clear != f.stored {
			return nil, &Damage{Path: path, Part: f.number + 1, Offset: f.at, Detail: "it has another size than it says"}
		}
		return stored, nil
	}
	if sealer == nil {
		return nil, ErrNoKey
	}
	clear, err := sealer.Open(id.place(f.number), stored)
	if err != nil {
		return nil, fmt.Errorf("open part %d of %s: %w", f.number+1, path, err)
	}
	if len(clear) != f.clear {
		return nil, &Damage{Path: path, Part: f.number + 1, Offset: f.at, Detail: "it has another size than it says"}
	}
	return clear, nil
}

// content sums up frames.
type content struct {
	info   Info
	note   []byte
	hash   hash.Hash // nil = a sealed part could not be read
	ended  bool
	frames []frame // parts alone
}

// add takes a frame whose body was read: note is nil where it was not.
func (c *content) add(f *frame, path string, id ID, note, stored []byte, sealer Sealer) error {
	if c.ended {
		return &Damage{Path: path, Part: f.number + 1, Offset: f.at, Detail: "a part behind the end"}
	}
	if f.note >= 0 && note != nil {
		c.note = bytes.Clone(note)
	}
	if f.kind == kindEnd {
		size := int64(binary.BigEndian.Uint64(stored[sha256.Size:]))
		copy(c.info.Digest[:], stored)
		if size != c.info.Size || c.hash != nil && !bytes.Equal(c.hash.Sum(nil), c.info.Digest[:]) {
			return &Damage{Path: path, Part: f.number + 1, Offset: f.at, Detail: "its parts are not those that its end speaks of"}
		}
		c.ended = true
		return nil
	}
	if f.clear == 0 && f.stored == 0 {
		return nil // a note alone
	}
	c.info.Parts++
	c.info.Size += int64(f.clear)
	c.info.Sealed = c.info.Sealed || f.sealed()
	c.frames = append(c.frames, *f)
	if f.sealed() && sealer == nil {
		c.hash = nil
	}
	if c.hash == nil {
		return nil
	}
	clear, err := f.open(path, id, stored, sealer)
	if err != nil {
		return err
	}
	_, _ = c.hash.Write(clear)
	return nil
}

// Verify reads a finished file whole and holds each part against its checksum, and all
// against digest and size of its end. Sealed parts are not opened. The error is a *Damage
// for what is not as it was written.
func Verify(ctx context.Context, path string, id ID) (Info, error) {
	file, err := os.Open(path)
	if err != nil {
		return Info{}, err
	}
	defer file.Close()
	s, err := newScan(file, id)
	if err != nil {
		return Info{}, err
	}
	c := content{hash: sha256.New()}
	var buffer []byte
	for {
		if err := ctx.Err(); err != nil {
			return Info{}, err
		}
		f, err := s.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return Info{}, err
		}
		var note, stored []byte
		if note, stored, buffer, err = f.body(file, path, buffer); err == nil {
			err = c.add(&f, path, id, note, stored, nil)
		}
		if err != nil {
			return Info{}, err
		}
		s.pass(&f)
	}
	if !c.ended {
		return Info{}, &Damage{Path: path, Detail: "its end is missing"}
	}
	c.info.Stored = s.size
	return c.info, nil
}
