package main

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// The policies: when what is on the disk.
const (
	policyRPC    = "rpc"    // nothing is stored
	policyApart  = "apart"  // intent and result are committed apart
	policyMerged = "merged" // result(k) and intent(k+1) are one commit
	policyReads  = "reads"  // no intents, and results are not waited for: the run's end flushes them
)

// engine runs steps.
type engine struct {
	store  *committer // nil for policyRPC
	calls  caller
	policy string
	runs   atomic.Uint64
}

// The statuses of a run's row.
const (
	running   = "running"
	succeeded = "succeeded"
)

// row is what a list of runs shows.
type row struct {
	Workflow string    `json:"workflow"`
	Status   string    `json:"status"`
	Started  time.Time `json:"started"`
	Ended    time.Time `json:"ended,omitzero"`
	Steps    int       `json:"steps"`
}

// record is a line of a run's journal.
type record struct {
	Kind   string          `json:"kind"` // started, intent, result, ended
	Step   int             `json:"step"`
	Key    string          `json:"key,omitempty"`
	Output json.RawMessage `json:"output,omitempty"`
	At     time.Time       `json:"at"`
}

// run is one run of n steps.
type run struct {
	engine *engine
	id     []byte // ordered by time
	row    row
	next   uint64 // number of the next record
}

func (e *engine) newRun(workflow string, steps int) *run {
	id := binary.BigEndian.AppendUint64(nil, uint64(time.Now().UnixNano()))
	id = binary.BigEndian.AppendUint64(id, e.runs.Add(1))
	return &run{engine: e, id: id, row: row{Workflow: workflow, Status: running, Started: time.Now(), Steps: steps}}
}

// journal makes the put of one record.
func (r *run) journal(rec record) put {
	rec.At = time.Now()
	value, err := json.Marshal(rec)
	if err != nil {
		panic(err) // a record is plain data
	}
	key := binary.BigEndian.AppendUint64(append([]byte(nil), r.id...), r.next)
	r.next++
	return put{bucketJournal, key, value}
}

func (r *run) intent(step int) put {
	return r.journal(record{Kind: "intent", Step: step, Key: r.key(step)})
}

func (r *run) result(step int, output []byte) put {
	return r.journal(record{Kind: "result", Step: step, Output: output})
}

// key is the idempotency key of a step's call.
func (r *run) key(step int) string {
	return fmt.Sprintf("%x-%d", r.id, step)
}

// status makes the puts that move the run's row to a status.
func (r *run) status(status string) []put {
	before := r.row.Status
	r.row.Status = status
	value, err := json.Marshal(r.row)
	if err != nil {
		panic(err) // a row is plain data
	}
	puts := []put{{bucketRuns, r.id, value}, {bucketIndex, append([]byte(status), r.id...), []byte{}}}
	if before != status {
		puts = append(puts, put{bucketIndex, append([]byte(before), r.id...), nil})
	}
	return puts
}

// started makes the puts of a new run: its row, and its first record.
func (r *run) started() []put {
	return append(r.status(running), r.journal(record{Kind: "started", Step: r.row.Steps}))
}

// ended makes the puts of its end.
func (r *run) ended() []put {
	r.row.Ended = time.Now()
	return append(r.status(succeeded), r.journal(record{Kind: "ended", Step: r.row.Steps}))
}

func (r *run) call(ctx context.Context, step int) ([]byte, error) {
	body := strconv.AppendInt([]byte(`{"n":`), int64(step), 10)
	reply, err := r.engine.calls.call(ctx, &message{Action: "echo", Key: r.key(step), Body: append(body, '}')})
	if err != nil {
		return nil, fmt.Errorf("call of step %d: %w", step, err)
	}
	var out echo
	if err := json.Unmarshal(reply.Body, &out); err != nil || out.N != step {
		return nil, fmt.Errorf("step %d was answered %q: %w", step, reply.Body, err)
	}
	return reply.Body, nil
}

// sequence runs n steps, each after the one before, and returns when the run's end is on
// the disk.
func (e *engine) sequence(ctx context.Context, n int) error {
	r := e.newRun("sequence", n)
	if err := r.begin(); err != nil {
		return err
	}
	for step := range n {
		output, err := r.call(ctx, step)
		if err != nil {
			return err
		}
		if err := r.stepped(step, n, output); err != nil {
			return err
		}
	}
	return nil
}

// begin stores the run with its first intent.
func (r *run) begin() error {
	switch e := r.engine; e.policy {
	case policyRPC:
		return nil
	case policyReads:
		return e.store.now(r.started()...)
	default:
		return e.store.now(append(r.started(), r.intent(0))...)
	}
}

// stepped stores a step's result, and with it what its policy says.
func (r *run) stepped(step, n int, output []byte) error {
	e, last := r.engine, step == n-1
	switch {
	case e.policy == policyRPC:
		return nil
	case last:
		return e.store.now(append([]put{r.result(step, output)}, r.ended()...)...)
	case e.policy == policyReads:
		e.store.later(r.result(step, output))
		return nil
	case e.policy == policyApart:
		if err := e.store.now(r.result(step, output)); err != nil {
			return err
		}
		return e.store.now(r.intent(step + 1))
	default:
		return e.store.now(r.result(step, output), r.intent(step+1))
	}
}

// fanned is the answer of one of many steps.
type fanned struct {
	step   int
	output []byte
	err    error
}

// fan runs n steps that need nothing of each other, at most so many at a time, and returns
// when the run's end is on the disk.
func (e *engine) fan(ctx context.Context, n, atATime int) error {
	r := e.newRun("fan", n)
	if e.policy != policyRPC {
		puts := r.started()
		for step := range n {
			if e.policy != policyReads {
				puts = append(puts, r.intent(step))
			}
		}
		if err := e.store.now(puts...); err != nil {
			return err
		}
	}
	answers := make(chan fanned, n)
	var next atomic.Int64
	var workers sync.WaitGroup
	defer workers.Wait()
	for range min(atATime, n) {
		workers.Go(func() {
			for {
				step := int(next.Add(1)) - 1
				if step >= n {
					return
				}
				output, err := r.call(ctx, step)
				answers <- fanned{step, output, err}
			}
		})
	}
	var failed error
	for range n - 1 {
		a := <-answers
		if a.err != nil {
			failed = a.err
		} else if e.policy != policyRPC {
			e.store.later(r.result(a.step, a.output))
		}
	}
	a := <-answers
	if a.err != nil || failed != nil || e.policy == policyRPC {
		if failed == nil {
			failed = a.err
		}
		return failed
	}
	return e.store.now(append([]put{r.result(a.step, a.output)}, r.ended()...)...)
}

// many runs count runs of so many steps, some of them at a time. It returns how long each
// took.
func (e *engine) many(ctx context.Context, count, steps, atATime int) ([]time.Duration, error) {
	took := make([]time.Duration, count)
	errs := make(chan error, atATime)
	var next atomic.Int64
	for range atATime {
		go func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= count {
					errs <- nil
					return
				}
				begun := time.Now()
				if err := e.sequence(ctx, steps); err != nil {
					errs <- err
					return
				}
				took[i] = time.Since(begun)
			}
		}()
	}
	var failed error
	for range atATime {
		if err := <-errs; err != nil {
			failed = err
		}
	}
	return took, failed
}
