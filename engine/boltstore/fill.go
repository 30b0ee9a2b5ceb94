package boltstore

import (
	"bytes"

	bolt "github.com/flowrun/flowrun/engine/boltstore/sealedpages"
)

// A page that is full is cut in two. bbolt cuts it in the middle, which is right for keys
// that come anywhere. Where each key comes behind the last one, the left half would stay
// half empty for good and the right one be cut twice as often: a transaction that adds to
// the end of a bucket alone fills its pages. Where keys come at the ends of many runs,
// workflows and statuses, 0.7 is as good for one of them as for a thousand (ADR 74).
const (
	fillAtEnd     = 1.0
	fillScattered = 0.7
)

// bucketEnd is the end of a bucket as the committer knows it.
type bucketEnd struct {
	grows     bool   // a row changes its size later: it needs room in its page
	last      []byte // the greatest key that was ever put
	known     bool   // last was looked up
	tx        int    // the transaction that scattered speaks of
	scattered bool   // it has put a key before the end
}

// bucketEnds are those of the buckets whose keys are in the order of runs.
type bucketEnds map[string]*bucketEnd

func newBucketEnds() bucketEnds {
	ends := bucketEnds{string(bucketRuns): {grows: true}}
	for _, name := range [][]byte{
		bucketJournal, bucketLogs, bucketOutbox, bucketRefs, bucketByWorkflow, bucketByStatus, bucketByWorkflowStatus,
		bucketByLabel, bucketChildren, bucketFires, bucketFiresBySlot,
	} {
		ends[string(name)] = &bucketEnd{}
	}
	return ends
}

// put notes a key that is put into a bucket, and says how far its pages are filled.
func (e bucketEnds) put(b *bolt.Bucket, name string, key []byte) {
	end := e[name]
	if end == nil {
		return
	}
	if b.Fill(fillScattered); end.atEnd(b, key) {
		b.Fill(fillAtEnd)
	}
}

// atEnd reports whether a transaction has put nothing but keys behind the end so far.
func (e *bucketEnd) atEnd(b *bolt.Bucket, key []byte) bool {
	if !e.known {
		last, _ := b.Cursor().Last()
		e.last, e.known = bytes.Clone(last), true
	}
	if tx := b.Tx().ID(); tx != e.tx {
		e.tx, e.scattered = tx, false
	}
	if bytes.Compare(key, e.last) > 0 {
		e.last = append(e.last[:0], key...)
	} else {
		e.scattered = true
	}
	return !e.scattered && !e.grows
}

// behind reports whether a key comes after all that were ever put into a bucket: it is not
// there, and needs no look.
func (e bucketEnds) behind(bucket, key []byte) bool {
	end := e[string(bucket)]
	return end != nil && end.known && bytes.Compare(key, end.last) > 0
}
