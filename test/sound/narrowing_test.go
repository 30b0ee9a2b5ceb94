package sound

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/check"
	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/interp"
	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/schema"
	"github.com/flowrun/flowrun/engine/spec"
	"github.com/flowrun/flowrun/engine/testrun"
)

// narrowing is a service of one action that declares nothing of its answer; its
// plugin narrows it when a workflow is checked. `take` takes what the answer is
// narrowed to.
type narrowing struct {
	*flow
	schema json.RawMessage
}

func narrowingTo(s json.RawMessage) *narrowing {
	n := &narrowing{flow: &flow{actions: map[string]*plan.Action{}}, schema: s}
	n.add("get", object{}, object{"type": "object", "properties": object{}})
	n.add("take", object{}, object{"type": "object", "properties": object{"v": s}, "required": []string{"v"}})
	return n
}

// narrower is the checker's view of it.
type narrower struct {
	catalog
	schema json.RawMessage
}

func (n narrower) Validate(_ context.Context, action string, _ json.RawMessage, _ []string) (check.Validation, error) {
	if action == "svc.get" {
		return check.Validation{Output: n.schema}, nil
	}
	return check.Validation{}, nil
}

const getter = "flowrun: v1\nname: t\nsteps:\n  - {id: a, uses: svc.get}\n"

func (n *narrowing) check(source string) (*plan.Workflow, diag.List) {
	tree, problems := spec.Parse("t.yaml", []byte(source))
	if tree == nil {
		return nil, problems
	}
	workflow, found := check.Check(context.Background(), tree, narrower{catalog{n.flow}, n.schema})
	return workflow, append(problems, found...)
}

// The verdicts of three readers on one answer; "" is that it fits.

// validated is that of `validate` on the value, written where it is taken.
func (n *narrowing) validated(answer json.RawMessage) string {
	_, problems := n.check("flowrun: v1\nname: t\nsteps:\n  - id: b\n    uses: svc.take\n    with: " + `{"v": ` + string(answer) + "}\n")
	if !problems.HasErrors() {
		return ""
	}
	return fmt.Sprint(problems)
}

// tested is that of `test` on the value, as a mocked answer.
func (n *narrowing) tested(answer json.RawMessage) string {
	result := testrun.Run(context.Background(), testHost{n}, "t.test.yaml",
		[]byte("flowrun_test: v1\nworkflow: t.yaml\ncases:\n  - name: one\n    answers:\n      a: {outputs: "+string(answer)+"}\n    expect: {status: succeeded}\n"), nil)
	if len(result.Problems) == 0 && len(result.Cases) == 1 && len(result.Cases[0].Failures) == 0 {
		return ""
	}
	return fmt.Sprintf("%v %+v", result.Problems, result.Cases)
}

// run is that of a run whose plugin answers so.
func (n *narrowing) ran(answer json.RawMessage) string {
	workflow, problems := n.check(getter)
	if workflow == nil || problems.HasErrors() {
		return fmt.Sprint("no plan: ", problems)
	}
	machine, err := interp.New(workflow)
	if err != nil {
		return err.Error()
	}
	start := &journal.Start{RunID: "01sound0000000000000000000", Inputs: json.RawMessage("{}"), Trigger: "manual", ScheduledAt: at, Interpreter: interp.Version}
	for _, ev := range []journal.Event{
		{Kind: journal.Started, At: at, Start: start},
		{Kind: journal.Completed, At: at, Path: "a", Completed: &runs.Completed{Output: answer}},
	} {
		if _, err := machine.Apply(ev); err != nil {
			return err.Error()
		}
	}
	switch failure := machine.Steps()[0].Error; {
	case failure == nil:
		return ""
	case failure.Kind != plan.KindUnexpectedResponse:
		return "it fails as " + string(failure.Kind)
	default:
		return failure.Message
	}
}

type testHost struct{ *narrowing }

func (h testHost) Workflow(context.Context, string) (*plan.Workflow, diag.List, error) {
	workflow, problems := h.check(getter)
	if workflow != nil {
		workflow.File = "t.yaml"
	}
	return workflow, problems, nil
}

func (testHost) Now() time.Time { return at }

func (testHost) File(string) ([]byte, error) { return nil, errors.New("there is no file") }

func (testHost) Validate(context.Context, string, json.RawMessage) ([]testrun.Refusal, error) {
	return nil, nil
}

// TestIssue15_2_NarrowedAnswers: what fits a narrowed schema is the same for who
// checks a workflow, who mocks an answer and who runs it.
func TestIssue15_2_NarrowedAnswers(t *testing.T) {
	const schemas, each = 200, 4
	fits, breaks := 0, 0
	for i := range schemas {
		d := newDraws(15_002 + uint64(i))
		s := d.schemaOf(2)
		text, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		n, of := narrowingTo(text), typeOf(s)
		for j := range each {
			value := writable(d.value(of.Exact(), 3)) // names besides are refused where they are written, and left out where they come
			if j%2 == 1 {
				value = d.spoiled(value)
			}
			answer, err := schema.Encode(value)
			if err != nil {
				t.Fatal(err)
			}
			validated, tested, ran := n.validated(answer), n.tested(answer), n.ran(answer)
			if (validated == "") != (tested == "") || (tested == "") != (ran == "") {
				t.Errorf("schema %d: %s\nanswer: %s\nvalidate: %s\ntest: %s\nrun: %s", i, text, answer, verdict(validated), verdict(tested), verdict(ran))
			}
			if ran == "" {
				fits++
			} else {
				breaks++
			}
		}
	}
	if fits < schemas || breaks < schemas/2 {
		t.Errorf("%d answers fit and %d do not: little was tried", fits, breaks)
	}
}

// writable is a value as somebody may write it: with durations greater than 0.
func writable(v any) any {
	switch v := v.(type) {
	case time.Duration:
		return max(v, time.Second)
	case []any:
		for i := range v {
			v[i] = writable(v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = writable(v[name])
		}
	}
	return v
}

func verdict(problem string) string {
	if problem == "" {
		return "it fits"
	}
	return strings.ReplaceAll(problem, "\n", " ")
}

// spoiled puts another value somewhere into a value. It is no number and no boolean:
// who writes one in YAML where a text is expected has written that text.
func (d draws) spoiled(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for _, name := range fieldNames() {
			if inner, there := v[name]; there && d.chance(60) {
				v[name] = d.spoiled(inner)
				return v
			}
		}
	case []any:
		if len(v) > 0 && d.chance(70) {
			v[0] = d.spoiled(v[0])
			return v
		}
	}
	return pick[any](d, nil, d.text(), []any{"x"}, []any{nil}, map[string]any{})
}
