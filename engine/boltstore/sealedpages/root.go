package sealedpages

import "encoding/binary"

// bbolt keeps a small bucket inside the page that names it. While several of them grow,
// the tree that holds the buckets does not fit into its one page and is cut; when they
// have grown out of it, it would fit again, but bbolt joins pages only where something
// is removed. It stayed in pieces for good, and every commit wrote one or two pages more
// (ADR 74).

// rootFill is how far the first piece of a tree that is cut is filled: the others are
// small then, and are joined again the sooner. bbolt joins a piece of up to half of it.
const rootFill = 0.95

// JoinRoot puts the pages of the tree that holds the buckets together again where they
// have become small enough, one with each transaction. It is for the end of one that
// writes: a bucket that it makes for a moment lets bbolt look at the page.
func (t *Tx) JoinRoot() error {
	last := t.way.joinable()
	if last == nil {
		return nil
	}
	name := append(last[:len(last):len(last)], 0) // the next one: no bucket has it
	if _, err := t.CreateBucket(name); err != nil {
		return err
	}
	return t.DeleteBucket(name)
}

// joinable is the last name in a page that bbolt would join with its neighbour; nil where
// there is no need of it, or no use.
func (w *way) joinable() (name []byte) {
	if w.memory == nil {
		return nil
	}
	root := w.page(w.root)
	if !isBranch(root) {
		return nil
	}
	all := 0
	for i := range count(root) {
		_, id := element(root, i)
		leaf := w.page(id)
		if isBranch(leaf) || count(leaf) == 0 {
			return nil
		}
		size, last := leafSize(leaf)
		if all += size; size <= int(float64(w.size)*rootFill)/2 {
			name = last
		}
	}
	if all > int(w.size) {
		return nil
	}
	return name
}

// leafSize is how much of a leaf is in use, with the last key in it. An element of a leaf
// is its flags, the place of its key, counted from itself, and the sizes of key and value.
func leafSize(page []byte) (size int, last []byte) {
	size = pageHeader
	for i := range count(page) {
		at := pageHeader + i*pageElement
		from, length := at+int(binary.NativeEndian.Uint32(page[at+4:])), int(binary.NativeEndian.Uint32(page[at+8:]))
		last = page[from : from+length]
		size += pageElement + length + int(binary.NativeEndian.Uint32(page[at+12:]))
	}
	return size, last
}
