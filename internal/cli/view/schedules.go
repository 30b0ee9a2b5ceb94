package view

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/duration"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/trigger"
	"github.com/flowrun/flowrun/internal/cli/term"
)

// Schedules prints schedules, one a line.
func (p Page) Schedules(out io.Writer, items []trigger.ScheduleItem) {
	list(out, []string{"SCHEDULE", "WHEN", "NEXT", "LAST", "WHAT CAME OF IT"}, items, func(item trigger.ScheduleItem) []string {
		next := p.shortTime(item.Next, "-")
		if item.Paused {
			next = p.Style.Yellow("paused")
		}
		last, result := "-", ""
		if item.Last != nil {
			last, result = p.Times.Short(item.Last.Slot), fireText(*item.Last)
		}
		if item.LastRun != nil && item.Last != nil && item.LastRun.ID == item.Last.Run {
			result += " " + runStatusText(*item.LastRun)
		}
		if item.Paused {
			result = strings.TrimPrefix(result+"; "+pausedText(item), "; ")
		}
		return []string{term.Clean(item.ID), term.Clean(when(item.Kind, item.Cron, item.Every, item.Timezone)), next, last, term.Clean(result)}
	})
}

// when says in a few words when a schedule fires.
func when(kind plan.TriggerKind, cron, every, zone string) string {
	switch {
	case kind == plan.TriggerPoll:
		return "poll every " + every
	case cron == "":
		return "every " + every
	}
	return cron + " " + zone
}

func pausedText(item trigger.ScheduleItem) string {
	text := "paused"
	if item.PausedBy != "" {
		text += " by " + item.PausedBy
	}
	if item.PausedReason != "" {
		text += ": " + item.PausedReason
	}
	return text
}

// fireText says what became of a fire.
func fireText(fire runs.Fire) string {
	switch {
	case fire.Run != "":
		return fire.Run
	case fire.Slots > 1:
		return fmt.Sprintf("%d skipped: %s", fire.Slots, fire.Skipped)
	}
	return "skipped: " + fire.Skipped
}

// NextFires prints coming fires, those of a schedule below its name.
func (p Page) NextFires(out io.Writer, schedules []trigger.NextFires, now time.Time) {
	for i, s := range schedules {
		if i > 0 {
			fmt.Fprintln(out)
		}
		kind := plan.TriggerEvery
		if s.Cron != "" {
			kind = plan.TriggerCron
		}
		paused := ""
		if s.Paused {
			paused = "  " + p.Style.Yellow("(paused: nothing fires until it is resumed)")
		}
		fmt.Fprintf(out, "%s  %s%s\n", p.Style.Bold(term.Clean(s.ID)), term.Clean(when(kind, s.Cron, s.Every, s.Timezone)), paused)
		p.coming(out, s, now)
		if len(s.Fires) == 0 {
			fmt.Fprintln(out, "  never again")
		}
	}
}

func (p Page) coming(out io.Writer, s trigger.NextFires, now time.Time) {
	zone, err := time.LoadLocation(s.Timezone)
	if err != nil {
		zone = time.UTC
	}
	for _, fire := range s.Fires {
		here, there := p.Times.in(fire.At), fire.At.In(zone)
		line := "  " + here.Format("Mon 2006-01-02 15:04:05 MST")
		_, offset := here.Zone()
		if _, other := there.Zone(); s.Cron != "" && other != offset {
			line += there.Format("  = Mon 15:04:05 MST there")
		}
		if in := fire.At.Sub(now); in > 0 {
			line += "  " + p.Style.Dim("in "+distance(in))
		}
		if fire.Note != "" {
			line += "  " + p.Style.Yellow("! "+fire.Note)
		}
		fmt.Fprintln(out, line)
	}
}

// distance says roughly how far a time lies ahead.
func distance(d time.Duration) string {
	if d >= 48*time.Hour {
		return fmt.Sprintf("%dd", d/(24*time.Hour))
	}
	return duration.Brief(d.Truncate(time.Second))
}

// Fires prints fires, one a line.
func (p Page) Fires(out io.Writer, fires []runs.Fire) {
	list(out, []string{"SLOT", "TRIGGER", "RUN", "NOTE"}, fires, func(fire runs.Fire) []string {
		note := fire.Note
		if fire.Backfill {
			note = strings.TrimPrefix(note+"; backfill", "; ")
		}
		if fire.By != "" {
			note = strings.TrimPrefix(note+"; by "+fire.By, "; ")
		}
		result := term.Clean(fireText(fire))
		if strings.Contains(result, "skipped: ") {
			result = p.Style.Yellow(result)
		}
		return []string{p.Times.Short(fire.Slot), term.Clean(runs.TriggerID(fire.Workflow, fire.Trigger)), result, term.Clean(note)}
	})
}

// Backfill prints what a backfill starts, or would.
func (p Page) Backfill(out io.Writer, result *trigger.BackfillResult) {
	verb := "starts"
	if result.DryRun {
		verb = "would start"
	}
	fmt.Fprintf(out, "backfill of %s %s %s", term.Clean(result.ID), verb, diag.Count(len(result.Slots), "run"))
	if n := len(result.Skipped); n > 0 {
		fmt.Fprintf(out, "; %s a run already", map[bool]string{true: "1 slot has", false: fmt.Sprintf("%d slots have", n)}[n == 1])
	}
	fmt.Fprintln(out)
	for _, fire := range result.Slots {
		line := "  " + p.Times.Full(fire.Slot)
		switch {
		case fire.Run != "":
			line += "  " + fire.Run
		case !result.DryRun:
			line += "  later"
		}
		if fire.Note != "" {
			line += "  ! " + fire.Note
		}
		fmt.Fprintln(out, strings.TrimRight(term.Clean(line), " "))
	}
}
