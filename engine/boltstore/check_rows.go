package boltstore

import (
	"bytes"
	"fmt"

	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/store"
)

func (c *contentCheck) damaged(bucket, key []byte, format string, args ...any) {
	c.report.Add(&store.CorruptError{Bucket: string(bucket), Key: hexKey(key), Detail: fmt.Sprintf(format, args...)})
}

// run checks a run's row against its index rows and plan.
func (c *contentCheck) run(key, payload []byte) {
	c.report.Runs++
	row, err := decodeRow(key, payload)
	if err != nil {
		c.report.Add(err)
		return
	}
	if len(key) != runKeySize || row.ID != runID(key) {
		c.damaged(bucketRuns, key, "the row is that of run %q", row.ID)
		return
	}
	keys, err := indexKeys(row, key)
	if err != nil {
		c.damaged(bucketRuns, key, "%v", err)
		return
	}
	for _, index := range keys {
		if c.schema < 2 && bytes.Equal(index.bucket, bucketByLabel) {
			continue // the migration makes it
		}
		c.expect(index.bucket, index.key, "run "+row.ID+" wants it")
	}
	c.countRun(key, row)
	if c.tx.Bucket(bucketJournal).Get(seqKey(key, 1)) == nil {
		c.damaged(bucketJournal, seqKey(key, 1), "the first record of run %s is missing", row.ID)
	}
	c.planOf(key, row.PlanHash)
}

func (c *contentCheck) planOf(run []byte, hash string) {
	key, ok := decodeHash(hash)
	if !ok {
		return
	}
	if c.tx.Bucket(bucketPlans).Get(key) == nil {
		c.damaged(bucketPlans, key, "the plan of run %s is missing", runID(run))
	}
	if c.schema >= 2 {
		c.expect(bucketRefs, planRef(key, run), "run "+runID(run)+" wants its plan")
	}
}

func (c *contentCheck) plan(key, payload []byte) {
	if len(payload) == 0 || payload[0] != planBlob {
		return
	}
	c.blob(bucketPlans, key, payload[1:], noRun())
}

// blob checks that a large value is there, and that its reference is.
func (c *contentCheck) blob(bucket, key, hash, run []byte) {
	if c.tx.Bucket(bucketBlobs).Get(hash) == nil {
		c.damaged(bucket, key, "its large value %s is missing", hexKey(hash))
	}
	if c.schema >= 2 {
		c.expect(bucketRefs, blobRef(hash, run), "a record wants its large value")
	}
}

func (c *contentCheck) request(key, payload []byte) {
	if len(payload) != runKeySize || c.tx.Bucket(bucketRuns).Get(payload) == nil {
		c.damaged(bucketRequests, key, "the run of a request is missing")
	}
}

// ofRun checks that the run of a row is there.
func (c *contentCheck) ofRun(bucket []byte) func(key, payload []byte) {
	var last []byte
	return func(key, _ []byte) {
		if len(key) < runKeySize {
			c.damaged(bucket, key, "the key names no run")
			return
		}
		run := key[:runKeySize]
		if bytes.Equal(run, last) {
			return
		}
		last = bytes.Clone(run)
		if c.tx.Bucket(bucketRuns).Get(run) == nil && !c.deleted(run) {
			c.damaged(bucket, key, "its run %s is missing", runID(run))
		}
	}
}

// deleted reports whether a run was being removed when the program ended.
func (c *contentCheck) deleted(run []byte) bool {
	b := c.tx.Bucket(bucketDeletions)
	return b != nil && b.Get(run) != nil
}

// journalCheck follows the journals, one run after another.
type journalCheck struct {
	run     []byte
	seq     uint64
	blobs   map[string]bool // keys that the run has named
	deleted bool
}

func (j *journalCheck) of(c *contentCheck) func(key, payload []byte) {
	known := c.ofRun(bucketJournal)
	return func(key, payload []byte) {
		known(key, payload)
		if len(key) != runKeySize+8 {
			c.damaged(bucketJournal, key, "not the key of a record")
			return
		}
		c.report.Records++
		if !bytes.Equal(key[:runKeySize], j.run) {
			j.run, j.seq, j.blobs = bytes.Clone(key[:runKeySize]), 0, map[string]bool{}
			j.deleted = c.deleted(j.run)
		}
		j.record(c, key, payload)
	}
}

func (j *journalCheck) record(c *contentCheck, key, payload []byte) {
	if j.seq++; j.seq != keySeq(key) && !j.deleted {
		c.damaged(bucketJournal, seqKey(j.run, j.seq), "record %d is missing", j.seq)
	}
	j.seq = keySeq(key)
	cuts, encoded, err := splitRecord(key, payload)
	if err != nil {
		c.report.Add(err)
		return
	}
	if c.deep {
		if _, err := journal.Decode(encoded); err != nil {
			c.damaged(bucketJournal, key, "%v", err)
		}
	}
	for _, cut := range cuts {
		blobs, ok := cut.blobs()
		if !ok {
			c.damaged(bucketJournal, key, "%q is not a hash", cut.Hash)
		}
		for _, blob := range blobs {
			j.blob(c, key, blob)
		}
	}
}

// blob follows a record to a large value, or to a piece of one.
func (j *journalCheck) blob(c *contentCheck, key, blob []byte) {
	if j.deleted {
		j.refOfDeleted(c, blob)
	} else if !j.blobs[string(blob)] {
		c.blob(bucketJournal, key, blob, j.run)
	}
	j.blobs[string(blob)] = true
}

// refOfDeleted counts a reference that is not removed yet.
func (j *journalCheck) refOfDeleted(c *contentCheck, hash []byte) {
	ref := blobRef(hash, j.run)
	if !j.blobs[string(hash)] && c.tx.Bucket(bucketRefs).Get(ref) != nil {
		c.expect(bucketRefs, ref, "")
	}
}
