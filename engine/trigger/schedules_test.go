package trigger_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/fault"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/trigger"
)

const scheduledWorkflow = `flowrun: v1
name: report
inputs: {site: {type: string}}
triggers:
  daily: {cron: "30 2 * * *", timezone: Europe/Berlin, inputs: {site: A}}
  quarter: {every: 15m, inputs: {site: B}}
  hook: {webhook: {auth: {token: "${{ secrets.HOOK }}"}}, inputs: {site: C}}
steps:
  - {id: say, let: {text: "${{ inputs.site + ' ' + trigger.name + ' ' + trigger.kind }}"}}
outputs:
  text: ${{ steps.say.outputs.text }}
  at: ${{ run.scheduled_at }}
`

// scheduled is an engine over schedules whose clock a test sets. Nothing fires by
// itself: no server's parts run.
type scheduled struct {
	*engine.Engine
	t     *testing.T
	dir   string
	clock *testClock
}

func newScheduled(t *testing.T) *scheduled {
	t.Helper()
	s := &scheduled{t: t, dir: t.TempDir(), clock: &testClock{at: time.Date(2026, 3, 27, 12, 0, 0, 0, time.UTC)}}
	writePlain(t, s.dir, "flowrun.yaml", "workflows: [report.yaml]\n")
	writePlain(t, s.dir, "report.yaml", scheduledWorkflow)
	s.open()
	t.Cleanup(func() { closeEngine(t, s.Engine) })
	return s
}

func (s *scheduled) open() {
	s.t.Helper()
	s.Engine = openTriggered(s.t, s.dir, s.clock, nil)
}

// fires tells what is stored of a trigger, the oldest slot first.
func (s *scheduled) fires(name string) []string {
	s.t.Helper()
	rows, _, err := s.Fires(s.t.Context(), runs.FireFilter{Workflow: "report", Trigger: name, Limit: 1000})
	if err != nil {
		s.t.Fatal(err)
	}
	lines := []string{}
	for _, row := range slices.Backward(rows) {
		line := row.Slot.Format("01-02 15:04 ") + row.Skipped
		if row.Run != "" {
			line += "run"
		}
		if row.Slots > 1 {
			line += fmt.Sprintf(" ×%d", row.Slots)
		}
		if row.Backfill {
			line += " backfill"
		}
		if row.By != "" {
			line += " by " + row.By
		}
		lines = append(lines, line)
	}
	return lines
}

func (s *scheduled) holds(trigger string, want ...string) {
	s.t.Helper()
	if diff := cmp.Diff(append([]string{}, want...), s.fires(trigger)); diff != "" {
		s.t.Errorf("fires of %s (-want +got)\n%s", trigger, diff)
	}
}

func (s *scheduled) text(run string) string {
	s.t.Helper()
	text, err := json.Marshal(ended(s.t, s.Engine, run).Outputs)
	if err != nil {
		s.t.Fatal(err)
	}
	return string(text)
}

func TestSchedulesAreToldWithoutAServer(t *testing.T) {
	s := newScheduled(t)
	items, err := s.Schedules(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, item := range items {
		got = append(got, fmt.Sprintf("%s %s %s%s %s %s %v", item.ID, item.Kind, item.Cron, item.Every, item.Timezone, item.Next.Format(time.RFC3339), item.Running))
	}
	want := []string{
		"report/daily cron 30 2 * * * Europe/Berlin 2026-03-28T01:30:00Z false", "report/quarter every 15m UTC 2026-03-27T12:15:00Z false",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	alone, err := engine.Offline{Workspace: s.Project()}.Schedules(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(items, alone); diff != "" {
		t.Errorf("the files alone say otherwise (-store +files)\n%s", diff)
	}
}

func TestRule17NextFiresHaveNotes(t *testing.T) {
	s := newScheduled(t)
	next, err := s.NextFires(t.Context(), "report/daily", time.Time{}, 3)
	if err != nil {
		t.Fatal(err)
	}
	want := []trigger.NextFire{
		{At: time.Date(2026, 3, 28, 1, 30, 0, 0, time.UTC)},
		{At: time.Date(2026, 3, 29, 1, 0, 0, 0, time.UTC), Note: "02:30 does not exist on 2026-03-29: this is the first minute after the gap"},
		{At: time.Date(2026, 3, 30, 0, 30, 0, 0, time.UTC)},
	}
	if diff := cmp.Diff(want, next.Fires); diff != "" || len(next.Next) != 3 || !next.Next[2].Equal(want[2].At) {
		t.Errorf("%v (-want +got)\n%s", next.Next, diff)
	}
	from := time.Date(2026, 10, 24, 12, 0, 0, 0, time.UTC)
	autumn, err := engine.Offline{Workspace: s.Project()}.NextFires(t.Context(), "report/daily", from, 1)
	if err != nil || len(autumn.Fires) != 1 || !strings.Contains(autumn.Fires[0].Note, "comes twice") {
		t.Errorf("%v %+v", err, autumn)
	}
}

func TestASchedulesIDIsChecked(t *testing.T) {
	s := newScheduled(t)
	for id, want := range map[string]string{
		"report/dayly": "did you mean `report/daily`?", "report/hook": "kind webhook", "nothing": "WORKFLOW/TRIGGER", "no/such": "WORKFLOW/TRIGGER", "": "WORKFLOW/TRIGGER", "a/b/c": "WORKFLOW/TRIGGER",
	} {
		_, err := s.PauseSchedule(t.Context(), id, trigger.PauseRequest{})
		var unknown *fault.UnknownError
		if !errors.As(err, &unknown) || !strings.Contains(unknown.Hint.Text, want) {
			t.Errorf("%q: %#v, want %q", id, err, want)
		}
	}
}

func TestAPauseLastsOverRestartsAndARefusesToFlood(t *testing.T) {
	s := newScheduled(t)
	for range 2 { // once more changes nothing
		item, err := s.PauseSchedule(t.Context(), "report/quarter", trigger.PauseRequest{By: "ann", Reason: "holidays"})
		if err != nil || !item.Paused || item.PausedBy != "ann" || item.PausedReason != "holidays" || item.Next != nil || !item.PausedAt.Equal(s.clock.now()) {
			t.Fatalf("%v %+v", err, item)
		}
	}
	closeEngine(t, s.Engine)
	s.open()
	if items, err := s.Schedules(t.Context()); err != nil || !items[1].Paused {
		t.Fatalf("%v %+v", err, items)
	}
	s.look() // the first look of a server
	s.clock.move(time.Hour)
	item, err := s.ResumeSchedule(t.Context(), "report/quarter", trigger.PauseRequest{By: "ann"})
	if err != nil || item.Paused || item.PausedAt != nil || item.Next == nil || !item.Next.Equal(s.clock.now().Add(15*time.Minute)) {
		t.Fatalf("%v %+v", err, item)
	}
	s.holds("quarter", "03-27 12:15 paused ×4")
	s.look()
	s.holds("quarter", "03-27 12:15 paused ×4")
	s.clock.move(15 * time.Minute)
	s.look()
	s.holds("quarter", "03-27 12:15 paused ×4", "03-27 13:15 run")
}

// look lets the loop look once, as it does when a server begins.
func (s *scheduled) look() {
	s.t.Helper()
	closeEngine(s.t, s.Engine)
	s.open()
	if err := s.AlwaysOn(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
	eventually(s.t, "the loop to look", func() bool {
		states, err := s.Store().TriggerStates()
		if err != nil {
			s.t.Fatal(err)
		}
		looked := 0
		for _, state := range states {
			if state.Hash != "" && (state.Done.Equal(s.clock.now()) || s.clock.now().Sub(state.Done) < 15*time.Minute || state.Trigger == "daily") {
				looked++
			}
		}
		return looked == 2
	})
}

func TestATriggerByHandLeavesTheSlotsAlone(t *testing.T) {
	s := newScheduled(t)
	s.look()
	first, err := s.TriggerSchedule(t.Context(), "report/daily", trigger.Request{By: "ann", RequestID: "one"})
	if err != nil {
		t.Fatal(err)
	}
	again, err := s.TriggerSchedule(t.Context(), "report/daily", trigger.Request{By: "ann", RequestID: "one"})
	if err != nil || again.ID != first.ID {
		t.Fatalf("%v: %s, want %s", err, again.ID, first.ID)
	}
	if got, want := s.text(first.ID), `{"at":"2026-03-27T12:00:00Z","text":"A daily cron"}`; got != want || first.Trigger != "daily" {
		t.Errorf("got %s, want %s", got, want)
	}
	if _, err := s.TriggerSchedule(t.Context(), "report/quarter", trigger.Request{By: "ann"}); err != nil { // 12:00 is a slot of the clock
		t.Fatal(err)
	}
	s.holds("daily", "03-27 12:00 run by ann")
	s.clock.move(15 * time.Minute)
	s.look()
	s.holds("quarter", "03-27 12:00 run by ann", "03-27 12:15 run")
}

func TestARunOfOneSlotByHand(t *testing.T) {
	s := newScheduled(t)
	slot := time.Date(2026, 3, 27, 11, 45, 0, 0, time.UTC)
	run, err := s.TriggerSchedule(t.Context(), "report/quarter", trigger.Request{At: slot, By: "ann"})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := s.text(run.ID), `{"at":"2026-03-27T11:45:00Z","text":"B quarter every"}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	_, err = s.TriggerSchedule(t.Context(), "report/quarter", trigger.Request{At: slot, By: "ann"})
	var conflict *fault.ConflictError
	if !errors.As(err, &conflict) || !strings.Contains(conflict.Message, run.ID) {
		t.Errorf("%v", err)
	}
}

func TestABackfillTakesTheSlotsThatHaveNoRun(t *testing.T) {
	s := newScheduled(t)
	at := func(hour, minute int) time.Time { return time.Date(2026, 3, 27, hour, minute, 0, 0, time.UTC) }
	if _, err := s.TriggerSchedule(t.Context(), "report/quarter", trigger.Request{At: at(11, 15), By: "ann"}); err != nil {
		t.Fatal(err)
	}
	request := trigger.BackfillRequest{From: at(11, 0), Until: at(12, 0), DryRun: true, By: "ann"}
	dry, err := s.Backfill(t.Context(), "report/quarter", request)
	if err != nil || len(dry.Slots) != 3 || len(dry.Skipped) != 1 || dry.Slots[0].Run != "" || !dry.DryRun {
		t.Fatalf("%v %+v", err, dry)
	}
	s.holds("quarter", "03-27 11:15 run backfill by ann")
	request.DryRun = false
	result, err := s.Backfill(t.Context(), "report/quarter", request)
	if err != nil || len(result.Slots) != 3 || result.Slots[0].Run == "" || result.Slots[1].Run != "" {
		t.Fatalf("%v %+v", err, result)
	}
	all := []string{"03-27 11:00 run backfill by ann", "03-27 11:15 run backfill by ann", "03-27 11:30 run backfill by ann", "03-27 11:45 run backfill by ann"}
	eventually(t, "the runs of the backfill", func() bool { return s.Busy() == 0 })
	s.holds("quarter", all...)
	if got := s.text(result.Slots[0].Run); !strings.Contains(got, "2026-03-27T11:00:00Z") {
		t.Error(got)
	}
	again, err := s.Backfill(t.Context(), "report/quarter", request)
	if err != nil || len(again.Slots) != 0 || len(again.Skipped) != 4 {
		t.Fatalf("%v %+v", err, again)
	}
	request.All, request.MaxParallel = true, 10
	if twice, err := s.Backfill(t.Context(), "report/quarter", request); err != nil || len(twice.Slots) != 4 || slices.ContainsFunc(twice.Slots, func(f runs.Fire) bool { return f.Run == "" }) {
		t.Fatalf("%v %+v", err, twice)
	}
	if got := s.fires("quarter"); len(got) != 8 {
		t.Errorf("%q", got)
	}
}

// A backfill fills the slots that were skipped, and the row says both.
func TestABackfillFillsSkippedSlots(t *testing.T) {
	s := newScheduled(t)
	s.look()
	s.clock.move(3 * time.Hour)
	s.look()
	s.holds("quarter", "03-27 12:15 late ×7", "03-27 14:00 catchup ×4", "03-27 15:00 run")
	result, err := s.Backfill(t.Context(), "report/quarter", trigger.BackfillRequest{From: s.clock.now().Add(-time.Hour), Until: s.clock.now().Add(time.Hour), MaxParallel: 10})
	if err != nil || len(result.Slots) != 4 || len(result.Skipped) != 1 {
		t.Fatalf("%v %+v", err, result)
	}
	if got := s.fires("quarter"); len(got) != 6 {
		t.Errorf("%q", got)
	}
}

// A server goes on with a backfill after a restart, one run at a time as before;
// canceling a run ends it.
func TestABackfillOutlivesItsServer(t *testing.T) {
	dir, clock := t.TempDir(), &testClock{at: time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)}
	writePlain(t, dir, "flowrun.yaml", "workflows: [w.yaml]\n")
	writePlain(t, dir, "w.yaml", "flowrun: v1\nname: w\ntriggers: {t: {every: 1h}}\nsteps:\n  - {id: ask, uses: core.wait, with: {signal: go}}\n")
	begin := func() *engine.Engine {
		e := openTriggered(t, dir, clock, nil)
		if err := e.AlwaysOn(t.Context()); err != nil {
			t.Fatal(err)
		}
		return e
	}
	open := func(e *engine.Engine) (ids []string) {
		rows, _, err := e.List(t.Context(), runs.Filter{})
		if err != nil {
			t.Fatal(err)
		}
		for _, run := range rows {
			if !run.Closed {
				ids = append(ids, run.ID)
			}
		}
		return ids
	}
	e := begin()
	result, err := e.Backfill(t.Context(), "w/t", trigger.BackfillRequest{From: clock.now().Add(-5 * time.Hour), Until: clock.now()})
	if err != nil || len(result.Slots) != 5 {
		t.Fatalf("%v %+v", err, result)
	}
	for round := range 2 { // a restart while a run goes on: it is still the only one
		closeEngine(t, e)
		e = begin()
		eventually(t, "the backfill", func() bool { return e.Pending() == 1 })
		first := open(e)
		if len(first) != 1 {
			t.Fatalf("round %d: open are %v", round, first)
		}
		eventually(t, "the run to wait", func() bool {
			row, err := e.Store().Run(first[0])
			if err == nil {
				e.Runs().NoteUndriven(row)
			}
			return err == nil && row.Status == runs.RunWaiting && !row.Undriven
		})
		if _, err := e.Decide(t.Context(), first[0], "ask", engine.ActSignal, engine.DecideRequest{Payload: []byte("{}"), By: "ann"}); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the next run", func() bool { ids := open(e); return len(ids) == 1 && ids[0] != first[0] })
	}
	if err := e.Cancel(t.Context(), open(e)[0], "ann"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the end of the backfill", func() bool { return e.Pending() == 0 })
	closeEngine(t, e)
	e = begin()
	defer closeEngine(t, e)
	eventually(t, "the server", e.Background)
	if keys, err := e.Store().KV().List(trigger.BackfillBucket, ""); err != nil || len(keys) != 0 {
		t.Errorf("%v %v", keys, err)
	}
	if rows, _, err := e.Fires(t.Context(), runs.FireFilter{Workflow: "w"}); err != nil || len(rows) != 3 {
		t.Errorf("%v %v", err, rows)
	}
}

func TestABackfillIsRefused(t *testing.T) {
	s := newScheduled(t)
	now := s.clock.now()
	for name, c := range map[string]struct {
		request trigger.BackfillRequest
		want    string
	}{
		"no beginning":       {trigger.BackfillRequest{Until: now}, "needs the time"},
		"in the future":      {trigger.BackfillRequest{From: now.Add(time.Hour), Until: now.Add(2 * time.Hour)}, "in the future"},
		"backwards":          {trigger.BackfillRequest{From: now, Until: now.Add(-time.Hour)}, "ends before it begins"},
		"too many slots":     {trigger.BackfillRequest{From: now.AddDate(-1, 0, 0), Until: now}, "more than 10000 slots"},
		"too many at a time": {trigger.BackfillRequest{From: now.Add(-time.Hour), Until: now, MaxParallel: 101}, "1 to 100"},
	} {
		_, err := s.Backfill(t.Context(), "report/quarter", c.request)
		var wrong *fault.InputError
		if !errors.As(err, &wrong) || !strings.Contains(wrong.Message, c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// A workflow that keeps something between runs queues them; a schedule of it skips
// all the same while its last run is active, since it declares no `concurrency`.
func TestRule16AnImpliedConcurrencyIsNoneForASchedule(t *testing.T) {
	dir, clock := t.TempDir(), &testClock{at: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	writePlain(t, dir, "flowrun.yaml", "workflows: [a.yaml, b.yaml, c.yaml]\n")
	const steps = "steps:\n  - {uses: core.sleep, with: {for: 1h}}\n"
	writePlain(t, dir, "a.yaml", "flowrun: v1\nname: a\ntriggers: {t: {every: 1m}}\nstate: {n: {type: integer, default: 0}}\n"+steps+"  - {set_state: {n: 1}}\n")
	writePlain(t, dir, "b.yaml", "flowrun: v1\nname: b\ntriggers: {t: {every: 1m}}\n"+steps)
	writePlain(t, dir, "c.yaml", "flowrun: v1\nname: c\ntriggers: {t: {every: 1m}}\nconcurrency: {key: c, limit: 1, on_full: queue}\n"+steps)
	e := openTriggered(t, dir, clock, nil)
	defer closeEngine(t, e)
	items, err := e.ScheduledItems(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]bool{}
	for _, item := range items {
		got[item.Workflow] = item.Exclusive
	}
	if want := map[string]bool{"a": true, "b": true, "c": false}; !cmp.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestFiresAreAskedForByTheirTrigger(t *testing.T) {
	s := newScheduled(t)
	if _, err := s.TriggerSchedule(t.Context(), "report/daily", trigger.Request{}); err != nil {
		t.Fatal(err)
	}
	for _, f := range []runs.FireFilter{{}, {Workflow: "report"}, {Trigger: "report/daily"}, {Workflow: "report", Trigger: "daily"}} {
		if rows, _, err := s.Fires(t.Context(), f); err != nil || len(rows) != 1 || rows[0].By != "somebody" {
			t.Errorf("%+v: %v %v", f, err, rows)
		}
	}
	var wrong *fault.InputError
	for _, f := range []runs.FireFilter{{Trigger: "daily"}, {Cursor: "no"}, {Cursor: "AAAAAAAAAAAAAAAAAAAA", Workflow: "report"}} {
		if _, _, err := s.Fires(t.Context(), f); !errors.As(err, &wrong) {
			t.Errorf("%+v: %v", f, err)
		}
	}
}
