package boltstore

import (
	"fmt"

	bolt "github.com/flowrun/flowrun/engine/boltstore/sealedpages"
	"github.com/flowrun/flowrun/engine/store"
)

// fileState is what a look at the whole file says before bbolt maps it.
type fileState struct {
	size        int64
	pageSize    int64
	pages, used uint64 // pages below the high-water mark; those of the tree, without the two metas
	txid        uint64 // of the last transaction
	schema      uint64 // 0 = it is no store
	closed      bool   // by Close: nothing was written behind
	verified    bool   // by Options.Verify
	found       census

	sums   *bolt.Sums  // of the pages; nil = they were not wanted
	free   []uint64    // pages that hold nothing
	sealed *openedSeal // nil = every page was read
}

// newState compares what a walk found with the census that the last transaction
// left (P14).
func newState(walk *pageWalk, txid uint64, size int64) (*fileState, error) {
	state := &fileState{size: size, pageSize: walk.pageSize, pages: walk.pages, used: walk.used, txid: txid, found: walk.found, sums: walk.pageSums, free: walk.free()}
	version, err := walk.meta(keySchemaVersion)
	if err != nil || version == nil {
		return state, err
	}
	if state.schema, err = decodeSchema(version); err != nil || state.schema < 2 || state.schema > schemaVersion {
		return state, err
	}
	stored, err := walk.meta(keyCensus)
	if err != nil {
		return nil, err
	}
	if stored == nil {
		return nil, &store.CorruptError{Bucket: string(bucketMeta), Key: hexKey(keyCensus), Detail: "the census is missing"}
	}
	written, closed, at, err := decodeCensus(stored)
	if err != nil {
		return nil, err
	}
	if at != txid {
		return nil, &store.CorruptError{Detail: fmt.Sprintf("its census is of transaction %d, its last one is %d", at, txid)}
	}
	state.closed = closed
	return state, written.compare(walk.found)
}

// meta returns a row of bucket meta; nil when it is absent.
func (w *pageWalk) meta(key []byte) ([]byte, error) {
	stored, ok := w.rows[string(key)]
	if !ok {
		return nil, nil
	}
	return unseal(bucketMeta, key, stored)
}

// freeBytes is the room inside the file.
func (f *fileState) freeBytes() int64 {
	return max(0, int64(f.pages)-2-int64(f.used)) * f.pageSize
}
