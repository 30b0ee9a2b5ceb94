package page

import (
	"context"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"time"

	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/trigger"
	"github.com/flowrun/flowrun/engine/workspace"
	"github.com/flowrun/flowrun/internal/web/wire"
)

// How much of a schedule a page names.
const (
	nextShown  = 10
	firesShown = 25
)

// schedulesData is what the list of schedules shows.
type schedulesData struct {
	Page    listPage[scheduleRow]
	Axis    template.HTML
	Paused  int
	Running bool // a scheduler acts on them
}

// scheduleRow is one schedule in the list.
type scheduleRow struct {
	trigger.ScheduleItem
	URL         string
	WorkflowURL string
	Text        string
	Strip       *strip
	LastStatus  runs.Status // of the run of its last fire; "" where it is not known
}

func (s *site) schedules(r *http.Request) (*screen, error) {
	all, err := s.Engine.Schedules(r.Context())
	if err != nil {
		return nil, err
	}
	data := schedulesData{Axis: axis(s.Now(), s.Location), Running: true}
	rows := make([]scheduleRow, len(all))
	for i, item := range all {
		rows[i] = newScheduleRow(item)
		if item.Paused {
			data.Paused++
		}
		data.Running = data.Running && item.Running
	}
	data.Page = pageOf(r, rows, func(row *scheduleRow, word string) bool {
		return contains(word, row.ID, row.Text, row.Timezone) || word == "paused" && row.Paused
	})
	known := newRunsKnown(s.Engine, s.Now())
	for i := range data.Page.Items {
		row := &data.Page.Items[i]
		if err := s.fillRow(r.Context(), row, known); err != nil {
			return nil, err
		}
	}
	return &screen{Title: "Schedules", Nav: "/schedules", Template: "schedules", Data: data, Live: live{Runs: true, Every: liveEvery}}, nil
}

// fillRow adds what has to be looked up.
func (s *site) fillRow(ctx context.Context, row *scheduleRow, known *runsKnown) (err error) {
	if row.Strip, err = s.strip(ctx, &row.ScheduleItem, known); err != nil || row.Last == nil || row.Last.Run == "" {
		return err
	}
	runs, err := known.of(ctx, row.Workflow)
	if err == nil {
		row.LastStatus = runs.statuses[row.Last.Run]
	}
	return err
}

// liveEvery is how often a page is looked at again that changes by the clock.
const liveEvery = 15 * time.Second

// newScheduleRow is a schedule with what it says of itself.
func newScheduleRow(item trigger.ScheduleItem) scheduleRow {
	row := scheduleRow{
		ScheduleItem: item, URL: scheduleURL(item.Workflow, item.Trigger), WorkflowURL: workflowURL(item.Workflow), Text: "every " + item.Every,
	}
	switch {
	case item.Cron != "":
		row.Text = item.Cron
	case item.Kind == plan.TriggerPoll:
		row.Text = "poll every " + item.Every
	}
	return row
}

// scheduleData is what the page of one schedule shows.
type scheduleData struct {
	scheduleRow
	Axis    template.HTML
	Coming  *trigger.NextFires
	Fires   []fireRow
	Older   string // path of the next page of fires
	First   string
	At      *field // of a run by hand
	From    *field // of a backfill
	Until   *field
	All     bool
	AtOnce  string
	Error   string
	Preview *trigger.BackfillResult
	Started *trigger.BackfillResult
}

// BackfillCommand is the command that does what the form says.
func (d *scheduleData) BackfillCommand() []any {
	args := []any{"schedules", "backfill", d.ID, "--from", boundOf(d.From, "7d")}
	if until := boundOf(d.Until, ""); until != "" {
		args = append(args, "--until", until)
	}
	if d.All {
		args = append(args, "--all")
	}
	if d.AtOnce != "" && d.AtOnce != "1" {
		args = append(args, "--max-parallel", d.AtOnce)
	}
	return append(args, "--dry-run")
}

// boundOf is what a control says as a command takes it, or an example.
func boundOf(f *field, example string) string {
	if input, given, err := f.take(f.Value, url.Values{f.Input + ".zone": {f.chosenZone()}}); err == nil && given {
		return input.Text
	}
	return example
}

// fireRow is one fire with its run.
type fireRow struct {
	runs.Fire
	RunURL string
	Status runs.Status // "" where it is not known
	Why    string
}

func (s *site) schedule(r *http.Request) (*screen, error) {
	data, err := s.scheduleData(r)
	if err != nil {
		return nil, err
	}
	return s.scheduleScreen(data), nil
}

func (s *site) scheduleScreen(data *scheduleData) *screen {
	return &screen{Title: "Schedule " + data.ID, Nav: "/schedules", Template: "schedule", Data: data, Live: live{Runs: true, Every: liveEvery}}
}

// scheduleID is the schedule that the path names.
func scheduleID(r *http.Request) string {
	return runs.TriggerID(r.PathValue("workflow"), r.PathValue("trigger"))
}

func (s *site) scheduleData(r *http.Request) (*scheduleData, error) {
	item, err := s.findSchedule(r)
	if err != nil {
		return nil, err
	}
	data := &scheduleData{scheduleRow: newScheduleRow(*item), Axis: axis(s.Now(), s.Location), AtOnce: "1"}
	known := newRunsKnown(s.Engine, s.Now())
	if err := s.fillRow(r.Context(), &data.scheduleRow, known); err != nil {
		return nil, err
	}
	if data.Coming, err = s.Engine.NextFires(r.Context(), item.ID, time.Time{}, nextShown); err != nil {
		return nil, err
	}
	data.At, data.From, data.Until = s.timeField("at"), s.timeField("from"), s.timeField("until")
	return data, s.readFires(r, data, known)
}

func (s *site) findSchedule(r *http.Request) (*trigger.ScheduleItem, error) {
	all, err := s.Engine.Schedules(r.Context())
	if err != nil {
		return nil, err
	}
	id := scheduleID(r)
	for i := range all {
		if all[i].ID == id {
			return &all[i], nil
		}
	}
	return nil, notFound("schedule", id)
}

// readFires reads the page of fires that the URL asks for.
func (s *site) readFires(r *http.Request, data *scheduleData, known *runsKnown) error {
	cursor := r.URL.Query().Get("cursor")
	fires, next, err := s.Engine.Fires(r.Context(), runs.FireFilter{Workflow: data.Workflow, Trigger: data.Trigger, Limit: firesShown, Cursor: cursor})
	if err != nil {
		return err
	}
	if len(fires) > 0 {
		runs, err := known.of(r.Context(), data.Workflow)
		if err != nil {
			return err
		}
		for _, fire := range fires {
			row := fireRow{Fire: fire, Why: skipText(fire.Skipped)}
			if fire.Run != "" {
				row.RunURL, row.Status = runURL(fire.Run), runs.statuses[fire.Run]
			}
			data.Fires = append(data.Fires, row)
		}
	}
	if next != "" {
		data.Older = wire.WithQuery(data.URL, wire.Query("cursor", next))
	}
	if cursor != "" {
		data.First = data.URL
	}
	return nil
}

// timeField is a control for a time, in the page's zone.
func (s *site) timeField(name string) *field {
	one := &field{FormField: workspace.FormField{Name: name, Kind: workspace.FieldTime}, ID: "f-" + name, Input: name, Label: name, zone: plainZone(s.Location)}
	one.showTime("", true)
	return one
}

// readTime reads such a control; the zero time where it is empty.
func readTime(one *field, r *http.Request) time.Time {
	input, given, err := one.take(r.PostFormValue(one.Input), r.PostForm)
	if err != nil {
		one.Error = err.Error()
		return time.Time{}
	}
	if !given {
		return time.Time{}
	}
	at, err := time.Parse(time.RFC3339, input.Text)
	if err != nil {
		one.Error = fmt.Sprintf("%q is not a time", input.Text)
	}
	return at
}
