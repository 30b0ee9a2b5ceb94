package sealedpages

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"unsafe"

	bbolt "go.etcd.io/bbolt"
)

// The layout of bbolt's pages: a header of 16 bytes (id, flags, count of elements,
// count of overflow pages), then elements of 16 bytes. That of a branch is the place
// of its key, counted from itself, the key's size, and the page below.
const (
	pageHeader  = 16
	pageElement = 16
	branchPage  = 0x01
	maxDepth    = 64
)

// way follows the pages of one transaction before bbolt does.
type way struct {
	guard  *Guard
	memory []byte // what bbolt has mapped, as far as the transaction sees it
	root   uint64
	pages  uint64
	size   uint64 // of a page
	check  bool   // pages are compared with their sums
	note   bool   // pages may be replaced
}

func (w *way) begin(raw *bbolt.Tx, g *Guard, writes bool) {
	*w = way{guard: g}
	if g == nil {
		return
	}
	w.check, w.note = !g.Whole(), writes
	if !w.watches() {
		return
	}
	info := raw.DB().Info()
	w.size = uint64(info.PageSize)
	w.pages = uint64(raw.Size()) / w.size
	buckets := raw.Cursor().Bucket()
	w.root = uint64(buckets.RootPage())
	buckets.FillPercent = rootFill
	// The map is no memory of Go: its address is a number, and stays what it is until
	// the transaction ends.
	start := *(*unsafe.Pointer)(unsafe.Pointer(&info.Data))        //nolint:gosec // see above
	w.memory = unsafe.Slice((*byte)(start), int64(w.pages*w.size)) //nolint:gosec // see above
}

// watches reports whether pages have to be followed at all.
func (w *way) watches() bool { return w.check || w.note }

// page compares a page and its overflow pages, and returns them.
func (w *way) page(id uint64) []byte {
	w.one(id)
	data := w.memory[id*w.size : (id+1)*w.size]
	overflow := uint64(binary.NativeEndian.Uint32(data[12:]))
	if overflow == 0 {
		return data
	}
	for at := id + 1; at <= id+overflow; at++ {
		w.one(at)
	}
	return w.memory[id*w.size : (id+overflow+1)*w.size]
}

func (w *way) one(id uint64) {
	if id < 2 || id >= w.pages {
		w.damaged(id)
		panic(fmt.Sprintf("page %d is none of the file's %d pages", id, w.pages))
	}
	if id >= w.guard.pages {
		return // this session's own
	}
	if w.check && !w.guard.known.has(id) {
		if !w.guard.matches(id, w.memory[id*w.size:(id+1)*w.size]) {
			w.damaged(id)
		}
		w.guard.known.set(id)
	}
	if w.note {
		w.guard.replaced.set(id)
	}
}

// damaged asks for a look at the whole file. It comes back when that finds nothing:
// then what differs is of no meaning, and every page was read.
func (w *way) damaged(id uint64) {
	if err := w.guard.suspect(Snapshot{Root: w.root, Pages: w.pages, Page: id}); err != nil {
		panic(&Damage{Err: err})
	}
	w.check = false
}

// Damage is what a transaction panics with over a page that is damaged.
type Damage struct{ Err error }

func (d *Damage) Error() string { return d.Err.Error() }
func (d *Damage) Unwrap() error { return d.Err }

func isBranch(page []byte) bool { return binary.NativeEndian.Uint16(page[8:]) == branchPage }

func count(page []byte) int { return int(binary.NativeEndian.Uint16(page[10:])) }

func element(page []byte, i int) (key []byte, child uint64) {
	at := pageHeader + i*pageElement
	from := at + int(binary.NativeEndian.Uint32(page[at:]))
	return page[from : from+int(binary.NativeEndian.Uint32(page[at+4:]))], binary.NativeEndian.Uint64(page[at+8:])
}

// The pages that a way down can lead to.
type target int

const (
	pageOf     target = iota // that of a key
	pageBefore               // that of the last key before
	pageLast
)

// pick chooses the element of a branch that leads on: the last one at or before the
// key, as bbolt does, or the last one before it.
func pick(page []byte, key []byte, t target) int {
	low, high := 0, count(page)
	if t == pageLast {
		return high - 1
	}
	for low < high { // the first element behind the key
		middle := int(uint(low+high) >> 1)
		found, _ := element(page, middle)
		order := bytes.Compare(found, key)
		if order < 0 || order == 0 && t == pageOf {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return max(0, low-1)
}

// down compares all pages on the way to a leaf, with beside those left and right of
// them too, and returns what its keys lie between: from least to before end; nil is no
// bound.
func (w *way) down(id uint64, key []byte, t target, beside bool) (least, end []byte) {
	if id == 0 {
		return nil, nil // the bucket lies inside the page that names it
	}
	page := w.page(id)
	for depth := 0; isBranch(page); depth++ {
		n := count(page)
		if n == 0 || depth > maxDepth {
			w.damaged(id)
			panic(fmt.Sprintf("page %d is no branch of a tree", id))
		}
		i := pick(page, key, t)
		at, child := element(page, i)
		if i > 0 {
			least = at
			if beside {
				_, left := element(page, i-1)
				w.page(left)
			}
		}
		if i+1 < n {
			next, right := element(page, i+1)
			end = next
			if beside {
				w.page(right)
			}
		}
		id = child
		page = w.page(id)
	}
	return least, end
}

// to compares the pages that lead to a key.
func (w *way) to(root uint64, key []byte) { w.down(root, key, pageOf, false) }

// beside compares the pages of a key, and of the leaves before and behind it.
func (w *way) beside(root uint64, key []byte) (least, end []byte) {
	least, end = w.down(root, key, pageOf, false)
	w.neighbours(root, least, end)
	return least, end
}

// around compares what a removal may join: the neighbours of each page on the way, and
// the leaves that a cursor steps to when this one is empty.
func (w *way) around(root uint64, key []byte) {
	least, end := w.down(root, key, pageOf, true)
	w.neighbours(root, least, end)
}

func (w *way) neighbours(root uint64, least, end []byte) {
	if least != nil {
		w.down(root, least, pageBefore, false)
	}
	if end != nil {
		w.down(root, end, pageOf, false)
	}
}

func (w *way) last(root uint64) (least, end []byte) {
	least, end = w.down(root, nil, pageLast, false)
	w.neighbours(root, least, end)
	return least, end
}

// below compares all pages of a tree.
func (w *way) below(id uint64, depth int) {
	if id == 0 {
		return
	}
	page := w.page(id)
	if !isBranch(page) {
		return
	}
	if depth > maxDepth {
		w.damaged(id)
		panic(fmt.Sprintf("page %d: the tree is deeper than %d pages", id, maxDepth))
	}
	for i := range count(page) {
		_, child := element(page, i)
		w.below(child, depth+1)
	}
}

// within reports whether a key lies at or behind least and before end; nil is no bound.
func within(key, least, end []byte) bool {
	return (least == nil || bytes.Compare(key, least) >= 0) && (end == nil || bytes.Compare(key, end) < 0)
}
