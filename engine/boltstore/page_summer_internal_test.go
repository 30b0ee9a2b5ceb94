package boltstore

import (
	"bytes"
	"math/rand/v2"
	"testing"

	bolt "github.com/flowrun/flowrun/engine/boltstore/sealedpages"
)

// countedReads counts what is read of a file.
type countedReads struct {
	*bytes.Reader
	calls int
	bytes int
}

func (c *countedReads) ReadAt(p []byte, at int64) (int, error) {
	c.calls++
	c.bytes += len(p)
	return c.Reader.ReadAt(p, at)
}

// The sums of the pages that are wanted are theirs, no other is made, and pages near each
// other share a read.
func TestSumsOfPagesNearEachOtherShareAReading(t *testing.T) {
	t.Parallel()
	const size, pages = 4096, 200
	source := rand.NewChaCha8([32]byte{73})
	content := make([]byte, size*pages)
	_, _ = source.Read(content)
	for _, every := range []int{1, 2, 7, 8, 9, 60} {
		sums, file := bolt.NewSums(nil), &countedReads{Reader: bytes.NewReader(content)}
		summer := pageSummer{file: file, size: size, sums: sums}
		for id := 2; id < pages; id += every {
			if err := summer.add(uint64(id)); err != nil {
				t.Fatal(err)
			}
		}
		if err := summer.flush(); err != nil {
			t.Fatal(err)
		}
		wanted := 0
		for id := range pages {
			want := uint32(0)
			if id >= 2 && (id-2)%every == 0 {
				want = bolt.SumOf(content[id*size : (id+1)*size])
				wanted++
			}
			if got, _ := sums.Of(uint64(id)); got != want {
				t.Errorf("each %d.: page %d has %x, not %x", every, id, got, want)
			}
		}
		most := min(wanted, (pages+sumSpan-1)/sumSpan+1)
		if file.calls > most || file.bytes > size*pages {
			t.Errorf("each %d.: %d readings of %d bytes for %d pages", every, file.calls, file.bytes, wanted)
		}
	}
	short := pageSummer{file: bytes.NewReader(content[:3*size]), size: size, sums: bolt.NewSums(nil)}
	if err := short.add(3); err != nil {
		t.Fatal(err)
	}
	if err := short.flush(); err == nil {
		t.Error("a page behind the end of the file has a sum")
	}
}
