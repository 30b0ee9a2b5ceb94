package trigger

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/flowrun/flowrun/engine/fault"
	"github.com/flowrun/flowrun/engine/inforce"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/schema"
	"github.com/flowrun/flowrun/engine/store"
)

// The bounds of webhooks (docs/triggers.md).
const (
	maxHookBody = 1 << 20
	// dedupeFor is how long the same dedupe key is the same run.
	dedupeFor = 24 * time.Hour
	// maxDedupeKey bounds a dedupe key in bytes.
	maxDedupeKey = 1 << 10
)

// HookPath is the path of a webhook's address.
func HookPath(workflow, trigger string) string {
	return "/hooks/" + url.PathEscape(workflow) + "/" + url.PathEscape(trigger)
}

// hookLocks keep two requests with the same key apart, so that the second finds
// the run of the first on both sides of a day's end.
type hookLocks [64]sync.Mutex

func (l *hookLocks) of(key string) *sync.Mutex {
	sum := sha256.Sum256([]byte(key))
	return &l[int(sum[0])%len(l)]
}

// Hook takes a webhook's request: it checks who sends it and what, and starts the
// run. The same event again is the first run. *UnknownError where there is no such
// webhook, *HookRefusedError, *BusyError, *StoreError for want of space; nothing is
// told of the workflow to those who do not know the secret.
func (tr *Triggers) Hook(ctx context.Context, workflow, trigger string, r HookRequest) (*HookAnswer, error) {
	rev, t := tr.hookTrigger(ctx, workflow, trigger)
	if t == nil {
		return nil, &fault.UnknownError{What: "webhook", Name: runs.TriggerID(workflow, trigger)}
	}
	if len(r.Body) > maxHookBody {
		return nil, refuseHook(http.StatusRequestEntityTooLarge, "the body is larger than %d bytes", maxHookBody)
	}
	if host, _, err := net.SplitHostPort(r.Remote); err == nil {
		r.Remote = host
	}
	now := tr.config.Now().UTC().Round(0)
	sender, err := tr.authenticate(ctx, t, r, now)
	if err != nil {
		tr.config.Log.Info("webhook refused", "trigger", runs.TriggerID(workflow, trigger), "remote", r.Remote, "error", err.Error())
		return nil, err
	}
	isDisabled, err := tr.skipDisabled(rev.Name(), func(reason, note string) error { return tr.skip(rev, t, now, reason, note) })
	switch {
	case err != nil:
		return nil, err
	case isDisabled:
		return nil, refuseHook(http.StatusConflict, "%s", disabledReason)
	}
	answer, err := tr.takeHook(ctx, rev, t, r, sender, now)
	if refused, ok := errors.AsType[*HookRefusedError](err); ok && refused.Status < http.StatusInternalServerError {
		if err := tr.skip(rev, t, now, runs.SkipInvalid, refused.Message); err != nil {
			tr.config.Log.Warn("refused webhook not recorded", "trigger", runs.TriggerID(workflow, trigger), "error", err)
		}
	}
	return answer, err
}

// hookTrigger finds the webhook in force; nil where there is none.
func (tr *Triggers) hookTrigger(ctx context.Context, workflow, trigger string) (*inforce.Revision, *plan.Trigger) {
	rev, err := tr.revisions.Named(ctx, workflow)
	if err != nil {
		return nil, nil // nobody who is not known learns why
	}
	t := rev.Trigger(trigger)
	if t == nil || t.Webhook == nil {
		return nil, nil
	}
	return rev, t
}

// takeHook starts the run of a request whose sender is known.
func (tr *Triggers) takeHook(ctx context.Context, rev *inforce.Revision, t *plan.Trigger, r HookRequest, sender hookSender, now time.Time) (*HookAnswer, error) {
	request, err := hookRoot(t.Webhook, r, sender)
	if err != nil {
		return nil, err
	}
	roots := map[string]any{"request": request}
	key, err := dedupeKey(rev, t, roots, now)
	if err != nil {
		return nil, err
	}
	event, err := tr.eventOf(rev, t, key, sender, now)
	if err != nil {
		return nil, err
	}
	var ids []string // of the requests that are this one, the newest first
	switch {
	case event.dated:
		ids = dedupeIDs(event.id, now)
		lock := tr.hookLocks.of(event.id)
		lock.Lock()
		defer lock.Unlock()
	case event.id != "":
		ids = []string{event.id}
	}
	if first, err := tr.firstRun(ids, now); err != nil || first != "" {
		return tr.repeated(rev, t, first, now), err
	}
	f := firing{rev: rev, trigger: t, at: now, roots: roots, by: sender.by, fire: &runs.Fire{}}
	if len(ids) > 0 {
		f.requestID = ids[0]
	}
	id, existing, err := tr.startTriggered(ctx, f)
	switch refused := (*notFiredError)(nil); {
	case errors.As(err, &refused) && refused.Skipped == runs.SkipBusy:
		return nil, refused.cause // the sender tries again later; no row for each of many
	case errors.As(err, &refused):
		return nil, refuseHook(http.StatusUnprocessableEntity, "%s", refused.Note)
	case err != nil:
		return nil, err
	case existing:
		return tr.repeated(rev, t, id, now), nil
	}
	return &HookAnswer{Run: id}, nil
}

// repeated is the answer to an event that has its run, which is recorded.
func (tr *Triggers) repeated(rev *inforce.Revision, t *plan.Trigger, run string, now time.Time) *HookAnswer {
	if run == "" {
		return nil
	}
	if err := tr.skip(rev, t, now, runs.SkipRepeated, "the event has its run already: "+run); err != nil {
		tr.config.Log.Warn("repeated webhook not recorded", "trigger", runs.TriggerID(rev.Name(), t.Name), "error", err)
	}
	return &HookAnswer{Run: run, Repeated: true}
}

// firstRun finds the run that one of the requests has made, "" where none has, or
// where a day has gone by since.
func (tr *Triggers) firstRun(ids []string, now time.Time) (string, error) {
	for i, id := range ids {
		run, err := tr.store.Requested(id)
		if err != nil {
			return "", tr.fault(err)
		}
		if run == "" {
			continue
		}
		row, err := tr.store.Run(run)
		if errors.Is(err, store.ErrRunNotFound) {
			continue // retention was faster
		}
		if err != nil {
			return "", tr.fault(fmt.Errorf("read the run of a webhook: %w", err))
		}
		if i == 0 || now.Sub(row.StartedAt) < dedupeFor {
			return run, nil
		}
	}
	return "", nil
}

// requestIDOf is the id of a request that a trigger makes: the same event has the
// same one. The name of a workflow holds no slash.
func requestIDOf(kind, workflow, trigger, event string) string {
	sum := sha256.Sum256([]byte(event))
	return kind + "/" + workflow + "/" + trigger + "/" + hex.EncodeToString(sum[:])
}

// dedupeIDs are the ids under which the first request with a key may have made its
// run: that of today and that of the day before.
func dedupeIDs(id string, now time.Time) []string {
	day := now.Unix() / int64(dedupeFor/time.Second)
	return []string{fmt.Sprintf("%s/%d", id, day), fmt.Sprintf("%s/%d", id, day-1)}
}

// dedupeKey evaluates what tells events apart; "" = nothing does.
func dedupeKey(rev *inforce.Revision, t *plan.Trigger, roots map[string]any, now time.Time) (string, error) {
	if t.Webhook.Dedupe == nil {
		return "", nil
	}
	code, err := rev.Code()
	if err != nil {
		return "", refuseHook(http.StatusUnprocessableEntity, "%v", err)
	}
	value, failure := code.Value(*t.Webhook.Dedupe, schema.Of(schema.String), roots, now)
	if failure != nil {
		return "", refuseHook(http.StatusUnprocessableEntity, "dedupe: %s", failure.Message)
	}
	key, ok := value.(string)
	switch {
	case value == nil:
		return "", nil
	case !ok:
		return "", refuseHook(http.StatusUnprocessableEntity, "dedupe must be text, got %s", schema.TypeOf(value))
	case len(key) > maxDedupeKey:
		return "", refuseHook(http.StatusUnprocessableEntity, "the dedupe key is longer than %d bytes", maxDedupeKey)
	}
	return key, nil
}

func refuseHook(status int, format string, args ...any) *HookRefusedError {
	return &HookRefusedError{Status: status, Message: fmt.Sprintf(format, args...)}
}
