package mcpserver

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/preview"
	"github.com/flowrun/flowrun/engine/workspace"
	"github.com/flowrun/flowrun/internal/web"
)

// textName is the name of a text in messages that has none.
const textName = "workflow.yaml"

// finding is a problem in a text.
type finding struct {
	Severity string `json:"severity" jsonschema:"an error keeps the workflow from running, a warning does not"`
	Code     string `json:"code"`
	File     string `json:"file"`
	Line     int    `json:"line"`
	Column   int    `json:"column"`
	Message  string `json:"message"`
	Hint     string `json:"hint,omitempty" jsonschema:"what to do about it"`
	Snippet  string `json:"snippet,omitempty" jsonschema:"the line with a mark below the place"`
	Page     string `json:"page,omitempty" jsonschema:"a resource that explains the code with examples"`
}

// findings are problems with the lines of the texts that they are in.
func findings(list diag.List, sources map[string]string) []finding {
	renderer := diag.Renderer{Width: 160, Source: func(file string) ([]byte, bool) {
		text, ok := sources[file]
		return []byte(text), ok
	}}
	found := []finding{}
	for i, p := range list {
		if i == maxProblems {
			break
		}
		f := finding{
			Severity: string(p.Severity), Code: p.Code, File: p.File, Line: p.Line, Column: p.Column, Message: cutText(p.Message, 2000), Hint: cutText(p.Hint.Text, 2000),
		}
		if _, known := sources[p.File]; known {
			f.Snippet = renderer.Snippet(p.Pos)
		}
		if _, known := diag.Explain(p.Code); known {
			f.Page = codePrefix + p.Code
		}
		found = append(found, f)
	}
	return found
}

type validateInput struct {
	Text string `json:"text" jsonschema:"the whole workflow as YAML"`
	File string `json:"file,omitempty" jsonschema:"the file name that it would have, as workflows/report.yaml: for messages, and for workflows that it calls"`
}

type validateOutput struct {
	Valid    bool      `json:"valid" jsonschema:"there is no error"`
	Errors   int       `json:"errors"`
	Warnings int       `json:"warnings"`
	Problems []finding `json:"problems"`
	Next     string    `json:"next"`
}

func validate(ctx context.Context, c call, in validateInput) (*validateOutput, error) {
	if err := oneOf("", in.Text); err != nil {
		return nil, err
	}
	file := cmp.Or(in.File, textName)
	var answer *web.ValidateAnswer
	err := c.Lend(ctx, NeedFiles, func(ctx context.Context, client *web.Client) (err error) {
		answer, err = client.Validate(ctx, web.ValidateRequest{File: file, Source: in.Text})
		return err
	})
	if err != nil {
		return nil, err
	}
	out := &validateOutput{Valid: !answer.Problems.HasErrors(), Problems: findings(answer.Problems, map[string]string{file: in.Text})}
	for _, p := range answer.Problems {
		if p.Severity == diag.Error {
			out.Errors++
		} else {
			out.Warnings++
		}
	}
	switch {
	case !out.Valid:
		out.Next = "mend these places and validate again; explain a code that you do not know"
	case out.Warnings > 0:
		out.Next = "look at the warnings, then plan"
	default:
		out.Next = "plan it"
	}
	return out, nil
}

// asked is the workflow of a call, and its inputs.
type asked struct {
	Workflow string                     `json:"workflow,omitempty" jsonschema:"the name of a workflow of the project"`
	Text     string                     `json:"text,omitempty" jsonschema:"in place of a name: the whole workflow as YAML"`
	File     string                     `json:"file,omitempty" jsonschema:"the file name that the text would have"`
	Inputs   map[string]json.RawMessage `json:"inputs,omitempty" jsonschema:"the inputs of the run by name"`
}

// plan asks for the plan, and gives it the id that it has for exactly this workflow and
// these inputs.
func (c call) plan(ctx context.Context, in asked) (*preview.Preview, string, error) {
	if err := oneOf(in.Workflow, in.Text); err != nil {
		return nil, "", err
	}
	if in.Text != "" {
		in.File = cmp.Or(in.File, textName)
	}
	var planned *preview.Preview
	err := c.Lend(ctx, NeedFiles, func(ctx context.Context, client *web.Client) (err error) {
		planned, err = client.Plan(ctx, web.PlanRequest{GivenInputs: web.GivenInputs{Inputs: in.Inputs}, Workflow: in.Workflow, File: in.File, Source: in.Text})
		return err
	})
	if err != nil {
		return nil, "", err
	}
	id, err := planID(in, planned)
	return planned, id, err
}

// planID names what was planned: the workflow, the inputs and what they lead to, but for
// what runs change, such as cursors.
func planID(in asked, planned *preview.Preview) (string, error) {
	steady := *planned
	steady.Cursors, steady.Estimate = nil, preview.Estimate{}
	data, err := json.Marshal(struct {
		Asked   asked
		Planned preview.Preview
	}{in, steady})
	if err != nil {
		return "", fmt.Errorf("name the plan: %w", err)
	}
	return "plan-" + digest(data), nil
}

// digest names some bytes.
func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:10])
}

type planOutput struct {
	PlanID      string        `json:"plan_id" jsonschema:"names this plan for run"`
	Workflow    string        `json:"workflow"`
	Description string        `json:"description,omitempty"`
	Inputs      []planInput   `json:"inputs"`
	Steps       []planStep    `json:"steps" jsonschema:"in order; those of a loop behind it, by path"`
	MoreSteps   int           `json:"more_steps,omitempty"`
	Writes      []planWrite   `json:"writes" jsonschema:"the steps that change something at a service"`
	Connections []planConnect `json:"connections"`
	Secrets     []string      `json:"secrets" jsonschema:"names of secrets that are used"`
	Hosts       []string      `json:"hosts"`
	CallsMin    int           `json:"calls_min"`
	CallsMax    *int          `json:"calls_max,omitempty" jsonschema:"not given where it depends on answers"`
	Next        string        `json:"next"`
}

type planInput struct {
	Name    string          `json:"name"`
	Value   json.RawMessage `json:"value,omitempty"`
	Given   bool            `json:"given"`
	Missing bool            `json:"missing,omitempty" jsonschema:"the run needs it"`
}

type planStep struct {
	Path       string          `json:"path"`
	Part       string          `json:"part,omitempty" jsonschema:"on_success, on_failure or finally"`
	Kind       string          `json:"kind"`
	Uses       string          `json:"uses,omitempty"`
	Effect     string          `json:"effect,omitempty"`
	Connection string          `json:"connection,omitempty"`
	After      []string        `json:"after,omitempty"`
	If         string          `json:"if,omitempty"`
	With       json.RawMessage `json:"with,omitempty" jsonschema:"its inputs as far as they are known"`
	Items      *int            `json:"items,omitempty"`
}

type planWrite struct {
	Step       string `json:"step"`
	Action     string `json:"action"`
	Effect     string `json:"effect"`
	Connection string `json:"connection,omitempty"`
}

type planConnect struct {
	Name   string `json:"name"`
	Plugin string `json:"plugin"`
	URL    string `json:"url,omitempty"`
	Error  string `json:"error,omitempty"`
}

func plan(ctx context.Context, c call, in asked) (*planOutput, error) {
	planned, id, err := c.plan(ctx, in)
	if err != nil {
		return nil, err
	}
	out := &planOutput{
		PlanID: id, Workflow: planned.Workflow.Name, Description: planned.Workflow.Description, Inputs: []planInput{}, Steps: []planStep{}, Writes: []planWrite{},
		Connections: []planConnect{}, Secrets: append([]string{}, planned.Secrets...), Hosts: append([]string{}, planned.Hosts...),
		CallsMin: planned.Estimate.Calls.Min, CallsMax: planned.Estimate.Calls.Max,
	}
	missing := []string{}
	for _, input := range planned.Inputs {
		out.Inputs = append(out.Inputs, planInput{Name: input.Name, Value: fittingValue(input.Value, maxValue), Given: input.Given, Missing: input.Missing})
		if input.Missing {
			missing = append(missing, input.Name)
		}
	}
	out.addSteps("", "", planned.Steps)
	out.addSteps("on_success", "", planned.OnSuccess)
	out.addSteps("on_failure", "", planned.OnFailure)
	out.addSteps("finally", "", planned.Finally)
	for _, write := range planned.Writes {
		out.Writes = append(out.Writes, planWrite{Step: write.Step, Action: write.Action, Effect: string(write.Effect), Connection: write.Connection})
	}
	for _, connection := range planned.Connections {
		out.Connections = append(out.Connections, planConnect{Name: connection.Name, Plugin: connection.Plugin, URL: connection.URL, Error: connection.Error})
	}
	out.Next = c.afterPlan(in, missing)
	return out, nil
}

// afterPlan says how to go on from a plan.
func (c call) afterPlan(in asked, missing []string) string {
	switch {
	case len(missing) > 0:
		return "give the inputs that are missing, and plan again: " + strings.Join(missing, ", ")
	case c.NoRun != "":
		return "nothing is started from here: " + c.NoRun
	case in.Text != "" && !c.Texts:
		return "a person puts the text into the project as a file; run it then by its name"
	case in.Text != "":
		return "show the person what it writes, and with their word call run with the same text, file and inputs and this plan_id"
	}
	return "show the person what it writes, and with their word call run"
}

func (o *planOutput) addSteps(part, above string, steps []preview.Step) {
	for i := range steps {
		step := &steps[i]
		path := above + step.ID
		if len(o.Steps) == maxSteps {
			o.MoreSteps++
		} else {
			with := step.With
			if with == nil {
				with = step.Values
			}
			o.Steps = append(o.Steps, planStep{
				Path: path, Part: part, Kind: string(step.Kind), Uses: step.Uses, Effect: string(step.Effect), Connection: step.Connection,
				After: step.After, If: step.If, With: fittingValue(with, 2<<10), Items: step.Items,
			})
		}
		o.addSteps(part, path+".", step.Steps)
	}
}

type testInput struct {
	Workflow string `json:"workflow,omitempty" jsonschema:"the name of a workflow of the project; its test file is run"`
	Text     string `json:"text,omitempty" jsonschema:"in place of a name: the whole workflow as YAML; it needs test"`
	File     string `json:"file,omitempty" jsonschema:"the file name that the text would have"`
	Test     string `json:"test,omitempty" jsonschema:"the text of a test file, in place of the one in the project"`
	Case     string `json:"case,omitempty" jsonschema:"only the cases whose name holds this"`
}

type testOutput struct {
	Passed   int        `json:"passed"`
	Failed   int        `json:"failed"`
	Stale    int        `json:"stale" jsonschema:"recorded answers that do not fit any more"`
	Problems []finding  `json:"problems" jsonschema:"of the test file and the workflow: no case was run"`
	Cases    []testCase `json:"cases" jsonschema:"those that did not pass"`
	Next     string     `json:"next"`
}

type testCase struct {
	Name     string        `json:"name"`
	Line     int           `json:"line"`
	Status   string        `json:"status"`
	Failures []testFailure `json:"failures"`
}

type testFailure struct {
	Line    int      `json:"line"`
	Column  int      `json:"column"`
	Message string   `json:"message"`
	Lines   []string `json:"lines,omitempty"`
	Hint    string   `json:"hint,omitempty"`
}

func test(ctx context.Context, c call, in testInput) (*testOutput, error) {
	if err := oneOf(in.Workflow, in.Text); err != nil {
		return nil, err
	}
	if in.Text != "" && in.Test == "" {
		return nil, errors.New("the text of a workflow is tested by the text of a test: give `test`; flowrun://docs/testing says how it is written")
	}
	var summary *workspace.TestSummary
	err := c.Lend(ctx, NeedFiles, func(ctx context.Context, client *web.Client) (err error) {
		summary, err = client.Test(ctx, web.TestRequest{Workflow: in.Workflow, File: in.File, Source: in.Text, Test: in.Test, Case: in.Case})
		return err
	})
	if err != nil {
		return nil, err
	}
	out := &testOutput{Passed: summary.Passed, Failed: summary.Failed, Stale: summary.Stale, Problems: []finding{}, Cases: []testCase{}}
	for _, file := range summary.Files {
		out.Problems = append(out.Problems, findings(file.Problems, map[string]string{file.File: in.Test, file.Workflow: in.Text})...)
		for _, tested := range file.Cases {
			if tested.Status != workspace.TestPassed && len(out.Cases) < maxSteps {
				out.Cases = append(out.Cases, newTestCase(tested))
			}
		}
	}
	switch {
	case summary.Invalid > 0:
		out.Next = "mend the problems: no case was run"
	case out.Failed+out.Stale > 0:
		out.Next = "mend the workflow or what the cases expect"
	case out.Passed == 0:
		out.Next = "no case was run"
	default:
		out.Next = "all cases pass"
	}
	return out, nil
}

func newTestCase(tested workspace.TestCase) testCase {
	shown := testCase{Name: tested.Name, Line: tested.Line, Status: string(tested.Status), Failures: []testFailure{}}
	for i, failure := range tested.Failures {
		if i == 20 {
			break
		}
		lines := failure.Lines
		for j := range lines {
			lines[j] = cutText(lines[j], 1000)
		}
		shown.Failures = append(shown.Failures, testFailure{
			Line: failure.Line, Column: failure.Column, Message: cutText(failure.Message, 2000), Lines: lines[:min(len(lines), 40)], Hint: failure.Hint,
		})
	}
	return shown
}
