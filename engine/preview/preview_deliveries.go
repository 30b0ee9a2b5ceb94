package preview

import (
	"encoding/json"

	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/workspace"
)

// Delivery is an output on its way to one destination, after a run that succeeded.
type Delivery struct {
	Output     string          `json:"output"`
	To         string          `json:"to"`
	Action     string          `json:"action"`
	Effect     plan.Effect     `json:"effect"`
	Connection string          `json:"connection,omitempty"`
	With       json.RawMessage `json:"with,omitempty"`
}

// deliveries lists where outputs go. Their calls come after the run: the estimate does not
// count them.
func (v *previewer) deliveries(env map[string]any) {
	runs.EachDelivery(v.workflow, func(out *plan.Output, to *plan.Step) {
		one := Delivery{Output: out.Name, To: to.Title, Action: to.Uses, Connection: workspace.LiteralText(to.Connection)}
		action := v.workflow.Actions[to.Uses]
		if action != nil {
			one.Effect = action.Effect
		}
		with, _ := v.value(to.With, env)
		one.With = encoded(with)
		if action != nil && action.Plugin != runs.CorePlugin {
			v.use(action.Plugin, one.Connection)
		}
		v.result.Deliveries = append(v.result.Deliveries, one)
	})
}
