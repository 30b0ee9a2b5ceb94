package simulation

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/flowrun/flowrun/engine/check"
	"github.com/flowrun/flowrun/engine/eval"
	"github.com/flowrun/flowrun/engine/interp"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/spec"
)

// service is the catalog of the made-up plugin `svc`: read, put (idempotent),
// post (keyed), send (once), pay (once, and its plugin can be asked), list (paged), usage (paged, at most 7 days at a
// time), feed (paged, with a watermark), and of one sub-workflow.
type service struct {
	actions map[string]*plan.Action
	child   *plan.Workflow
}

func newService() *service {
	const (
		input  = `{"type":"object","properties":{"n":{"type":"integer"}},"additionalProperties":false}`
		output = `{"type":"object","required":["value"],"properties":{"value":{"type":"integer"}}}`
		page   = `{"type":"object","required":["rows"],"properties":{"rows":{"type":"array","items":{"type":"integer"}},"next":{"type":["string","null"]}}}`
		span   = `{"type":"object","required":["from","to"],"properties":{"from":{"type":"string","format":"date-time"},"to":{"type":"string","format":"date-time"},"cursor":{"type":["string","null"]}}}`
		asked  = `{"type":"object","properties":{"n":{"type":"integer"},"cursor":{"type":["string","null"]}},"additionalProperties":false}`
	)
	s := &service{actions: map[string]*plan.Action{}}
	add := func(name string, effect plan.Effect, in, out string) *plan.Action {
		action := &plan.Action{
			Plugin: "svc", Name: name, Doc: name, Effect: effect, Input: json.RawMessage(in), Output: json.RawMessage(out),
		}
		s.actions[action.FullName()] = action
		return action
	}
	add("read", plan.EffectRead, input, output)
	add("put", plan.EffectIdempotent, input, output)
	add("post", plan.EffectKeyed, input, output)
	add("send", plan.EffectOnce, input, output)
	add("pay", plan.EffectOnce, input, output).Reconcile = true
	paging := &plan.Paging{CursorField: "cursor", ItemsField: "rows", NextField: "next"}
	add("list", plan.EffectRead, asked, page).Paging = paging
	feed := add("feed", plan.EffectRead, asked, page)
	feed.Paging, feed.Incremental = paging, true
	usage := add("usage", plan.EffectRead, span, page)
	usage.Paging, usage.Range = paging, &plan.Range{FromField: "from", ToField: "to", Max: 7 * 24 * time.Hour}
	return s
}

const childYAML = `flowrun: v1
name: child
inputs:
  n: {type: integer, default: 0}
steps:
  - id: asked
    uses: svc.read
    with: {n: "${{ inputs.n }}"}
  - id: told
    uses: svc.post
    with: {n: "${{ steps.asked.outputs.value }}"}
outputs:
  out: ${{ steps.told.outputs.value }}
`

func (s *service) Action(name string) (*plan.Action, bool) {
	action, ok := s.actions[name]
	if ok {
		return action, true
	}
	for _, builtin := range interp.Builtins() {
		if builtin.FullName() == name {
			return builtin, true
		}
	}
	return nil, false
}

func (s *service) ActionNames() []string {
	var names []string
	for name := range s.actions {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func (s *service) Validate(context.Context, string, json.RawMessage, []string) (check.Validation, error) {
	return check.Validation{}, nil
}

func (s *service) Connections() map[string]string { return map[string]string{"svc": "svc"} }

func (s *service) PluginProblem(string) string { return "" }

// Workflow is the sub-workflow that steps call.
func (s *service) Workflow(ctx context.Context, _ string) (string, *plan.Workflow, *check.WorkflowFault) {
	if s.child == nil {
		s.child = &plan.Workflow{}
		child, err := s.check(ctx, "child.yaml", childYAML)
		if err != nil {
			panic(err)
		}
		s.child = child
	}
	return "child", s.child, nil
}

func (s *service) check(ctx context.Context, file, text string) (*plan.Workflow, error) {
	tree, problems := spec.Parse(file, []byte(text))
	workflow, more := check.Check(ctx, tree, s)
	if problems = append(problems, more...); problems.HasErrors() || workflow == nil {
		return nil, fmt.Errorf("the generator made a workflow that is none: %v\n%s", problems, text)
	}
	return workflow, nil
}

// compiled is a checked flow, ready to run.
type compiled struct {
	flow     *flow
	workflow *plan.Workflow
	program  *interp.Program
}

var checker = sync.OnceValue(newService)

// expressions are shared by all flows: generated ones repeat themselves.
var expressions = sync.OnceValue(eval.NewCache)

func compile(ctx context.Context, f *flow) (*compiled, error) {
	workflow, err := checker().check(ctx, "simulated.yaml", f.yaml())
	if err != nil {
		return nil, err
	}
	program, err := interp.CompileWith(workflow, expressions())
	if err != nil {
		return nil, fmt.Errorf("%w\n%s", err, f.yaml())
	}
	return &compiled{f, workflow, program}, nil
}
