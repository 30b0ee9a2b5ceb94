package trigger

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/flowrun/flowrun/engine/inforce"
	"github.com/flowrun/flowrun/engine/interp"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/schema"
)

const (
	// maxPolled is how many items of one poll are looked at.
	maxPolled = 10_000
	// pollAttempts is how often a poll's call is made before it counts as failed:
	// the same as that of a step.
	pollAttempts = 4
	// noteAt is how seldom a poll that finds nothing new must be to leave its time in
	// the store: after a restart it waits for its next one.
	noteAt = 5 * time.Minute
)

// polledItem is one item of a poll, with its key.
type polledItem struct {
	key     digest
	content digest
	value   any
	encoded json.RawMessage
}

// onePoll is one poll of a trigger.
type onePoll struct {
	triggers *Triggers
	rev      *inforce.Revision
	t        *plan.Trigger
	row      *pollRow // as it will be stored
	at       time.Time
	by       string

	resumed time.Time // when a person resumed it the last time
	started []string  // the runs
}

// poll asks a trigger's action once and starts a run for each new or changed key. The
// first poll of a definition, and the one after a pause or a restore, only notes
// what is there. What a poll has done stays done when it ends early; the same item
// never has two runs for one change (docs/reliability.md, P10). The error is a
// *runs.Error where the call or its answer was at fault.
func (tr *Triggers) poll(ctx context.Context, rev *inforce.Revision, t *plan.Trigger, by string) ([]string, error) {
	unlock := tr.polls.lock(runs.TriggerID(rev.Name(), t.Name))
	defer unlock()
	state, err := tr.store.TriggerState(rev.Name(), t.Name)
	if err != nil {
		return nil, tr.fault(err)
	}
	if by == "" {
		if paused, err := tr.isPaused(rev.Name(), t); err != nil || paused {
			return nil, err
		}
	}
	old, err := tr.pollRow(rev.Name(), t.Name)
	if err != nil {
		return nil, err
	}
	epoch, err := tr.store.Epoch()
	if err != nil {
		return nil, tr.fault(err)
	}
	p := &onePoll{triggers: tr, rev: rev, t: t, at: tr.config.Now().UTC().Round(0), by: by}
	if state != nil {
		p.resumed = state.Done
	}
	hash := pollHash(t.Poll)
	noting := old == nil || old.Hash != hash || old.Epoch != epoch || state != nil && old.At.Before(state.Done)
	p.row = &pollRow{Hash: hash, Epoch: epoch, At: p.at, seen: map[digest]seenKey{}}
	if old != nil {
		p.row.Poll = old.Poll
		if !noting {
			p.row.seen = old.seen
			p.row.Failures = old.Failures
		}
	}
	items, err := p.ask(ctx)
	if err != nil {
		return nil, p.failed(ctx, old, err)
	}
	return p.started, p.take(ctx, old, items, noting)
}

// pollHash is the hash of what decides which keys a poll sees.
func pollHash(p *plan.Poll) string {
	other := *p
	other.Every, other.OutputSchema = 0, nil
	other.Items.Pos, other.Key.Pos = plan.Pos{}, plan.Pos{}
	data, err := json.Marshal(other)
	if err != nil {
		return "" // plain data always encodes
	}
	return plan.HashOf(data)
}

// take compares the items with those that were seen, starts the runs and stores
// what was seen.
func (p *onePoll) take(ctx context.Context, old *pollRow, items []polledItem, noting bool) error {
	number := p.row.Poll // of before: the same one in the next poll when this one is cut off
	changed := noting || old.Failures > 0
	p.row.Failures = 0
	var failed error
	for _, item := range items {
		seen, ok := p.row.seen[item.key]
		if !noting && (!ok || seen.item != item.content) {
			if failed != nil {
				continue // it stays new
			}
			if failed = p.fire(ctx, item, number); failed != nil {
				continue
			}
			changed = true
		}
		p.row.seen[item.key] = seenKey{item: item.content, poll: number + 1}
	}
	if !changed && p.t.Poll.Every < noteAt {
		return failed
	}
	p.row.Poll = number + 1
	return errors.Join(failed, p.triggers.putPollRow(p.rev.Name(), p.t.Name, p.row))
}

// fire starts the run of an item. An item whose run can't be started is decided
// too, with a row that says why; want of space is an error, and the item stays new.
func (p *onePoll) fire(ctx context.Context, item polledItem, number uint64) error {
	at := p.at.Add(time.Duration(len(p.started)))
	event := fmt.Sprintf("%x %x %d %s", item.key, item.content, number, p.row.Hash)
	id, existing, err := p.triggers.startTriggered(ctx, firing{
		rev: p.rev, trigger: p.t, at: at, roots: map[string]any{"item": item.value}, item: item.encoded,
		requestID: requestIDOf("poll", p.rev.Name(), p.t.Name, event), fire: &runs.Fire{}, by: p.by,
	})
	var refused *notFiredError
	switch {
	case errors.As(err, &refused) && refused.Skipped != runs.SkipBusy:
		return p.triggers.skip(p.rev, p.t, at, refused.Skipped, refused.Note)
	case err != nil:
		return err
	case !existing:
		p.started = append(p.started, id)
	}
	return nil
}

// ask calls the action and reads the items of its answer. The error is a
// *runs.Error, or one of the engine.
func (p *onePoll) ask(ctx context.Context) ([]polledItem, error) {
	poll := p.t.Poll
	action, err := p.triggers.project.Action(poll.Uses)
	if err != nil {
		return nil, p.triggers.runs.UnknownAction(poll.Uses, err)
	}
	code, err := p.rev.Code()
	if err != nil {
		return nil, &runs.Error{Kind: plan.KindInternal, Message: err.Error()}
	}
	call, failure := p.request(ctx, code, action)
	if failure != nil {
		return nil, failure
	}
	outputs, failure, err := p.triggers.runs.CallAction(ctx, call, p.sink())
	if err != nil {
		return nil, err
	}
	if failure != nil {
		return nil, failure
	}
	output := action.Output
	if len(poll.OutputSchema) > 0 {
		output = poll.OutputSchema
	}
	value, failure := decodeOutput(output, outputs)
	if failure != nil {
		return nil, failure
	}
	items, failure := p.items(code, value)
	if failure != nil {
		return nil, failure
	}
	return items, nil
}

// request is the call, with its input.
func (p *onePoll) request(ctx context.Context, code *interp.TriggerCode, action *plan.Action) (Call, *runs.Error) {
	poll := p.t.Poll
	call := Call{Action: action, Attempts: pollAttempts}
	invalid := func(text string) *runs.Error {
		return &runs.Error{Kind: plan.KindInvalid, Action: poll.Uses, Applied: runs.NotApplied, Message: text}
	}
	if lacking := inforce.FirstError(p.triggers.project.PollLacks(ctx, p.rev.Workflow(), p.t)); lacking != nil {
		return call, invalid(lacking.String())
	}
	if poll.Connection != nil {
		name, failure := code.Value(*poll.Connection, schema.Of(schema.String), nil, p.at)
		if failure != nil {
			return call, failure
		}
		call.Connection, _ = name.(string)
	}
	accepts, err := schema.FromJSON(action.Input)
	if err != nil {
		return call, invalid(fmt.Sprintf("input schema: %v", err))
	}
	var value any = map[string]any{}
	if !poll.With.IsZero() {
		resolved, failure := code.Value(poll.With, accepts, nil, p.at)
		if failure != nil {
			return call, failure
		}
		value = resolved
	}
	accepted, err := accepts.Accept(value)
	if err != nil {
		return call, invalid(err.Error())
	}
	if call.Input, err = schema.Encode(accepted); err != nil {
		return call, invalid(err.Error())
	}
	return call, nil
}

func decodeOutput(text, output json.RawMessage) (any, *runs.Error) {
	t, err := schema.FromJSONOr(text, schema.Of(schema.Any))
	if err != nil {
		return nil, &runs.Error{Kind: plan.KindInternal, Message: fmt.Sprintf("output schema: %v", err)}
	}
	value, err := t.DecodeAnswer(output)
	if err != nil {
		return nil, &runs.Error{Kind: plan.KindUnexpectedResponse, Message: err.Error()}
	}
	return value, nil
}

// items evaluates the items of an answer and their keys, each key once: the first
// item that has it.
func (p *onePoll) items(code *interp.TriggerCode, result any) ([]polledItem, *runs.Error) {
	value, failure := code.Expr(p.t.Poll.Items, map[string]any{"result": result}, p.at)
	if failure != nil {
		return nil, failure
	}
	list, ok := value.([]any)
	switch {
	case !ok:
		return nil, wrongPoll("the items of the poll must be a list, got %s", schema.TypeOf(value))
	case len(list) > maxPolled:
		return nil, wrongPoll("the poll gave %d items, and at most %d are looked at; ask for less", len(list), maxPolled)
	}
	items := make([]polledItem, 0, len(list))
	set := make(map[digest]bool, len(list))
	for i, one := range list {
		key, failure := code.Expr(p.t.Poll.Key, map[string]any{"item": one}, p.at)
		if failure != nil {
			return nil, failure
		}
		text, ok := keyOfItem(key)
		if !ok {
			return nil, wrongPoll("the key of item %d must be text or an integer, got %s", i, schema.TypeOf(key))
		}
		if set[digestOf([]byte(text))] {
			continue
		}
		set[digestOf([]byte(text))] = true
		encoded, err := interp.EncodeValue(one)
		if err != nil {
			return nil, wrongPoll("item %d: %v", i, err)
		}
		items = append(items, polledItem{key: digestOf([]byte(text)), content: digestOf(encoded), value: one, encoded: encoded})
	}
	return items, nil
}

// keyOfItem is a key as text: 7 and "7" differ.
func keyOfItem(key any) (string, bool) {
	switch key := key.(type) {
	case string:
		return "s" + key, true
	case int:
		return "i" + strconv.Itoa(key), true
	case json.Number:
		return "i" + string(key), true
	}
	return "", false
}

func wrongPoll(format string, args ...any) *runs.Error {
	return &runs.Error{Kind: plan.KindInvalid, Reason: "expression", Message: fmt.Sprintf(format, args...)}
}
