package main_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/flowrun/flowrun/internal/testcommand"
	"github.com/flowrun/flowrun/internal/testpage"
)

// assistant is a scripted client, by the client of the protocol's own SDK: it knows what
// the answers say, and nothing else.
type assistant struct {
	*testing.T
	session *mcp.ClientSession
	asked   []string // what a person was asked
	answer  string   // of the person
}

// newAssistant starts `flowrun mcp` in a folder; person says that the client can ask one.
func newAssistant(t *testing.T, binary, dir string, person bool, args ...string) *assistant {
	t.Helper()
	return newAssistantOf(t, "", binary, dir, person, args...)
}

// newAssistantOf is newAssistant with a version of the protocol; "" = the newest.
func newAssistantOf(t *testing.T, version, binary, dir string, person bool, args ...string) *assistant {
	t.Helper()
	command := exec.CommandContext(t.Context(), binary, append([]string{"mcp"}, args...)...)
	command.Dir, command.Env = dir, append(os.Environ(), "XDG_STATE_HOME="+dir)
	said := new(testcommand.Buffer)
	command.Stderr = said
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("flowrun mcp says\n%s", said)
		}
	})
	return speak(t, version, &mcp.CommandTransport{Command: command}, person)
}

func speak(t *testing.T, version string, transport mcp.Transport, person bool) *assistant {
	t.Helper()
	a := &assistant{T: t, answer: "accept"}
	options := &mcp.ClientOptions{}
	if person {
		options.ElicitationHandler = func(_ context.Context, request *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			a.asked = append(a.asked, request.Params.Message)
			return &mcp.ElicitResult{Action: a.answer}, nil
		}
	}
	var err error
	if a.session, err = mcp.NewClient(&mcp.Implementation{Name: "scripted", Version: "1"}, options).Connect(t.Context(), transport, &mcp.ClientSessionOptions{ProtocolVersion: version}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.session.Close() })
	if spoken := a.session.InitializeResult().ProtocolVersion; version != "" && spoken != version {
		t.Errorf("%s is spoken, not %s", spoken, version)
	}
	return a
}

// call calls a tool that has to succeed, and reads its answer.
func (a *assistant) call(tool string, arguments map[string]any, into any) {
	a.Helper()
	result, err := a.session.CallTool(a.Context(), &mcp.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		a.Fatalf("%s: %v", tool, err)
	}
	if result.IsError {
		a.Fatalf("%s answers: %s", tool, textOf(result))
	}
	data, err := json.Marshal(result.StructuredContent)
	if err == nil {
		err = json.Unmarshal(data, into)
	}
	if err != nil {
		a.Fatalf("%s: %v", tool, err)
	}
}

// refused calls a tool that has to say why it does nothing.
func (a *assistant) refused(tool string, arguments map[string]any, want string) {
	a.Helper()
	result, err := a.session.CallTool(a.Context(), &mcp.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil || !result.IsError || !strings.Contains(textOf(result), want) {
		a.Errorf("%s %v answers %v %s, want %q", tool, arguments, err, textOf(result), want)
	}
}

func textOf(result *mcp.CallToolResult) string {
	var b strings.Builder
	if result == nil {
		return "nothing"
	}
	for _, content := range result.Content {
		if text, ok := content.(*mcp.TextContent); ok {
			b.WriteString(text.Text)
		}
	}
	return b.String()
}

func (a *assistant) tools() []string {
	a.Helper()
	list, err := a.session.ListTools(a.Context(), nil)
	if err != nil {
		a.Fatal(err)
	}
	var names []string
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
	}
	slices.Sort(names)
	return names
}

// problem is what validate says of a place.
type problem struct {
	Code, Message, Hint, Snippet, Page string
	Line, Column                       int
}

type validated struct {
	Valid    bool
	Problems []problem
}

type planned struct {
	PlanID string `json:"plan_id"`
	Writes []any
	Steps  []struct{ Path, Uses string }
}

type shownRun struct {
	Run, Status, Next string
	AskedPerson       bool `json:"asked_person"`
	Outputs           map[string]any
	Error             *struct{ Message string }
	Steps             []struct{ Path, Status string }
}

var meant = regexp.MustCompile("did you mean `([^`]+)`\\?")

// mend puts at the place of a problem what the answer says was meant.
func (a *assistant) mend(text string, p problem) string {
	a.Helper()
	match := meant.FindStringSubmatch(p.Hint)
	if match == nil {
		a.Fatalf("the answer does not say what to do: %+v", p)
	}
	lines := strings.Split(text, "\n")
	line := lines[p.Line-1]
	rest := line[p.Column-1:]
	end := strings.IndexFunc(rest, func(r rune) bool { return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyz_.", r) })
	if end < 0 {
		end = len(rest)
	}
	lines[p.Line-1] = line[:p.Column-1] + match[1] + rest[end:]
	return strings.Join(lines, "\n")
}

const withThreeMistakes = `flowrun: v1
name: look-up
inputs:
  domain: {type: string, default: example.com}
steps:
  - id: look
    uses: netinfo.whoi
    with: {domian: "${{ inputs.domain }}"}
outputs:
  registrar: ${{ steps.look.outputs.registrr }}
`

// TestIssue16_2_AnAssistantMendsAWorkflowFromTheAnswersAlone: it writes three mistakes,
// validates, mends, plans, a person is asked, and it runs.
func TestIssue16_2_AnAssistantMendsAWorkflowFromTheAnswersAlone(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"2026-07-28", "2025-11-25", "2025-03-26"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			mendAndRun(t, version)
		})
	}
}

func mendAndRun(t *testing.T, version string) {
	dir := t.TempDir()
	write(t, dir, "flowrun.yaml", "workflows: [workflows]\n")
	a := newAssistantOf(t, version, buildBinary(t), dir, true, "--sandbox", "--allow", "run")
	text, mended := withThreeMistakes, 0
	for {
		var answer validated
		a.call("validate", map[string]any{"text": text, "file": "workflows/look-up.yaml"}, &answer)
		if answer.Valid {
			break
		}
		first := answer.Problems[0]
		if !strings.Contains(first.Snippet, "^") {
			t.Errorf("no place in %+v", first)
		}
		page, err := a.session.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: first.Page})
		if err != nil || !strings.Contains(page.Contents[0].Text, first.Code) {
			t.Errorf("the page of %s: %v", first.Code, err)
		}
		if mended++; mended > 3 {
			t.Fatalf("more than three mistakes: %+v in\n%s", answer, text)
		}
		text = a.mend(text, first)
	}
	if mended != 3 {
		t.Errorf("mended %d mistakes", mended)
	}
	arguments := map[string]any{"text": text, "file": "workflows/look-up.yaml", "inputs": map[string]any{"domain": "example.org"}}
	a.refused("run", arguments, "a text is planned before it runs")
	var plan planned
	a.call("plan", arguments, &plan)
	if len(plan.Writes) > 0 || len(plan.Steps) != 1 || plan.Steps[0].Uses != "netinfo.whois" {
		t.Errorf("planned %+v", plan)
	}
	arguments["plan_id"] = plan.PlanID
	other := map[string]any{"text": text + "# more\n", "plan_id": plan.PlanID, "file": "workflows/look-up.yaml", "inputs": arguments["inputs"]}
	a.refused("run", other, "this is not what was planned")
	if len(a.asked) > 0 {
		t.Errorf("a person was asked for nothing: %q", a.asked)
	}
	a.answer = "decline"
	a.refused("run", arguments, "the person declined")
	a.answer = "accept"
	var run shownRun
	a.call("run", arguments, &run)
	if run.Status != "succeeded" || run.Outputs["registrar"] == nil || !run.AskedPerson {
		t.Errorf("the run is %+v", run)
	}
	if len(a.asked) != 2 || !strings.Contains(a.asked[1], "Run the workflow look-up? It only reads.") || !strings.Contains(a.asked[1], `input domain = "example.org"`) {
		t.Errorf("a person was asked %q", a.asked)
	}
	var again shownRun
	a.call("run_show", map[string]any{}, &again)
	if again.Run != run.Run || again.Status != "succeeded" {
		t.Errorf("run_show shows %+v", again)
	}
	if _, err := os.Stat(dir + "/workflows/look-up.yaml"); err == nil {
		t.Error("the text was written to a file")
	}
}

// What nobody allowed is not among the tools, and starts nothing.
func TestIssue16_2_AnAssistantThatMayOnlyReadStartsNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	binary := buildBinary(t)
	write(t, dir, "flowrun.yaml", "{}\n")
	write(t, dir, "hello.yaml", "flowrun: v1\nname: hello\nsteps: [{id: s, let: {text: hello}}]\n")
	a := newAssistant(t, binary, dir, false)
	if got, want := fmt.Sprint(a.tools()), "[actions_search explain plan run_logs run_show test validate workflows]"; got != want {
		t.Errorf("the tools are %s", got)
	}
	a.refused("run", map[string]any{"workflow": "hello"}, "run is not allowed: this server only reads; a person starts it with `flowrun mcp --allow run`")
	a.refused("approve", map[string]any{"run": "x", "step": "s", "decision": "approve"}, "--allow approve")
	a.refused("run_show", map[string]any{}, "nothing has run here yet")
	if _, err := os.Stat(dir + "/.flowrun/state/flowrun.db"); err == nil {
		t.Error("who only reads has made a store")
	}
	if out, code := flowrunIn(t, binary, dir, "mcp", "--allow", "runn"); code != 2 || !strings.Contains(out, "did you mean `run`?") {
		t.Errorf("mcp --allow runn exits with %d: %s", code, out)
	}
}

// The configurations of clients on the page start a server that speaks.
func TestIssue16_2_TheClientsOfThePageSpeak(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/assistants.md")
	if err != nil {
		t.Fatal(err)
	}
	dir, binary := t.TempDir(), buildBinary(t)
	write(t, dir, "flowrun.yaml", "{}\n")
	configurations := slices.DeleteFunc(testpage.Read(page), func(b testpage.Block) bool {
		return !b.Code || !strings.Contains(b.Text, `"command": "flowrun"`)
	})
	if len(configurations) != 2 {
		t.Errorf("%d configurations", len(configurations))
	}
	for _, b := range configurations {
		var config map[string]map[string]struct {
			Command string
			Args    []string
		}
		if err := json.Unmarshal([]byte(b.Text), &config); err != nil {
			t.Fatal(err)
		}
		for _, servers := range config {
			for _, server := range servers {
				if server.Command != "flowrun" || server.Args[0] != "mcp" {
					t.Errorf("it starts %+v", server)
				}
				if tools := newAssistant(t, binary, dir, false, server.Args[1:]...).tools(); len(tools) < 8 {
					t.Errorf("%v has %q", server.Args, tools)
				}
			}
		}
	}
}

// What the page shows of an answer is what comes.
func TestIssue16_2_TheAnswerOfThePageComes(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/assistants.md")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write(t, dir, "flowrun.yaml", "{}\n")
	text, shown := "", ""
	for _, b := range testpage.Read(page) {
		switch {
		case b.Code && strings.HasPrefix(b.Text, "flowrun: v1\n"):
			text = b.Text
		case b.Code && strings.Contains(b.Text, `"valid": false`):
			shown = b.Text
		}
	}
	if text == "" || shown == "" {
		t.Fatal("the page shows no answer")
	}
	var want, got validated
	if err := json.Unmarshal([]byte(shown), &want); err != nil {
		t.Fatal(err)
	}
	newAssistant(t, buildBinary(t), dir, false).call("validate", map[string]any{"text": text, "file": "look-up.yaml"}, &got)
	for i := range got.Problems {
		got.Problems[i].Snippet = ""
	}
	if fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) {
		t.Errorf("the page shows\n%+v\nand there comes\n%+v", want, got)
	}
}
