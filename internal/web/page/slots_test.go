package page

import (
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestIssue12_26_SlotsOfSecondsTellTheirSeconds: ten slots of a schedule of ten seconds
// are ten different texts wherever they are named.
func TestIssue12_26_SlotsOfSecondsTellTheirSeconds(t *testing.T) {
	d := newDesk(t, map[string]string{"quick.yaml": "flowrun: v1\nname: quick\ntriggers:\n  tick: {every: 10s}\nsteps:\n  - id: a\n    let: {x: 1}\n"})
	for path, pattern := range map[string]string{
		"/workflows/quick":      `<span class="num nowrap">(\w{3} [^<]+)</span>`,
		"/schedules/quick/tick": `<span class="num nowrap">(\w{3} [^<]+)</span>`,
	} {
		different := map[string]bool{}
		for _, found := range regexp.MustCompile(pattern).FindAllStringSubmatch(d.get(path, 200), -1) {
			different[found[1]] = true
		}
		if len(different) != nextShown {
			t.Errorf("%s tells %d slots apart of %d: %v", path, len(different), nextShown, different)
		}
	}
	now := time.Date(2026, 7, 2, 0, 0, 5, 0, time.UTC)
	s := newSite(Options{Now: func() time.Time { return now }})
	for text, at := range map[string]time.Time{">Jul 1 23:59:50<": now.Add(-15 * time.Second), ">00:00:10<": now.Add(5 * time.Second), ">2025-12-31 23:59:50<": time.Date(2025, 12, 31, 23, 59, 50, 0, time.UTC)} {
		if shown := string(s.slot(at)); !strings.Contains(shown, text) {
			t.Errorf("the slot %s is shown as %s", at, shown)
		}
	}
	strip := newStrip(now, time.UTC, []slotMark{{from: now.Add(-15 * time.Second), to: now.Add(-15 * time.Second), kind: "failed", count: 1}, {from: now.Add(-time.Hour), to: now.Add(-time.Hour + 25*time.Second), kind: "succeeded", count: 3}})
	for _, text := range []string{"23:59:50 failed", "23:00:05–23:00:30 succeeded (3)"} {
		if drawn := string(strip.SVG()); !strings.Contains(drawn, text) {
			t.Errorf("the line of the day does not say %q: %s", text, drawn)
		}
	}
}
