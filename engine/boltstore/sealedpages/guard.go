package sealedpages

import (
	"context"
	"fmt"
	"hash/crc32"
	"io"
	"iter"
	mathbits "math/bits"
	"sync"
	"sync/atomic"
)

// Guard knows which pages of an open file were compared with their sums, and which its
// transactions may have replaced. Safe for concurrent use.
type Guard struct {
	sums     *Sums
	pages    uint64 // of the file as it was opened
	known    bits   // compared, or not in use then
	replaced bits   // may hold something else by now
	whole    atomic.Bool
	doubt    atomic.Bool
	mu       sync.Mutex // of look
	look     func(Snapshot) error
}

// Snapshot is what a transaction sees: the page that its tree begins at, how many
// pages its file has, and the page that differs from its sum.
type Snapshot struct{ Root, Pages, Page uint64 }

// NewGuard returns the guard of a file of so many pages. free are those that hold
// nothing yet, seen whether all others were read already. look is asked when a page
// differs from its sum: it reads the whole tree that a transaction sees, which does
// not change meanwhile, and returns what is damaged.
func NewGuard(sums *Sums, pages uint64, free []uint64, seen bool, look func(Snapshot) error) *Guard {
	g := &Guard{sums: sums, pages: pages, known: newBits(pages), replaced: newBits(pages), look: look}
	for _, id := range free {
		g.known.set(id)
		g.replaced.set(id)
	}
	g.whole.Store(seen)
	return g
}

// Pages is how many pages the file had when it was opened.
func (g *Guard) Pages() uint64 { return g.pages }

// Whole reports whether every page of the file was compared in this session.
func (g *Guard) Whole() bool { return g == nil || g.whole.Load() }

// Unread is how many pages were not compared yet.
func (g *Guard) Unread() (count uint64) {
	if g.Whole() {
		return 0
	}
	for id := uint64(2); id < g.pages; id++ {
		if !g.known.has(id) {
			count++
		}
	}
	return count
}

// Doubt reports whether a sum was wrong of a page that is in order: all are to be made
// anew.
func (g *Guard) Doubt() bool { return g.doubt.Load() }

// Stale are the pages of a file of so many whose sums may not be theirs any more, in
// order: those that may hold something else by now, and those that are new; where a sum
// was wrong of a page that is in order, all.
func (g *Guard) Stale(pages uint64) iter.Seq[uint64] {
	return func(yield func(uint64) bool) {
		for word := range pages/64 + 1 {
			for stale := g.stale(word); stale != 0; stale &= stale - 1 {
				id := word*64 + uint64(mathbits.TrailingZeros64(stale)) //nolint:gosec // 0 to 63
				if id >= 2 && (id >= pages || !yield(id)) {
					return
				}
			}
		}
	}
}

// stale are those of 64 pages, a bit for each.
func (g *Guard) stale(word uint64) uint64 {
	const all = ^uint64(0)
	switch last := g.pages / 64; {
	case g.Doubt() || word > last:
		return all
	case word == last:
		return g.replaced[word].Load() | all<<(g.pages%64)
	default:
		return g.replaced[word].Load()
	}
}

// Sums are those of the pages that were not replaced.
func (g *Guard) Sums() *Sums { return g.sums }

func (g *Guard) matches(id uint64, page []byte) bool {
	sum, ok := g.sums.Of(id)
	return ok && sum == SumOf(page)
}

// suspect lets the whole file be read, once.
func (g *Guard) suspect(s Snapshot) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.whole.Load() {
		return nil
	}
	if err := g.look(s); err != nil {
		return err
	}
	g.doubt.Store(true)
	g.whole.Store(true)
	return nil
}

// scrubRun is how many pages are read at once: what they are read into is new memory in a
// short command, which costs more than the reads do.
const scrubRun = 8

// Scrub goes over count pages from one on, once round the file at most, and returns where
// to go on; when it has come to the end of the file it goes on at its begin. Those that
// were compared in this session, or held nothing when it began, are not read again. It
// stops at the first page that differs: the caller looks at that one in a transaction
// (Tx.Look).
func (g *Guard) Scrub(ctx context.Context, file io.ReaderAt, size int, from, count uint64) (next uint64, differs bool, err error) {
	if g.pages <= 2 {
		return 2, false, nil
	}
	var buffer []byte
	for count = min(count, g.pages-2); count > 0 && ctx.Err() == nil && !g.Whole(); {
		if from < 2 || from >= g.pages {
			from = 2
		}
		n := g.unread(from, min(count, g.pages-from, scrubRun))
		if n == 0 {
			from, count = from+1, count-1
			continue
		}
		if buffer == nil {
			buffer = make([]byte, scrubRun*size)
		}
		if _, err := file.ReadAt(buffer[:n*uint64(size)], int64(from)*int64(size)); err != nil {
			return from, false, fmt.Errorf("read page %d: %w", from, err)
		}
		for i := range n {
			id := from + i
			if !g.replaced.has(id) && !g.matches(id, buffer[int(i)*size:int(i+1)*size]) && !g.replaced.has(id) {
				return id, true, nil
			}
			g.known.set(id)
		}
		from, count = from+n, count-n
	}
	return from, false, nil
}

// unread is how many pages from one on were not compared, at most as many as asked for.
func (g *Guard) unread(from, most uint64) (n uint64) {
	for n < most && !g.known.has(from+n) {
		n++
	}
	return n
}

// Complete notes that every page was compared.
func (g *Guard) Complete() { g.whole.Store(true) }

// Look lets the whole tree be read that the transaction sees, as it is when a page
// differs from its sum. The error is that of the guard's look.
func (t *Tx) Look(page uint64) error {
	if t.way.guard == nil || !t.way.watches() {
		return nil
	}
	return t.way.guard.suspect(Snapshot{Root: t.way.root, Pages: t.way.pages, Page: page})
}

// SumOf is the sum of a page: CRC32C.
func SumOf(page []byte) uint32 { return crc32.Checksum(page, crc32.MakeTable(crc32.Castagnoli)) }

// bits is a set of pages.
type bits []atomic.Uint64

func newBits(pages uint64) bits { return make(bits, pages/64+1) }

func (b bits) has(id uint64) bool { return b[id/64].Load()&(1<<(id%64)) != 0 }

func (b bits) set(id uint64) {
	if mask := uint64(1) << (id % 64); b[id/64].Load()&mask == 0 {
		b[id/64].Or(mask)
	}
}
