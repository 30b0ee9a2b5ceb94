package boltstore

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"

	bolt "github.com/flowrun/flowrun/engine/boltstore/sealedpages"
	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/store"
)

// CreateRun is that of store.Journal, in one transaction. It returns after the fsync. ctx is
// looked at only before the write is queued.
func (s *Store) CreateRun(ctx context.Context, run *runs.Run, planBytes []byte, requestID string, first *journal.Record) (existing string, err error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	key, err := runKey(run.ID)
	if err != nil {
		return "", err
	}
	row := *run
	if row.Fire != nil {
		fire := *row.Fire
		fire.Run, row.Fire = row.ID, &fire
	}
	planKey := hashKey(planBytes)
	switch row.PlanHash {
	case "":
		row.PlanHash = hex.EncodeToString(planKey)
	case hex.EncodeToString(planKey):
	default:
		return "", fmt.Errorf("create run %s: plan hash %s is not that of its plan", run.ID, row.PlanHash)
	}
	change, err := newRowChange(key, &row)
	if err != nil {
		return "", fmt.Errorf("create run %s: %w", run.ID, err)
	}
	fire, err := newRunFire(change)
	if err != nil {
		return "", fmt.Errorf("create run %s: %w", run.ID, err)
	}
	records, size, err := encodeRecords(nil, []*journal.Record{first})
	if err != nil {
		return "", fmt.Errorf("create run %s: %w", run.ID, err)
	}
	if existing, err := s.admits(run, requestID); err != nil || existing != "" {
		return existing, err
	}
	storedPlan, planBlobs := cutBytes(planBytes)
	err = s.do(size+len(planBytes), func(w *writer) (bool, error) {
		tx := w.Tx
		if existing, err = requestedRun(tx, requestID); err != nil || existing != "" {
			return false, err
		}
		if !w.ends.behind(bucketRuns, key) && tx.Bucket(bucketRuns).Get(key) != nil {
			return false, fmt.Errorf("run %s: %w", run.ID, store.ErrRunExists)
		}
		if first.Seq != 1 || !w.ends.behind(bucketJournal, key) {
			if err := checkNext(tx, key, records, 0); err != nil {
				return false, err
			}
		}
		if existing, err = fire.admit(tx); err != nil || existing != "" {
			return false, err
		}
		if row.StateOf() != runs.SlotFree {
			if err := change.admit(tx); err != nil {
				return false, err
			}
		}
		return true, inTx(
			func() error { return putPlan(w, planKey, storedPlan, planBlobs) },
			func() error { return putRequest(w, requestID, key) },
			func() error { return w.putNew(bucketRefs, planRef(planKey, key), requestKey(requestID)) },
			func() error { return putRecords(w, key, records) },
			func() error { return change.put(w) },
			func() error { return fire.put(w) },
			func() error { return follow(w, key, records) },
		)
	})
	if err != nil {
		return "", fmt.Errorf("create run %s: %w", run.ID, err)
	}
	if run.Fire != nil && existing == "" {
		*run.Fire = *row.Fire
	}
	return existing, nil
}

// Append is that of store.Journal. done hears the outcome after the fsync, on the
// committer's goroutine (on the caller's when the store refuses at once). Append itself
// waits only while more than 64 MiB are queued.
func (s *Store) Append(runID string, records []*journal.Record, run *runs.Run, logs []runs.Log, done func(error)) {
	a := &appending{store: s, runID: runID, records: records, done: done}
	err := a.encode(run, logs)
	if err == nil {
		err = s.queue.put(&a.op)
	}
	if err != nil {
		a.answer(err)
	}
}

// appending is the work of Append.
type appending struct {
	op
	store   *Store
	runID   string
	key     [runKeySize]byte
	records []*journal.Record
	one     [1]storedRecord // the memory of encoded, mostly
	encoded []storedRecord
	lines   []logLine
	change  *rowChange
	done    func(error) // nil = nobody waits
}

// encode works on the writer's own goroutine: the committer shall do little more than put
// bytes.
func (a *appending) encode(run *runs.Run, logs []runs.Log) error {
	id, err := store.ParseID(a.runID)
	if err != nil {
		return err
	}
	a.key = id
	encoded, size, err := encodeRecords(a.one[:0], a.records)
	if err != nil {
		return err
	}
	lines, logSize, err := encodeLogs(logs)
	if err != nil {
		return err
	}
	a.encoded, a.lines, a.size, a.work = encoded, lines, size+logSize, a
	if run == nil {
		return nil
	}
	row := *run
	if row.ID != a.runID {
		return fmt.Errorf("row is that of run %s", row.ID)
	}
	a.change, err = newRowChange(a.key[:], &row)
	return err
}

func (a *appending) apply(w *writer) (bool, error) {
	key := a.key[:]
	known, next := w.open.get(key), uint64(0)
	switch {
	case known != nil:
		next = known.next
	case w.Bucket(bucketRuns).Get(key) == nil:
		return false, store.ErrRunNotFound
	}
	writes, err := keepsOf(w.Tx, key, a.records)
	if err != nil {
		return false, err
	}
	if err := checkNext(w.Tx, key, a.encoded, next); err != nil {
		return false, err
	}
	if err := a.change.load(w.Tx, known); err != nil {
		return false, err
	}
	return true, inTx(
		func() error { return putRecords(w, key, a.encoded) },
		func() error { return a.store.putLogs(w, key, a.lines) },
		func() error { return putKeeps(w, writes) },
		func() error { return a.change.put(w) },
		func() error { return follow(w, key, a.encoded) },
	)
}

func (a *appending) answer(err error) {
	if a.done == nil {
		return
	}
	if err != nil {
		err = fmt.Errorf("append to run %s: %w", a.runID, err)
	}
	a.done(err)
}

// inTx runs the writes of an op; an error of one is an error of the whole
// transaction.
func inTx(writes ...func() error) error {
	for _, write := range writes {
		if err := write(); err != nil {
			return &txError{err}
		}
	}
	return nil
}

func requestedRun(tx *bolt.Tx, requestID string) (string, error) {
	if requestID == "" {
		return "", nil
	}
	stored, err := getSealed(tx.Bucket(bucketRequests), bucketRequests, hashKey([]byte(requestID)))
	if err != nil || stored == nil {
		return "", err
	}
	if len(stored) != runKeySize {
		return "", &store.CorruptError{Bucket: string(bucketRequests), Detail: "not a run id"}
	}
	return runID(stored), nil
}

// Requested is that of store.Runs.
func (s *Store) Requested(requestID string) (runID string, err error) {
	err = s.view(func(tx *bolt.Tx) error {
		runID, err = requestedRun(tx, requestID)
		return err
	})
	return runID, err
}

func putRequest(w *writer, requestID string, run []byte) error {
	if requestID == "" {
		return nil
	}
	return w.put(bucketRequests, requestKey(requestID), run)
}

// requestKey is nil for a run without a request id.
func requestKey(requestID string) []byte {
	if requestID == "" {
		return nil
	}
	return hashKey([]byte(requestID))
}

// rowChange is a run's new row with what its index rows need.
type rowChange struct {
	key      []byte
	row      *runs.Run
	encoded  []byte
	workflow []byte
	old      *runs.Run // the stored row; nil = none
	sum      uint64    // its part of the census; 0 = not known
}

func newRowChange(key []byte, row *runs.Run) (*rowChange, error) {
	encoded, err := row.Encode()
	if err != nil {
		return nil, fmt.Errorf("encode row: %w", err)
	}
	workflow, err := workflowPrefix(row.Workflow)
	if err != nil {
		return nil, err
	}
	return &rowChange{key: key, row: row, encoded: encoded, workflow: workflow}, nil
}

// load reads the stored row, whose index rows put has to move, unless it is known.
func (c *rowChange) load(tx *bolt.Tx, known *openRow) (err error) {
	switch {
	case c == nil:
	case known != nil:
		c.old, c.sum = &known.row, known.sum
	default:
		c.old, err = getRow(tx, c.key)
	}
	return err
}

// put writes the row and moves its index rows. A nil change writes nothing.
func (c *rowChange) put(w *writer) error {
	if c == nil {
		return nil
	}
	sum, err := c.putItself(w)
	if err != nil {
		return err
	}
	if err := c.indexWorkflow(w); err != nil {
		return err
	}
	if err := c.indexStatus(w); err != nil {
		return err
	}
	if err := c.indexAttention(w); err != nil {
		return err
	}
	if err := c.indexSlot(w); err != nil {
		return err
	}
	if err := c.indexLabels(w); err != nil {
		return err
	}
	if err := c.tellOthers(w); err != nil {
		return err
	}
	if c.row.Closed && (c.old == nil || !c.old.Closed) {
		if err := w.endUploads(c.key); err != nil {
			return err
		}
	}
	if err := c.indexOpen(w); err != nil {
		return err
	}
	w.open.note(c.key, c.row, sum) // last: the old row may be the one that is written over
	w.changed(c.row)
	return nil
}

func (c *rowChange) putItself(w *writer) (sum uint64, err error) {
	if c.old != nil {
		return w.replaceSum(bucketRuns, c.key, c.sum, c.encoded)
	}
	return w.insert(w.Bucket(bucketRuns), w.at(bucketRuns), c.key, [][]byte{c.encoded})
}

func (c *rowChange) indexOpen(w *writer) error {
	if c.old != nil && store.IsOpen(c.old) == store.IsOpen(c.row) {
		return nil
	}
	if store.IsOpen(c.row) {
		return w.putRow(c.old == nil, bucketOpen, c.key)
	}
	return w.remove(bucketOpen, c.key)
}

func (c *rowChange) indexWorkflow(w *writer) error {
	if old := c.old; old != nil {
		if old.Workflow == c.row.Workflow {
			return nil
		}
		prefix, err := workflowPrefix(old.Workflow)
		if err != nil {
			return err
		}
		if err := w.remove(bucketByWorkflow, w.key(prefix, c.key)); err != nil {
			return err
		}
	}
	if err := c.indexParent(w); err != nil {
		return err
	}
	return w.putRow(c.old == nil, bucketByWorkflow, w.key(c.workflow, c.key), childMark(c.row))
}

// indexParent notes a new run of a sub-workflow under its parent's.
func (c *rowChange) indexParent(w *writer) error {
	if key := childKey(c.row, c.key); key != nil && c.old == nil {
		return w.put(bucketChildren, key)
	}
	return nil
}

// childKey is the row of a sub-workflow's run under its parent's; nil for others.
func childKey(row *runs.Run, run []byte) []byte {
	if row.Parent == nil {
		return nil
	}
	parent, err := runKey(row.Parent.Run)
	if err != nil {
		return nil
	}
	return join(parent, run)
}

// childMark is what the index of workflows holds of a sub-workflow's run, so that
// those that stand for themselves are found without reading the others.
func childMark(row *runs.Run) []byte {
	if row.Parent == nil {
		return nil
	}
	return []byte{1}
}

// isChild reads childMark from a stored value.
func isChild(stored []byte) bool { return len(stored) > sealHeader }

// indexStatus moves the rows that lead to runs by their status, and what counts
// them.
func (c *rowChange) indexStatus(w *writer) error {
	status := w.key([]byte(c.row.Status), []byte{0})
	if old := c.old; old != nil {
		if old.Status == c.row.Status && old.Workflow == c.row.Workflow {
			return nil
		}
		workflow := c.workflow
		if old.Workflow != c.row.Workflow {
			var err error
			if workflow, err = workflowPrefix(old.Workflow); err != nil {
				return err
			}
		}
		before := w.key([]byte(old.Status), []byte{0})
		if err := w.remove(bucketByStatus, w.key(before, c.key)); err != nil {
			return err
		}
		if err := w.remove(bucketByWorkflowStatus, w.key(workflow, before, c.key)); err != nil {
			return err
		}
		w.count(c.key, old, -1)
	}
	w.count(c.key, c.row, 1)
	// The run has one row in each, which was removed.
	if err := w.putNew(bucketByWorkflowStatus, w.key(c.workflow, status, c.key), childMark(c.row)); err != nil {
		return err
	}
	return w.putNew(bucketByStatus, w.key(status, c.key))
}

func getRow(tx *bolt.Tx, key []byte) (*runs.Run, error) {
	stored, err := getSealed(tx.Bucket(bucketRuns), bucketRuns, key)
	if err != nil || stored == nil {
		return nil, err
	}
	return decodeRow(key, stored)
}

func decodeRow(key, stored []byte) (*runs.Run, error) {
	row := new(runs.Run)
	if err := json.Unmarshal(stored, row); err != nil {
		return nil, &store.CorruptError{Bucket: string(bucketRuns), Key: hexKey(key), Detail: err.Error()}
	}
	return row, nil
}
