package boltstore

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	bolt "github.com/flowrun/flowrun/engine/boltstore/sealedpages"
	"github.com/flowrun/flowrun/engine/store"
)

// The layout of bbolt's pages, in the machine's byte order: a header of 16 bytes
// (id, flags, count of elements, count of overflow pages), elements of 16 bytes,
// then keys and values.
const (
	pageHeader  = 16
	pageElement = 16
	branchPage  = 0x01
	leafPage    = 0x02
	bucketEntry = 0x01 // flag of a leaf's element: its value is a bucket
	bucketSize  = 16   // header of such a value: root page, sequence
	maxDepth    = 64
)

// pageWalk looks at every page that can be reached from the root, before bbolt
// maps the file: bbolt scans the same pages on a goroutine of its own, where a
// damaged one ends the whole process (P14).
type pageWalk struct {
	file     io.ReaderAt
	pageSize int64
	pages    uint64   // pages below this id are in use or free
	seen     []uint64 // one bit for each page
	buffers  [][]byte // one for each depth
	used     uint64   // pages of the tree
	found    census
	rows     map[string][]byte // of bucket meta, sealed
	sums     bool              // whether the checksum of every record is compared too
	list     *freeList         // that the file holds; nil = none
	pageSums *bolt.Sums        // takes the sum of every page; nil = they are not wanted
}

// walkPages returns what it saw, and a *CorruptError that names the first
// damaged page, or with sums the first damaged record.
func walkPages(file io.ReaderAt, pageSize int64, pages, root uint64, sums bool, pageSums *bolt.Sums) (*pageWalk, error) {
	w := &pageWalk{
		file: file, pageSize: pageSize, pages: pages, seen: make([]uint64, pages/64+1),
		found: census{}, rows: map[string][]byte{}, sums: sums, pageSums: pageSums,
	}
	return w, w.page(root, nil, keyRange{}, 0)
}

// free returns the pages that the tree does not hold.
func (w *pageWalk) free() (ids []uint64) {
	if w.pageSums == nil {
		return nil
	}
	for id := uint64(2); id < w.pages; id++ {
		if w.seen[id/64]&(1<<(id%64)) == 0 {
			ids = append(ids, id)
		}
	}
	if w.list != nil {
		ids = append(ids, w.list.pages()...)
	}
	return ids
}

// sum notes the sums of pages that lie side by side.
func (w *pageWalk) sum(id uint64, data []byte) {
	if w.pageSums == nil {
		return
	}
	for ; len(data) > 0; data = data[w.pageSize:] {
		w.pageSums.Set(id, bolt.SumOf(data[:w.pageSize]))
		id++
	}
}

// keyRange is what the keys of a page lie in: from least on, before end. nil
// is no bound.
type keyRange struct{ least, end []byte }

func damagedPage(id uint64, format string, args ...any) error {
	return &store.CorruptError{Page: id, Detail: fmt.Sprintf("page %d: ", id) + fmt.Sprintf(format, args...)}
}

// page checks a page of the bucket at (nil = the root, which holds the buckets)
// and all below it. A key outside of the range would not be found by who looks for
// it.
func (w *pageWalk) page(id uint64, at *location, keys keyRange, depth int) error {
	if depth > maxDepth {
		return damagedPage(id, "the tree is deeper than %d pages", maxDepth)
	}
	data, err := w.read(id, depth)
	if err != nil {
		return err
	}
	switch flags := binary.NativeEndian.Uint16(data[8:]); flags {
	case leafPage:
		return w.leaf(id, data, at, keys, depth)
	case branchPage:
		return w.branch(id, data, at, keys, depth)
	default:
		return damagedPage(id, "flags %#x are neither a branch's nor a leaf's", flags)
	}
}

// read returns a page with its overflow pages, in the buffer of its depth.
func (w *pageWalk) read(id uint64, depth int) ([]byte, error) {
	if id < 2 || id >= w.pages {
		return nil, damagedPage(id, "outside of the file's %d pages", w.pages)
	}
	for len(w.buffers) <= depth {
		w.buffers = append(w.buffers, make([]byte, w.pageSize))
	}
	data := w.buffers[depth][:w.pageSize]
	if _, err := w.file.ReadAt(data, int64(id)*w.pageSize); err != nil {
		return nil, fmt.Errorf("read page %d: %w", id, err)
	}
	if found := binary.NativeEndian.Uint64(data); found != id {
		return nil, damagedPage(id, "it says that it is page %d", found)
	}
	overflow := uint64(binary.NativeEndian.Uint32(data[12:]))
	if id+overflow >= w.pages {
		return nil, damagedPage(id, "%d overflow pages reach beyond the last page", overflow)
	}
	for at := id; at <= id+overflow; at++ {
		if w.seen[at/64]&(1<<(at%64)) != 0 {
			return nil, damagedPage(at, "it is part of the tree twice")
		}
		w.seen[at/64] |= 1 << (at % 64)
		w.used++
	}
	if overflow == 0 {
		w.sum(id, data)
		return data, nil
	}
	whole := make([]byte, int64(overflow+1)*w.pageSize)
	if _, err := w.file.ReadAt(whole, int64(id)*w.pageSize); err != nil {
		return nil, fmt.Errorf("read page %d: %w", id, err)
	}
	w.buffers[depth] = whole
	w.sum(id, whole)
	return whole, nil
}

// elements returns how many elements a page has, when all fit.
func elements(id uint64, data []byte) (int, error) {
	count := int(binary.NativeEndian.Uint16(data[10:]))
	if pageHeader+count*pageElement > len(data) {
		return 0, damagedPage(id, "%d elements do not fit", count)
	}
	return count, nil
}

// slice returns the bytes of an element, whose position counts from itself.
func slice(id uint64, data []byte, element int, pos uint32, sizes ...uint32) ([]byte, error) {
	from := uint64(element) + uint64(pos)
	to := from
	for _, size := range sizes {
		to += uint64(size)
	}
	if from < pageHeader || to > uint64(len(data)) {
		return nil, damagedPage(id, "an element reaches beyond its end")
	}
	return data[from:to], nil
}

func (w *pageWalk) branch(id uint64, data []byte, in *location, keys keyRange, depth int) error {
	count, err := elements(id, data)
	if err != nil {
		return err
	}
	if count == 0 {
		return damagedPage(id, "a branch without children")
	}
	key, child, err := branchElement(id, data, 0)
	for i := range count {
		if err != nil {
			return err
		}
		if err := keys.take(id, key, i == 0); err != nil {
			return err
		}
		below, next := keyRange{least: key, end: keys.end}, child
		if i+1 < count {
			if key, child, err = branchElement(id, data, i+1); err != nil {
				return err
			}
			below.end = key
		}
		if err := w.page(next, in, below, depth+1); err != nil {
			return err
		}
	}
	return nil
}

func branchElement(id uint64, data []byte, i int) (key []byte, child uint64, err error) {
	at := pageHeader + i*pageElement
	pos, size := binary.NativeEndian.Uint32(data[at:]), binary.NativeEndian.Uint32(data[at+4:])
	key, err = slice(id, data, at, pos, size)
	return key, binary.NativeEndian.Uint64(data[at+8:]), err
}

func (w *pageWalk) leaf(id uint64, data []byte, in *location, keys keyRange, depth int) error {
	count, err := elements(id, data)
	if err != nil {
		return err
	}
	for i := range count {
		at := pageHeader + i*pageElement
		flags, pos := binary.NativeEndian.Uint32(data[at:]), binary.NativeEndian.Uint32(data[at+4:])
		keySize, valueSize := binary.NativeEndian.Uint32(data[at+8:]), binary.NativeEndian.Uint32(data[at+12:])
		both, err := slice(id, data, at, pos, keySize, valueSize)
		if err != nil {
			return err
		}
		if err := keys.take(id, both[:keySize], i == 0); err != nil {
			return err
		}
		switch flags {
		case 0:
			err = w.record(id, in, both[:keySize], both[keySize:])
		case bucketEntry:
			err = w.bucket(id, both[keySize:], inside(in, both[:keySize]), depth)
		default:
			err = damagedPage(id, "an element with flags %#x is neither a record nor a bucket", flags)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// inside returns where the records of a bucket are counted.
func inside(in *location, name []byte) *location {
	at := newLocation(string(name), bytes.Clone(name))
	if in != nil {
		at = newLocation(in.top, innerName(in.path, name))
	}
	return &at
}

func (w *pageWalk) record(id uint64, in *location, key, stored []byte) error {
	if in == nil {
		return damagedPage(id, "a record outside of all buckets")
	}
	if in.top == string(bucketMeta) {
		w.rows[string(key)] = bytes.Clone(stored)
	}
	if !isCensus(in, key) {
		w.found.add(in.top, 1, in.recordSum(key, stored))
	}
	if !w.sums {
		return nil
	}
	if _, err := unseal(in.path, key, stored); err != nil {
		if corrupt, ok := errors.AsType[*store.CorruptError](err); ok {
			corrupt.Page = id
		}
		return err
	}
	return nil
}

// bucket checks the value that is a bucket: the page of its root, or a leaf that
// lies inside the value.
func (w *pageWalk) bucket(id uint64, value []byte, at *location, depth int) error {
	if len(value) < bucketSize {
		return damagedPage(id, "a bucket of %d bytes", len(value))
	}
	w.found.add(at.top, 0, at.sequenceSum(binary.NativeEndian.Uint64(value[8:])))
	if root := binary.NativeEndian.Uint64(value); root != 0 {
		return w.page(root, at, keyRange{}, depth+1)
	}
	inline := value[bucketSize:]
	if len(inline) < pageHeader || depth >= maxDepth || binary.NativeEndian.Uint64(inline) != 0 ||
		binary.NativeEndian.Uint16(inline[8:]) != leafPage || binary.NativeEndian.Uint32(inline[12:]) != 0 {
		return damagedPage(id, "a bucket inside it is damaged")
	}
	return w.leaf(id, inline, at, keyRange{}, depth+1)
}

// take refuses a key that is not behind the one before it, or outside of the range.
// The first one of a page is the one that its parent has for it: bbolt finds the page
// in its parent by it when it writes, and would put a second way to the page there
// where the two differ. The range goes on behind the key.
func (r *keyRange) take(id uint64, key []byte, first bool) error {
	inOrder := r.least == nil
	if r.least != nil {
		order := bytes.Compare(key, r.least)
		inOrder = first && order == 0 || !first && order > 0
	}
	if !inOrder || r.end != nil && bytes.Compare(key, r.end) >= 0 {
		return damagedPage(id, "its keys are out of order")
	}
	r.least = key
	return nil
}
