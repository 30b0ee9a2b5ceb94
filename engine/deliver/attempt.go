package deliver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/fault"
	"github.com/flowrun/flowrun/engine/interp"
	"github.com/flowrun/flowrun/engine/notify"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/schema"
	"github.com/flowrun/flowrun/engine/store"
)

// attempt makes one attempt of a delivery, unless another one that was under way has
// settled it. hand is a person's word; nil = it is due by itself.
func (d *Deliveries) attempt(ctx context.Context, run, id string, hand *Request) {
	key := run + "/" + id
	leave, waited, err := d.enter(ctx, key)
	if err != nil {
		return
	}
	defer leave()
	one, err := store.Delivery(d.store.KV(), run, id)
	switch {
	case err != nil:
		d.warn("delivery not read", err, "run", run, "delivery", id)
		return
	case one == nil, hand == nil && one.State.Over(), hand != nil && waited && (one.State == runs.DeliveryDelivered || hand.Due):
		return // removed, or settled meanwhile
	}
	d.send(ctx, one, hand)
}

// send makes one attempt: the intent is durable before anything leaves.
func (d *Deliveries) send(ctx context.Context, one *runs.Delivery, hand *Request) {
	if one.Notice != nil {
		d.sendNotice(ctx, one)
		return
	}
	result, workflow, inputs, err := d.runs.Ended(ctx, one.Run)
	switch {
	case errors.Is(err, fault.ErrRunNotFound):
		if err := store.DropDeliveries(d.store.KV(), one.Run); err != nil {
			d.warn("deliveries of a removed run not removed", err, "run", one.Run)
		}
		return
	case ctx.Err() != nil:
		return
	case err != nil:
		d.settle(one, plan.EffectRead, runs.Failure(plan.KindInternal, runs.NotApplied, "read the run: %v", err))
		return
	}
	out, to := find(workflow, one.ID)
	if to == nil || workflow.Actions[to.Uses] == nil {
		d.settle(one, plan.EffectRead, runs.Failure(plan.KindInternal, runs.NotApplied, "the run's workflow has no such destination"))
		return
	}
	effect := workflow.Actions[to.Uses].Effect
	if one.State == runs.DeliverySending && effect == plan.EffectOnce && (hand == nil || !hand.Again) {
		d.settle(one, effect, runs.Failure(plan.KindUnknownOutcome, runs.AppliedUnknown, "the process ended while it was sent, and %s is not called twice", to.Uses))
		return
	}
	one.State, one.NextAt, one.Attempts = runs.DeliverySending, nil, one.Attempts+1
	if hand != nil && !hand.Due {
		one.By = hand.By
	}
	if err := store.PutDelivery(d.store.KV(), one, false); err != nil {
		d.warn("delivery not stored", err, "run", one.Run, "delivery", one.ID)
		return
	}
	lines := &said{redact: d.project.Redact, now: d.config.Now, id: one.ID}
	failed, err := d.call(ctx, one, &result.Run, workflow, inputs, out, to, result.Outputs[out.Name], lines)
	if err != nil { // nothing was sent: the process ends
		one.Attempts--
		failed = runs.Failure(plan.KindCanceled, runs.NotApplied, "%v", err)
	}
	d.settle(one, effect, failed)
	lines.end(one)
	if err := d.runs.Note(one.Run, lines.all()); err != nil {
		d.warn("lines of a delivery not stored", err, "run", one.Run)
	}
}

// find returns a destination by its id, with its output.
func find(workflow *plan.Workflow, id string) (found *plan.Output, dest *plan.Step) {
	runs.EachDelivery(workflow, func(out *plan.Output, to *plan.Step) {
		if to.ID == id {
			found, dest = out, to
		}
	})
	return found, dest
}

// call makes the call of a destination.
func (d *Deliveries) call(ctx context.Context, one *runs.Delivery, row *runs.Run, workflow *plan.Workflow, inputs json.RawMessage, out *plan.Output, to *plan.Step, value json.RawMessage, sink runs.Sink) (*runs.Error, error) {
	if value == nil {
		return runs.Failure(plan.KindInternal, runs.NotApplied, "the output can't be read: the journal of the run is too large, or damaged"), nil
	}
	rendered, err := interp.Render(out, value)
	if err != nil {
		return runs.Failure(plan.KindInvalid, runs.NotApplied, "output %s: %v", out.Name, err), nil
	}
	input, failed := interp.DestinationInput(interp.Ended{Workflow: workflow, Run: row, Inputs: inputs}, rendered, to)
	if failed != nil {
		return failed, nil
	}
	key := runs.DeliveryKey(one.Run, one.ID)
	if to.Uses == runs.CoreNotify {
		return d.tell(ctx, row, input, key, sink), nil
	}
	action, failed := d.actionNow(workflow.Actions[to.Uses])
	if failed != nil {
		return failed, nil
	}
	// A stop waits for calls that were sent: it, and no client that leaves, ends them.
	return d.runs.Call(context.WithoutCancel(ctx), Call{Run: one.Run, Step: "outputs." + one.ID, Action: action, Connection: one.Connection, Input: input, Key: key}, sink)
}

// tell sends a message to a notify target. In a sandbox only live ones are told.
func (d *Deliveries) tell(ctx context.Context, row *runs.Run, input json.RawMessage, key string, sink runs.Sink) *runs.Error {
	var message struct{ To, Text string }
	if err := json.Unmarshal(input, &message); err != nil {
		return runs.Failure(plan.KindInternal, runs.NotApplied, "read the message: %v", err)
	}
	text := d.project.Redact(message.Text)
	if !d.project.Tells(message.To) {
		sink.Log(runs.Log{Level: "info", Message: fmt.Sprintf("sandbox: %s is not told: %s", message.To, text)})
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, notifyTime)
	defer cancel()
	return d.project.Tell(ctx, message.To, notify.Message{Text: text, To: message.To, Workflow: row.Workflow, Run: row.ID, At: d.config.Now().UTC()}, key)
}

// actionNow is the action that a run was accepted with, in the revision of its plugin that
// is left of it, else as it is now where that says the same of itself.
func (d *Deliveries) actionNow(pinned *plan.Action) (*plan.Action, *runs.Error) {
	if own, err := d.project.OwnRevision(pinned.Plugin, pinned.PluginDigest); err == nil && own {
		return pinned, nil
	}
	found, err := d.project.Action(pinned.FullName())
	if err != nil {
		return nil, runs.Failure(plan.KindInvalid, runs.NotApplied, "%v", err)
	}
	if contract(found) != contract(pinned) {
		failed := runs.Failure(plan.KindInvalid, runs.NotApplied, "plugin %s has changed since the run was accepted: what it says of %s is different", pinned.Plugin, pinned.FullName())
		failed.Hint = diag.Say("put the plugin back as it was and deliver by hand")
		return nil, failed
	}
	return found, nil
}

func contract(action *plan.Action) string {
	pins := plan.PinsOf(map[string]*plan.Action{action.FullName(): action}, runs.CorePlugin)
	if len(pins) == 0 {
		return ""
	}
	return pins[0].Contract
}

// settle stores what became of an attempt, and says when the next one is due.
func (d *Deliveries) settle(one *runs.Delivery, effect plan.Effect, failed *runs.Error) {
	now := d.config.Now().UTC()
	one.NextAt, one.Error = nil, failed
	switch {
	case failed == nil:
		one.State, one.DeliveredAt = runs.DeliveryDelivered, &now
	case effect == plan.EffectOnce && failed.Applied == runs.AppliedUnknown:
		one.State = runs.DeliveryUnknown
		failed.Hint = failed.Hint.Or(diag.Sayf("look whether it arrived; %s sends it once more", diag.Command{"runs", "deliver", one.Run, one.Output, "--again"}))
	case failed.Kind == plan.KindCanceled:
		one.State, one.NextAt = runs.DeliveryWaiting, &now
	case slices.Contains(plan.DefaultRetryKinds(), failed.Kind) && now.Sub(one.CreatedAt) < Window:
		at := now.Add(delay(one.Attempts, failed.RetryAfterS))
		one.State, one.NextAt = runs.DeliveryWaiting, &at
	default:
		one.State = runs.DeliveryFailed
	}
	if failed != nil {
		failed.Message = d.project.Redact(failed.Message)
	}
	if err := store.PutDelivery(d.store.KV(), one, false); err != nil {
		d.warn("delivery not stored", err, "run", one.Run, "delivery", one.ID)
		return
	}
	d.plan(one)
	if one.State == runs.DeliveryFailed || one.State == runs.DeliveryUnknown {
		d.config.Log.Error("output not delivered", "run", one.Run, "output", one.Output, "to", one.To, "state", string(one.State), "error", failed.Message)
		d.noticeFailed(one)
	}
}

// delay is how long the next attempt is put off after one that failed.
func delay(attempts int, retryAfterS float64) time.Duration {
	wait := mostDelay
	if shift := max(attempts-1, 0); shift < 12 { // 2 s << 11 is over an hour
		wait = min(firstDelay<<shift, mostDelay)
	}
	return max(wait, min(time.Duration(retryAfterS*float64(time.Second)), Window))
}

// said collects what a call logs, as lines of its run's log.
type said struct {
	redact func(string) string
	now    func() time.Time
	id     string

	mu    sync.Mutex
	lines []runs.Log
}

// maxSaid is how many lines of one attempt are kept.
const maxSaid = 100

// Log keeps a line.
func (s *said) Log(line runs.Log) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.lines) >= maxSaid {
		return
	}
	if line.At.IsZero() {
		line.At = s.now().UTC()
	}
	line.Step, line.Message = "", "output "+s.id+": "+s.redact(line.Message)
	s.lines = append(s.lines, line)
}

// Progress is not kept.
func (s *said) Progress(runs.Progress) {}

// end adds what became of the attempt.
func (s *said) end(one *runs.Delivery) {
	switch {
	case one.Error == nil:
		s.Log(runs.Log{Level: "info", Message: "delivered to " + one.To})
	case one.NextAt != nil:
		s.Log(runs.Log{Level: "warn", Message: fmt.Sprintf("not delivered to %s, tried again at %s: %s", one.To, schema.FormatTime(*one.NextAt), one.Error.Message)})
	default:
		s.Log(runs.Log{Level: "error", Message: fmt.Sprintf("not delivered to %s: %s", one.To, one.Error.Message)})
	}
}

func (s *said) all() []runs.Log {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lines
}
