package boltstore

import (
	"fmt"
	"io"

	bolt "github.com/flowrun/flowrun/engine/boltstore/sealedpages"
)

// sumSpan is how many pages are read at once. Pages between those that are wanted are read
// with them: to copy one costs less than another read.
const sumSpan = 8

// pageSummer makes the sums of pages that are told in the order of the file.
type pageSummer struct {
	file   io.ReaderAt
	size   int64 // of a page
	sums   *bolt.Sums
	wanted []uint64 // within sumSpan pages, not read yet
	buffer []byte
}

func (p *pageSummer) add(id uint64) error {
	if len(p.wanted) > 0 && id-p.wanted[0] >= sumSpan {
		if err := p.flush(); err != nil {
			return err
		}
	}
	p.wanted = append(p.wanted, id)
	return nil
}

// flush reads what was told so far.
func (p *pageSummer) flush() error {
	if len(p.wanted) == 0 {
		return nil
	}
	if p.buffer == nil {
		p.buffer = make([]byte, sumSpan*p.size)
	}
	first, last := p.wanted[0], p.wanted[len(p.wanted)-1]
	if _, err := p.file.ReadAt(p.buffer[:int64(last-first+1)*p.size], int64(first)*p.size); err != nil {
		return fmt.Errorf("read pages %d to %d: %w", first, last, err)
	}
	for _, id := range p.wanted {
		at := int64(id-first) * p.size
		p.sums.Set(id, bolt.SumOf(p.buffer[at:at+p.size]))
	}
	p.wanted = p.wanted[:0]
	return nil
}
