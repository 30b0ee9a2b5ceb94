package sealedpages

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"slices"
	"sync"
)

// The sums of the pages stand behind the seal's head, in blocks that prove themselves:
// only those of the pages that are met are read.
const (
	blockSize = 1024
	blockSums = blockSize/4 - 1 // and the block's own sum
)

type block struct {
	sums    [blockSums]uint32
	changed bool
	damaged bool // the file holds none
}

// Sums are the sums of a file's pages. Safe for concurrent use.
type Sums struct {
	mu     sync.Mutex
	file   io.ReaderAt // nil = all are in memory
	blocks map[uint64]*block
	read   int64
	buffer []byte // of one block or more, as the file holds them
}

// NewSums returns sums that a file holds, behind its head; nil = none are known yet.
func NewSums(file io.ReaderAt) *Sums { return &Sums{file: file, blocks: map[uint64]*block{}} }

// Of returns the sum of a page, and whether it is known.
func (s *Sums) Of(page uint64) (uint32, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.block(page / blockSums)
	return b.sums[page%blockSums], !b.damaged
}

// Set notes the sum of a page.
func (s *Sums) Set(page uint64, sum uint32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.block(page / blockSums)
	b.sums[page%blockSums], b.changed, b.damaged = sum, true, false
}

// Read is how many bytes were read of the file of the sums.
func (s *Sums) Read() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.read
}

func (s *Sums) block(i uint64) *block {
	b := s.blocks[i]
	if b != nil {
		return b
	}
	b = &block{}
	if s.file != nil {
		b.damaged = !s.load(b, i)
	}
	s.blocks[i] = b
	return b
}

func (s *Sums) load(b *block, i uint64) bool {
	data := s.space(1)
	n, err := s.file.ReadAt(data, int64(sealSize+i*blockSize))
	s.read += int64(n)
	if err != nil || binary.LittleEndian.Uint32(data) != blockSum(i, data) {
		return false
	}
	for at := range b.sums {
		b.sums[at] = binary.LittleEndian.Uint32(data[4+4*at:])
	}
	return true
}

// blockSum covers the place of a block and what it holds.
func blockSum(i uint64, data []byte) uint32 {
	table := crc32.MakeTable(crc32.Castagnoli)
	return crc32.Update(crc32.Checksum(binary.LittleEndian.AppendUint64(nil, i), table), table, data[4:])
}

// space returns the buffer, with room for so many blocks.
func (s *Sums) space(blocks int) []byte {
	if len(s.buffer) < blocks*blockSize {
		s.buffer = make([]byte, blocks*blockSize)
	}
	return s.buffer[:blocks*blockSize]
}

// writeRun is how many blocks are written at once.
const writeRun = 16

// write writes the blocks that changed, those side by side at once. A block between them
// is written too where it is known: it holds what the file does.
func (s *Sums) write(to io.WriterAt) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := slices.Sorted(maps.Keys(s.blocks))
	for len(known) > 0 {
		first, run := known[0], 0
		for n := 0; n < min(len(known), writeRun) && known[n] == first+uint64(n) && s.blocks[known[n]].writable(n == 0); n++ {
			if s.blocks[known[n]].changed {
				run = n + 1
			}
		}
		if run == 0 {
			known = known[1:]
			continue
		}
		data := s.space(run)
		for n := range uint64(run) {
			s.blocks[first+n].encode(first+n, data[n*blockSize:(n+1)*blockSize])
		}
		if _, err := to.WriteAt(data, int64(sealSize+first*blockSize)); err != nil {
			return fmt.Errorf("write the sums of pages: %w", err)
		}
		known = known[run:]
	}
	return nil
}

// writable reports whether a block may stand in a run, which begins with one that changed.
func (b *block) writable(first bool) bool { return b.changed || !first && !b.damaged }

func (b *block) encode(i uint64, data []byte) {
	for at, sum := range b.sums {
		binary.LittleEndian.PutUint32(data[4+4*at:], sum)
	}
	binary.LittleEndian.PutUint32(data, blockSum(i, data))
}
