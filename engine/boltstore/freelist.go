package boltstore

import (
	"encoding/binary"
	"fmt"
	"io"
)

// A close stores the list of the free pages, so that nobody has to look for them: a
// page of bbolt with their ids, in order. Where there are more than its count can say,
// the first id is their number.
const (
	freeListPage = 0x10
	manyFree     = 0xFFFF
	noFreeList   = 1<<64 - 1
)

// mostFree is how many free pages a stored list may have: to write a longer one with
// each commit would cost more than to look for them.
const mostFree = 256 << 10

// freeList is a stored list of free pages, with the pages that it lies on.
type freeList struct {
	ids         []uint64
	first, last uint64
}

// pages are those of the list itself: the next commit gives them up.
func (l *freeList) pages() (ids []uint64) {
	for id := l.first; id <= l.last; id++ {
		ids = append(ids, id)
	}
	return ids
}

// readFreeList reads the list of a file. Its ids are pages of the file, each one
// greater than the one before, and not those of the list.
func readFreeList(file io.ReaderAt, pageSize int64, pages, first uint64) (*freeList, []byte, error) {
	head := make([]byte, pageHeader+8)
	if first < 2 || first >= pages {
		return nil, nil, damagedPage(first, "the list of free pages is outside of the file's %d pages", pages)
	}
	if _, err := file.ReadAt(head, int64(first)*pageSize); err != nil {
		return nil, nil, fmt.Errorf("read page %d: %w", first, err)
	}
	count, overflow := uint64(binary.NativeEndian.Uint16(head[10:])), uint64(binary.NativeEndian.Uint32(head[12:]))
	from := uint64(pageHeader)
	if count == manyFree {
		count, from = binary.NativeEndian.Uint64(head[pageHeader:]), from+8
	}
	switch {
	case binary.NativeEndian.Uint64(head) != first || binary.NativeEndian.Uint16(head[8:]) != freeListPage:
		return nil, nil, damagedPage(first, "it is not the list of free pages")
	case overflow >= pages-first:
		return nil, nil, damagedPage(first, "%d overflow pages reach beyond the last page", overflow)
	case count > pages || from+count*8 > (overflow+1)*uint64(pageSize):
		return nil, nil, damagedPage(first, "%d free pages do not fit", count)
	}
	data := make([]byte, int64(overflow+1)*pageSize)
	if _, err := file.ReadAt(data, int64(first)*pageSize); err != nil {
		return nil, nil, fmt.Errorf("read page %d: %w", first, err)
	}
	l := &freeList{ids: make([]uint64, count), first: first, last: first + overflow}
	before := uint64(1)
	for i := range l.ids {
		id := binary.NativeEndian.Uint64(data[from+uint64(i)*8:])
		if id <= before || id >= pages || id >= l.first && id <= l.last {
			return nil, nil, damagedPage(first, "page %d cannot be the next free one behind page %d", id, before)
		}
		l.ids[i], before = id, id
	}
	return l, data, nil
}

// freeList compares the list of free pages with what the walk has seen: each page is
// of the tree, of the list, or free. A wrong one would let bbolt write over pages that
// are in use.
func (w *pageWalk) freeList(first uint64) error {
	if first == noFreeList {
		return nil
	}
	l, data, err := readFreeList(w.file, w.pageSize, w.pages, first)
	if err != nil {
		return err
	}
	listed := l.last - l.first + 1
	for _, id := range l.pages() {
		if w.seen[id/64]&(1<<(id%64)) != 0 {
			return damagedPage(id, "it is part of the tree and of the list of free pages")
		}
		w.seen[id/64] |= 1 << (id % 64)
	}
	for _, id := range l.ids {
		if w.seen[id/64]&(1<<(id%64)) != 0 {
			return damagedPage(first, "the list of free pages has page %d, which is in use", id)
		}
	}
	if missing := w.pages - 2 - w.used - listed - uint64(len(l.ids)); missing != 0 {
		return damagedPage(first, "the list of free pages lacks %d of them", missing)
	}
	w.list = l
	w.sum(first, data)
	return nil
}
