package deliver

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/flowrun/flowrun/engine/notify"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/store"
)

// failedEvent is the word of `on` in flowrun.yaml for deliveries that nobody tries again.
const failedEvent = "delivery_failed"

// noticeFailed notes a message for each target that wants to hear of deliveries that
// failed. A message is on its way as an output is: kept, and tried again.
func (d *Deliveries) noticeFailed(one *runs.Delivery) {
	for i := range d.project.Declared().Notify {
		target := &d.project.Declared().Notify[i]
		if !slices.Contains(target.On, failedEvent) {
			continue
		}
		now := d.config.Now().UTC()
		notice := &runs.Delivery{
			Run: one.Run, ID: fmt.Sprintf("!notice/%s/%s/%d", target.Name, one.ID, one.Attempts), Output: one.Output, To: "notify." + target.Name,
			Action: runs.CoreNotify, State: runs.DeliveryWaiting, CreatedAt: now, NextAt: &now,
			Notice: &runs.DeliveryNotice{Target: target.Name, Text: d.project.Redact(noticeText(one))},
		}
		if err := store.PutDelivery(d.store.KV(), notice, true); err != nil {
			if !errors.Is(err, store.ErrConflict) {
				d.warn("notice not stored", err, "run", one.Run)
			}
			continue
		}
		d.plan(notice)
	}
}

// noticeText says for people what was not delivered, why, and what to do.
func noticeText(one *runs.Delivery) string {
	what := "was not delivered"
	if one.State == runs.DeliveryUnknown {
		what = "may not have been delivered"
	}
	return fmt.Sprintf("output %s of run %s %s to %s: %s\nflowrun runs show %s", one.Output, one.Run, what, one.To, one.Error.Message, one.Run)
}

// sendNotice tells a target of a delivery that failed. That it was not told is said in the
// log alone.
func (d *Deliveries) sendNotice(ctx context.Context, one *runs.Delivery) {
	row, err := d.store.Run(one.Run)
	if err != nil {
		if errors.Is(err, store.ErrRunNotFound) {
			err = store.DropDeliveries(d.store.KV(), one.Run)
		}
		if err != nil {
			d.warn("notice not sent", err, "run", one.Run)
		}
		return
	}
	one.State, one.NextAt, one.Attempts = runs.DeliverySending, nil, one.Attempts+1
	if err := store.PutDelivery(d.store.KV(), one, false); err != nil {
		d.warn("notice not stored", err, "run", one.Run)
		return
	}
	var failed *runs.Error
	if d.project.Tells(one.Notice.Target) {
		ctx, cancel := context.WithTimeout(ctx, notifyTime)
		defer cancel()
		failed = d.project.Tell(ctx, one.Notice.Target, notify.Message{
			Text: one.Notice.Text, To: one.Notice.Target, Event: failedEvent, Workflow: row.Workflow, Run: one.Run, At: one.CreatedAt,
		}, runs.DeliveryKey(one.Run, one.ID))
	}
	now := d.config.Now().UTC()
	one.Error = failed
	switch {
	case failed == nil:
		one.State, one.DeliveredAt = runs.DeliveryDelivered, &now
	case failed.Kind == plan.KindCanceled, slices.Contains(plan.DefaultRetryKinds(), failed.Kind) && now.Sub(one.CreatedAt) < time.Hour:
		at := now.Add(delay(one.Attempts, failed.RetryAfterS))
		one.State, one.NextAt = runs.DeliveryWaiting, &at
	default:
		one.State = runs.DeliveryFailed
		d.config.Log.Error("notice not sent", "target", one.Notice.Target, "run", one.Run, "event", failedEvent, "error", d.project.Redact(failed.Message))
	}
	if err := store.PutDelivery(d.store.KV(), one, false); err != nil {
		d.warn("notice not stored", err, "run", one.Run)
		return
	}
	d.plan(one)
}
