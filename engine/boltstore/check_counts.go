package boltstore

import (
	"bytes"
	"encoding/json"

	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/store"
)

// countRun adds a run to the counts that the file must hold.
func (c *contentCheck) countRun(key []byte, row *runs.Run) {
	_ = runCountOf(key, row).addTo(c.runs, 1) // what is wrong with its workflow's name is said already
}

// counts takes what the file counts from what there is: sums wants nothing left.
func (c *contentCheck) counts(key, payload []byte) {
	counts, err := decodeCounts(key, payload)
	if err != nil {
		c.report.Add(err)
		return
	}
	if len(counts) == 0 {
		c.damaged(bucketCounts, key, "it counts nothing")
	}
	for status, n := range counts {
		c.runs[countDelta{string(key), status}] -= n
	}
}

// sums adds the counts that are not those of the runs.
func (c *contentCheck) sums() {
	if c.tx.Bucket(bucketCounts) == nil || c.later(bucketCounts) {
		return
	}
	for count, missing := range c.runs {
		if missing != 0 {
			c.damaged(bucketCounts, []byte(count.key), "%d runs that are %s are not counted", missing, count.status)
		}
	}
}

// attention checks that a run of the index needs somebody, and that its other row
// is there.
func (c *contentCheck) attention(key, _ []byte) {
	row, err := indexedRow(c.tx, bucketAttention, key)
	if err != nil {
		c.report.Add(err)
		return
	}
	if !store.NeedsSomebody(row) {
		c.damaged(bucketAttention, key, "run %s is %s and needs nobody", row.ID, row.Status)
	}
	if prefix, err := workflowPrefix(row.Workflow); err == nil {
		c.expect(bucketAttentionBy, join(prefix, key), "run "+row.ID+" needs somebody")
	}
}

func (c *contentCheck) look(key, payload []byte) {
	look := new(store.Look)
	if err := json.Unmarshal(payload, look); err != nil {
		c.damaged(bucketLooks, key, "%v", err)
		return
	}
	row, err := indexedRow(c.tx, bucketLooks, key)
	switch {
	case err != nil:
		c.report.Add(err)
	case !store.MayLookAt(row):
		c.damaged(bucketLooks, key, "run %s is %s: there is nothing to look at", row.ID, row.Status)
	case c.tx.Bucket(bucketAttention).Get(key) != nil:
		c.damaged(bucketLooks, key, "somebody looked at run %s, and it still needs somebody", row.ID)
	}
}

func (c *contentCheck) session(key, payload []byte) {
	stored := bytes.Clone(c.tx.Bucket(bucketSessions).Get(key))
	if _, err := decodeSession(key, stored); err != nil {
		c.report.Add(err)
	}
}
