package packed

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"hash/crc32"
	"io"
)

// A stream of gzip may be put together of pieces that were packed apart: deflate
// blocks that end on a byte, and refer to nothing before them (RFC 1951, 2.3). So a
// piece that goes to many readers is packed once.

// Piece is a part of a stream, plain and packed.
type Piece struct {
	plain, packed []byte
}

// shortPiece is up to which length packing is not worth its while.
const shortPiece = 100

// NewPiece packs a part of a stream.
func NewPiece(text []byte) Piece {
	if len(text) <= shortPiece {
		return Piece{text, stored(text)}
	}
	var out bytes.Buffer
	packs, err := flate.NewWriter(&out, flate.DefaultCompression)
	if err != nil {
		return Piece{text, stored(text)} // the level is the library's own
	}
	_, _ = packs.Write(text) // into memory
	_ = packs.Flush()
	return Piece{text, out.Bytes()}
}

// Size is how many bytes a reader gets.
func (p Piece) Size(packed bool) int {
	if packed {
		return len(p.packed)
	}
	return len(p.plain)
}

// stored is a text in blocks that are not packed.
func stored(text []byte) []byte {
	var out []byte
	for len(text) > 0 {
		n := min(len(text), 1<<16-1)
		out = binary.LittleEndian.AppendUint16(append(out, 0), uint16(n))
		out = append(binary.LittleEndian.AppendUint16(out, ^uint16(n)), text[:n]...)
		text = text[n:]
	}
	return out
}

// Stream writes pieces to one reader, packed or plain. Used by one goroutine.
type Stream struct {
	out    io.Writer
	packs  bool
	begun  bool
	sum    uint32
	length uint32
}

// NewStream returns the stream of one reader.
func NewStream(out io.Writer, packs bool) *Stream { return &Stream{out: out, packs: packs} }

// Write writes pieces one after the other.
func (s *Stream) Write(pieces ...Piece) error {
	var out []byte
	if s.packs && !s.begun {
		out = append(out, 0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255)
	}
	s.begun = true
	for _, piece := range pieces {
		if !s.packs {
			out = append(out, piece.plain...)
			continue
		}
		out = append(out, piece.packed...)
		s.sum = crc32.Update(s.sum, crc32.IEEETable, piece.plain)
		s.length += uint32(len(piece.plain))
	}
	_, err := s.out.Write(out)
	return err
}

// Close writes the end of what was packed.
func (s *Stream) Close() error {
	if !s.packs || !s.begun {
		return nil
	}
	end := binary.LittleEndian.AppendUint32([]byte{3, 0}, s.sum)
	_, err := s.out.Write(binary.LittleEndian.AppendUint32(end, s.length))
	return err
}
