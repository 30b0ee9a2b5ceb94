package trigger

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/notify"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/project"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/store"
)

// outboxNotices is the start of the names of the readers that tell targets.
const outboxNotices = "outbox.notices."

// noticesBucket is the store's bucket of what each target knows of each workflow.
const noticesBucket = "notices"

// The ends of runs that a target may be told of (`on` in flowrun.yaml).
const (
	noticeFailed    = "failed"    // failed or timed out
	noticePaused    = "paused"    // it waits for a person
	noticeRecovered = "recovered" // the first success after one of the others
)

// noticeTime bounds one attempt to tell a target.
const noticeTime = 30 * time.Second

// noticeDelays are the waits between the attempts. A target that does not answer
// then is not told: the run's own page and list say it too.
func noticeDelays() []time.Duration {
	return []time.Duration{2 * time.Second, 10 * time.Second, 30 * time.Second, 2 * time.Minute}
}

// notices tells one target of flowrun.yaml what became of runs.
type notices struct {
	triggers *Triggers
	target   *project.Notify
	after    func(time.Duration) <-chan time.Time
}

// noticeState is what a target knows of a workflow.
type noticeState struct {
	Seq     uint64 `json:"seq"`               // the entry that it was told of last
	Failing int    `json:"failing,omitempty"` // runs in a row that failed or paused
	Status  string `json:"status,omitempty"`  // of the last of them: failed, paused
}

// take tells the target of an entry, if it wants to hear of it and has not yet. It
// fails only where the store does: a target that can't be told is given up.
func (n *notices) take(ctx context.Context, entry runs.OutboxEntry, skip string) error {
	workflow := entry.Run.Workflow
	if entry.Trigger != nil {
		workflow = entry.Trigger.Workflow
	}
	state, err := n.known(workflow)
	if err != nil || entry.Seq <= state.Seq {
		return err
	}
	kind := noticeOf(entry, state)
	if kind == "" {
		return nil
	}
	next := noticeState{Seq: entry.Seq}
	switch {
	case entry.Trigger != nil:
		next.Failing, next.Status = state.Failing, state.Status
	case kind != noticeRecovered:
		next.Failing, next.Status = state.Failing+1, kind
	}
	if skip == "" && slices.Contains(n.target.On, kind) {
		if err := n.tell(ctx, n.message(kind, entry, state, next.Failing), entry.Seq); err != nil {
			return err
		}
	}
	return n.know(workflow, next)
}

// noticeOf says what an entry is to somebody who knows what came before; "" =
// nothing.
func noticeOf(entry runs.OutboxEntry, state noticeState) string {
	switch {
	case entry.Kind == runs.OutboxPaused, entry.Kind == runs.OutboxTriggerPaused:
		return noticePaused
	case entry.Run.Status == runs.RunFailed, entry.Run.Status == runs.RunTimedOut:
		return noticeFailed
	case entry.Run.Status == runs.RunSucceeded && state.Failing > 0:
		return noticeRecovered
	}
	return ""
}

// message is what the target gets.
func (n *notices) message(kind string, entry runs.OutboxEntry, known noticeState, failing int) notify.Message {
	message := notify.Message{To: n.target.Name, Event: kind, At: entry.At}
	text := ""
	if state := entry.Trigger; state != nil {
		text, message.Workflow = triggerNoticeText(state), state.Workflow
	} else {
		text = noticeText(kind, &entry.Run, known, failing)
		message.Workflow, message.Run = entry.Run.Workflow, entry.Run.ID
		if failure := entry.Run.Error; failure != nil {
			message.Step = failure.Step
		}
	}
	message.Text = n.triggers.project.Redactor().Redact(text)
	return message
}

// tell sends one notice. The error is that of ctx.
func (n *notices) tell(ctx context.Context, message notify.Message, seq uint64) error {
	p := n.triggers.project
	if !p.Tells(n.target.Name) {
		p.Config().Log.Info(fmt.Sprintf("sandbox: %s is not told: %s", n.target.Name, message.Text))
		return nil
	}
	key := runs.IdempotencyKey(message.Run, fmt.Sprintf("!notice/%s/%s/%s/%d", n.target.Name, message.Workflow, message.Event, seq))
	for attempt, delays := 1, noticeDelays(); ; attempt++ {
		failed := n.send(ctx, message, key)
		switch {
		case failed == nil:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case attempt > len(delays) || !mayHelp(failed):
			p.Config().Log.Error("notice not sent", "target", n.target.Name, "workflow", message.Workflow, "run", message.Run, "event", message.Event, "error", p.Redactor().Redact(failed.Error()))
			return nil
		}
		delay := max(delays[attempt-1], min(time.Duration(failed.RetryAfterS)*time.Second, 5*time.Minute))
		select {
		case <-n.after(delay):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (n *notices) send(ctx context.Context, message notify.Message, key string) *runs.Error {
	ctx, cancel := context.WithTimeout(ctx, noticeTime)
	defer cancel()
	return n.triggers.project.Tell(ctx, n.target.Name, message, key)
}

// mayHelp reports whether another attempt may end otherwise.
func mayHelp(failed *runs.Error) bool {
	switch failed.Kind {
	case plan.KindRateLimited, plan.KindUnavailable, plan.KindTimeout:
		return true
	}
	return false
}

// noticeText is a notice for people: what happened, why, and the command that
// shows more.
func noticeText(kind string, run *runs.Run, state noticeState, failing int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: run %s ", run.Workflow, run.ID)
	switch kind {
	case noticeRecovered:
		fmt.Fprintf(&b, "succeeded, after %s\n", afterText(state))
		return b.String() + "flowrun runs show " + run.ID
	case noticePaused:
		fmt.Fprintf(&b, "is paused (%s)", strings.ReplaceAll(run.Paused, "_", " "))
	default:
		b.WriteString(strings.ReplaceAll(string(run.Status), "_", " "))
		if failing > 1 {
			fmt.Fprintf(&b, " (%d in a row)", failing)
		}
	}
	if failure := run.Error; failure != nil {
		b.WriteString(": ")
		if failure.Step != "" {
			fmt.Fprintf(&b, "step %s: ", failure.Step)
		}
		b.WriteString(failure.Message)
	}
	b.WriteString("\nflowrun runs show " + run.ID)
	return b.String()
}

// triggerNoticeText is the notice of a trigger that the engine has paused.
func triggerNoticeText(state *runs.TriggerState) string {
	id := runs.TriggerID(state.Workflow, state.Trigger)
	return fmt.Sprintf("schedule %s is paused: %s\nflowrun schedules resume %s", id, state.Reason, diag.ShellWord(id))
}

func afterText(state noticeState) string {
	if state.Failing == 1 {
		return "one that " + map[string]string{noticeFailed: "failed", noticePaused: "paused"}[state.Status]
	}
	return fmt.Sprintf("%d in a row that did not", state.Failing)
}

// known returns what the target knows of a workflow.
func (n *notices) known(workflow string) (state noticeState, err error) {
	if _, _, err := store.GetJSON(n.triggers.store.KV(), noticesBucket, n.key(workflow), &state); err != nil {
		return noticeState{}, fmt.Errorf("read what %s was told of %s: %w", n.target.Name, workflow, err)
	}
	return state, nil
}

func (n *notices) know(workflow string, state noticeState) error {
	return store.PutJSON(n.triggers.store.KV(), noticesBucket, n.key(workflow), state, nil)
}

// key joins its parts as JSON, so that none can pass for another.
func (n *notices) key(workflow string) string {
	key, _ := json.Marshal([]string{n.target.Name, workflow}) // texts always can be encoded
	return string(key)
}
