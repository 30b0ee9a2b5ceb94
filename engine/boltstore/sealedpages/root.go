package sealedpages

import "encoding/binary"

// bbolt keeps a small bucket inside the page that names it. While several of them grow,
// the tree that holds the buckets does not fit into its one page and is cut; when they
// have grown out of it, it would fit again, but bbolt joins pages only where something
// is removed. It stayed in pieces for good, and every commit wrote one or two pages more
// (ADR 74).

// bucketElement is the flag of a leaf's element that is a bucket.
const bucketElement = 0x01

// rootFill is how far the first piece of a tree that is cut is filled: the others are
// small then, and are joined again the sooner.
const rootFill = 0.95

// JoinRoot puts the pages of the tree that holds the buckets together again where they
// have become small enough. It is for the end of a transaction that writes: it makes an
// empty bucket anew, so that bbolt looks at the page.
func (t *Tx) JoinRoot() error {
	name := t.way.joinable()
	if name == nil {
		return nil
	}
	b := t.Bucket(name)
	if first, _ := b.Cursor().First(); first != nil || b.Sequence() != 0 {
		return nil // since this transaction: the next one finds another
	}
	if err := t.DeleteBucket(name); err != nil {
		return err
	}
	_, err := t.CreateBucket(name)
	return err
}

// joinable is the name of a bucket that was empty before the transaction, in a page that
// bbolt would join with its neighbour; nil where there is no need of it, or no use.
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
		if isBranch(leaf) {
			return nil
		}
		size := leafSize(leaf)
		if all += size; size <= int(w.size)/4 && name == nil {
			name = emptyBucket(leaf)
		}
	}
	if all > int(w.size) {
		return nil
	}
	return name
}

// leafElement is one of a leaf: its key, and what stands behind it.
func leafElement(page []byte, i int) (key, value []byte, isBucket bool) {
	at := pageHeader + i*pageElement
	from := at + int(binary.NativeEndian.Uint32(page[at+4:]))
	to := from + int(binary.NativeEndian.Uint32(page[at+8:]))
	return page[from:to], page[to : to+int(binary.NativeEndian.Uint32(page[at+12:]))], binary.NativeEndian.Uint32(page[at:])&bucketElement != 0
}

func leafSize(page []byte) (size int) {
	for i := range count(page) {
		key, value, _ := leafElement(page, i)
		size += pageElement + len(key) + len(value)
	}
	return size + pageHeader
}

// emptyBucket is the name of a bucket of a leaf that holds nothing: its own page, which
// stands inside the leaf behind its 16 bytes, has no element, and it has counted nothing.
func emptyBucket(page []byte) []byte {
	for i := range count(page) {
		name, value, isBucket := leafElement(page, i)
		if isBucket && len(value) == bucketHeader+pageHeader && binary.NativeEndian.Uint64(value) == 0 &&
			binary.NativeEndian.Uint64(value[8:]) == 0 && count(value[bucketHeader:]) == 0 {
			return name
		}
	}
	return nil
}

// bucketHeader is what bbolt stores of a bucket: the page of its tree, 0 where that
// stands behind it, and its sequence.
const bucketHeader = 16
