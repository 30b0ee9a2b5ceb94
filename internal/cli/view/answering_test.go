package view

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/internal/cli/term"
)

// asking is a live view of a run in which steps ask.
func asking(width, height int, paths ...string) *Live {
	live, _ := newTestLive(width, height)
	live.AnswerHere(true, func(args ...string) string { return "flowrun " + strings.Join(args, " ") })
	run := runs.Run{ID: copiedID, Workflow: "clean", Status: runs.RunWaiting, StartedAt: start}
	live.Apply(engine.Update{Kind: engine.UpdateRun, RunID: run.ID, Run: &run})
	for _, path := range paths {
		step := runs.Step{
			Path: path, Status: runs.StepWaiting, Wait: string(runs.WaitApproval), Uses: "core.approve", Message: "Remove a label from three tasks?",
			Form: json.RawMessage(`{"type":"object","required":["limit"],"properties":{"limit":{"type":"integer","description":"how many at most"},"label":{"enum":["a","b"],"default":"a"}}}`),
		}
		live.Apply(engine.Update{Kind: engine.UpdateStep, RunID: run.ID, Step: &step})
	}
	return live
}

// TestAQuestionFitsAnyWidth: question, fields, command and keys stand there whole, no line is
// wider than the terminal, and the command can be copied: a shell reads it from its lines.
func TestAQuestionFitsAnyWidth(t *testing.T) {
	for _, width := range []int{40, 80, 200} {
		live := asking(width, 40, "ask")
		live.Tick(start)
		lines := live.lines()
		text := strings.Join(strings.Fields(strings.Join(lines, " ")), " ")
		for _, part := range []string{"? ask: Remove a label from three tasks?", "limit: an integer", "how many at most", `label: one of a, b; default "a"`, "y fills in the form · n rejects · e opens it in an editor"} {
			if !strings.Contains(text, part) {
				t.Errorf("width %d: %q is not there:\n%s", width, part, strings.Join(lines, "\n"))
			}
		}
		typed := strings.ReplaceAll(text, `\ `, "")
		if id := copiedID; !strings.Contains(typed, "flowrun runs approve "+id+" ask --form limit=VALUE") && !strings.Contains(typed, "flowrun runs approve "+id[len(id)-leastOfID:]+" ask --form limit=VALUE") {
			t.Errorf("width %d: the command is not there:\n%s", width, strings.Join(lines, "\n"))
		}
		for _, line := range lines {
			if term.Width(line) > width-1 {
				t.Errorf("width %d: a line has %d cells: %s", width, term.Width(line), line)
			}
		}
	}
}

// TestAQuestionWithoutRoomIsPrintedAbove: once, and its keys stay in the block.
func TestAQuestionWithoutRoomIsPrintedAbove(t *testing.T) {
	live := asking(80, 10, "ask")
	first := strings.Join(live.lines(), "\n")
	if strings.Contains(first, "how many at most") || !strings.Contains(first, "n rejects") || !strings.Contains(first, "Remove a label") {
		t.Errorf("the block shows\n%s", first)
	}
	if above := strings.Join(live.above, "\n"); strings.Count(above, "how many at most") != 1 {
		t.Errorf("above it stands\n%s", above)
	}
	live.above = nil
	if live.lines(); live.above != nil {
		t.Errorf("it is printed again: %s", live.above)
	}
}

// TestOnlyWhatStandsThereIsAnswered: a key counts for the question that was drawn, and for
// nothing while an answer is on its way.
func TestOnlyWhatStandsThereIsAnswered(t *testing.T) {
	live := asking(80, 40, "one", "two")
	if pressed := live.Press("n"); pressed.Answer != nil || live.answers.comment != nil {
		t.Error("a key counts before the question is drawn")
	}
	live.Tick(start)
	live.Press(term.KeyDown)
	if pressed := live.Press("n"); pressed.Answer != nil || live.answers.comment != nil {
		t.Error("a key counts for a question that is not drawn")
	}
	live.Tick(start)
	live.Press("n")
	live.Press("x")
	answer := live.Press(term.KeyEnter).Answer
	if answer == nil || answer.Step.Path != "two" || answer.Run != copiedID || answer.Approved || answer.Comment != "x" {
		t.Fatalf("the answer is %+v", answer)
	}
	if pressed := live.Press(term.KeyEnter); pressed.Answer != nil {
		t.Error("the answer is sent twice")
	}
	if pressed := live.Press("y"); pressed.Answer != nil || live.answers.filling != nil {
		t.Error("a key counts while an answer is on its way")
	}
	live.Refused(*answer, errors.New("the comment is too long"))
	if text := strings.Join(live.lines(), "\n"); !strings.Contains(text, "the comment is too long") || !strings.Contains(text, "? two:") {
		t.Errorf("after a refusal it shows\n%s", text)
	}
	gone := runs.Step{Path: "two", Status: runs.StepSucceeded}
	live.Apply(engine.Update{Kind: engine.UpdateStep, RunID: copiedID, Step: &gone})
	if text := strings.Join(live.lines(), "\n"); !strings.Contains(text, "? one:") || strings.Contains(text, "too long") {
		t.Errorf("then it shows\n%s", text)
	}
	live.Refused(*answer, errors.New("it was answered"))
	if text := fmt.Sprint(live.above); !strings.Contains(text, "not answered: it was answered") {
		t.Errorf("a refusal of what is gone is told as %s", text)
	}
}

// TestAFormIsTakenFromAnEditor: all that is wrong is told at once, an empty file takes
// nothing, and only y sends it.
func TestAFormIsTakenFromAnEditor(t *testing.T) {
	live := asking(80, 40, "ask")
	live.Tick(start)
	form := live.Press("e").Edit
	if !strings.Contains(form, "# how many at most\n# an integer\nlimit:\n") || !strings.Contains(form, `label: "a"`) {
		t.Fatalf("the editor gets\n%s", form)
	}
	for text, wrong := range map[string]string{
		form: "limit: is missing", "": "the form is empty", "limit: [": "line 1", "limit: x\nlabel: c\nother: 1\n": "label: ",
	} {
		if live.Edited(text, nil); !strings.Contains(live.answers.wrong, wrong) || live.answers.filled != nil {
			t.Errorf("%q: %s", text, live.answers.wrong)
		}
	}
	live.Edited("limit: 4\n", nil)
	if text := strings.Join(live.lines(), "\n"); !strings.Contains(text, "limit = 4") || !strings.Contains(text, `label = "a"`) {
		t.Errorf("it shows\n%s", text)
	}
	answer := live.Press("y").Answer
	if answer == nil || !answer.Approved || answer.Form["limit"].Text != "4" || len(answer.Form) != 1 {
		t.Errorf("the answer is %+v", answer)
	}
}
