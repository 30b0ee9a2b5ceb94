package interp

import (
	"encoding/json"
	"fmt"

	"github.com/flowrun/flowrun/engine/eval"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/schema"
)

// Ended is a run that has succeeded, as the calls of its destinations see it.
type Ended struct {
	Workflow *plan.Workflow
	Run      *runs.Run
	Inputs   json.RawMessage // complete, as they are stored
}

// DestinationInput makes the input of a call that sends an output out, as JSON with secrets
// as references. It is the same each time: now() is when the run ended. The error has kind
// invalid and says nothing of the output's value.
func DestinationInput(ended Ended, out Rendered, to *plan.Step) (json.RawMessage, *runs.Error) {
	w := ended.Workflow
	code, err := CompileValues(w.File, eval.NewCache(), to.With)
	if err != nil {
		return nil, internal(err)
	}
	roots, err := destinationRoots(ended, out)
	if err != nil {
		return nil, internal(err)
	}
	action := w.Actions[to.Uses]
	if action == nil {
		return nil, internal(fmt.Errorf("the plan has no action %s", to.Uses))
	}
	t, err := schema.FromJSON(action.Input)
	if err != nil {
		return nil, internal(fmt.Errorf("read the input schema of %s: %w", to.Uses, err))
	}
	at := ended.Run.StartedAt
	if ended.Run.FinishedAt != nil {
		at = *ended.Run.FinishedAt
	}
	var value any = map[string]any{}
	if !to.With.IsZero() {
		var failure *runs.Error
		if value, failure = code.Value(to.With, t, roots, at); failure != nil {
			failure.Applied = runs.NotApplied
			return nil, failure
		}
	}
	accepted, err := t.Accept(value)
	if err != nil {
		m := &Machine{program: code.program}
		return nil, m.inputFailure(&step{code: &stepCode{step: to}}, err)
	}
	return encodeResult(accepted)
}

func internal(err error) *runs.Error {
	return &runs.Error{Kind: plan.KindInternal, Applied: runs.NotApplied, Message: err.Error()}
}

// destinationRoots are what the expressions of a destination read.
func destinationRoots(ended Ended, out Rendered) (map[string]any, error) {
	w, row := ended.Workflow, ended.Run
	inputs, err := decodeBy(w.Inputs, ended.Inputs)
	if err != nil {
		return nil, fmt.Errorf("read the inputs of run %s: %w", row.ID, err)
	}
	t := anyType
	if whole, err := schema.FromJSONOr(w.OutputSchema, schema.ObjectOf()); err == nil {
		if field, ok := whole.Field(out.Output.Name); ok {
			t = field
		}
	}
	value, err := t.Decode(out.Value)
	if err != nil {
		if value, err = anyType.Decode(out.Value); err != nil {
			return nil, fmt.Errorf("read the output %s of run %s: %w", out.Output.Name, row.ID, err)
		}
	}
	scheduled := row.ScheduledAt
	if scheduled.IsZero() {
		scheduled = row.StartedAt
	}
	return map[string]any{
		rootInputs: inputs,
		rootRun: map[string]any{
			"id": row.ID, "workflow": row.Workflow, "status": string(row.Status), "scheduled_at": schema.FixZone(scheduled), "started_at": schema.FixZone(row.StartedAt),
			"attempt": row.Attempt, "trigger": row.Trigger,
		},
		"output": map[string]any{
			"name": out.Output.Name, "text": out.Text, "value": value, "format": out.Output.Format, "media_type": out.MediaType,
		},
	}, nil
}

func decodeBy(text, value json.RawMessage) (any, error) {
	t, err := schema.FromJSONOr(text, schema.MapOf(anyType))
	if err != nil {
		return nil, err
	}
	if len(value) == 0 {
		value = json.RawMessage("{}")
	}
	return t.Decode(value)
}
