package boltstore

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	bolt "github.com/flowrun/flowrun/engine/boltstore/sealedpages"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/store"
)

// Counts are kept in rows, changed in the transaction that changes the runs: key
// len16 workflow, then countTotal, countChildren for those among them that belong to
// runs of other workflows, or countHour and the hour of acceptance; the name of a row over all workflows is one that no workflow has. A row that counts
// nothing is absent. A run is counted in the hour of its id, which never changes.
const (
	countTotal byte = iota
	countChildren
	countHour
)

const hourMS = int64(time.Hour / time.Millisecond)

// allWorkflows stands for the length of a name: names end at 4 KiB.
func allWorkflows() []byte { return []byte{0xff, 0xff} }

// countDelta is by how much a transaction changes a count.
type countDelta struct {
	key    string
	status runs.Status
}

// count notes that a run with a status is one more, or one less. All of a
// transaction's changes are put together: a run that began and ended in one group
// changes the rows once.
func (w *writer) count(run []byte, row *runs.Run, by int) {
	if w.counts == nil {
		w.counts = w.reuses().counted()
	}
	w.counts[runCountOf(run, row)] += by
}

// runCount is what a run adds to: all runs that are alike in it are counted as one.
type runCount struct {
	workflow string
	status   runs.Status
	hour     uint32 // in which it was accepted, since 1970
	child    bool   // it is that of a sub-workflow
}

func runCountOf(run []byte, row *runs.Run) runCount {
	return runCount{row.Workflow, row.Status, hourOf(acceptedAt(run)), row.Parent != nil}
}

// addTo adds by runs to the rows that count them.
func (c runCount) addTo(rows map[countDelta]int, by int) error {
	workflow, err := workflowPrefix(c.workflow)
	if err != nil {
		return err
	}
	hour := binary.BigEndian.AppendUint32([]byte{countHour}, c.hour)
	for _, prefix := range [][]byte{workflow, allWorkflows()} {
		rows[countDelta{string(join(prefix, []byte{countTotal})), c.status}] += by
		rows[countDelta{string(join(prefix, hour)), c.status}] += by
		if c.child {
			rows[countDelta{string(join(prefix, []byte{countChildren})), c.status}] += by
		}
	}
	return nil
}

func hourOf(at time.Time) uint32 { return uint32(at.UnixMilli() / hourMS) }

func hourKey(at time.Time) []byte {
	return binary.BigEndian.AppendUint32([]byte{countHour}, hourOf(at))
}

// putCounts writes what count has noted.
func (w *writer) putCounts() error {
	if len(w.counts) == 0 {
		return nil
	}
	rows := map[countDelta]int{}
	for counted, by := range w.counts {
		if by == 0 {
			continue
		}
		if err := counted.addTo(rows, by); err != nil {
			return err
		}
	}
	changes := make([]countDelta, 0, len(rows))
	for change, by := range rows {
		if by != 0 {
			changes = append(changes, change)
		}
	}
	slices.SortFunc(changes, func(a, b countDelta) int {
		return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.status, b.status))
	})
	for len(changes) > 0 {
		key := changes[0].key
		n := slices.IndexFunc(changes, func(c countDelta) bool { return c.key != key })
		if n < 0 {
			n = len(changes)
		}
		if err := w.putCount([]byte(key), changes[:n], rows); err != nil {
			return err
		}
		changes = changes[n:]
	}
	clear(w.counts)
	return nil
}

func (w *writer) putCount(key []byte, changes []countDelta, by map[countDelta]int) error {
	b, at := w.Bucket(bucketCounts), w.at(bucketCounts)
	old := b.Get(key)
	stored, err := unsealOld(bucketCounts, key, old)
	if err != nil {
		return err
	}
	counts, err := decodeCounts(key, stored)
	if err != nil {
		return err
	}
	for _, change := range changes {
		now := counts[change.status] + by[change]
		switch {
		case now < 0:
			return &store.CorruptError{Bucket: string(bucketCounts), Key: hexKey(key), Detail: fmt.Sprintf("it counts fewer runs that are %s than there are", change.status)}
		case now == 0:
			delete(counts, change.status)
		default:
			counts[change.status] = now
		}
	}
	if len(counts) == 0 {
		return w.remove(bucketCounts, key)
	}
	return w.replace(b, at, key, old, encodeCounts(counts))
}

// encodeCounts writes for each status: length of the name, name, count.
func encodeCounts(c store.Counts) []byte {
	var data []byte
	for _, status := range runs.Statuses() {
		if n := c[status]; n > 0 {
			data = append(append(data, byte(len(status))), status...)
			data = binary.AppendUvarint(data, uint64(n))
		}
	}
	return data
}

func decodeCounts(key, data []byte) (store.Counts, error) {
	counts := store.Counts{}
	for len(data) > 0 {
		length := int(data[0])
		if len(data) < 1+length {
			return nil, countDamage(key)
		}
		status := runs.Status(data[1 : 1+length])
		n, size := binary.Uvarint(data[1+length:])
		if size <= 0 || n == 0 || n > 1<<48 || !slices.Contains(runs.Statuses(), status) {
			return nil, countDamage(key)
		}
		counts[status] = int(n)
		data = data[1+length+size:]
	}
	return counts, nil
}

func countDamage(key []byte) error {
	return &store.CorruptError{Bucket: string(bucketCounts), Key: hexKey(key), Detail: "not counts of runs"}
}

// Counts is that of store.Totals. It reads one row, however many runs there are.
func (s *Store) Counts(workflow string) (counts store.Counts, err error) {
	prefix, err := countPrefix(workflow)
	if err != nil {
		return nil, err
	}
	err = s.view(func(tx *bolt.Tx) error {
		counts, err = getCounts(tx, join(prefix, []byte{countTotal}))
		return err
	})
	return counts, err
}

func getCounts(tx *bolt.Tx, key []byte) (store.Counts, error) {
	stored, err := getSealed(tx.Bucket(bucketCounts), bucketCounts, key)
	if err != nil {
		return nil, err
	}
	return decodeCounts(key, stored)
}

func countPrefix(workflow string) ([]byte, error) {
	if workflow == "" {
		return allWorkflows(), nil
	}
	return workflowPrefix(workflow)
}

// workflowCounts returns the counts of each workflow that has runs. It reads a row of
// each.
func workflowCounts(tx *bolt.Tx) (all []store.WorkflowCounts, err error) {
	cursor := tx.Bucket(bucketCounts).Cursor()
	for key, stored := cursor.First(); key != nil && !bytes.HasPrefix(key, allWorkflows()); {
		prefix, ok := countedWorkflow(key)
		if !ok || key[len(prefix)] != countTotal {
			return nil, countDamage(key)
		}
		payload, err := unseal(bucketCounts, key, stored)
		if err != nil {
			return nil, err
		}
		counts, err := decodeCounts(key, payload)
		if err != nil {
			return nil, err
		}
		all = append(all, store.WorkflowCounts{Workflow: string(prefix[2:]), Runs: counts})
		key, stored = cursor.Seek(join(prefix, []byte{countHour + 1}))
	}
	return all, nil
}

// topCounts are workflowCounts without the runs of sub-workflows.
func (s *Store) topCounts() (all []store.WorkflowCounts, err error) {
	err = s.view(func(tx *bolt.Tx) error {
		if all, err = workflowCounts(tx); err != nil {
			return err
		}
		for _, one := range all {
			prefix, err := workflowPrefix(one.Workflow)
			if err != nil {
				return err
			}
			children, err := getCounts(tx, join(prefix, []byte{countChildren}))
			if err != nil {
				return err
			}
			for status, n := range children {
				one.Runs[status] -= n
			}
		}
		return nil
	})
	return all, err
}

// countedWorkflow cuts the part of a key that names the workflow.
func countedWorkflow(key []byte) (prefix []byte, ok bool) {
	if len(key) < 2 {
		return nil, false
	}
	length := 2
	if !bytes.HasPrefix(key, allWorkflows()) {
		length += int(binary.BigEndian.Uint16(key))
	}
	if len(key) <= length {
		return nil, false
	}
	return bytes.Clone(key[:length]), true
}

// HourCounts is that of store.Totals.
func (s *Store) HourCounts(workflow string, since time.Time) (hours []store.HourCounts, err error) {
	prefix, err := countPrefix(workflow)
	if err != nil {
		return nil, err
	}
	from, within := join(prefix, hourKey(since)), join(prefix, []byte{countHour})
	if since.UnixMilli() < 0 {
		from = within
	}
	err = s.view(func(tx *bolt.Tx) error {
		cursor := tx.Bucket(bucketCounts).Cursor()
		for key, stored := cursor.Seek(from); bytes.HasPrefix(key, within); key, stored = cursor.Next() {
			if len(key) != len(within)+4 {
				return countDamage(key)
			}
			payload, err := unseal(bucketCounts, key, stored)
			if err != nil {
				return err
			}
			counts, err := decodeCounts(key, payload)
			if err != nil {
				return err
			}
			at := int64(binary.BigEndian.Uint32(key[len(within):])) * hourMS
			hours = append(hours, store.HourCounts{Hour: time.UnixMilli(at).UTC(), Runs: counts})
		}
		return nil
	})
	return hours, err
}
