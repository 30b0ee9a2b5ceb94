// Package calls makes calls of actions outside of runs: those of `flowrun call`, of
// logins, of polls and of deliveries.
package calls

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/pluginhost"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/workspace"
)

// Prefix begins the id by which a call, which is no run, seals its secret outputs.
const Prefix = "call-"

// defaultTimeout bounds one attempt of an action that names no timeout.
const defaultTimeout = time.Minute

// Request asks for one action, outside a workflow. Input may hold
// `${{ secrets.NAME }}` texts; clear values in secret fields are accepted only
// when LiteralSecrets is set.
type Request struct {
	Action         string          `json:"action"`
	Connection     string          `json:"connection,omitempty"`
	Input          json.RawMessage `json:"input,omitempty"`
	LiteralSecrets bool            `json:"literal_secrets,omitempty"`
	Attempts       int             `json:"attempts,omitempty"` // 0 = 1
	// IdempotencyKey, where it is set, stands for the key that each call has of its
	// own: the same request under the same key is the same request once more.
	IdempotencyKey string `json:"idempotency_key,omitempty"`

	// Run and Step are set for a call that follows a run: what its plugin keeps for it, and
	// what it seals, is the run's.
	Run  string `json:"-"`
	Step string `json:"-"`
}

// Result is what `flowrun call -o json` prints: outputs and meta, or error.
type Result struct {
	Outputs json.RawMessage `json:"outputs,omitempty"`
	Meta    json.RawMessage `json:"meta,omitempty"`
	Error   *runs.Error     `json:"error,omitempty"`
}

// Limiter admits calls as the limits of their actions say: it waits, onWait hears
// until when, and done must be given the answer.
type Limiter interface {
	Acquire(ctx context.Context, action *plan.Action, connection string, onWait func(until time.Time)) (done func(runs.Answer), err error)
}

// Options are what calls take from their surroundings.
type Options struct {
	Project *workspace.Workspace
	Limiter Limiter
	NewID   func(at time.Time) (string, error)
	Forget  func(id string) // removes what an ended call sealed
	Closed  error           // what a call gets that comes during a stop, or after it
}

// Caller makes calls until it is drained. Safe for concurrent use.
type Caller struct {
	open    *open
	project *workspace.Workspace
	limiter Limiter
	newID   func(at time.Time) (string, error)
	forget  func(id string)
	now     func() time.Time
}

// New returns a caller that takes calls.
func New(o Options) *Caller {
	return &Caller{open: newOpen(o.Closed), project: o.Project, limiter: o.Limiter, newID: o.NewID, forget: o.Forget, now: o.Project.Config().Now}
}

// Running returns how many calls are under way.
func (c *Caller) Running() int { return c.open.count() }

// Drain refuses calls, waits for those that run, and cancels them when ctx ends. They
// have grace then; the error says that one did not end.
func (c *Caller) Drain(ctx context.Context, grace time.Duration) error {
	return c.open.drain(ctx, grace)
}

// Call makes one call of an action outside a workflow, with the checks, the
// limiter and the redaction of a step. Pending answers are followed. What the
// call says of itself comes in the result; err is a failure of the engine.
func (c *Caller) Call(ctx context.Context, request Request, sink runs.Sink) (Result, error) {
	action, err := c.project.Action(request.Action)
	if err != nil {
		return Failed(request.Action, c.Unknown(request.Action, err)), nil
	}
	if c.project.Builtin(request.Action) {
		return Failed(request.Action, runs.Failure(plan.KindUnsupported, runs.NotApplied, "actions of core run inside workflows only")), nil
	}
	input, failed := c.input(ctx, action, request)
	if failed != nil {
		return Failed(request.Action, failed), nil
	}
	return c.UntilDone(ctx, action, request, input, sink)
}

// Failed is the result of a call that failed. A call is no step of a run.
func Failed(action string, failed *runs.Error) Result {
	failed.Step = ""
	if failed.Kind == plan.KindInvalid && failed.Applied == runs.NotApplied && failed.HTTPStatus == 0 {
		failed.Attempt = 0 // refused before the first one
	}
	if failed.Action == "" {
		failed.Action = action
	}
	return Result{Error: failed}
}

// Unknown is the failure of a call whose action is not known; err is why.
func (c *Caller) Unknown(name string, err error) *runs.Error {
	if broken, ok := errors.AsType[*pluginhost.PluginError](err); ok {
		return &runs.Error{Kind: plan.KindCrashed, Applied: runs.NotApplied, Reason: broken.Reason, Message: err.Error(), Hint: broken.Hint, Details: broken.Details()}
	}
	failed := runs.Failure(plan.KindInvalid, runs.NotApplied, "%v", err)
	failed.Hint = diag.DidYouMean(name, c.project.ActionNames())
	return failed
}

// UntilDone is Call for an input that has been checked.
func (c *Caller) UntilDone(ctx context.Context, action *plan.Action, request Request, input json.RawMessage, sink runs.Sink) (Result, error) {
	connection := request.Connection
	if connection == "" {
		name, err := c.project.DefaultConnection(action.Plugin)
		if err != nil {
			return Failed(request.Action, workspace.RefusedCall(request.Action, err).Failed), nil
		}
		connection = name
	}
	if lacking := c.LackingSettings(action.Plugin, connection); lacking != nil {
		return Failed(request.Action, lacking), nil
	}
	ctx, leave, err := c.open.enter(ctx)
	if err != nil {
		return Result{}, err
	}
	defer leave()
	id, err := c.newID(c.now())
	if err != nil {
		return Result{}, err
	}
	owner, step := cmp.Or(request.Run, Prefix+id), cmp.Or(request.Step, "call")
	call := runs.Request{
		Action: request.Action, PluginDigest: action.PluginDigest, Connection: connection, RunID: owner, Step: step, Operation: step,
		Attempt: 1, IdempotencyKey: cmp.Or(request.IdempotencyKey, id), Input: input, ScheduledAt: c.now(), Timeout: action.DefaultTimeout,
	}
	if call.Timeout == 0 {
		call.Timeout = defaultTimeout
	}
	if c.project.Untimed(action.Plugin) {
		call.Timeout = workspace.NoTimeout
	}
	if request.Run == "" {
		defer c.forget(call.RunID)
	}
	for {
		answer := c.once(ctx, action, call, sink)
		switch {
		case answer.Completed != nil:
			return Result{Outputs: answer.Completed.Output, Meta: answer.Completed.Meta}, nil
		case answer.Pending != nil:
			call.Checkpoint = answer.Pending.Checkpoint
			showPending(sink, answer.Pending)
			if err := c.open.pauseBetween(ctx, answer.Pending.RetryAfter); err != nil {
				return Result{}, err
			}
		case call.Attempt < request.Attempts && mayRepeat(action, answer.Failed):
			delay := max(time.Second<<(call.Attempt-1), time.Duration(answer.Failed.RetryAfterS*float64(time.Second)))
			sink.Log(runs.Log{Level: "warn", Message: fmt.Sprintf("attempt %d of %d failed: %s", call.Attempt, request.Attempts, answer.Failed.Message)})
			if err := c.open.pauseBetween(ctx, min(delay, 30*time.Second)); err != nil {
				return Result{}, err
			}
			call.Attempt++
		default:
			return Failed(request.Action, answer.Failed), nil
		}
	}
}

// Prompter is a sink that can show what a person must do.
type Prompter interface{ Prompt(runs.Prompt) }

func showPending(sink runs.Sink, pending *runs.Pending) {
	if p, ok := sink.(Prompter); ok && pending.Prompt != nil {
		p.Prompt(*pending.Prompt)
		return
	}
	sink.Log(runs.Log{Level: "info", Message: pendingText(pending)})
}

// LackingSettings is the failure of a call whose connection lacks a setting.
func (c *Caller) LackingSettings(plugin, name string) *runs.Error {
	config := c.project.ConnectionSettings(workspace.NamedConnection{Name: name, Plugin: plugin})
	if config == nil {
		return nil // the call itself says what is wrong
	}
	var problems diag.List
	c.project.MissingSettings(workspace.ConnectionUse{Plugin: plugin, Name: name}, config, diag.Pos{}, &problems)
	if len(problems) == 0 {
		return nil
	}
	return &runs.Error{Kind: plan.KindInvalid, Applied: runs.NotApplied, Message: problems[0].Message, Hint: problems[0].Hint}
}

func pendingText(pending *runs.Pending) string {
	if prompt := pending.Prompt; prompt != nil {
		return strings.TrimSpace(fmt.Sprintf("%s: open %s and enter %s %s", prompt.Title, prompt.URL, prompt.UserCode, prompt.Message))
	}
	if pending.Message != "" {
		return pending.Message
	}
	return "not ready yet, asking again in " + pending.RetryAfter.String()
}

// mayRepeat keeps a `once` action from being sent again unless it was certainly
// not applied.
func mayRepeat(action *plan.Action, failed *runs.Error) bool {
	if !slices.Contains(plan.DefaultRetryKinds(), failed.Kind) {
		return false
	}
	return action.Effect != plan.EffectOnce || failed.Applied == runs.NotApplied
}

func (c *Caller) once(ctx context.Context, action *plan.Action, call runs.Request, sink runs.Sink) runs.Answer {
	waiting, admitted := within(ctx, c.open.admission) // a stop ends what comes before a call is sent
	defer admitted()
	done, err := c.limiter.Acquire(waiting, action, call.Connection, func(until time.Time) {
		if !until.IsZero() {
			sink.Log(runs.Log{Level: "info", Message: "waiting (rate limit, next " + until.Local().Format(time.TimeOnly) + ")"})
		}
	})
	if err != nil {
		return runs.Answer{Failed: runs.Failure(plan.KindCanceled, runs.NotApplied, "%v", err)}
	}
	attempt, cancel := context.WithTimeout(ctx, call.Timeout)
	defer cancel()
	answer := c.project.Call(attempt, call, sink)
	done(answer)
	return answer
}
