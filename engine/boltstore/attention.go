package boltstore

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	bolt "github.com/flowrun/flowrun/engine/boltstore/sealedpages"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/store"
)

// A run that needs somebody stands in an index of its own, in the order of time and by
// its workflow, from the transaction on that says so.

// indexAttention moves a run into the index or out of it when its status changes.
func (c *rowChange) indexAttention(w *writer) error {
	old := c.old
	if !store.AsksAnew(old, c.row) {
		return nil
	}
	if old != nil {
		if err := dropAttention(w, c.key, old); err != nil {
			return err
		}
	}
	if c.row.Status == runs.RunSucceeded {
		if err := w.settle(c.workflow, c.key); err != nil {
			return err
		}
	}
	if !store.NeedsSomebody(c.row) {
		return nil
	}
	if err := w.put(bucketAttention, c.key); err != nil {
		return err
	}
	return w.put(bucketAttentionBy, join(c.workflow, c.key))
}

// dropAttention takes a run out of the index, with what was noted of looks.
func dropAttention(w *writer, run []byte, row *runs.Run) error {
	if !store.NeedsSomebody(row) {
		return nil
	}
	if err := w.remove(bucketLooks, run); err != nil {
		return err
	}
	return unlist(w, run, row.Workflow)
}

func unlist(w *writer, run []byte, workflow string) error {
	prefix, err := workflowPrefix(workflow)
	if err != nil {
		return err
	}
	if err := w.remove(bucketAttention, run); err != nil {
		return err
	}
	return w.remove(bucketAttentionBy, join(prefix, run))
}

// settle takes the failed runs of a workflow out of the index that were accepted
// before a run that has succeeded.
func (w *writer) settle(workflow, success []byte) error {
	if w.census.of(string(bucketAttentionBy)).keys == 0 {
		return nil
	}
	var settled [][]byte
	cursor := w.Bucket(bucketAttentionBy).Cursor()
	for key, _ := cursor.Seek(workflow); bytes.HasPrefix(key, workflow); key, _ = cursor.Next() {
		run := key[len(workflow):]
		if bytes.Compare(run, success) >= 0 {
			break
		}
		settled = append(settled, bytes.Clone(run))
	}
	for _, run := range settled {
		row, err := indexedRow(w.Tx, bucketAttentionBy, run)
		if err != nil {
			return err
		}
		if !store.MayLookAt(row) {
			continue
		}
		if err := unlist(w, run, row.Workflow); err != nil {
			return err
		}
	}
	return nil
}

// AttentionCount is that of store.Totals.
func (s *Store) AttentionCount(workflow string) (n int, err error) {
	err = s.view(func(tx *bolt.Tx) error {
		if workflow == "" {
			counted, err := storedCensus(tx)
			n = int(counted.of(string(bucketAttention)).keys)
			return err
		}
		prefix, err := workflowPrefix(workflow)
		if err != nil {
			return err
		}
		cursor := tx.Bucket(bucketAttentionBy).Cursor()
		for key, _ := cursor.Seek(prefix); bytes.HasPrefix(key, prefix); key, _ = cursor.Next() {
			n++
		}
		return nil
	})
	return n, err
}

// lookRows is how many runs one transaction takes out of the index.
const lookRows = 500

// Look is that of store.Runs.
func (s *Store) Look(ids []string, by string, at time.Time) (looked []string, err error) {
	note, err := json.Marshal(store.Look{At: at, By: by})
	if err != nil {
		return nil, fmt.Errorf("note a look: %w", err)
	}
	for part := range slices.Chunk(ids, lookRows) {
		var taken []string
		err := s.do(len(part)*len(note), func(w *writer) (bool, error) {
			rows, err := toLookAt(w.Tx, part)
			if err != nil || len(rows) == 0 {
				return false, err
			}
			return true, inTx(func() error {
				for _, row := range rows {
					key, err := runKey(row.ID)
					if err != nil {
						return err
					}
					if err := unlist(w, key, row.Workflow); err != nil {
						return err
					}
					if err := w.put(bucketLooks, key, note); err != nil {
						return err
					}
					taken = append(taken, row.ID)
				}
				return nil
			})
		})
		if err != nil {
			return looked, fmt.Errorf("note a look: %w", err)
		}
		looked = append(looked, taken...)
	}
	return looked, nil
}

// toLookAt returns the rows of those runs that a look takes out of the index.
func toLookAt(tx *bolt.Tx, ids []string) (rows []*runs.Run, err error) {
	seen := map[string]bool{}
	for _, id := range ids {
		key, err := runKey(id)
		if err != nil || seen[id] || tx.Bucket(bucketAttention).Get(key) == nil {
			continue
		}
		seen[id] = true
		row, err := indexedRow(tx, bucketAttention, key)
		if err != nil {
			return nil, err
		}
		if store.MayLookAt(row) {
			rows = append(rows, row)
		}
	}
	return rows, nil
}

// Looked is that of store.Runs.
func (s *Store) Looked(id string) (look *store.Look, needed bool, err error) {
	key, err := runKey(id)
	if err != nil {
		return nil, false, err
	}
	err = s.view(func(tx *bolt.Tx) error {
		needed = tx.Bucket(bucketAttention).Get(key) != nil
		stored, err := getSealed(tx.Bucket(bucketLooks), bucketLooks, key)
		if err != nil || stored == nil {
			return err
		}
		look = new(store.Look)
		if err := json.Unmarshal(stored, look); err != nil {
			return &store.CorruptError{Bucket: string(bucketLooks), Key: hexKey(key), Detail: err.Error()}
		}
		return nil
	})
	return look, needed, err
}

// WorkflowHeads is that of store.Totals.
func (s *Store) WorkflowHeads(workflow string) (heads []store.WorkflowHead, err error) {
	err = s.view(func(tx *bolt.Tx) error {
		all, err := countsOf(tx, workflow)
		if err != nil {
			return err
		}
		needs, err := attentionCounts(tx, workflow)
		if err != nil {
			return err
		}
		for _, one := range all {
			head := store.WorkflowHead{Workflow: one.Workflow, Runs: one.Runs, Attention: needs[one.Workflow]}
			sc, err := newScan(runs.Filter{Workflow: one.Workflow})
			if err != nil {
				return err
			}
			if key, _ := sc.seek(tx.Bucket(bucketByWorkflow).Cursor()); bytes.HasPrefix(key, sc.prefix) {
				head.Newest = runID(key[len(sc.prefix):])
			}
			heads = append(heads, head)
		}
		return nil
	})
	return heads, err
}

// countsOf returns the counts of all workflows, or of one that has runs.
func countsOf(tx *bolt.Tx, workflow string) ([]store.WorkflowCounts, error) {
	if workflow == "" {
		return workflowCounts(tx)
	}
	prefix, err := workflowPrefix(workflow)
	if err != nil {
		return nil, err
	}
	counts, err := getCounts(tx, join(prefix, []byte{countTotal}))
	if err != nil || len(counts) == 0 {
		return nil, err
	}
	return []store.WorkflowCounts{{Workflow: workflow, Runs: counts}}, nil
}

// attentionCounts counts the index by workflow.
func attentionCounts(tx *bolt.Tx, workflow string) (map[string]int, error) {
	var within []byte
	if workflow != "" {
		prefix, err := workflowPrefix(workflow)
		if err != nil {
			return nil, err
		}
		within = prefix
	}
	counts := map[string]int{}
	cursor := tx.Bucket(bucketAttentionBy).Cursor()
	for key, _ := cursor.Seek(within); key != nil && bytes.HasPrefix(key, within); key, _ = cursor.Next() {
		if len(key) < 2+runKeySize {
			return nil, &store.CorruptError{Bucket: string(bucketAttentionBy), Key: hexKey(key), Detail: "the key names no run"}
		}
		counts[string(key[2:len(key)-runKeySize])]++
	}
	return counts, nil
}
