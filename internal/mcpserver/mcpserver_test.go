package mcpserver

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/workspace"
	"github.com/flowrun/flowrun/internal/web"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// project is an engine on a store of its own, with a client that speaks to its tools.
type project struct {
	*testing.T
	dir     string
	session *mcp.ClientSession
	schemas map[string]*jsonschema.Resolved // of what the tools answer
	asked   []string                        // what a person was asked
	told    chan string                     // of progress
	answer  func() *mcp.ElicitResult        // of the person
}

// newProject opens one with these workflows by name; person says that the client can ask.
func newProject(t *testing.T, rights Rights, person bool, workflows map[string]string) *project {
	t.Helper()
	p := &project{T: t, dir: t.TempDir(), schemas: map[string]*jsonschema.Resolved{}, told: make(chan string, 10_000), answer: func() *mcp.ElicitResult { return &mcp.ElicitResult{Action: "accept"} }}
	p.write("flowrun.yaml", "workflows: [workflows]\n")
	for name, text := range workflows {
		p.write("workflows/"+name, text)
	}
	loaded, err := engine.LoadProject(t.Context(), workspace.Config{
		StateDir: filepath.Join(p.dir, "state"), ProjectFile: filepath.Join(p.dir, "flowrun.yaml"), Dir: p.dir, WorkDir: p.dir,
		Executable: "none", Version: "test", Now: time.Now, Entropy: rand.Reader, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	opened, err := engine.Open(t.Context(), loaded)
	if err != nil {
		t.Fatal(err)
	}
	gate := web.NewGate()
	client := web.NewClient(web.InProcess(web.NewSocketHandler(web.Options{
		Runs: opened, Catalog: engine.Offline{Workspace: loaded}, Access: opened, Memory: opened, Upkeep: opened, Workflows: opened, Schedules: opened, Hooks: opened, Tokens: opened, Gate: gate, Now: time.Now,
	})))
	server := newServer(Options{
		Lend: func(ctx context.Context, _ Need, ask func(context.Context, *web.Client) error) error {
			return ask(ctx, client)
		},
		Entropy: rand.Reader, Dir: p.dir, User: "ann",
	}, rights, nil)
	here, there := mcp.NewInMemoryTransports()
	served, err := server.Connect(t.Context(), here, nil)
	if err != nil {
		t.Fatal(err)
	}
	p.connect(there, person)
	t.Cleanup(func() {
		_ = p.session.Close()
		_ = served.Wait()
		gate.Close()
		if err := opened.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return p
}

func (p *project) connect(transport mcp.Transport, person bool) {
	p.Helper()
	options := &mcp.ClientOptions{ProgressNotificationHandler: func(_ context.Context, request *mcp.ProgressNotificationClientRequest) {
		p.told <- request.Params.Message
	}}
	if person {
		options.ElicitationHandler = func(_ context.Context, request *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			p.asked = append(p.asked, request.Params.Message)
			return p.answer(), nil
		}
	}
	var err error
	if p.session, err = mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, options).Connect(p.Context(), transport, nil); err != nil {
		p.Fatal(err)
	}
	list, err := p.session.ListTools(p.Context(), nil)
	if err != nil {
		p.Fatal(err)
	}
	for _, tool := range list.Tools {
		data, err := json.Marshal(tool.OutputSchema)
		schema := new(jsonschema.Schema)
		if err == nil {
			err = json.Unmarshal(data, schema)
		}
		if err == nil {
			p.schemas[tool.Name], err = schema.Resolve(nil)
		}
		if err != nil {
			p.Fatalf("the schema of %s: %v", tool.Name, err)
		}
	}
}

func (p *project) write(name, text string) {
	p.Helper()
	path := filepath.Join(p.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		p.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		p.Fatal(err)
	}
}

// call calls a tool that has to succeed: its answer fits its schema, and its text is the
// same.
func (p *project) call(tool, arguments string, into any) string {
	p.Helper()
	result, err := p.session.CallTool(p.Context(), &mcp.CallToolParams{Name: tool, Arguments: json.RawMessage(arguments)})
	if err != nil || result.IsError {
		p.Fatalf("%s %s: %v %s", tool, arguments, err, textOf(result))
	}
	text := textOf(result)
	var value any
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		p.Fatalf("%s answers %s: %v", tool, text, err)
	}
	if err := p.schemas[tool].Validate(value); err != nil {
		p.Errorf("%s answers what its schema has not: %v\n%s", tool, err, text)
	}
	structured, err := json.Marshal(result.StructuredContent)
	var again any
	if err == nil {
		err = json.Unmarshal(structured, &again)
	}
	if err != nil || fmt.Sprint(again) != fmt.Sprint(value) {
		p.Errorf("%s has another text than structure: %v\n%s\n%s", tool, err, text, structured)
	}
	if err := json.Unmarshal([]byte(text), into); err != nil {
		p.Fatal(err)
	}
	return text
}

func (p *project) refused(tool, arguments, want string) {
	p.Helper()
	result, err := p.session.CallTool(p.Context(), &mcp.CallToolParams{Name: tool, Arguments: json.RawMessage(arguments)})
	if err != nil || !result.IsError || !strings.Contains(textOf(result), want) || result.StructuredContent != nil {
		p.Errorf("%s %.200s: %v %s, want %q", tool, arguments, err, textOf(result), want)
	}
}

func textOf(result *mcp.CallToolResult) string {
	if result == nil || len(result.Content) != 1 {
		return fmt.Sprintf("no answer: %+v", result)
	}
	return result.Content[0].(*mcp.TextContent).Text
}

func arguments(t *testing.T, pairs ...any) string {
	t.Helper()
	values := map[string]any{}
	for i := 0; i < len(pairs); i += 2 {
		values[pairs[i].(string)] = pairs[i+1]
	}
	data, err := json.Marshal(values)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

var everything = Rights{Texts: true}

const greet = `flowrun: v1
name: greet
description: Says hello.
inputs:
  who: {type: string}
  n: {type: integer, default: 1}
steps:
  - {id: made, let: {text: "hello ${{ inputs.who }}", n: "${{ inputs.n }}"}}
outputs:
  text: ${{ steps.made.outputs.text }}
  n: ${{ steps.made.outputs.n }}
`

// The page lists the tools as they are, with what they need.
func TestThePageListsTheTools(t *testing.T) {
	page, err := os.ReadFile("../../docs/assistants.md")
	if err != nil {
		t.Fatal(err)
	}
	var listed, there []string
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\| .* \\|( `([a-z]+)`)? \\|$").FindAllStringSubmatch(string(page), -1) {
		listed = append(listed, row[1]+" "+row[3])
	}
	d := &desk{Rights: Rights{NoRun: "run", NoApprove: "approve"}}
	for _, tool := range d.tools() {
		for _, schema := range []any{tool.InputSchema, tool.OutputSchema} {
			if schema.(*jsonschema.Schema).Type != "object" {
				t.Errorf("a schema of %s is of no object", tool.Name)
			}
		}
		there = append(there, tool.Name+" "+tool.refused)
		if words := len(strings.Fields(tool.Description)); words > 70 {
			t.Errorf("the description of %s has %d words", tool.Name, words)
		}
		if reads := tool.Annotations.ReadOnlyHint; reads == (tool.refused != "") || *tool.Annotations.DestructiveHint == reads || *tool.Annotations.OpenWorldHint == reads {
			t.Errorf("the hints of %s are %+v", tool.Name, tool.Annotations)
		}
	}
	slices.Sort(listed)
	slices.Sort(there)
	if !slices.Equal(listed, there) {
		t.Errorf("docs/assistants.md lists %q, there are %q", listed, there)
	}
}

func TestProblemsComeWithTheirPlaces(t *testing.T) {
	p := newProject(t, everything, false, nil)
	var out validateOutput
	p.call("validate", arguments(t, "text", "flowrun: v1\nname: x\nsteps:\n  - {id: a, lett: {b: 1}}\n", "file", "x.yaml"), &out)
	if out.Valid || out.Errors == 0 || out.Problems[0].Line != 4 || out.Problems[0].File != "x.yaml" || !strings.Contains(out.Problems[0].Snippet, "^") || out.Problems[0].Page == "" {
		t.Errorf("validate answers %+v", out)
	}
	p.call("validate", arguments(t, "text", greet), &out)
	if !out.Valid || out.Next != "plan it" {
		t.Errorf("validate answers %+v", out)
	}
	var many strings.Builder
	many.WriteString("flowrun: v1\nname: x\nsteps:\n")
	for i := range 120 {
		fmt.Fprintf(&many, "  - {id: s%d, uses: nothing.here, with: {a: %s}}\n", i, strings.Repeat("x", 1000))
	}
	if text := p.call("validate", arguments(t, "text", many.String()), &out); out.Errors < 120 || len(out.Problems) != maxProblems || len(text) > 100_000 {
		t.Errorf("%d errors, %d of them in %d bytes", out.Errors, len(out.Problems), len(text))
	}
	p.refused("validate", `{}`, `missing properties: ["text"]`)
	p.refused("validate", `{"text": "a", "txt": 1}`, "txt")
	p.refused("validate", `{"text": 17}`, "string")
	p.refused("validate", arguments(t, "text", strings.Repeat("x", maxText+1)), "larger than")
}

func TestPlanNamesWhatItPlanned(t *testing.T) {
	p := newProject(t, everything, false, map[string]string{"greet.yaml": greet})
	id := func(arguments string) string {
		var out planOutput
		p.call("plan", arguments, &out)
		return out.PlanID
	}
	base := id(arguments(t, "text", greet, "inputs", map[string]any{"who": "Ada"}))
	if again := id(arguments(t, "text", greet, "inputs", map[string]any{"who": "Ada"})); again != base {
		t.Errorf("the same is %s and %s", base, again)
	}
	for what, other := range map[string]string{
		"another input": arguments(t, "text", greet, "inputs", map[string]any{"who": "Ann"}), "another text": arguments(t, "text", greet+"# x\n", "inputs", map[string]any{"who": "Ada"}),
		"another file": arguments(t, "text", greet, "file", "b.yaml", "inputs", map[string]any{"who": "Ada"}), "the project's": arguments(t, "workflow", "greet", "inputs", map[string]any{"who": "Ada"}),
	} {
		if id(other) == base {
			t.Errorf("%s has the same id", what)
		}
	}
	var out planOutput
	p.call("plan", arguments(t, "workflow", "greet"), &out)
	if !strings.Contains(out.Next, "missing") || !strings.Contains(out.Next, "who") {
		t.Errorf("plan answers %+v", out)
	}
	p.refused("plan", `{}`, "name a workflow")
	p.refused("plan", arguments(t, "workflow", "greet", "text", greet), "not both")
	p.refused("plan", arguments(t, "workflow", "gret"), "did you mean `greet`?")
	p.refused("plan", arguments(t, "text", "flowrun: v1\nname: x\nsteps: []\n"), "workflow.yaml:")
	p.refused("plan", arguments(t, "workflow", "greet", "inputs", map[string]any{"whoo": "x"}), "did you mean `who`?")
}

// Numbers reach the run as they were written.
func TestRunTakesExactInputs(t *testing.T) {
	p := newProject(t, everything, false, map[string]string{"greet.yaml": greet})
	var run runView
	p.call("run", `{"workflow": "greet", "inputs": {"who": "Ada", "n": 9007199254740993}}`, &run)
	if run.Status != "succeeded" || string(run.Outputs["n"]) != "9007199254740993" || run.AskedPerson {
		t.Errorf("run answers %+v", run)
	}
	// A request that is sent again under its key is the same run.
	first, again := runView{}, runView{}
	p.call("run", `{"workflow": "greet", "inputs": {"who": "Ada"}, "key": "k1"}`, &first)
	p.call("run", `{"workflow": "greet", "inputs": {"who": "Ada"}, "key": "k1"}`, &again)
	if first.Run != again.Run || first.Run == run.Run {
		t.Errorf("the runs are %s, %s, %s", run.Run, first.Run, again.Run)
	}
	p.refused("run", `{"workflow": "greet"}`, `the input "who" is missing`)
	p.refused("run", `{"workflow": "greet", "inputs": {"who": "Ada"}, "wait_s": 601}`, "600")
	p.refused("run", `{"workflow": "greet", "inputs": {"who": "Ada"}, "wait_s": -1}`, "wait_s")
	p.refused("run", `{"workflow": "greet", "inputs": {"who": 17}}`, "who")
	p.refused("run", `{"workflow": "greet", "inputs": {"who": "Ada"}, "key": "a b"}`, "visible")
	p.refused("run", `{"workflow": "greet", "inputs": {"who": "Ada"}, "plan_id": "plan-x"}`, "this is not what was planned")
	text := arguments(t, "text", greet, "inputs", map[string]any{"who": "Ada"})
	p.refused("run", text, "a text is planned before it runs")
	var plan planOutput
	p.call("plan", text, &plan)
	var planned map[string]any
	if err := json.Unmarshal([]byte(text), &planned); err != nil {
		t.Fatal(err)
	}
	planned["plan_id"] = plan.PlanID
	data, _ := json.Marshal(planned)
	p.call("run", string(data), &run)
	if run.Status != "succeeded" {
		t.Errorf("run answers %+v", run)
	}
	// Without the right to texts the same is refused.
	other := newProject(t, Rights{}, false, nil)
	other.refused("run", string(data), "workflows of its project alone")
}

// What a person declines does not begin; an answer to another question does not count.
func TestAPersonIsAskedFirst(t *testing.T) {
	p := newProject(t, everything, true, map[string]string{"greet.yaml": greet})
	for _, action := range []string{"decline", "cancel"} {
		p.answer = func() *mcp.ElicitResult { return &mcp.ElicitResult{Action: action} }
		p.refused("run", `{"workflow": "greet", "inputs": {"who": "Ada"}}`, "the person declined")
	}
	forged := mcp.InputResponseMap{"plan-of-something-else": &mcp.ElicitResult{Action: "accept"}}
	result, err := p.session.CallTool(t.Context(), &mcp.CallToolParams{Name: "run", Arguments: json.RawMessage(`{"workflow": "greet", "inputs": {"who": "Ada"}}`), InputResponses: forged})
	if err != nil || !result.IsError || !strings.Contains(textOf(result), "the person declined") {
		t.Errorf("an answer to another question: %v %s", err, textOf(result))
	}
	p.refused("run_show", `{}`, "nothing has run here yet")
	p.answer = func() *mcp.ElicitResult { return &mcp.ElicitResult{Action: "accept"} }
	var run runView
	p.call("run", `{"workflow": "greet", "inputs": {"who": "Ada"}}`, &run)
	if run.Status != "succeeded" || !run.AskedPerson {
		t.Errorf("run answers %+v", run)
	}
	if len(p.asked) != 4 || !strings.HasPrefix(p.asked[0], "Run the workflow greet? It only reads.") || !strings.Contains(p.asked[0], `input who = "Ada"`) {
		t.Errorf("the person was asked %q", p.asked)
	}
	p.refused("run_show", `{"workflow": "nobody"}`, "there is no run")
}

const loud = `flowrun: v1
name: loud
steps:
  - id: each
    foreach: [ITEMS]
    as: n
    key: n${{ n }}
    steps:
      - {id: say, uses: core.log, with: {text: "${{ repeat(\"long \", 400) }}"}}
  - {id: big, let: {text: "${{ repeat(\"x\", 40000) }}"}}
outputs: {small: 1, big: "${{ steps.big.outputs.text }}"}
`

// What is large is cut, and says so.
func TestAnswersAreBounded(t *testing.T) {
	items := make([]string, 1500)
	for i := range items {
		items[i] = strconv.Itoa(i)
	}
	p := newProject(t, everything, false, map[string]string{"loud.yaml": strings.Replace(loud, "ITEMS", strings.Join(items, ","), 1)})
	var run runView
	text := p.call("run", `{"workflow": "loud", "wait_s": 120}`, &run)
	if run.Status != "succeeded" || len(text) > 100_000 || len(run.Steps) != maxSteps || run.MoreSteps == 0 || string(run.Outputs["small"]) != "1" || len(run.Cut) != 1 || run.Cut[0].Bytes < 40_000 {
		t.Errorf("run answers %d bytes, %d steps and %d more, cut %+v: %s", len(text), len(run.Steps), run.MoreSteps, run.Cut, run.Status)
	}
	if text := p.call("run_show", arguments(t, "run", run.Run, "step", "big"), &run); len(text) > 70_000 || len(run.Steps) != 1 || len(run.Steps[0].Output) < 40_000 {
		t.Errorf("run_show answers %d bytes: %.300s", len(text), text)
	}
	seen, cursor := 0, ""
	for {
		var logs logsOutput
		if text := p.call("run_logs", arguments(t, "run", run.Run, "lines", 500, "cursor", cursor), &logs); len(text) > 200_000 || !logs.Cut && len(logs.Lines) > 100 {
			t.Fatalf("run_logs answers %d bytes", len(text))
		}
		seen += len(logs.Lines)
		if cursor = logs.Cursor; cursor == "" {
			break
		}
	}
	if seen < 1500 {
		t.Errorf("the log has %d lines", seen)
	}
	p.refused("run_logs", arguments(t, "run", run.Run, "lines", 501), "500")
	p.refused("run_logs", arguments(t, "run", run.Run, "level", "loud"), "loud does not equal any of")
	p.refused("run_show", arguments(t, "run", run.Run, "step", "none"), `has no step "none"`)
	p.refused("run_show", arguments(t, "run", "nobody"), "there is no run")
}

func TestWhatTheCatalogueAnswers(t *testing.T) {
	p := newProject(t, everything, false, map[string]string{"greet.yaml": greet, "broken.yaml": "flowrun: v1\nname: broken\nsteps: [{}]\n"})
	var list workflowsOutput
	p.call("workflows", `{}`, &list)
	if len(list.Workflows) != 2 || len(list.Workflows[0].Problems)+len(list.Workflows[1].Problems) == 0 {
		t.Errorf("the workflows are %+v", list)
	}
	p.call("workflows", `{"name": "greet"}`, &list)
	if list.Workflows = list.Workflows[:1]; list.Workflows[0].Source != greet || !strings.Contains(string(list.Workflows[0].Inputs), `"who"`) {
		t.Errorf("the workflow is %+v", list)
	}
	p.refused("workflows", `{"name": "gret"}`, "did you mean `greet`?")
	var found searchOutput
	p.call("actions_search", `{"query": "approv", "plugin": "core"}`, &found)
	if len(found.Actions) == 0 || found.Actions[0].Action != "core.approve" {
		t.Errorf("found %+v", found)
	}
	p.call("actions_search", `{"query": "zzz nothing"}`, &found)
	if found.Found != 0 {
		t.Errorf("found %+v", found)
	}
	p.call("actions_search", `{"plugin": "core", "limit": 2}`, &found)
	if len(found.Actions) != 2 || found.Found < 5 {
		t.Errorf("found %+v", found)
	}
	p.refused("actions_search", `{"plugin": "coree"}`, "coree")
	for topic, want := range map[string][2]string{
		"fr2004": {"code", "FR2004"}, "core.approve": {"action", "a step:"}, "formatTime()": {"function", "formatTime("}, "retry.attempts": {"key", "retry.attempts"}, "core.log": {"action", "inputs:"},
	} {
		var out explainOutput
		p.call("explain", arguments(t, "topic", topic), &out)
		if out.Kind != want[0] || !strings.Contains(out.Text, want[1]) {
			t.Errorf("explain %s: %+v", topic, out)
		}
	}
	p.refused("explain", `{"topic": "core.aprove"}`, "did you mean `core.approve`?")
	p.refused("explain", `{"topic": "formatTim"}`, "did you mean `formatTime`?")
	p.refused("explain", `{"topic": ""}`, "topic is")
}

const greetTest = `flowrun_test: v1
workflow: greet.yaml
cases:
  - {name: right, inputs: {who: Ada}, expect: {status: succeeded, outputs: {text: hello Ada, n: 1}}}
  - {name: wrong, inputs: {who: Ada}, expect: {status: succeeded, outputs: {text: bye Ada, n: 1}}}
`

func TestTestsOfTextsAndOfTheProject(t *testing.T) {
	p := newProject(t, everything, false, map[string]string{"greet.yaml": greet, "greet.test.yaml": greetTest, "bare.yaml": strings.Replace(greet, "name: greet", "name: bare", 1)})
	var out testOutput
	p.call("test", `{"workflow": "greet"}`, &out)
	if out.Passed != 1 || out.Failed != 1 || len(out.Cases) != 1 || out.Cases[0].Name != "wrong" || len(out.Cases[0].Failures) == 0 {
		t.Errorf("test answers %+v", out)
	}
	p.call("test", arguments(t, "text", greet, "test", greetTest, "case", "right"), &out)
	if out.Passed != 1 || out.Failed != 0 || out.Next != "all cases pass" {
		t.Errorf("test answers %+v", out)
	}
	p.call("test", arguments(t, "text", "flowrun: v1\nname: x\nsteps: [{}]\n", "test", greetTest), &out)
	if len(out.Problems) == 0 || !strings.Contains(out.Next, "no case was run") {
		t.Errorf("test answers %+v", out)
	}
	p.refused("test", `{"workflow": "bare"}`, "there is no test `workflows/bare.test.yaml`")
	p.refused("test", arguments(t, "text", greet), "give `test`")
}

func TestResources(t *testing.T) {
	p := newProject(t, everything, false, map[string]string{"greet.yaml": greet})
	var run runView
	p.call("run", `{"workflow": "greet", "inputs": {"who": "Ada"}}`, &run)
	list, err := p.session.ListResources(t.Context(), nil)
	if err != nil || len(list.Resources) < 12 {
		t.Fatalf("%d resources, %v", len(list.Resources), err)
	}
	uris := map[string]string{
		"flowrun://docs/codes/FR2004": "FR2004", "flowrun://docs/jobs/backup": "# file: backup.yaml", "flowrun://schemas/actions/core.approve": `"input_schema"`,
		"flowrun://runs/" + run.Run: `"succeeded"`,
	}
	for _, resource := range list.Resources {
		if uris[resource.URI] = ""; resource.Title == "" || strings.HasPrefix(resource.Title, "<") {
			t.Errorf("the title of %s is %q", resource.URI, resource.Title)
		}
	}
	for uri, want := range uris {
		got, err := p.session.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri})
		if err != nil || len(got.Contents) != 1 || len(got.Contents[0].Text) < 50 || !strings.Contains(got.Contents[0].Text, want) {
			t.Errorf("%s: %v %.100v", uri, err, got)
		}
	}
	for _, uri := range []string{"flowrun://docs/none", "flowrun://docs/codes/FR0000", "flowrun://docs/jobs/none", "flowrun://schemas/actions/core.none", "flowrun://runs/none", "flowrun://runs/..", "flowrun://runs/a\x00", "file:///etc/passwd"} {
		if got, err := p.session.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri}); err == nil {
			t.Errorf("%q is %+v", uri, got)
		}
	}
	for name, arguments := range map[string]map[string]string{"write_workflow": {"goal": "greet each morning"}, "mend_run": {"run": run.Run}} {
		got, err := p.session.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: name, Arguments: arguments})
		if err != nil || len(got.Messages) != 1 {
			t.Errorf("%s: %v", name, err)
			continue
		}
		text := got.Messages[0].Content.(*mcp.TextContent).Text
		for _, value := range arguments {
			if !strings.Contains(text, value) {
				t.Errorf("%s says %s", name, text)
			}
		}
		if _, err := p.session.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: name}); err == nil {
			t.Errorf("%s asks for nothing", name)
		}
	}
}

func TestWordsAreCompleted(t *testing.T) {
	p := newProject(t, everything, false, map[string]string{"greet.yaml": greet, "fails.yaml": "flowrun: v1\nname: fails\nsteps:\n  - {id: s, uses: core.fail, with: {message: since it must}}\n"})
	var good, bad runView
	p.call("run", `{"workflow": "greet", "inputs": {"who": "Ada"}}`, &good)
	p.call("run", `{"workflow": "fails"}`, &bad)
	if bad.Status != "failed" || bad.Error == nil || !strings.Contains(bad.Error.Message, "since it must") || !strings.Contains(bad.Next, "mend_run") || bad.Steps[0].Path != "s" {
		t.Errorf("run answers %+v", bad)
	}
	for _, c := range []struct {
		ref         mcp.CompleteReference
		name, typed string
		want        []string
	}{
		{mcp.CompleteReference{Type: "ref/prompt", Name: "mend_run"}, "run", "", []string{bad.Run}},
		{mcp.CompleteReference{Type: "ref/resource", URI: "flowrun://runs/{name}"}, "name", "01", []string{bad.Run, good.Run}},
		{mcp.CompleteReference{Type: "ref/resource", URI: "flowrun://docs/codes/{name}"}, "name", "fr2004", []string{"FR2004"}},
		{mcp.CompleteReference{Type: "ref/resource", URI: "flowrun://docs/jobs/{name}"}, "name", "back", []string{"backup"}},
		{mcp.CompleteReference{Type: "ref/resource", URI: "flowrun://schemas/actions/{name}"}, "name", "core.appr", []string{"core.approve"}},
		{mcp.CompleteReference{Type: "ref/resource", URI: "file:///{name}"}, "name", "", []string{}},
		{mcp.CompleteReference{Type: "ref/prompt", Name: "write_workflow"}, "goal", "", []string{}},
	} {
		got, err := p.session.Complete(t.Context(), &mcp.CompleteParams{Ref: &c.ref, Argument: mcp.CompleteParamsArgument{Name: c.name, Value: c.typed}})
		if err != nil || !slices.Equal(got.Completion.Values, c.want) {
			t.Errorf("%+v %q is completed by %v, %v; want %q", c.ref, c.typed, got, err, c.want)
		}
	}
	got, err := p.session.Complete(t.Context(), &mcp.CompleteParams{Ref: &mcp.CompleteReference{Type: "ref/resource", URI: "flowrun://docs/codes/{name}"}, Argument: mcp.CompleteParamsArgument{Name: "name"}})
	if err != nil || len(got.Completion.Values) != maxCompletions || !got.Completion.HasMore {
		t.Errorf("all codes: %v", err)
	}
}

// A client that asks for it hears of each step.
func TestStepsAreTold(t *testing.T) {
	p := newProject(t, everything, false, map[string]string{"greet.yaml": greet})
	params := &mcp.CallToolParams{Name: "run", Arguments: json.RawMessage(`{"workflow": "greet", "inputs": {"who": "Ada"}}`)}
	params.SetProgressToken("steps")
	if result, err := p.session.CallTool(t.Context(), params); err != nil || result.IsError {
		t.Fatalf("%v %s", err, textOf(result))
	}
	if told := <-p.told; !strings.HasPrefix(told, "made: ") {
		t.Errorf("told %q", told)
	}
}
