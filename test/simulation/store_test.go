package simulation

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
)

// store is a journal in memory for engine/local's driver, with commits that take
// time. die is a kill -9: what is not committed is lost, and nothing more is
// taken. Safe for concurrent use.
type store struct {
	delay func() time.Duration // of a commit

	mu      sync.Mutex
	rows    map[string]runs.Run
	plans   map[string][]byte
	records map[string][][]byte
	queue   []pendingCommit
	busy    bool
	life    int
}

type pendingCommit struct {
	id      string
	records [][]byte
	run     *runs.Run
	done    func(error)
}

// handle is the store as one incarnation of the engine has it.
type handle struct {
	*store
	life int
}

var errDead = errors.New("the process was killed")

func newStore(delay func() time.Duration) *store {
	return &store{delay: delay, rows: map[string]runs.Run{}, plans: map[string][]byte{}, records: map[string][][]byte{}}
}

func (s *store) open() *handle {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &handle{s, s.life}
}

// die loses what is not committed.
func (s *store) die() {
	s.mu.Lock()
	lost := s.queue
	s.queue, s.life = nil, s.life+1
	s.mu.Unlock()
	for _, c := range lost {
		c.done(errDead)
	}
}

func (h *handle) CreateRun(_ context.Context, run *runs.Run, planBytes []byte, _ string, first *journal.Record) (string, error) {
	data, err := journal.Encode(first)
	if err != nil {
		return "", err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.life != h.store.life {
		return "", errDead
	}
	if _, there := h.rows[run.ID]; there {
		return run.ID, nil
	}
	h.rows[run.ID], h.plans[run.PlanHash], h.records[run.ID] = *run, planBytes, [][]byte{data}
	return "", nil
}

func (h *handle) Append(id string, records []*journal.Record, run *runs.Run, _ []runs.Log, done func(error)) {
	c := pendingCommit{id: id, done: done}
	if run != nil {
		row := *run
		c.run = &row
	}
	for _, record := range records {
		data, err := journal.Encode(record)
		if err != nil {
			done(err)
			return
		}
		c.records = append(c.records, data)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.life != h.store.life {
		go done(errDead)
		return
	}
	h.queue = append(h.queue, c)
	if !h.busy {
		h.busy = true
		go h.commitAll()
	}
}

// commitAll is the committer: what has come meanwhile goes together.
func (s *store) commitAll() {
	for {
		if d := s.delay(); d > 0 {
			time.Sleep(d)
		}
		s.mu.Lock()
		group := s.queue
		s.queue = nil
		for _, c := range group {
			s.records[c.id] = append(s.records[c.id], c.records...)
			if c.run != nil {
				s.rows[c.id] = *c.run
			}
		}
		s.busy = len(group) > 0
		s.mu.Unlock()
		for _, c := range group {
			c.done(nil)
		}
		if len(group) == 0 {
			return
		}
	}
}

func (h *handle) JournalBytes(id string) (records, logs int64, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, record := range h.records[id] {
		records += int64(len(record))
	}
	return records, 0, nil
}

func (h *handle) EachRecord(id string, from uint64, visit func(*journal.Record) error) error {
	records, err := h.Records(id, from, 0)
	for i := 0; i < len(records) && err == nil; i++ {
		err = visit(records[i])
	}
	return err
}

func (h *handle) Records(id string, from uint64, limit int) ([]*journal.Record, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	var found []*journal.Record
	for i := int(from) - 1; i < len(h.records[id]) && (limit <= 0 || len(found) < limit); i++ {
		record, err := journal.Decode(h.records[id][i])
		if err != nil {
			return nil, err
		}
		found = append(found, record)
	}
	return found, nil
}

func (h *handle) Plan(hash string) ([]byte, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.plans[hash], nil
}

func (h *handle) Run(id string) (*runs.Run, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	row, there := h.rows[id]
	if !there {
		return nil, fmt.Errorf("run %s is not there", id)
	}
	return &row, nil
}

// noLimit lets every call go at once.
type noLimit struct{}

func (noLimit) Acquire(context.Context, *plan.Action, string, func(time.Time)) (func(runs.Answer), error) {
	return func(runs.Answer) {}, nil
}
