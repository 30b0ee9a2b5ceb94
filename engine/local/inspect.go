package local

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"sync"

	"github.com/flowrun/flowrun/engine/interp"
	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
)

// Snapshot returns a run with its steps and outputs. Of a driven run it shows
// what is durable.
func (d *Driver) Snapshot(ctx context.Context, id string) (*runs.Result, error) {
	return d.snapshot(ctx, id, (*interp.Machine).Steps)
}

// SnapshotInShort is Snapshot without the long outputs of steps: Step.OutputsBytes says
// so.
func (d *Driver) SnapshotInShort(ctx context.Context, id string) (*runs.Result, error) {
	return d.snapshot(ctx, id, (*interp.Machine).StepsInShort)
}

// SnapshotOpen is SnapshotInShort with those steps alone that have not ended: a loop may have
// had many.
func (d *Driver) SnapshotOpen(ctx context.Context, id string) (*runs.Result, error) {
	return d.snapshot(ctx, id, (*interp.Machine).OpenSteps)
}

func (d *Driver) snapshot(ctx context.Context, id string, steps func(*interp.Machine) []runs.Step) (*runs.Result, error) {
	var result *runs.Result
	err := d.inspect(ctx, id, false, func(r *run) { result = r.result(r.withWaits(steps(r.Machine))) })
	if _, ok := errors.AsType[*TooLargeError](err); ok {
		return d.rowAlone(id)
	}
	return result, err
}

// rowAlone is what is shown of a run whose journal is too large to be read.
func (d *Driver) rowAlone(id string) (*runs.Result, error) {
	row, err := d.options.Journal.Run(id)
	if err != nil {
		return nil, err
	}
	return &runs.Result{Run: *row, Outputs: map[string]json.RawMessage{}, Steps: map[string]runs.Step{}, Error: row.Error}, nil
}

// Steps returns the steps of a run in file order, the steps of a loop's items
// in input order behind the loop, handlers last.
func (d *Driver) Steps(ctx context.Context, id string) ([]runs.Step, error) {
	var steps []runs.Step
	err := d.inspect(ctx, id, false, func(r *run) { steps = r.withWaits(r.Machine.Steps()) })
	return steps, err
}

// StepsInShort is Steps without long outputs: Step.OutputsBytes says so.
func (d *Driver) StepsInShort(ctx context.Context, id string) ([]runs.Step, error) {
	var steps []runs.Step
	err := d.inspect(ctx, id, false, func(r *run) { steps = r.withWaits(r.Machine.StepsInShort()) })
	return steps, err
}

// View is a run at one moment. Steps are as those of Driver.Steps, Inputs complete.
// Long outputs of steps are left out of it: Step.OutputsBytes says so. The workflow
// must not be changed.
type View struct {
	Result   *runs.Result
	Steps    []runs.Step
	Workflow *plan.Workflow
	Inputs   json.RawMessage
}

// View reads all of a run at once.
func (d *Driver) View(ctx context.Context, id string) (*View, error) {
	view := new(View)
	err := d.inspect(ctx, id, false, func(r *run) {
		steps := r.withWaits(r.Machine.StepsInShort())
		*view = View{Result: r.result(steps), Steps: steps, Workflow: r.workflow, Inputs: r.Machine.Begun().Inputs}
	})
	if err != nil {
		return nil, err
	}
	return view, nil
}

// inspect calls look with the run as it is durable: on its worker when it is
// driven, else on what its journal leads to. A run that waits for a slot is
// waited for when queued says so.
func (d *Driver) inspect(ctx context.Context, id string, queued bool, look func(*run)) error {
	if r := d.driven(id); r != nil && (queued || r.hasSlot.Load()) {
		seen := make(chan struct{})
		var once sync.Once
		r.mail.put(message{inspect: func(r *run) {
			once.Do(func() {
				look(r)
				close(seen)
			})
		}})
		select {
		case <-seen:
			return nil
		case <-r.ended:
			// The worker may have ended before it read the message.
			missed := false
			once.Do(func() { missed = true })
			if !missed {
				<-seen
				return nil
			}
		case <-ctx.Done():
			once.Do(func() {})
			return ctx.Err()
		}
	}
	if seen, err := d.lookAtEnded(id, look); seen || err != nil {
		return err
	}
	r, err := d.replay(id)
	if err != nil {
		return err
	}
	look(r)
	d.keepReplayed(r)
	return nil
}

// result is the state of the run for views, with its steps. It runs on the worker.
func (r *run) result(steps []runs.Step) *runs.Result {
	result := &runs.Result{
		Run:     r.row,
		Outputs: maps.Clone(r.Machine.Outputs()),
		Steps:   map[string]runs.Step{},
		Error:   r.Machine.Error(),
		Plugins: r.Machine.Begun().Plugins,
	}
	if result.Outputs == nil {
		result.Outputs = map[string]json.RawMessage{}
	}
	for _, step := range steps {
		result.Steps[step.Path] = step
	}
	return result
}

// withWaits shows in steps what holds them up.
func (r *run) withWaits(steps []runs.Step) []runs.Step {
	for i := range steps {
		steps[i] = r.withWait(steps[i])
	}
	return steps
}

// withWait shows a wait for the limiter or the gate in the step that it holds up.
func (r *run) withWait(step runs.Step) runs.Step {
	step = r.withChild(step)
	waits, ok := r.waits[step.Path]
	if !ok || step.Status != runs.StepRunning {
		return step
	}
	wait := waits // so that a step that does not wait takes no memory
	step.Status, step.Wait = runs.StepWaiting, wait.reason
	step.Until, step.WaitSince = &wait.until, &wait.since
	return step
}

// NoRecords is where a watcher begins that wants to know how things stand and what
// happens, and none of the records: those with pages are large.
const NoRecords = 1 << 62

// Watch sends the stored records after from, then every step and the run as
// they are, then what happens, until the run is closed or paused or nobody
// drives it; then UpdateEnd. With NoRecords as from it sends no records at all. The channel is closed at the end, or with ctx, or
// when the reader is too slow.
func (d *Driver) Watch(ctx context.Context, id string, from uint64) (<-chan Update, error) {
	out := make(chan Update)
	err := d.watch(ctx, id, from, func() { close(out) }, func(updates Updates) bool {
		for _, update := range updates.List {
			select {
			case out <- update:
			case <-ctx.Done():
				return false
			}
		}
		return true
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// WatchTogether is Watch with several updates at a time: as many as there are, and the
// same ones for all who follow and are as far.
func (d *Driver) WatchTogether(ctx context.Context, id string, from uint64) (<-chan Updates, error) {
	out := make(chan Updates)
	err := d.watch(ctx, id, from, func() { close(out) }, func(updates Updates) bool {
		select {
		case out <- updates:
			return true
		case <-ctx.Done():
			return false
		}
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// watch hands updates to give, from a goroutine that Close waits for and that calls done
// when it ends. It is done with the first false.
func (d *Driver) watch(ctx context.Context, id string, from uint64, done func(), give func(Updates) bool) error {
	w := newWatcher()
	w.noRecords = from >= NoRecords
	var joined *run
	var stored uint64
	err := d.inspect(ctx, id, true, func(r *run) {
		stored = r.Seq
		r.sendState(w)
		if d.driven(id) == r {
			joined = r
			r.feed.add(w)
			return
		}
		w.put(Update{Kind: UpdateEnd, RunID: id, Seq: r.Seq})
	})
	if err != nil {
		return err
	}
	d.workers.Go(func() {
		defer done()
		if joined != nil {
			defer joined.feed.remove(w)
		}
		if d.sendHistory(ctx, id, from, stored, give) {
			w.pump(ctx, give)
		}
	})
	return nil
}

// historyBytes is what of a run's records is sent at a time.
const historyBytes = 64 << 10

// sendHistory sends a new watcher the records after from, as fast as it takes them:
// few of them wait in memory. What happens meanwhile waits in the feed. It reports
// whether the watcher goes on.
func (d *Driver) sendHistory(ctx context.Context, id string, from, upTo uint64, give func(Updates) bool) bool {
	if from >= upTo {
		return true
	}
	var some []Update
	size := 0
	err := d.options.Journal.EachRecord(id, from+1, func(record *journal.Record) error {
		if record.Seq > upTo {
			return errSent
		}
		encoded, err := json.Marshal(record)
		if err != nil {
			return err
		}
		some, size = append(some, Update{Kind: UpdateRecord, RunID: id, Seq: record.Seq, Record: encoded}), size+len(encoded)
		if size < historyBytes {
			return nil
		}
		if !give(Updates{List: some}) {
			return errGone
		}
		some, size = nil, 0
		return nil
	})
	switch {
	case errors.Is(err, errGone) || ctx.Err() != nil:
		return false
	case err != nil && !errors.Is(err, errSent):
		d.options.Log.Error("history not sent", "run", id, "error", err)
	}
	return len(some) == 0 || give(Updates{List: some})
}

// errGone ends the reading of a journal for a watcher that is gone.
var errGone = errors.New("the watcher is gone")

// errSent ends the reading of a journal behind what a watcher wants of it.
var errSent = errors.New("all is sent")

// sendState gives a new watcher how the run and its steps are.
func (r *run) sendState(w *watcher) {
	for _, step := range r.Machine.StepsInShort() {
		step = r.withChild(step)
		w.put(Update{Kind: UpdateStep, RunID: r.row.ID, Seq: r.Seq, Step: &step})
	}
	row := r.row
	w.put(Update{Kind: UpdateRun, RunID: r.row.ID, Seq: r.Seq, Run: &row})
	for _, wait := range r.waits {
		w.put(Update{Kind: UpdateWait, RunID: r.row.ID, Path: wait.path, Wait: wait.reason, Until: wait.until})
	}
}
