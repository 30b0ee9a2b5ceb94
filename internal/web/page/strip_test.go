package page

import (
	"strings"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/runs"
)

var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

func fireAt(minutes int, run, skipped string) runs.Fire {
	return runs.Fire{Slot: noon.Add(time.Duration(minutes) * time.Minute), Run: run, Skipped: skipped}
}

// marksOf are the marks of fires and of what comes.
func marksOf(fires []runs.Fire, statuses map[string]runs.Status, next []time.Time, paused bool) []slotMark {
	runs := &workflowStatuses{statuses: statuses}
	var marks []slotMark
	for i := range fires {
		marks = append(marks, runs.mark(&fires[i]))
	}
	for _, at := range next {
		marks = append(marks, slotMark{from: at, to: at, kind: "coming", count: 1, paused: paused})
	}
	return marks
}

func TestTheStripShowsWhatRanWhatWasMissedAndWhatComes(t *testing.T) {
	fires := []runs.Fire{
		fireAt(-600, "r1", ""), fireAt(-300, "r2", ""), fireAt(-200, "r3", ""), fireAt(-100, "", runs.SkipLate), fireAt(-13*60, "r0", ""),
	}
	next := []time.Time{noon.Add(time.Hour), noon.Add(3 * time.Hour), noon.Add(13 * time.Hour)}
	s := newStrip(noon, time.UTC, marksOf(fires, map[string]runs.Status{"r1": runs.RunSucceeded, "r2": runs.RunFailed}, next, false))
	if got, want := s.Words(), "12 hours before and after now: 1 succeeded, 1 failed, 1 ran, 1 skipped, 2 coming"; got != want {
		t.Errorf("%s", got)
	}
	svg := string(s.SVG())
	for _, part := range []string{
		"02:00 succeeded", "07:00 failed", "08:40 ran", "10:20 skipped: nobody was there", "13:00 coming", `class="now" x1="50%"`, `cx="54.17%"`, `aria-label="12 hours`,
	} {
		if !strings.Contains(svg, part) {
			t.Errorf("no %q in %s", part, svg)
		}
	}
	if strings.Contains(svg, " style=") || strings.Contains(svg, "23:00") {
		t.Error(svg)
	}
	if empty := newStrip(noon, time.UTC, nil); !strings.Contains(empty.Words(), "nothing") || strings.Contains(string(empty.SVG()), "<circle") {
		t.Error(empty.SVG())
	}
	if paused := newStrip(noon, time.UTC, marksOf(nil, nil, next, true)); !strings.Contains(string(paused.SVG()), "coming, but paused") {
		t.Error(paused.SVG())
	}
}

func TestAStripOfManySlotsStaysSmall(t *testing.T) {
	statuses := map[string]runs.Status{"ok": runs.RunSucceeded, "bad": runs.RunFailed}
	tests := map[string]struct {
		run  func(i int) string
		most int // bytes
	}{
		"all alike":         {func(int) string { return "ok" }, 2500},
		"one that failed":   {func(i int) string { return map[bool]string{true: "bad", false: "ok"}[i == 400] }, 2900},
		"every second fail": {func(i int) string { return []string{"ok", "bad"}[i%2] }, 9000},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var fires []runs.Fire
			var next []time.Time
			for i := range 720 {
				fires = append(fires, fireAt(i-720, test.run(i), ""))
				next = append(next, noon.Add(time.Duration(i+1)*time.Minute))
			}
			s := newStrip(noon, time.UTC, marksOf(fires, statuses, next, false))
			svg := string(s.SVG())
			if len(svg) > test.most {
				t.Errorf("%d bytes: %s", len(svg), svg)
			}
			total := 0
			for _, m := range s.marks {
				total += m.count
			}
			if total != 1440 {
				t.Errorf("%d slots are shown", total)
			}
			if name != "all alike" && !strings.Contains(svg, "failed") {
				t.Error("what failed is hidden by what did not")
			}
		})
	}
}

func TestTheAxisFollowsTheClockOfTheZone(t *testing.T) {
	zone := berlin(t)
	text := string(axis(time.Date(2026, 3, 28, 22, 0, 0, 0, time.UTC), zone)) // 23:00, before the clock is put forward
	for _, part := range []string{">12:00<", ">18:00<", ">03:00<", ">09:00<", ">now<"} {
		if !strings.Contains(text, part) {
			t.Errorf("no %s in %s", part, text)
		}
	}
	if strings.Contains(text, ">00:00<") {
		t.Errorf("it stands under the word now: %s", text)
	}
}

func TestEverySkipHasItsWords(t *testing.T) {
	for _, reason := range []string{
		runs.SkipOverlap, runs.SkipLate, runs.SkipCatchup, runs.SkipPaused, runs.SkipRestored, runs.SkipInvalid, runs.SkipBusy, runs.SkipRepeated, runs.SkipBacklog, runs.SkipFailed,
	} {
		if skipText(reason) == reason {
			t.Errorf("no words for %s", reason)
		}
	}
	if skipText("moon") != "moon" {
		t.Error(skipText("moon"))
	}
}
