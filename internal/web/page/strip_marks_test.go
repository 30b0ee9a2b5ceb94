package page

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/trigger"
)

// busyEngine has a schedule that has fired every few seconds since ever, with a
// run of which each is known to have failed that began in the given minute.
type busyEngine struct {
	Engine
	every  time.Duration
	failed time.Time
	asked  int // fires
}

func (b *busyEngine) Fires(_ context.Context, f runs.FireFilter) ([]runs.Fire, string, error) {
	until := f.Until
	if until.IsZero() {
		until = noon
	}
	var fires []runs.Fire
	for at := until.Truncate(b.every); !at.Before(f.Since) && len(fires) < f.Limit; at = at.Add(-b.every) {
		if at.Before(until) {
			fires = append(fires, runs.Fire{Workflow: f.Workflow, Trigger: f.Trigger, Slot: at, Run: at.Format(time.RFC3339)})
		}
	}
	b.asked += len(fires)
	return fires, "", nil
}

func (b *busyEngine) NextFires(_ context.Context, id string, from time.Time, n int) (*trigger.NextFires, error) {
	next := &trigger.NextFires{ID: id}
	for range n {
		from = from.Truncate(b.every).Add(b.every)
		next.Next = append(next.Next, from)
	}
	return next, nil
}

func (b *busyEngine) List(_ context.Context, f runs.Filter) ([]runs.Run, string, error) {
	switch f.Status {
	case runs.RunFailed:
		return []runs.Run{{ID: b.failed.Format(time.RFC3339), Status: runs.RunFailed, Trigger: "t", ScheduledAt: b.failed}}, "", nil
	case runs.RunTimedOut:
		return nil, "", nil
	}
	var rows []runs.Run
	for i := range f.Limit {
		at := noon.Add(-time.Duration(i+1) * b.every)
		rows = append(rows, runs.Run{ID: at.Format(time.RFC3339), Status: runs.RunSucceeded, Trigger: "t", ScheduledAt: at})
	}
	return rows, "more", nil
}

func TestAScheduleOfEverySecondFillsItsDay(t *testing.T) {
	for _, every := range []time.Duration{time.Second, 5 * time.Second, time.Minute} {
		t.Run(fmt.Sprint(every), func(t *testing.T) {
			busy := &busyEngine{every: every, failed: noon.Add(-9 * time.Hour)}
			s := &site{Options: Options{Engine: busy, Now: func() time.Time { return noon }, Location: time.UTC}}
			drawn, err := s.strip(t.Context(), &trigger.ScheduleItem{ID: "w/t", Workflow: "w", Trigger: "t"}, newRunsKnown(busy, noon))
			if err != nil {
				t.Fatal(err)
			}
			first, last := drawn.marks[0], drawn.marks[len(drawn.marks)-1]
			if first.from.After(noon.Add(-stripHalf+2*time.Minute)) || last.to.Before(noon.Add(stripHalf-2*time.Minute)) || last.kind != "coming" {
				t.Errorf("it is drawn from %s to %s (%s)", first.from, last.to, last.kind)
			}
			if !slices.ContainsFunc(drawn.marks, func(m slotMark) bool { return m.kind == "failed" && m.from.Equal(busy.failed) }) {
				t.Errorf("what failed nine hours ago is hidden: %s", drawn.Words())
			}
			if svg := string(drawn.SVG()); len(svg) > 4000 || !strings.Contains(svg, "many") {
				t.Errorf("%d bytes: %s", len(svg), svg)
			}
			if busy.asked > 500 {
				t.Errorf("%d fires were read for it", busy.asked)
			}
		})
	}
}
