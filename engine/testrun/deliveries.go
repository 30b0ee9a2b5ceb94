package testrun

import (
	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/interp"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
)

// A test delivers nothing. What the outputs of a run that succeeded would be sent with is
// made all the same: expectations see it, and what can't be made fails the case.

// deliveryValues are the calls that would send the outputs of the run out, in written order.
func (d *driver) deliveryValues() []any {
	values := []any{}
	if status, _ := d.Machine.Status(); status != runs.RunSucceeded {
		return values
	}
	at, began := d.Now, d.Machine.Begun()
	ended := interp.Ended{Workflow: d.steps.plan, Inputs: began.Inputs, Run: &runs.Run{
		ID: runID, Workflow: d.steps.workflow, Status: runs.RunSucceeded, Attempt: d.Machine.Attempt(), Trigger: d.test.trigger,
		ScheduledAt: d.test.at.UTC(), StartedAt: d.test.at.UTC(), FinishedAt: &at,
	}}
	runs.EachDelivery(d.steps.plan, func(out *plan.Output, to *plan.Step) {
		rendered, err := interp.Render(out, d.Machine.Outputs()[out.Name])
		if err != nil {
			d.undeliverable(out, to, err.Error())
			return
		}
		input, failed := interp.DestinationInput(ended, rendered, to)
		if failed != nil {
			d.undeliverable(out, to, failed.Message)
			return
		}
		connection, _ := decodeJSON(literalValue(to.Connection)).(string)
		values = append(values, map[string]any{"output": out.Name, "to": to.Title, "action": to.Uses, "connection": connection, "input": inputOf(input)})
	})
	return values
}

func literalValue(v *plan.Value) []byte {
	if v == nil {
		return nil
	}
	return v.Literal
}

func (d *driver) undeliverable(out *plan.Output, to *plan.Step, why string) {
	d.fail(d.test.pos, FailExpectation, "output "+out.Name+" can't be sent to "+to.Title+": "+why, diag.Say("the run succeeds all the same").Text)
}
