package blobfile

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sort"
	"sync"
)

// Reader reads a finished file. Safe for concurrent use.
type Reader struct {
	file   *os.File
	id     ID
	sealer Sealer
	info   Info
	frames []frame // parts alone

	mu     sync.Mutex
	loaded int // index of the part in clear; -1 = none
	clear  []byte
	buffer []byte
}

// Open opens a finished file: its structure is looked at, each part is held against its
// checksum when it is read. The error is a *Damage for what is no finished file.
func Open(folder string, id ID, sealer Sealer) (*Reader, error) {
	file, err := os.Open(id.Path(folder))
	if err != nil {
		return nil, err
	}
	r := &Reader{file: file, id: id, sealer: sealer, loaded: -1}
	if err := r.index(); err != nil {
		_ = file.Close()
		return nil, err
	}
	return r, nil
}

func (r *Reader) index() error {
	path := r.file.Name()
	s, err := newScan(r.file, r.id)
	if err != nil {
		return err
	}
	c := content{} // without a hash: the parts are not read
	for {
		f, err := s.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		var stored []byte
		if f.kind == kindEnd {
			if _, stored, _, err = f.body(r.file, path, nil); err != nil {
				return err
			}
		}
		if err := c.add(&f, path, r.id, nil, stored, nil); err != nil {
			return err
		}
		s.pass(&f)
	}
	if !c.ended {
		return &Damage{Path: path, Detail: "its end is missing"}
	}
	c.info.Stored = s.size
	r.info, r.frames = c.info, c.frames
	return nil
}

// Info tells of the file.
func (r *Reader) Info() Info { return r.info }

// ReadAt is that of io.ReaderAt, over the content in clear.
func (r *Reader) ReadAt(p []byte, offset int64) (n int, err error) {
	if offset < 0 {
		return 0, fmt.Errorf("read %s: offset %d", r.file.Name(), offset)
	}
	for n < len(p) {
		if offset+int64(n) >= r.info.Size {
			return n, io.EOF
		}
		copied, err := r.readPart(p[n:], offset+int64(n))
		if n += copied; err != nil {
			return n, err
		}
	}
	return n, nil
}

// readPart reads from the one part that an offset lies in.
func (r *Reader) readPart(p []byte, offset int64) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	index := sort.Search(len(r.frames), func(i int) bool { return r.frames[i].clear0 > offset }) - 1
	if index < 0 {
		return 0, &Damage{Path: r.file.Name(), Detail: "it has no first part"}
	}
	if index != r.loaded {
		if err := r.load(index); err != nil {
			return 0, err
		}
	}
	return copy(p, r.clear[offset-r.frames[index].clear0:]), nil
}

func (r *Reader) load(index int) error {
	r.loaded = -1
	f := &r.frames[index]
	_, stored, buffer, err := f.body(r.file, r.file.Name(), r.buffer)
	r.buffer = buffer
	if err != nil {
		return err
	}
	if r.clear, err = f.open(r.file.Name(), r.id, stored, r.sealer); err != nil {
		return err
	}
	r.loaded = index
	return nil
}

// Close closes the file.
func (r *Reader) Close() error { return r.file.Close() }
