package commits

import (
	"encoding/binary"
	"fmt"
	"os"
	"sync"
)

// The layout of a file of bbolt. This reader shares nothing with that of
// engine/boltstore, since what it tells is a gate.
const (
	pageSize    = 4096
	pageHeader  = 16
	pageElement = 16
	branchPage  = 0x01
	bucketEntry = 0x01 // flag of a leaf's element: its value is a bucket
	metaRoot    = pageHeader + 16
	metaTxid    = pageHeader + 48
)

// What is of no single bucket: the page that ends every transaction, and the tree that
// holds the buckets, with the small ones inside it.
const (
	ofMeta = "(meta)"
	ofRoot = "(root)"
)

// written is what one commit has written: how many pages of each bucket.
type written map[string]int

func (w written) pages() (n int) {
	for _, pages := range w {
		n += pages
	}
	return n
}

// pageWatch tells which pages each commit of a store has written. bbolt never writes
// over a page of the transaction before: a page that the tree has now and had not then
// was written by this commit, and below a page that it had nothing has changed.
type pageWatch struct {
	path    string
	mu      sync.Mutex
	file    *os.File
	tree    map[uint64]treePage
	commits []written
	err     error
}

// treePage is a page of the tree, with those below it.
type treePage struct{ below []uint64 }

// committed is the engine's hook around each transaction.
func (w *pageWatch) committed(stage string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if stage == "after" && w.err == nil {
		w.err = w.look()
	}
}

// take returns what the commits since the last call have written.
func (w *pageWatch) take() ([]written, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	commits := w.commits
	w.commits = nil
	return commits, w.err
}

func (w *pageWatch) close() {
	if w.file != nil {
		_ = w.file.Close()
	}
}

func (w *pageWatch) look() (err error) {
	if w.file == nil {
		if w.file, err = os.Open(w.path); err != nil {
			return err
		}
	}
	root, err := w.root()
	if err != nil {
		return err
	}
	next := look{watch: w, tree: map[uint64]treePage{}, wrote: written{ofMeta: 1}}
	if err := next.page(root, ofRoot, nil); err != nil {
		return err
	}
	w.tree, w.commits = next.tree, append(w.commits, next.wrote)
	return nil
}

// root returns the root page of the newest transaction.
func (w *pageWatch) root() (root uint64, err error) {
	var newest uint64
	for page := range uint64(2) {
		data, err := w.read(page)
		if err != nil {
			return 0, err
		}
		if txid := binary.NativeEndian.Uint64(data[metaTxid:]); txid >= newest {
			newest, root = txid, binary.NativeEndian.Uint64(data[metaRoot:])
		}
	}
	return root, nil
}

func (w *pageWatch) read(id uint64) ([]byte, error) {
	data := make([]byte, pageSize)
	if _, err := w.file.ReadAt(data, int64(id)*pageSize); err != nil { //nolint:gosec // a page of a file
		return nil, fmt.Errorf("read page %d: %w", id, err)
	}
	overflow := binary.NativeEndian.Uint32(data[12:])
	if overflow == 0 || id < 2 {
		return data, nil
	}
	data = make([]byte, pageSize*(1+int(overflow)))
	_, err := w.file.ReadAt(data, int64(id)*pageSize) //nolint:gosec // a page of a file
	return data, err
}

// look is one walk over the tree.
type look struct {
	watch *pageWatch
	tree  map[uint64]treePage
	wrote written
}

// page walks over a page of a bucket; above gets it as one below.
func (l *look) page(id uint64, bucket string, above *treePage) error {
	if above != nil {
		above.below = append(above.below, id)
	}
	if _, had := l.watch.tree[id]; had {
		l.keep(id)
		return nil
	}
	data, err := l.watch.read(id)
	if err != nil {
		return err
	}
	l.wrote[bucket] += len(data) / pageSize
	var here treePage
	for i := range int(binary.NativeEndian.Uint16(data[10:])) {
		at := pageHeader + i*pageElement
		if binary.NativeEndian.Uint16(data[8:]) == branchPage {
			if err := l.page(binary.NativeEndian.Uint64(data[at+8:]), bucket, &here); err != nil {
				return err
			}
			continue
		}
		if binary.NativeEndian.Uint32(data[at:])&bucketEntry == 0 {
			continue
		}
		key := at + int(binary.NativeEndian.Uint32(data[at+4:]))
		value := key + int(binary.NativeEndian.Uint32(data[at+8:]))
		name := string(data[key:value])
		if bucket != ofRoot {
			name = bucket + "/" + name
		}
		if root := binary.NativeEndian.Uint64(data[value:]); root != 0 {
			if err := l.page(root, name, &here); err != nil {
				return err
			}
		}
	}
	l.tree[id] = here
	return nil
}

// keep takes over a page that is as it was, with all below it.
func (l *look) keep(id uint64) {
	page := l.watch.tree[id]
	l.tree[id] = page
	for _, below := range page.below {
		l.keep(below)
	}
}
