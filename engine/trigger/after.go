package trigger

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/flowrun/flowrun/engine/fault"
	"github.com/flowrun/flowrun/engine/inforce"
	"github.com/flowrun/flowrun/engine/interp"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/schema"
)

// maxAfterDepth is how many runs may follow each other by `after` triggers: two
// workflows may follow each other, and nobody shall find ten thousand runs of them
// in the morning.
const maxAfterDepth = 16

// fireAfter starts the runs that follow a run which has ended, one for each `after`
// trigger that waits for its workflow and status. The same end of the same run
// never starts two runs of a trigger, however often it is told. With skip, the
// reason why it comes too late, only rows are written. An error means that not all
// of it is decided: tell it again.
func (tr *Triggers) fireAfter(ctx context.Context, entry runs.OutboxEntry, skip string) error {
	if entry.Kind != runs.OutboxClosed || entry.Run.Parent != nil {
		return nil
	}
	revs, err := tr.revisions.All(ctx)
	if err != nil {
		return err
	}
	var failed error
	ended := &endedRun{triggers: tr, entry: entry}
	for _, rev := range revs {
		for i := range rev.Workflow().Triggers {
			t := &rev.Workflow().Triggers[i]
			if t.After == nil || t.After.Workflow != entry.Run.Workflow || !slices.Contains(t.After.Status, string(entry.Run.Status)) {
				continue
			}
			failed = errors.Join(failed, tr.follow(ctx, rev, t, ended, skip))
		}
	}
	return failed
}

// follow starts the run of one trigger, or writes the row that says why not.
func (tr *Triggers) follow(ctx context.Context, rev *inforce.Revision, t *plan.Trigger, ended *endedRun, skip string) error {
	run, at := &ended.entry.Run, ended.entry.At.UTC()
	isDisabled, err := tr.skipDisabled(rev.Name(), func(reason, note string) error { return tr.skip(rev, t, at, reason, note) })
	if err != nil || isDisabled {
		return err
	}
	depth := 1
	if run.Fire != nil {
		depth = run.Fire.Depth + 1
	}
	switch {
	case skip != "":
		return tr.skip(rev, t, at, skip, "run "+run.ID+" of "+run.Workflow+" ended while nobody was there")
	case depth > maxAfterDepth:
		return tr.skip(rev, t, at, runs.SkipInvalid, fmt.Sprintf("%d runs have followed each other: do the workflows follow each other in a circle?", maxAfterDepth))
	}
	outputs, encoded, err := ended.outputs(ctx)
	if errors.Is(err, fault.ErrRunNotFound) {
		return tr.skip(rev, t, at, runs.SkipLate, "run "+run.ID+" of "+run.Workflow+" is not stored any more")
	}
	if err != nil {
		return err
	}
	trigger := map[string]any{"name": t.Name, "kind": string(plan.TriggerAfter), "at": schema.FixZone(at), "outputs": outputs}
	_, _, err = tr.startTriggered(ctx, firing{
		rev: rev, trigger: t, at: at, roots: map[string]any{"trigger": trigger}, outputs: encoded,
		requestID: requestIDOf("after", rev.Name(), t.Name, fmt.Sprintf("%s %d", run.ID, run.Attempt)),
		fire:      &runs.Fire{From: run.ID, Depth: depth},
	})
	if refused, ok := errors.AsType[*notFiredError](err); ok && refused.Skipped != runs.SkipBusy {
		return tr.skip(rev, t, at, refused.Skipped, refused.Note)
	}
	return err
}

// endedRun is a run whose outputs are read once, where a trigger wants them.
type endedRun struct {
	triggers *Triggers
	entry    runs.OutboxEntry

	read    bool
	value   any
	encoded json.RawMessage
	err     error
}

// outputs are those of the run by the types of its workflow, and the same as
// interp.EncodeValue writes it. A run that did not succeed has none. ErrRunNotFound.
func (r *endedRun) outputs(ctx context.Context) (any, json.RawMessage, error) {
	if !r.read {
		r.read = true
		if r.value, r.err = r.decode(ctx); r.err == nil && r.value != nil {
			r.encoded, r.err = interp.EncodeValue(r.value)
		}
	}
	return r.value, r.encoded, r.err
}

func (r *endedRun) decode(ctx context.Context) (any, error) {
	row := &r.entry.Run
	if row.Status != runs.RunSucceeded {
		return nil, nil
	}
	result, workflow, err := r.triggers.runs.Ended(ctx, row.ID)
	if err != nil {
		return nil, err
	}
	t, err := schema.FromJSONOr(workflow.OutputSchema, schema.Of(schema.Any))
	if err != nil {
		return nil, fmt.Errorf("read the schema of the outputs of run %s: %w", row.ID, err)
	}
	outputs := make(map[string]any, len(result.Outputs))
	for name, text := range result.Outputs {
		part, ok := t.Field(name)
		if !ok {
			part = schema.Of(schema.Any)
		}
		if outputs[name], err = part.Decode(text); err != nil {
			return nil, fmt.Errorf("output %s of run %s: %w", name, row.ID, err)
		}
	}
	return outputs, nil
}
