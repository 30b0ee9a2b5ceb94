package testrun_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flowrun/flowrun/engine/check"
	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/interp"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/spec"
	"github.com/flowrun/flowrun/engine/testrun"
)

// project is a testrun.Host with files in memory and a made-up service.
type project struct {
	files   map[string]string
	actions map[string]*plan.Action
}

func newProject() *project {
	p := &project{files: map[string]string{}, actions: map[string]*plan.Action{}}
	for _, builtin := range interp.Builtins() {
		p.actions[builtin.FullName()] = builtin
	}
	add := func(name string, effect plan.Effect, input, output string) *plan.Action {
		p.actions["svc."+name] = &plan.Action{Plugin: "svc", Name: name, Effect: effect, Input: json.RawMessage(input), Output: json.RawMessage(output)}
		return p.actions["svc."+name]
	}
	number := `{"type":"object","required":["n"],"additionalProperties":false,"properties":{"n":{"type":"integer"},"note":{"type":["string","null"]},"at":{"type":"string","format":"date-time"}}}`
	add("read", plan.EffectRead, `{"type":"object","properties":{"n":{"type":"integer"}}}`, number)
	add("send", plan.EffectOnce, `{"type":"object","properties":{"to":{"type":"string"}}}`, number)
	add("token", plan.EffectRead, `{"type":"object","properties":{}}`, `{"type":"object","required":["token"],"properties":{"token":{"type":"string","writeOnly":true}}}`)
	list := add("list", plan.EffectRead, `{"type":"object","properties":{"q":{"type":"string"}}}`, `{"type":"object","required":["rows"],"properties":{
		"rows":{"type":"array","items":{"type":"object","required":["id"],"properties":{"id":{"type":"integer"},"title":{"type":"string"}}}},"next":{"type":["string","null"]}}}`)
	fetch := add("fetch", plan.EffectRead, `{"type":"object","properties":{"q":{"type":"string"}}}`, `{"type":"object","required":["status","rows","body"],"properties":{
		"status":{"type":"integer","default":200},"rows":{"type":"array","items":{"type":"integer"}},"body":{"type":"object","required":["n","kind"],"properties":{"n":{"type":"integer"},"kind":{"type":"string","default":"new"}}},
		"cursor":{"type":["string","null"]}}}`)
	const file = `{"type":"object","x-flowrun-blob":true}`
	add("download", plan.EffectRead, `{"type":"object","properties":{"url":{"type":"string"}}}`, `{"type":"object","required":["body"],"properties":{"body":`+file+`,"status":{"type":"integer","default":200}}}`)
	add("upload", plan.EffectIdempotent, `{"type":"object","required":["body"],"properties":{"body":`+file+`}}`, `{"type":"object"}`)
	fetch.Paging = &plan.Paging{CursorField: "after", ItemsField: "rows", NextField: "cursor"}
	list.Paging = &plan.Paging{CursorField: "cursor", ItemsField: "rows", NextField: "next"}
	return p
}

func (p *project) Action(name string) (*plan.Action, bool) {
	action, ok := p.actions[name]
	return action, ok
}

func (p *project) ActionNames() []string {
	var names []string
	for name := range p.actions {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func (p *project) Connections() map[string]string { return nil }
func (p *project) PluginProblem(string) string    { return "" }
func (p *project) Now() time.Time                 { return time.Time{} }

// catalog is the checker's view: the plugin has nothing against literals.
type catalog struct{ *project }

func (catalog) Validate(context.Context, string, json.RawMessage, []string) (check.Validation, error) {
	return check.Validation{}, nil
}

func (p *project) Workflow(ctx context.Context, file string) (*plan.Workflow, diag.List, error) {
	src, ok := p.files[file]
	if !ok {
		return nil, nil, fmt.Errorf("there is no workflow file %s", file)
	}
	tree, problems := spec.Parse(file, []byte(src))
	if tree == nil {
		return nil, problems, nil
	}
	workflow, found := check.Check(ctx, tree, catalog{p})
	if workflow != nil {
		workflow.File = file
	}
	return workflow, append(problems, found...), nil
}

// File has the files of a test's large values.
func (p *project) File(name string) ([]byte, error) {
	text, ok := p.files[name]
	if !ok {
		return nil, errors.New("there is no such file")
	}
	return []byte(text), nil
}

// Validate refuses the number 13.
func (p *project) Validate(_ context.Context, _ string, input json.RawMessage) ([]testrun.Refusal, error) {
	var in struct{ N int }
	if json.Unmarshal(input, &in) == nil && in.N == 13 {
		return []testrun.Refusal{{Summary: "13 brings bad luck", Pointer: "/n"}}, nil
	}
	return nil, nil
}

// run runs the cases of a test file on a workflow.
func run(t *testing.T, workflow, cases string) testrun.FileResult {
	t.Helper()
	p := newProject()
	p.files["flows/w.yaml"] = "flowrun: v1\nname: w\n" + workflow
	return testrun.Run(context.Background(), p, "flows/w.test.yaml", []byte("flowrun_test: v1\nworkflow: w.yaml\n"+cases), nil)
}

// said is what a result has to say, one thing a line.
func said(result testrun.FileResult) []string {
	lines := []string{}
	for _, p := range result.Problems {
		lines = append(lines, strings.TrimSuffix(fmt.Sprintf("%d:%d %s %s; %s", p.Line, p.Column, p.Code, p.Message, p.Hint.Text), "; "))
	}
	for _, c := range result.Cases {
		for _, f := range c.Failures {
			lines = append(lines, fmt.Sprintf("%d:%d %s %s", f.Line, f.Column, f.Kind, f.Message))
			for _, line := range f.Lines {
				lines = append(lines, "  "+line)
			}
		}
	}
	return lines
}

func expectLines(t *testing.T, result testrun.FileResult, want ...string) {
	t.Helper()
	if want == nil {
		want = []string{}
	}
	if diff := cmp.Diff(want, said(result)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

const reading = `inputs: {n: {type: integer, default: 1}}
steps:
  - id: a
    uses: svc.read
    with: {n: "${{ inputs.n }}"}
  - id: b
    if: steps.a.outputs.n > 1
    uses: core.log
    with: {text: "n is ${{ steps.a.outputs.n }}"}
outputs: {n: "${{ steps.a.outputs.n }}"}
`

func TestCasesThatPass(t *testing.T) {
	result := run(t, reading, `answers: {a: {outputs: {n: 5}}}
cases:
  - name: of the file
    expect:
      outputs: {n: 5}
      steps: {b: succeeded}
      that:
        - outputs.n == 5 and logs[0].message == "n is 5"
        - count(calls, .action == "svc.read") == 1 and steps.a.calls == 1
        - calls[0].input.n == inputs.n
  - name: its own
    inputs: {n: 7}
    at: 2026-11-16T07:00:00+01:00
    answers: {a: {outputs: {n: 1, note: null}}}
    expect:
      steps: {b: skipped}
      that: calls[0].input.n == 7 and run.scheduled_at == "2026-11-16T06:00:00Z"
  - name: attempts and waits
    answers:
      a: [{error: unavailable}, {error: {kind: rate_limited, retry_after: 5m}}, {never: true}, {outputs: {n: 2}, after: 10s}]
    expect:
      that:
        - steps.a.attempts == 4 and run.duration_s > 370
        - map(calls, .answer) == ["error", "error", "never", "outputs"]
  - name: it fails
    answers: {a: {error: {kind: not_found, message: there is no n}}}
    expect:
      error: {kind: not_found, step: a, message: no n}
      steps: {b: blocked}
`)
	expectLines(t, result)
	if result.Status != testrun.Passed || len(result.Cases) != 4 || result.Coverage.Ran != 2 {
		t.Errorf("%+v", result)
	}
}

func TestFailuresShowWhatWasRead(t *testing.T) {
	result := run(t, reading, `answers: {a: {outputs: {n: 5}}}
cases:
  - name: wrong
    expect:
      outputs: {n: 6}
      steps: {b: skipped}
      that:
        - outputs.n > 1 and outputs.n == 4
        - map(calls, .attempt) == [1, 2]
  - name: status
    answers: {a: {error: forbidden}}
`)
	expectLines(t, result,
		`7:20 expectation outputs.n is not what is wanted`,
		`  want 6, got 5`,
		`8:18 expectation step b is succeeded, not skipped`,
		`  want skipped`,
		`  got  succeeded`,
		"10:11 expectation `outputs.n > 1 and outputs.n == 4` is false: `outputs.n == 4` does not hold",
		`  want 4, got 5`,
		`  outputs.n = 5`,
		"11:11 expectation `map(calls, .attempt) == [1, 2]` is false",
		`  at [1]: want 2, got nothing`,
		`  calls[0] = a: svc.read {"n":1}, answered by outputs`,
		`12:11 expectation the run is failed, not succeeded`,
		`  want succeeded`,
		`  got  failed`,
		`  error in step a: forbidden: mocked by the test`,
	)
}

func TestAnswersAreCheckedAtTheirPlaces(t *testing.T) {
	result := run(t, reading, `cases:
  - name: wrong
    inputs: {n: x, m: 1}
    answers:
      a: {outputs: {n: "5", note: 1, nite: x, at: yesterday}}
      aa: {outputs: {}}
      b: {outputs: {}}
  - name: more
    answers:
      a: [{outputs: {}}, {outputs: {n: 1}, error: timeout}, {n: 1}, {error: unavailble}, {pages: []}]
    expect:
      outputs: {m: 1}
      steps: {c: failed}
      that: [steps.a.outputs.m == 1, steps.c.calls == 1, outputs.n + "x" == "", steps.a.status == "done"]
`)
	expectLines(t, result,
		"5:17 FR6012 expects an integer, got \"x\"; write digits only, such as 42",
		"5:20 FR6012 workflow w has no input `m`",
		"7:24 FR6011 expects an integer, got text in quotes; write it without quotes",
		"7:38 FR6011 the schema has no field `nite`; did you mean `note`?",
		"7:51 FR6011 \"yesterday\" is not a time; write it as 2006-01-02T15:04:05Z",
		"8:7 FR6008 the workflow has no step `aa`; did you mean `a`?",
		"9:7 FR6009 the step `b` is run for real: it takes no answer; answers are for steps that call a plugin: a",
		"12:21 FR6011 `n` is missing",
		"12:27 FR6010 an answer has exactly one of outputs, pages, error, pending, never, crash",
		"12:62 FR6010 an answer has exactly one of outputs, pages, error, pending, never, crash; put the fields under `outputs:`",
		"12:77 FR6005 `unavailble` is not a kind of error; did you mean `unavailable`?",
		"12:98 FR6010 svc.read does not answer in pages; write `outputs:`",
		"14:17 FR6003 the workflow has no output `m`; its keys are n",
		"15:15 FR6008 the workflow has no step `c`; its steps are a, b",
		"16:30 FR6013 unknown field `m` in `steps.a.outputs`; it has n, note, at",
		"16:44 FR6008 the workflow has no step `c`; its steps are a, b",
		"16:96 FR6013 this is never equal: the value must be one of \"succeeded\", \"failed\", \"skipped\", \"blocked\", \"canceled\", \"unknown\", \"pending\", \"waiting\", \"running\", \"retrying\"; got \"done\"; did you mean `succeeded`?",
	)
}

// What an output's schema has a default for may be left out of an answer: it is the default
// then, in the objects in it and on each page too.
func TestAnswersAreCompletedByDefaults(t *testing.T) {
	const fetching = `steps:
  - {id: a, uses: svc.fetch}
  - {id: b, uses: svc.fetch, paginate: {max_pages: 5}}
outputs: {status: "${{ steps.a.outputs.status }}", kind: "${{ steps.a.outputs.body.kind }}", read: "${{ steps.b.outputs.items }}"}
`
	expectLines(t, run(t, fetching, `cases:
  - name: left out and written
    answers: {a: {outputs: {body: {n: 1}, rows: []}}, b: {pages: [{rows: [1], body: {n: 1}}, {rows: [2], body: {n: 2, kind: old}, status: 201}]}}
    expect: {outputs: {status: 200, kind: new, read: [1, 2]}}
`))
	expectLines(t, run(t, fetching, `cases:
  - name: without a default
    answers: {a: {outputs: {body: {kind: new}, rows: []}}, b: {pages: [[1]]}}
`), "5:36 FR6011 `n` is missing", "5:72 FR6011 a page of svc.fetch needs `body` too; write the page as a map")
}

func TestCallsWithoutAnAnswer(t *testing.T) {
	result := run(t, `steps:
  - {id: a, uses: svc.read}
  - {id: list, needs: [], uses: svc.list}
`, `cases:
  - name: nothing
  - name: too few
    answers: {a: [{error: unavailable}], list: {pages: [[]]}}
  - name: too many
    answers: {a: [{outputs: {n: 1}}, {outputs: {n: 2}}], list: {pages: [[]]}}
`)
	expectLines(t, result,
		"4:11 unanswered the call of step `a` has no answer",
		"  answers:", "    a:", "      outputs:", "        n: 0",
		"4:11 unanswered the call of step `list` has no answer",
		"  answers:", "    list:", "      outputs:", "        rows:", "          - id: 0",
		"6:15 unanswered step `a` makes one call more than its list has answers (1)",
		"  answers:", "    a:", "      outputs:", "        n: 0",
		"8:38 unused step `a` did not ask for its answer 2 of 2",
	)
}

func TestPagesAreChosenByTheirCursor(t *testing.T) {
	result := run(t, `steps:
  - id: list
    uses: svc.list
    paginate: {max_pages: 5}
  - id: each
    foreach: [x, y]
    as: q
    key: ${{ q }}
    steps:
      - id: found
        uses: svc.list
        with: {q: "${{ q }}"}
        paginate: {}
    collect: ${{ len(steps.found.outputs.items) }}
`, `cases:
  - name: pages
    answers:
      list: {pages: [[{id: 1}, {id: 2}], {rows: [{id: 3}], next: more}, [{id: 4, title: last}]]}
      each.found: {pages: [[{id: 1}], []]}
      each[y].found: [{error: unavailable}, {pages: [[{id: 1}], [{id: 2}]]}]
    expect:
      that:
        - map(steps.list.outputs.items, .id) == [1, 2, 3, 4] and steps.list.outputs.pages == 3
        - map(filter(calls, .step == "list"), .cursor) == ["", "page-2", "more"]
        - steps.each.outputs.items == [1, 2]
        - steps["each[y].found"].attempts == 2
`)
	expectLines(t, result)
}

func TestCrashesAndPeople(t *testing.T) {
	const sending = `steps:
  - {id: a, uses: svc.read}
  - {id: send, uses: svc.send, with: {to: x}}
  - {uses: core.sleep, with: {for: 30d}, id: nap}
timeout: 60d
outputs: {n: "${{ steps.send.outputs.n }}"}
`
	result := run(t, sending, `answers: {a: {outputs: {n: 1}}, send: {outputs: {n: 9}}}
cases:
  - name: a read is sent again
    answers: {a: [{crash: true}, {outputs: {n: 1}}]}
    expect: {that: 'steps.a.calls == 2 and run.duration_s == 30 * 24 * 3600'}
  - name: a write is not
    answers: {send: [{crash: true}]}
    expect: {paused: unknown_outcome, that: steps.send.status == "unknown"}
  - name: a person knows
    answers: {send: [{crash: true}]}
    events: [{resolve: send, outcome: happened, outputs: {n: 4}}]
    expect: {outputs: {n: 4}}
  - name: canceled
    events: [{cancel: true, after: 1d}]
    expect: {status: canceled, that: run.duration_s == 86400.0}
  - name: once more
    answers: {a: [{error: forbidden}, {outputs: {n: 1}}]}
    events: [{resume: true, after: 1h}]
    expect: {that: run.attempt == 2}
  - name: killed in its sleep
    events: [{crash: true, after: 1d}]
    expect: {steps: {nap: succeeded}}
`)
	expectLines(t, result)
}

func TestAPluginRefusesAnInput(t *testing.T) {
	result := run(t, reading, `inputs: {n: 13}
answers: {a: {outputs: {n: 5}}}
cases:
  - name: meant
    expect: {error: invalid}
  - name: not meant
    expect: {status: failed}
`)
	expectLines(t, result,
		"4:11 refused step `a`: svc.read refuses the input: 13 brings bad luck",
		`  at /n of {"n":13}`,
	)
}

func TestSecretOutputsAreReferences(t *testing.T) {
	result := run(t, `steps: [{id: t, uses: svc.token}]
`, `cases: [{name: a, answers: {t: {outputs: {token: abc}}}, expect: {that: 'len(keys(steps.t.outputs.token)) == 1'}}]
`)
	expectLines(t, result)
}

func TestStaleRecordings(t *testing.T) {
	const cases = `recorded: {run: 01j, at: 2026-01-01T00:00:00Z}
cases:
  - name: as recorded
    answers: {a: [{outputs: {n: x, unknown: 1}}]}
`
	result := run(t, reading, cases)
	expectLines(t, result, `6:33 stale expects an integer, got "x"`)
	if result.Status != testrun.Stale {
		t.Errorf("status %s", result.Status)
	}
	result = run(t, reading, strings.Replace(cases, "{a:", "{gone:", 1))
	expectLines(t, result, "6:15 stale the workflow has no step `gone`")
	result = run(t, reading, strings.Replace(cases, "n: x", "n: 3", 1))
	expectLines(t, result)
}

func TestTheWordsOfTestFiles(t *testing.T) {
	p := newProject()
	tests := map[string]string{
		"cases: []": "1:1 FR6001",
		"flowrun_test: v2\nworkflow: w.yaml\ncases: [{name: a}]":                                            "1:15 FR6001",
		"flowrun_test: v1\ncases: [{name: a}]":                                                              "1:1 FR6004",
		"flowrun_test: v1\nworkflow: w.yaml\ncases: [{name: a}, {name: a}]":                                 "3:27 FR6014",
		"flowrun_test: v1\nworkflow: w.yaml\ncases: [{name: a, want: 1}]":                                   "3:19 FR6003",
		"flowrun_test: v1\nworkflow: none.yaml\ncases: [{name: a}]":                                         "2:11 FR6007",
		"flowrun_test: v1\nworkflow: w.yaml\ncases: [{name: a, at: noon}]":                                  "3:23 FR6006",
		"flowrun_test: v1\nworkflow: w.yaml\ncases: {}":                                                     "3:8 FR6002",
		"flowrun_test: v1\nworkflow: w.yaml\ncases: [{name: a, expect: {status: good}}]":                    "3:36 FR6005",
		"flowrun_test: v1\nworkflow: w.yaml\ncases: [{name: a, expect: {that: outputs.m == 1}}]":            "3:42 FR6013",
		"flowrun_test: v1\nworkflow: w.yaml\ncases: [{name: a, expect: {that: 'steps[\"q\"].calls == 1'}}]": "3:41 FR6008",
	}
	p.files["w.yaml"] = "flowrun: v1\nsteps: [{let: {a: 1}}]\noutputs: {n: 1}\n"
	for text, want := range tests {
		result := testrun.Run(context.Background(), p, "w.test.yaml", []byte(text+"\n"), nil)
		if lines := said(result); len(lines) == 0 || !strings.HasPrefix(lines[0], want) || result.Status != testrun.Invalid {
			t.Errorf("%s\n says %s %q, want %s", text, result.Status, lines, want)
		}
	}
}
