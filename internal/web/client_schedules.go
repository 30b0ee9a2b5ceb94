package web

import (
	"context"
	"net/url"
	"strconv"
	"time"

	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/trigger"
)

// Schedules lists the schedules and polls, by id.
func (c *Client) Schedules(ctx context.Context) (*SchedulePage, error) {
	page := new(SchedulePage)
	return page, c.get(ctx, "/schedules", page)
}

// NextFires returns the next n slots of a schedule after from; zero values are
// now and the server's own number.
func (c *Client) NextFires(ctx context.Context, id string, from time.Time, n int) (*NextAnswer, error) {
	query := url.Values{}
	if !from.IsZero() {
		query.Set("from", from.Format(time.RFC3339))
	}
	if n > 0 {
		query.Set("n", strconv.Itoa(n))
	}
	next := new(NextAnswer)
	return next, c.get(ctx, schedulePath(id, "/next")+"?"+query.Encode(), next)
}

// Fires returns one page of what triggers did, the newest slot first.
func (c *Client) Fires(ctx context.Context, f runs.FireFilter) (*Page[runs.Fire], error) {
	query := url.Values{}
	for name, value := range map[string]string{"workflow": f.Workflow, "trigger": f.Trigger, "cursor": f.Cursor} {
		if value != "" {
			query.Set(name, value)
		}
	}
	for name, at := range map[string]time.Time{"since": f.Since, "until": f.Until} {
		if !at.IsZero() {
			query.Set(name, at.Format(time.RFC3339Nano))
		}
	}
	if f.Limit > 0 {
		query.Set("limit", strconv.Itoa(f.Limit))
	}
	page := new(Page[runs.Fire])
	return page, c.get(ctx, "/fires?"+query.Encode(), page)
}

// PauseSchedule stops a schedule from firing until it is resumed.
func (c *Client) PauseSchedule(ctx context.Context, id string, r trigger.PauseRequest) (*trigger.ScheduleItem, error) {
	item := new(trigger.ScheduleItem)
	return item, c.post(ctx, schedulePath(id, "/pause"), r, item)
}

// ResumeSchedule lets a paused schedule fire again.
func (c *Client) ResumeSchedule(ctx context.Context, id string, r trigger.PauseRequest) (*trigger.ScheduleItem, error) {
	item := new(trigger.ScheduleItem)
	return item, c.post(ctx, schedulePath(id, "/resume"), r, item)
}

// TriggerSchedule starts a run of a schedule by hand.
func (c *Client) TriggerSchedule(ctx context.Context, id string, r trigger.Request) (*runs.Run, error) {
	var answer RunAnswer
	err := c.post(ctx, schedulePath(id, "/trigger"), r, &answer)
	return answer.Run, err
}

// Backfill starts runs of past slots, or says which it would start.
func (c *Client) Backfill(ctx context.Context, id string, r trigger.BackfillRequest) (*trigger.BackfillResult, error) {
	result := new(trigger.BackfillResult)
	return result, c.post(ctx, schedulePath(id, "/backfill"), r, result)
}

func schedulePath(id, rest string) string { return "/schedules/" + url.PathEscape(id) + rest }
