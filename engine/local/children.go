package local

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/flowrun/flowrun/engine/drive"
	"github.com/flowrun/flowrun/engine/interp"
	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/store"
)

// triggerWorkflow is the trigger of a sub-workflow's run.
const triggerWorkflow = "workflow"

// ChildAnswerer may answer a step that calls a sub-workflow in the place of a run.
// nil leaves it to the run. It keeps to ctx.
type ChildAnswerer interface {
	AnswerChild(ctx context.Context, parent runs.Run, start journal.ChildStart) *journal.Child
}

// child is a sub-workflow's run that a step waits for. Its id is in the parent's
// journal before it starts.
type child struct {
	op    *drive.Operation
	begun chan struct{} // closed when it was started, or could not be
	waits bool          // it waits for people alone
}

// childWaits tells a run whether one of its children waits for people alone.
type childWaits struct {
	path, step string
	waits      bool
}

// childEnd tells a run that one of its children ended or is paused.
type childEnd struct {
	path string
	end  journal.Child
}

// startChild starts the child's run, or goes on with it.
func (r *run) startChild(op *drive.Operation) {
	c, command := &child{op: op, begun: make(chan struct{})}, op.Command
	if r.children == nil {
		r.children = map[string]*child{}
	}
	r.children[command.Path] = c
	if op.Canceled {
		r.mail.put(message{child: &childEnd{path: command.Path, end: *op.Unsent().Child}})
		return
	}
	op.Stop = func() { r.cancelChild(c) }
	parent, workflow := r.row, r.workflow.Workflows[command.Child.Workflow]
	r.driver.workers.Go(func() {
		defer close(c.begun)
		var end *journal.Child
		var err error
		if answerer := r.driver.options.Children; answerer != nil {
			end = answerer.AnswerChild(r.driver.ctx, parent, *command.Child)
		}
		if end == nil {
			end, err = r.driver.driveChild(parent, workflow, command)
		}
		switch {
		case r.driver.ctx.Err() != nil:
			return // the engine is closing: the next start finds the child by its id
		case err != nil:
			end = &journal.Child{RunID: command.Child.RunID, Failed: &runs.Error{Kind: plan.KindInternal, Message: err.Error()}}
		}
		if end != nil {
			r.mail.put(message{child: &childEnd{path: command.Path, end: *end}})
		}
	})
}

// driveChild makes sure that the child's run is driven. It returns its end when
// there is nothing to drive any more.
func (d *Driver) driveChild(parent runs.Run, workflow *plan.Workflow, command journal.Command) (*journal.Child, error) {
	id := command.Child.RunID
	if workflow == nil {
		return nil, fmt.Errorf("the plan holds no workflow %s", command.Child.Workflow)
	}
	if d.Driven(id) {
		return nil, nil // its end is told when it comes
	}
	if err := d.handOn(parent.ID, id, command.Child.Inputs); err != nil {
		return nil, err
	}
	stored, existing, err := d.Start(d.ctx, d.childRequest(parent, workflow, command))
	if d.Driven(id) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if stored != nil {
		existing = stored.ID // it has ended already
	}
	return d.goOnWithChild(existing, command.Child.After)
}

// handOn lets a run refer to the large values of another one that pass to it.
func (d *Driver) handOn(from, to string, document json.RawMessage) error {
	if d.options.Blobs == nil {
		return nil
	}
	if err := store.HandOn(d.options.Blobs, from, to, document); err != nil {
		return fmt.Errorf("hand large values of run %s on to run %s: %w", from, to, err)
	}
	return nil
}

func (d *Driver) childRequest(parent runs.Run, workflow *plan.Workflow, command journal.Command) StartRequest {
	encoded, err := workflow.Encode()
	if err != nil {
		encoded = nil // Start refuses an empty plan
	}
	hash, now := plan.HashOf(encoded), d.now()
	return StartRequest{
		Row: runs.Run{
			ID: command.Child.RunID, Workflow: workflow.Name, Status: runs.RunRunning, Attempt: 1, Trigger: triggerWorkflow,
			Labels: workflow.Labels, ScheduledAt: parent.ScheduledAt, StartedAt: now, PlanHash: hash,
			Parent: &runs.ParentStep{Run: parent.ID, Step: command.Child.Step, Path: command.Path},
		},
		Workflow: workflow, PlanBytes: encoded,
		RequestID: "child:" + parent.ID + ":" + command.Path,
		Start: journal.Start{
			RunID: command.Child.RunID, Inputs: command.Child.Inputs, Trigger: triggerWorkflow,
			ScheduledAt: parent.ScheduledAt, Interpreter: interp.Version, PlanHash: hash,
			Plugins: plan.PinsOf(workflow.Actions, runs.CorePlugin),
		},
	}
}

// goOnWithChild goes on with a child's run that exists. after is the last of its
// attempts that the parent's step has seen end: a run that has stopped since then
// is told of, one that has not is resumed.
func (d *Driver) goOnWithChild(id string, after int) (*journal.Child, error) {
	row, err := d.options.Journal.Run(id)
	if err != nil {
		return nil, fmt.Errorf("look for the sub-workflow's run: %w", err)
	}
	stopped := row.Closed || row.Status == runs.RunPaused
	switch {
	case stopped && (row.Status == runs.RunSucceeded || row.Attempt > after):
		r, err := d.replay(id)
		if err != nil {
			return nil, err
		}
		end := r.asChild()
		return &end, nil
	case stopped:
		return nil, d.Load(id, &journal.Event{Kind: journal.Resumed})
	}
	return nil, d.Load(id, nil)
}

// asChild is the end of the run as its parent's step sees it.
func (r *run) asChild() journal.Child {
	end := journal.Child{RunID: r.row.ID, Attempt: r.Machine.Attempt()}
	status, paused := r.Machine.Status()
	switch status {
	case runs.RunSucceeded:
		outputs := r.Machine.Outputs()
		if outputs == nil {
			outputs = map[string]json.RawMessage{}
		}
		encoded, err := json.Marshal(outputs)
		if err != nil {
			end.Failed = &runs.Error{Kind: plan.KindInternal, Message: "encode the outputs: " + err.Error()}
			break
		}
		end.Outputs = encoded
	case runs.RunPaused:
		end.Paused, end.Failed = paused, r.Machine.Error()
	default:
		if end.Failed = r.Machine.Error(); end.Failed == nil {
			end.Failed = &runs.Error{Kind: plan.KindInternal, Message: "it is " + string(status)}
		}
	}
	return end
}

// asEnded is what the run of the parent's step is told of the end of this one; nil for
// nothing.
func (r *run) asEnded() *childEnd {
	parent := r.row.Parent
	if parent == nil || r.stopping || r.failed != nil || !(r.row.Closed || r.row.Status == runs.RunPaused) {
		return nil
	}
	return &childEnd{path: parent.Path, end: r.asChild()}
}

// tellParent tells the run of the parent's step that this one ended. A parent
// that nobody drives finds out when it goes on.
func (d *Driver) tellParent(parent *runs.ParentStep, end *childEnd) {
	if end == nil {
		return
	}
	if above := d.driven(parent.Run); above != nil {
		above.mail.put(message{child: end})
	}
}

// childEnded gives the Machine the end of a child that a step waits for.
func (r *run) childEnded(end *childEnd) {
	c := r.children[end.path]
	if c == nil || c.op.Command.Child.RunID != end.end.RunID || !r.Settle(c.op) {
		return
	}
	delete(r.children, end.path)
	if err := r.driver.handOn(end.end.RunID, r.row.ID, end.end.Outputs); err != nil {
		end.end.Outputs, end.end.Failed = nil, &runs.Error{Kind: plan.KindInternal, Message: err.Error()}
	}
	r.take(journal.Event{Kind: journal.ChildEnded, Path: end.path, Child: &end.end}, nil)
}

// childWaiting shows whether a child waits for people alone.
func (r *run) childWaiting(told *childWaits) {
	c := r.children[told.path]
	if c == nil || c.waits == told.waits {
		return
	}
	c.waits = told.waits
	r.noteWaits()
	for _, step := range r.Machine.StepsInShort() {
		if step.Path == told.step {
			shown := r.withChild(step)
			r.feed.send(Update{Kind: UpdateStep, RunID: r.row.ID, Seq: r.Seq, Step: &shown})
		}
	}
}

// withChild shows in a step that its sub-workflow waits for people alone.
func (r *run) withChild(step runs.Step) runs.Step {
	for _, c := range r.children {
		if c.waits && c.op.Command.Child.Step == step.Path && step.Status == runs.StepRunning {
			step.Status, step.Wait = runs.StepWaiting, string(runs.WaitApproval)
			step.Message = "its run " + c.op.Command.Child.RunID + " waits for a person or a signal"
		}
	}
	return step
}

func (r *run) waitingChildren() int {
	n := 0
	for _, c := range r.children {
		if c.waits {
			n++
		}
	}
	return n
}

// cancelChild cancels the run of a child; its end is told as always.
func (r *run) cancelChild(c *child) {
	id := c.op.Command.Child.RunID
	r.driver.workers.Go(func() {
		<-c.begun
		row, err := r.driver.options.Journal.Run(id)
		if err != nil || row.Status.Ended() {
			return
		}
		cancel := &journal.Event{Kind: journal.CancelRun, Cancel: &journal.Cancel{Reason: "parent"}}
		if err := r.driver.Load(id, cancel); err != nil && r.driver.ctx.Err() == nil {
			r.driver.options.Log.Warn("sub-workflow not canceled", "run", id, "parent", r.row.ID, "error", err)
		}
	})
}
