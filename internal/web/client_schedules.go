package web

import (
	"context"
	"net/url"
	"time"

	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/trigger"
	"github.com/flowrun/flowrun/internal/web/wire"
)

// Schedules lists the schedules and polls, by id.
func (c *Client) Schedules(ctx context.Context) (*SchedulePage, error) {
	return fetch[SchedulePage](ctx, c, "/schedules")
}

// NextFires returns the next n slots of a schedule after from; zero values are
// now and the server's own number.
func (c *Client) NextFires(ctx context.Context, id string, from time.Time, n int) (*NextAnswer, error) {
	return fetch[NextAnswer](ctx, c, wire.WithQuery(schedulePath(id, "/next"), wire.Query("from", moment(from, time.RFC3339), "n", number(n))))
}

// Fires returns one page of what triggers did, the newest slot first.
func (c *Client) Fires(ctx context.Context, f runs.FireFilter) (*Page[runs.Fire], error) {
	return fetch[Page[runs.Fire]](ctx, c, wire.WithQuery("/fires", wire.Query("workflow", f.Workflow, "trigger", f.Trigger, "cursor", f.Cursor,
		"since", moment(f.Since, time.RFC3339Nano), "until", moment(f.Until, time.RFC3339Nano), "limit", number(f.Limit))))
}

// PauseSchedule stops a schedule from firing until it is resumed.
func (c *Client) PauseSchedule(ctx context.Context, id string, r trigger.PauseRequest) (*trigger.ScheduleItem, error) {
	return post[trigger.ScheduleItem](ctx, c, schedulePath(id, "/pause"), r)
}

// ResumeSchedule lets a paused schedule fire again.
func (c *Client) ResumeSchedule(ctx context.Context, id string, r trigger.PauseRequest) (*trigger.ScheduleItem, error) {
	return post[trigger.ScheduleItem](ctx, c, schedulePath(id, "/resume"), r)
}

// TriggerSchedule starts a run of a schedule by hand.
func (c *Client) TriggerSchedule(ctx context.Context, id string, r trigger.Request) (*runs.Run, error) {
	answer, err := post[RunAnswer](ctx, c, schedulePath(id, "/trigger"), r)
	return answer.Run, err
}

// Backfill starts runs of past slots, or says which it would start.
func (c *Client) Backfill(ctx context.Context, id string, r trigger.BackfillRequest) (*trigger.BackfillResult, error) {
	return post[trigger.BackfillResult](ctx, c, schedulePath(id, "/backfill"), r)
}

func schedulePath(id, rest string) string { return "/schedules/" + url.PathEscape(id) + rest }
