// Package deliver sends outputs of runs out, to the destinations that their workflows
// name, when the runs have succeeded (ADR 68). What is to be sent comes out of the outbox,
// which the end of the run has written; what became of it is kept beside the run. A call
// is made at least once, always under the same idempotency key; one of effect once at most
// once, and where nobody knows whether it happened a person decides.
package deliver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/fault"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/store"
	"github.com/flowrun/flowrun/engine/workspace"
)

// The times of a delivery.
const (
	// Window is how long a delivery is tried after the end of its run. What is older is
	// tried by hand alone.
	Window = 24 * time.Hour

	firstDelay = 2 * time.Second // before the second attempt; twice as long before each that follows
	mostDelay  = time.Hour

	notifyTime = 30 * time.Second // of one message to a notify target
)

// atOnce is how many deliveries are under way at the same time.
const atOnce = 4

// Runs is what deliveries ask of the life of runs.
type Runs interface {
	// Ended returns what a run gave, its workflow, and its inputs as they are stored.
	// fault.ErrRunNotFound.
	Ended(ctx context.Context, id string) (*runs.Result, *plan.Workflow, json.RawMessage, error)
	// Destinations returns the workflow of a run where an output of it goes anywhere, else
	// nil: also of a run that is removed.
	Destinations(row *runs.Run) (*plan.Workflow, error)
	// Call makes one call outside of the run. An error is the engine's own: nothing was
	// sent.
	Call(ctx context.Context, call Call, sink runs.Sink) (*runs.Error, error)
	// Note adds lines to a run's log.
	Note(id string, lines []runs.Log) error
}

// Call is one attempt of a delivery.
type Call struct {
	Run        string
	Step       string // what the call is named by in place of a step
	Action     *plan.Action
	Connection string
	Input      json.RawMessage
	Key        string // the idempotency key
}

// Options are what deliveries take from their surroundings.
type Options struct {
	Project *workspace.Workspace
	Store   store.Store
	Runs    Runs
	Fault   func(error) error // makes the engine's own errors of the store's
	After   func(time.Duration) <-chan time.Time
}

// Deliveries send outputs out. Safe for concurrent use.
type Deliveries struct {
	project *workspace.Workspace
	config  workspace.Config
	store   store.Store
	runs    Runs
	fault   func(error) error
	after   func(time.Duration) <-chan time.Time
	wake    chan struct{} // has one when something is due sooner

	mu     sync.Mutex
	due    map[string]due           // by Run and ID, while Follow goes on; guarded by mu
	flying map[string]chan struct{} // closed when the attempt has ended; guarded by mu
}

type due struct {
	run, id string
	at      time.Time
}

// New returns deliveries that send nothing by themselves yet.
func New(o Options) *Deliveries {
	return &Deliveries{
		project: o.Project, config: o.Project.Config(), store: o.Store, runs: o.Runs, fault: o.Fault, after: o.After,
		wake: make(chan struct{}, 1), due: map[string]due{}, flying: map[string]chan struct{}{},
	}
}

// Take notes the deliveries of a run that an entry of the outbox tells of. An entry may be
// taken twice. skip is runs.SkipRestored where it was written before the store was put back
// from a backup, and may have been delivered then: nothing is sent by itself.
func (d *Deliveries) Take(_ context.Context, entry runs.OutboxEntry, skip string) error {
	if entry.Kind != runs.OutboxClosed {
		return nil
	}
	_, err := d.note(&entry.Run, skip == runs.SkipRestored)
	return err
}

// note stores the deliveries of a run that are not stored yet, and returns all.
func (d *Deliveries) note(row *runs.Run, restored bool) ([]runs.Delivery, error) {
	if row.Status != runs.RunSucceeded || !row.Closed || row.Parent != nil {
		return nil, nil
	}
	workflow, err := d.runs.Destinations(row)
	if err != nil || workflow == nil {
		return nil, err
	}
	var list []runs.Delivery
	for _, fresh := range planned(workflow, row) {
		kept, err := store.Delivery(d.store.KV(), row.ID, fresh.ID)
		if err != nil {
			return nil, d.fault(err)
		}
		if kept != nil {
			list = append(list, *kept)
			continue
		}
		if reason := d.tooLate(&fresh, restored); reason != "" {
			fresh.State, fresh.NextAt = runs.DeliveryFailed, nil
			fresh.Error = &runs.Error{
				Kind: plan.KindExpired, Applied: runs.NotApplied, Message: reason, Hint: diag.Sayf("send it by hand: %s", diag.Command{"runs", "deliver", row.ID}),
			}
		}
		if err := store.PutDelivery(d.store.KV(), &fresh, true); err != nil && !errors.Is(err, store.ErrConflict) {
			return nil, d.fault(err)
		}
		d.plan(&fresh)
		list = append(list, fresh)
	}
	return list, nil
}

// tooLate says why a delivery that is found is not sent by itself, "" = it is.
func (d *Deliveries) tooLate(fresh *runs.Delivery, restored bool) string {
	switch {
	case restored:
		return "the store was put back from a backup: whether it was delivered before that is not known"
	case d.config.Now().Sub(fresh.CreatedAt) > Window:
		return "no server was there for a day after the run"
	}
	return ""
}

// planned are the deliveries of a run that nothing is kept of.
func planned(workflow *plan.Workflow, row *runs.Run) (list []runs.Delivery) {
	at := row.StartedAt
	if row.FinishedAt != nil {
		at = *row.FinishedAt
	}
	runs.EachDelivery(workflow, func(out *plan.Output, to *plan.Step) {
		next := at
		list = append(list, runs.Delivery{
			Run: row.ID, ID: to.ID, Output: out.Name, To: to.Title, Action: to.Uses, Connection: workspace.LiteralText(to.Connection),
			State: runs.DeliveryWaiting, CreatedAt: at, NextAt: &next,
		})
	})
	return list
}

// Of returns the deliveries of a run as they are now, in the order of its workflow's
// outputs: none where it has not succeeded.
func (d *Deliveries) Of(row *runs.Run, workflow *plan.Workflow) ([]runs.Delivery, error) {
	if row.Status != runs.RunSucceeded || row.Parent != nil || !runs.Delivers(workflow) {
		return nil, nil
	}
	kept, err := store.Deliveries(d.store.KV(), row.ID)
	if err != nil {
		return nil, d.fault(err)
	}
	list := planned(workflow, row)
	for i := range list {
		if at := slices.IndexFunc(kept, func(k runs.Delivery) bool { return k.ID == list[i].ID }); at >= 0 {
			list[i] = kept[at]
		}
	}
	return list, nil
}

// Request says what is to be delivered by hand.
type Request struct {
	Output string `json:"output,omitempty" doc:"Only the destinations of this output; all where it is not given."`
	Again  bool   `json:"again,omitempty" doc:"Also what was delivered, and what may have been: under the same idempotency key."`
	By     string `json:"by,omitempty" doc:"Who asks. Over TCP it is ignored."`
	// Due asks for no more than the first attempts, and waits for them.
	Due bool `json:"due,omitempty" hidden:"true"`
}

// Deliver makes one attempt of each delivery of a run that was not delivered, and returns
// all when these have ended. *fault.ConflictError where the run has not succeeded,
// *fault.UnknownError where it has no such output or none that goes anywhere.
func (d *Deliveries) Deliver(ctx context.Context, row *runs.Run, workflow *plan.Workflow, request Request) ([]runs.Delivery, error) {
	if err := deliverable(row, workflow, request); err != nil {
		return nil, err
	}
	list, err := d.note(row, false)
	if err != nil {
		return nil, err
	}
	var group sync.WaitGroup
	slots := make(chan struct{}, atOnce)
	for _, one := range list {
		if request.Output != "" && one.Output != request.Output || !wanted(&one, request) {
			continue
		}
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			d.attempt(ctx, one.Run, one.ID, &request)
		})
	}
	group.Wait()
	return d.Of(row, workflow)
}

// wanted reports whether a request is about a delivery.
func wanted(d *runs.Delivery, request Request) bool {
	switch {
	case request.Due:
		return d.Attempts == 0 && !d.State.Over()
	case d.State == runs.DeliveryDelivered, d.State == runs.DeliveryUnknown:
		return request.Again
	}
	return true
}

func deliverable(row *runs.Run, workflow *plan.Workflow, request Request) error {
	switch {
	case row.Parent != nil:
		return &fault.ConflictError{Message: fmt.Sprintf("run %s is a step of run %s: its outputs go to that one alone", row.ID, row.Parent.Run)}
	case row.Status != runs.RunSucceeded:
		return &fault.ConflictError{
			Message: fmt.Sprintf("run %s is %s: outputs are delivered when a run has succeeded", row.ID, row.Status), Hint: diag.Sayf("look at it with %s", diag.Command{"runs", "show", row.ID}),
		}
	case !row.Closed:
		return &fault.ConflictError{Message: fmt.Sprintf("run %s has succeeded, and its last steps go on: its outputs are delivered after them", row.ID)}
	case !runs.Delivers(workflow):
		return &fault.ConflictError{Message: fmt.Sprintf("no output of run %s goes anywhere", row.ID), Hint: diag.Say("an output says where with `to`")}
	case request.Output == "":
		return nil
	}
	var names []string
	runs.EachDelivery(workflow, func(out *plan.Output, _ *plan.Step) { names = append(names, out.Name) })
	names = slices.Compact(names)
	if slices.Contains(names, request.Output) {
		return nil
	}
	return &fault.UnknownError{What: "output that goes somewhere", Name: request.Output, Hint: diag.MeantOr(request.Output, names, "they are ")}
}
