package memstore

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/store"
)

// run is all that belongs to a run.
type run struct {
	row     runs.Run
	request string
	records [][]byte
	bytes   int64 // of records
	log     log
}

func (d *data) run(id string) (*run, error) {
	r := d.runs[id]
	if r == nil {
		return nil, fmt.Errorf("run %q: %w", id, store.ErrRunNotFound)
	}
	return r, nil
}

// CreateRun is that of store.Journal.
func (s *Store) CreateRun(ctx context.Context, row *runs.Run, planBytes []byte, requestID string, first *journal.Record) (existing string, err error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	if _, err := store.ParseID(row.ID); err != nil {
		return "", err
	}
	stored := clone(*row)
	hash := store.PlanHash(planBytes)
	if stored.PlanHash = cmp.Or(row.PlanHash, hash); stored.PlanHash != hash {
		return "", fmt.Errorf("create run %s: plan hash %s is not that of its plan", row.ID, row.PlanHash)
	}
	if stored.Fire != nil {
		stored.Fire.Run = row.ID
		if err := store.CheckSlot(stored.Fire.Workflow, stored.Fire.Trigger, stored.Fire.Slot); err != nil {
			return "", err
		}
	}
	pressure := s.Pressure()
	err = s.update(func(t *tx) error {
		if existing = t.requests[requestID]; existing != "" {
			return nil
		}
		if pressure.Level != store.None && row.Parent == nil {
			if existing = t.firedRun(stored.Fire); existing != "" {
				return nil
			}
			return &store.PressureError{Reason: pressure.Reason}
		}
		if t.runs[row.ID] != nil {
			return store.ErrRunExists
		}
		r := &run{request: requestID}
		records, err := r.encode([]*journal.Record{first})
		if err != nil {
			return err
		}
		if existing, err = t.admitFire(stored.Fire); err != nil || existing != "" {
			return err
		}
		if stored.StateOf() != runs.SlotFree {
			held, queued := t.slotRuns(stored.Slot.Key)
			store.Queue(&stored, len(held), len(queued))
		}
		t.runs[row.ID] = r
		r.add(records)
		t.plans[hash] = slices.Clone(planBytes)
		if requestID != "" {
			t.requests[requestID] = row.ID
		}
		t.put(r, nil, stored)
		t.putFire(stored.Fire)
		return nil
	})
	if err != nil {
		return "", fmt.Errorf("create run %s: %w", row.ID, err)
	}
	if row.Fire != nil && existing == "" {
		*row.Fire = *stored.Fire
	}
	return existing, nil
}

// Append is that of store.Journal. It waits for nobody: done hears at once.
func (s *Store) Append(id string, records []*journal.Record, row *runs.Run, logs []runs.Log, done func(error)) {
	err := s.update(func(t *tx) error { return t.append(id, records, row, logs) })
	if err != nil {
		err = fmt.Errorf("append to run %s: %w", id, err)
	}
	if done != nil {
		done(err)
	}
}

func (t *tx) append(id string, records []*journal.Record, row *runs.Run, logs []runs.Log) error {
	r, err := t.run(id)
	if err != nil {
		return err
	}
	if row != nil && row.ID != id {
		return fmt.Errorf("row is that of run %s", row.ID)
	}
	encoded, err := r.encode(records)
	if err != nil {
		return err
	}
	lines, err := encodeLog(logs)
	if err != nil {
		return err
	}
	writes := store.WritesOf(id, r.row.Workflow, records)
	for _, w := range writes {
		if err := w.Moved(pointer(t.value(keyOf(w.Value)))); err != nil {
			return err
		}
	}
	for _, w := range writes {
		if !w.Stays(pointer(t.value(keyOf(w.Value)))) {
			t.putValue(w.Value)
		}
	}
	r.add(encoded)
	r.log.add(lines)
	t.wrote = true
	if row != nil {
		old := r.row
		t.put(r, &old, clone(*row))
	}
	return nil
}

// encode refuses records that do not follow the last stored one.
func (r *run) encode(records []*journal.Record) (encoded [][]byte, err error) {
	for i, record := range records {
		if want := uint64(len(r.records) + i + 1); record.Seq != want {
			return nil, fmt.Errorf("record %d comes where record %d should", record.Seq, want)
		}
		data, err := journal.Encode(record)
		if err != nil {
			return nil, err
		}
		encoded = append(encoded, data)
	}
	return encoded, nil
}

func (r *run) add(encoded [][]byte) {
	for _, data := range encoded {
		r.bytes += int64(len(data))
	}
	r.records = append(r.records, encoded...)
}

// put stores the new row of a run, with all that follows from it. old is nil for a new run.
func (t *tx) put(r *run, old *runs.Run, row runs.Run) {
	t.wrote, r.row = true, row
	t.changed = append(t.changed, clone(row))
	if store.AsksAnew(old, &row) {
		if old != nil {
			t.forgetNeed(row.ID)
		}
		if row.Status == runs.RunSucceeded {
			t.settle(&row)
		}
		if store.NeedsSomebody(&row) {
			t.needy[row.ID] = true
		}
	}
	if row.Closed {
		t.dropBlobs(row.ID, false)
	}
	if kind := store.NewsOf(old, &row); kind != "" {
		t.tell(runs.OutboxEntry{Kind: kind, At: store.NewsAt(t.options.Now, &row), Run: row})
	}
}

func (d *data) forgetNeed(id string) {
	delete(d.needy, id)
	delete(d.looks, id)
}

// settle takes the failed runs of a workflow off that were accepted before one that has
// succeeded.
func (d *data) settle(success *runs.Run) {
	for id := range d.needy {
		if other := &d.runs[id].row; other.Workflow == success.Workflow && id < success.ID && store.MayLookAt(other) {
			delete(d.needy, id)
		}
	}
}

// Run is that of store.Journal.
func (s *Store) Run(id string) (row *runs.Run, err error) {
	err = s.view(func(d *data) error {
		r, err := d.run(id)
		if err == nil {
			row = pointer(r.row, true)
		}
		return err
	})
	return row, err
}

// Plan is that of store.Journal.
func (s *Store) Plan(hash string) (found []byte, err error) {
	err = s.view(func(d *data) error {
		data, ok := d.plans[hash]
		if !ok {
			return fmt.Errorf("plan %q: %w", hash, store.ErrPlanNotFound)
		}
		found = slices.Clone(data)
		return nil
	})
	return found, err
}

// DeleteRun is that of store.Runs.
func (s *Store) DeleteRun(id string) error {
	return s.update(func(t *tx) error {
		r, err := t.run(id)
		if err != nil {
			return err
		}
		if err := store.MayDelete(&r.row); err != nil {
			return fmt.Errorf("delete run %s: %w", id, err)
		}
		t.outbox = slices.DeleteFunc(t.outbox, func(entry runs.OutboxEntry) bool { return entry.Run.ID == id })
		t.delete(r)
		return nil
	})
}

func (t *tx) delete(r *run) {
	t.wrote = true
	delete(t.runs, r.row.ID)
	delete(t.requests, r.request)
	t.forgetNeed(r.row.ID)
	t.dropBlobs(r.row.ID, true)
	for _, other := range t.runs {
		if other.row.PlanHash == r.row.PlanHash {
			return
		}
	}
	delete(t.plans, r.row.PlanHash)
}
