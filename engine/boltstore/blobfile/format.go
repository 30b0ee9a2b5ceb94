// Package blobfile writes, reads and checks the files of large values: parts in a row,
// each with a checksum that covers those before it.
//
// A file is a header, then frames. Header: magic, id. Frame: a head of 44 bytes, a note,
// what is stored. The checksum of a frame is SHA-256 over the checksum of the frame before
// it (of the header, for the first), its head, its note and what it stores: so a frame of
// an older content of the same file is none of this one, wherever a crash has left it. The
// last frame of a finished file holds the digest and the size of the content.
package blobfile

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
)

// The layout of a file, in bytes.
const (
	magic      = "frblob\x00\x01"
	idSize     = 16
	headerSize = len(magic) + idSize
	headSize   = 12 + sha256.Size
	endSize    = sha256.Size + 8

	maxStored = 2 << 20 // of one frame: a part with what sealing adds
	noNote    = 0xffff
)

// The kinds of frames.
const (
	kindPart byte = 'P'
	kindEnd  byte = 'E'
)

const flagSealed byte = 1

// ErrTooMany says that a file has as many frames as one may have.
var ErrTooMany = errors.New("too many parts")

// ErrNoKey says that a sealed frame needs a sealer.
var ErrNoKey = errors.New("a part is sealed, and there is no key")

// Damage says which frame is not what was written.
type Damage struct {
	Path   string
	Part   int   // from 1; 0 = of the file as a whole
	Offset int64 // in the file
	Detail string
}

func (d *Damage) Error() string {
	if d.Part == 0 {
		return fmt.Sprintf("%s: %s", d.Path, d.Detail)
	}
	return fmt.Sprintf("%s: part %d at offset %d: %s", d.Path, d.Part, d.Offset, d.Detail)
}

// Sealer seals what a frame stores, for its place in its file.
type Sealer interface {
	Seal(place string, clear []byte) ([]byte, error)
	Open(place string, sealed []byte) ([]byte, error)
}

// ID names a file: nothing of what it holds.
type ID [idSize]byte

// NewID returns the id that follows from all parts of a name.
func NewID(parts ...string) ID {
	hash := sha256.New()
	for _, part := range parts {
		_ = binary.Write(hash, binary.BigEndian, uint64(len(part)))
		_, _ = hash.Write([]byte(part))
	}
	return ID(hash.Sum(nil)[:idSize])
}

// ParseID reads the name of a file.
func ParseID(name string) (id ID, ok bool) {
	raw, err := hex.DecodeString(name)
	if err != nil || len(raw) != idSize || hex.EncodeToString(raw) != name {
		return ID{}, false
	}
	return ID(raw), true
}

func (id ID) String() string { return hex.EncodeToString(id[:]) }

// Path is where a file lies below a folder.
func (id ID) Path(folder string) string {
	name := id.String()
	return filepath.Join(folder, name[:2], name)
}

func (id ID) header() []byte { return append([]byte(magic), id[:]...) }

// place is whose a sealed frame is: it opens nowhere else.
func (id ID) place(number int) string { return fmt.Sprintf("blob\x00%s\x00%d", id, number) }

// Info tells of a finished file.
type Info struct {
	Digest [sha256.Size]byte // of the clear content
	Size   int64             // of the clear content
	Parts  int
	Sealed bool  // a part of it is
	Stored int64 // bytes of the file
}

// head is the begin of a frame.
type head struct {
	kind, flags byte
	note        int // bytes; -1 = the frame says nothing of a note
	clear       int // bytes in clear
	stored      int
	sum         [sha256.Size]byte
}

func (h *head) encode() []byte {
	data := make([]byte, 12, headSize)
	data[0], data[1] = h.kind, h.flags
	note := uint16(noNote)
	if h.note >= 0 {
		note = uint16(h.note)
	}
	binary.BigEndian.PutUint16(data[2:], note)
	binary.BigEndian.PutUint32(data[4:], uint32(h.clear))
	binary.BigEndian.PutUint32(data[8:], uint32(h.stored))
	return append(data, h.sum[:]...)
}

// parseHead reads a head; "" when it can be one.
func parseHead(data []byte) (h head, fault string) {
	h.kind, h.flags = data[0], data[1]
	if note := binary.BigEndian.Uint16(data[2:]); note == noNote {
		h.note = -1
	} else {
		h.note = int(note)
	}
	clearSize, stored := binary.BigEndian.Uint32(data[4:]), binary.BigEndian.Uint32(data[8:])
	h.sum = [sha256.Size]byte(data[12:])
	switch {
	case h.kind != kindPart && h.kind != kindEnd, h.flags&^flagSealed != 0:
		return h, "no part begins here"
	case stored > maxStored || clearSize > maxStored:
		return h, fmt.Sprintf("a part of %d bytes", stored)
	case h.kind == kindEnd && (stored != uint32(endSize) || clearSize != 0 || h.flags != 0 || h.note > 0):
		return h, "its end is none"
	}
	h.clear, h.stored = int(clearSize), int(stored)
	return h, ""
}

func (h *head) sealed() bool { return h.flags&flagSealed != 0 }

// size is what the frame takes.
func (h *head) size() int64 { return int64(headSize + max(0, h.note) + h.stored) }

// checksum is what h.sum must be.
func (h *head) checksum(before [sha256.Size]byte, note, stored []byte) [sha256.Size]byte {
	hash := sha256.New()
	_, _ = hash.Write(before[:])
	_, _ = hash.Write(h.encode()[:12])
	_, _ = hash.Write(note)
	_, _ = hash.Write(stored)
	return [sha256.Size]byte(hash.Sum(nil))
}

// end is what the last frame holds.
func (i *Info) end() []byte {
	return binary.BigEndian.AppendUint64(bytes.Clone(i.Digest[:]), uint64(i.Size))
}
