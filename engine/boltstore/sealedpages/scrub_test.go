package sealedpages

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// countedPages is a file of pages without content that counts how often each is read.
type countedPages struct {
	reads []int
	calls int
	most  int // pages of one call
}

func (c *countedPages) ReadAt(p []byte, at int64) (int, error) {
	clear(p)
	c.calls++
	c.most = max(c.most, len(p)/pageSize)
	for id := at / pageSize; id < (at+int64(len(p)))/pageSize; id++ {
		c.reads[id]++
	}
	return len(p), nil
}

// emptyGuard is the guard of a file of such pages; free are those that it does not read.
func emptyGuard(pages uint64, free ...uint64) *Guard {
	sums := NewSums(nil)
	for id := range pages {
		sums.Set(id, SumOf(make([]byte, pageSize)))
	}
	return NewGuard(sums, pages, free, false, func(Snapshot) error { return errors.New("no page differs") })
}

// A piece that is longer than the file ends where it began: each page was read once, and
// those that held nothing not at all. Another piece reads nothing more.
func TestAScrubGoesRoundTheFileOnce(t *testing.T) {
	t.Parallel()
	for _, from := range []uint64{0, 2, 3, 40, 99, 100} {
		free := []uint64{2, 50, 51, 99}
		g, file := emptyGuard(100, free...), &countedPages{reads: make([]int, 100)}
		for range 2 {
			next, differs, err := g.Scrub(context.Background(), file, pageSize, from, 256)
			if differs || err != nil {
				t.Fatalf("from page %d: %t, %v", from, differs, err)
			}
			if next != from && !(from <= 2 && next == 100) { // the end of the file is its begin
				t.Errorf("from page %d: it would go on at page %d", from, next)
			}
		}
		for id, reads := range file.reads {
			want := 1
			if id < 2 || slices.Contains(free, uint64(id)) {
				want = 0
			}
			if reads != want {
				t.Errorf("from page %d: page %d was read %d times", from, id, reads)
			}
		}
		if g.Unread() != 0 {
			t.Errorf("from page %d: %d pages are unread", from, g.Unread())
		}
		if file.most != scrubRun || file.calls > 16 {
			t.Errorf("from page %d: %d calls, %d pages in the longest", from, file.calls, file.most)
		}
	}
	if next, differs, err := emptyGuard(2).Scrub(context.Background(), &countedPages{}, pageSize, 2, 256); next != 2 || differs || err != nil {
		t.Errorf("a file without pages: %d, %t, %v", next, differs, err)
	}
}

// What is stale are the pages that were replaced and those that are new, wherever the file
// ends; all of them where the sums are in doubt.
func TestStalePages(t *testing.T) {
	t.Parallel()
	source := rand.New(rand.NewPCG(1, 73))
	for _, pages := range []uint64{2, 3, 63, 64, 65, 127, 128, 200} {
		var replaced []uint64
		for id := uint64(2); id < pages; id++ {
			if source.IntN(5) == 0 {
				replaced = append(replaced, id)
			}
		}
		g := emptyGuard(pages, replaced...)
		for _, now := range []uint64{pages, pages + 1, pages + 64, pages + 130} {
			want := slices.Clone(replaced)
			for id := pages; id < now; id++ {
				want = append(want, id)
			}
			if got := slices.Collect(g.Stale(now)); !slices.Equal(got, want) {
				t.Errorf("%d of %d pages: %v, not %v", now, pages, got, want)
			}
		}
		g.doubt.Store(true)
		if got := slices.Collect(g.Stale(pages)); len(got) != int(pages)-2 {
			t.Errorf("in doubt %d of %d pages are stale", len(got), pages)
		}
	}
}

// memory is a file that counts its writes.
type memory struct {
	data   []byte
	writes int
}

func (m *memory) WriteAt(p []byte, at int64) (int, error) {
	m.writes++
	if need := int(at) + len(p) - len(m.data); need > 0 {
		m.data = append(m.data, make([]byte, need)...)
	}
	return copy(m.data[at:], p), nil
}

// Sums are read as they were written, whichever changed; blocks side by side share a
// write, and one that the file does not hold is never made of nothing.
func TestSumsAreWrittenAndRead(t *testing.T) {
	t.Parallel()
	source, want, file := rand.New(rand.NewPCG(2, 73)), map[uint64]uint32{}, &memory{}
	for range 6 {
		sums := NewSums(bytes.NewReader(slices.Clone(file.data)))
		blocks := map[uint64]bool{}
		for range 1 + source.IntN(12) {
			page := uint64(source.IntN(60 * blockSums))
			if source.IntN(2) == 0 {
				sums.Of(page) // known, and not changed
				continue
			}
			want[page] = source.Uint32()
			sums.Set(page, want[page])
			blocks[page/blockSums] = true
		}
		file.writes = 0
		if err := sums.write(file); err != nil {
			t.Fatal(err)
		}
		if file.writes > len(blocks) {
			t.Errorf("%d blocks took %d writes", len(blocks), file.writes)
		}
	}
	held, known := NewSums(bytes.NewReader(file.data)), map[uint64]bool{}
	for page, sum := range want {
		known[page/blockSums] = true
		if got, ok := held.Of(page); !ok || got != sum {
			t.Errorf("page %d: %x, %t, not %x", page, got, ok, sum)
		}
	}
	for block := range uint64(60) {
		if _, ok := held.Of(block * blockSums); ok != known[block] {
			t.Errorf("block %d is known: %t", block, ok)
		}
	}
	between := NewSums(strings.NewReader("")) // it holds none
	between.Set(0, 1)
	between.Of(blockSums)
	between.Set(2*blockSums, 1)
	hole := &memory{}
	if err := between.write(hole); err != nil || hole.writes != 2 {
		t.Errorf("%d writes, %v", hole.writes, err)
	}
	if _, ok := NewSums(bytes.NewReader(hole.data)).Of(blockSums); ok {
		t.Error("a block that nobody has summed is known")
	}
	all := NewSums(nil)
	for page := range uint64(2 * writeRun * blockSums) {
		all.Set(page, 1)
	}
	file.writes = 0
	if err := all.write(file); err != nil || file.writes != 2 {
		t.Errorf("%d blocks side by side took %d writes, %v", 2*writeRun, file.writes, err)
	}
}
