package packed

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"hash/crc32"
	"io"
	"slices"
	"sync"
)

// A stream of gzip may be put together of pieces that were packed apart: deflate
// blocks that end on a byte, and refer to nothing before them (RFC 1951, 2.3). So a
// piece that goes to many readers is packed once.

// Piece is a part of a stream, plain and packed.
type Piece struct {
	plain, packed []byte
	sum           uint32 // CRC-32 of what is packed
	shift         uint32 // what the sum of all before it is multiplied with
}

// shortPiece is up to which length packing is not worth its while.
const shortPiece = 100

// Plain is a part of a stream that is not packed.
func Plain(text []byte) Piece { return Piece{plain: text} }

// longPiece is from which length a piece is packed at quickLevel: a quarter of the time for an
// eighth more bytes. Such ones are many updates at once.
const (
	longPiece  = 64 << 10
	quickLevel = 2
)

// NewPiece packs a part of a stream.
func NewPiece(text []byte) Piece {
	piece := Piece{plain: text, sum: crc32.ChecksumIEEE(text), shift: shiftOf(len(text))}
	pool := packers()
	if len(text) >= longPiece {
		pool = quickPackers()
	}
	packs, ok := pool.Get().(*flate.Writer)
	if len(text) <= shortPiece || !ok {
		piece.packed = stored(text)
		return piece
	}
	defer pool.Put(packs)
	var out bytes.Buffer
	packs.Reset(&out)
	_, _ = packs.Write(text) // into memory
	_ = packs.Flush()
	piece.packed = out.Bytes()
	return piece
}

// packers are used again: each has tables of a megabyte.
var (
	packers      = sync.OnceValue(func() *sync.Pool { return packersOf(flate.DefaultCompression) })
	quickPackers = sync.OnceValue(func() *sync.Pool { return packersOf(quickLevel) })
)

func packersOf(level int) *sync.Pool {
	return &sync.Pool{New: func() any {
		packs, err := flate.NewWriter(io.Discard, level)
		if err != nil {
			return nil // the levels are the library's own
		}
		return packs
	}}
}

// Size is how many bytes a reader gets.
func (p Piece) Size(packed bool) int { return len(p.Bytes(packed)) }

// Bytes is what a reader gets. Nobody may change it.
func (p Piece) Bytes(packed bool) []byte {
	if packed {
		return p.packed
	}
	return p.plain
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

// Packs reports whether the reader gets pieces packed.
func (s *Stream) Packs() bool { return s.packs }

// Write writes pieces one after the other.
func (s *Stream) Write(pieces ...Piece) error {
	var out []byte
	if s.packs && !s.begun {
		out = append(out, 0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255)
	}
	s.begun = true
	for i, piece := range pieces {
		text := piece.plain
		if s.packs {
			text = piece.packed
			s.sum = multiplied(piece.shift, s.sum) ^ piece.sum
			s.length += uint32(len(piece.plain))
		}
		if i == 0 && len(out) == 0 {
			out = slices.Clip(text) // as it is: all readers get the same bytes
			continue
		}
		out = append(out, text...)
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
