package mcpserver

import (
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/preview"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/workspace"
	"github.com/flowrun/flowrun/internal/web"
)

type runInput struct {
	asked
	PlanID string   `json:"plan_id,omitempty" jsonschema:"of plan; a text needs it"`
	WaitS  *float64 `json:"wait_s,omitempty" jsonschema:"how many seconds to wait for the end: 0 to 600, 30 where it is not given"`
	Key    string   `json:"key,omitempty" jsonschema:"names this request: the same key again is the same run, not a second one"`
}

func run(ctx context.Context, c call, in runInput) (*runView, error) {
	wait, err := waitOf(in.WaitS)
	switch {
	case err != nil:
		return nil, err
	case strings.ContainsFunc(in.Key, func(r rune) bool { return r < '!' || r > '~' }) || len(in.Key) > 200:
		return nil, errors.New("key is at most 200 visible ASCII characters")
	case in.Text != "" && !c.Texts:
		return nil, errors.New("this server runs workflows of its project alone: a person puts the text into the project as a file, then run it by its name")
	}
	planned, id, err := c.plan(ctx, in.asked)
	switch {
	case err != nil:
		return nil, err
	case in.Text != "" && in.PlanID == "":
		return nil, errors.New("a text is planned before it runs: call plan with the same text, file and inputs, show the person what it writes, and give its plan_id")
	case in.PlanID != "" && in.PlanID != id:
		return nil, errors.New("this is not what was planned under that plan_id: call plan with the same text, file and inputs, and look at what has changed")
	}
	for _, input := range planned.Inputs {
		if input.Missing {
			return nil, fmt.Errorf("the input %q is missing: give it in inputs", input.Name)
		}
	}
	asked, err := c.ask(id, runQuestion(planned))
	if err != nil {
		return nil, err
	}
	if in.Key == "" {
		if in.Key, err = c.newKey(); err != nil { // one for this call: what is asked again is the same run
			return nil, err
		}
	}
	var view *runView
	err = c.Lend(ctx, NeedWork, func(ctx context.Context, client *web.Client) error {
		started, err := c.start(ctx, client, in)
		if err != nil {
			return err
		}
		result, err := c.await(ctx, client, started.ID, wait)
		if err != nil {
			return fmt.Errorf("the run %s has begun, and what became of it is not known: %w; run_show shows it", started.ID, err)
		}
		view = newRunView(result)
		return nil
	})
	if err != nil {
		return nil, err
	}
	view.AskedPerson = asked
	return view, nil
}

// waitOf is how long a call waits for the end of its run.
func waitOf(seconds *float64) (time.Duration, error) {
	if seconds == nil {
		return usualWait, nil
	}
	if !(*seconds >= 0 && *seconds <= maxWait.Seconds()) {
		return 0, fmt.Errorf("wait_s is from 0 to %.0f", maxWait.Seconds())
	}
	return time.Duration(*seconds * float64(time.Second)), nil
}

// newKey names a request that has no name.
func (c call) newKey() (string, error) {
	id := make([]byte, 16)
	if _, err := io.ReadFull(c.Entropy, id); err != nil {
		return "", fmt.Errorf("make a request id: %w", err)
	}
	return hex.EncodeToString(id), nil
}

// start begins the run; one that has begun under the key is returned.
func (c call) start(ctx context.Context, client *web.Client, in runInput) (*runs.Run, error) {
	inputs := map[string]workspace.Input{}
	for name, value := range in.Inputs {
		inputs[name] = workspace.Input{JSON: value}
	}
	if in.Text == "" {
		answer, err := client.StartNamed(ctx, in.Workflow, engine.NamedStart{Inputs: inputs, By: c.actor(), RequestID: in.Key}, 0)
		if err != nil {
			return nil, err
		}
		return answer.Run, nil
	}
	started, _, err := client.Start(ctx, engine.StartRequest{
		File: cmp.Or(in.File, textName), Source: []byte(in.Text), Dir: c.Dir, Inputs: inputs, RequestID: "mcp/" + in.Key, By: c.actor(),
	})
	return started, err
}

// await returns a run when it has ended, stands still until somebody acts, or has taken
// as long as the caller waits.
func (c call) await(ctx context.Context, client *web.Client, id string, wait time.Duration) (*runs.Result, error) {
	if wait > 0 {
		bounded, cancel := context.WithTimeout(ctx, wait)
		err := c.follow(bounded, client, id)
		cancel()
		if err != nil && ctx.Err() == nil && bounded.Err() == nil {
			return nil, err
		}
	}
	return client.Result(ctx, id)
}

// follow reads the feed of a run until there is nothing to wait for, and tells the client
// of steps.
func (c call) follow(ctx context.Context, client *web.Client, id string) error {
	stream, err := client.Watch(ctx, id, 0)
	if err != nil {
		return err
	}
	defer func() { _ = stream.Close() }() // it was read alone
	token, told := c.request.Params.GetProgressToken(), 0.0
	for {
		update, err := stream.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		switch update.Kind {
		case engine.UpdateEnd:
			return nil
		case engine.UpdateRun:
			if update.Run != nil && (update.Run.Status == runs.RunPaused || update.Run.Asks > 0) {
				return nil
			}
		case engine.UpdateWait:
			if result, err := client.Result(ctx, id); err == nil && result.Run.Asks > 0 {
				return nil
			}
		case engine.UpdateStep:
			if told++; token != nil && update.Step != nil {
				_ = c.request.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: told, Message: update.Step.Path + ": " + string(update.Step.Status)}) // who is gone is not told
			}
		}
	}
}

// runQuestion is what a person is asked before a run starts.
func runQuestion(planned *preview.Preview) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Run the workflow %s?", oneLine(planned.Workflow.Name, 100))
	if len(planned.Writes) == 0 {
		b.WriteString(" It only reads.")
	} else {
		b.WriteString("\nIt changes something:")
	}
	for i, write := range planned.Writes {
		if i == 10 {
			fmt.Fprintf(&b, "\n- and %d more", len(planned.Writes)-i)
			break
		}
		fmt.Fprintf(&b, "\n- %s: %s", oneLine(write.Step, 100), oneLine(write.Action, 100))
		if write.Connection != "" {
			b.WriteString(" by connection " + oneLine(write.Connection, 60))
		}
		fmt.Fprintf(&b, " (%s)", write.Effect)
	}
	for i, input := range planned.Inputs {
		switch {
		case i == 10:
			b.WriteString("\nand more inputs")
		case i < 10 && input.Given:
			fmt.Fprintf(&b, "\ninput %s = %s", oneLine(input.Name, 60), oneLine(string(input.Value), 200))
		}
	}
	return b.String()
}

type approveInput struct {
	Run      string                     `json:"run" jsonschema:"the id of the run"`
	Step     string                     `json:"step" jsonschema:"the path of the step that waits"`
	Decision string                     `json:"decision"`
	Form     map[string]json.RawMessage `json:"form,omitempty" jsonschema:"the fields of the step's form"`
	Comment  string                     `json:"comment,omitempty" jsonschema:"why, for who reads the run"`
}

type approveOutput struct {
	Run         string `json:"run"`
	Step        string `json:"step"`
	Decision    string `json:"decision"`
	Status      string `json:"status" jsonschema:"of the run"`
	AskedPerson bool   `json:"asked_person" jsonschema:"the client asked a person"`
}

func approve(ctx context.Context, c call, in approveInput) (*approveOutput, error) {
	act := engine.ActApprove
	if in.Decision == "reject" { // the schema has these two
		act = engine.ActReject
	}
	form := map[string]workspace.Input{}
	for name, value := range in.Form {
		form[name] = workspace.Input{JSON: value}
	}
	shown, err := json.Marshal(in)
	if err != nil {
		return nil, fmt.Errorf("name the decision: %w", err)
	}
	question := fmt.Sprintf("%s the step %s of run %s?", map[engine.Act]string{engine.ActApprove: "Approve", engine.ActReject: "Reject"}[act], oneLine(in.Step, 100), oneLine(in.Run, 40))
	if len(form) > 0 {
		fields, _ := json.Marshal(in.Form) // raw messages that were read
		question += "\nwith " + oneLine(string(fields), 500)
	}
	asked, err := c.ask("decide-"+digest(shown), question)
	if err != nil {
		return nil, err
	}
	var result *engine.DecideResult
	err = c.Lend(ctx, NeedWork, func(ctx context.Context, client *web.Client) (err error) {
		if result == nil { // else this is asked again, and it has been decided
			decided, err := client.Decide(ctx, in.Run, in.Step, act, engine.DecideRequest{Form: form, Comment: in.Comment, By: c.actor()})
			if err != nil {
				return err
			}
			result = decided
		}
		if !result.Held {
			return nil
		}
		resumed, err := client.Resume(ctx, in.Run, engine.ResumeRequest{By: c.actor()}) // nobody drives it: it goes on here
		if err != nil {
			return fmt.Errorf("the decision is recorded, and the run does not go on: %w", err)
		}
		result.Run, result.Held = resumed, false
		return nil
	})
	if err != nil {
		return nil, err
	}
	out := &approveOutput{Run: in.Run, Step: cmp.Or(result.Step, in.Step), Decision: in.Decision, AskedPerson: asked}
	if result.Run != nil {
		out.Status = string(result.Run.Status)
	}
	return out, nil
}
