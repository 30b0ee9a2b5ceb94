package schedules

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/flowrun/flowrun/internal/suitesize"
)

// project writes a project: triggers of many kinds that fire each second, one each
// minute, and one whose runs take longer than its slots are apart.
func project(t *testing.T, dir string) map[string]rule {
	t.Helper()
	var text strings.Builder
	rules := map[string]rule{}
	text.WriteString("flowrun: v1\nname: many\nconcurrency: {key: many, limit: 1000, on_full: queue}\ntriggers:\n")
	for i := range 4 {
		name := fmt.Sprintf("all%d", i)
		fmt.Fprintf(&text, "  %s: {every: 1s, catchup: {window: 1h, keep: all}}\n", name)
		rules[name] = rule{step: time.Second, keep: "all"}
		name = fmt.Sprintf("latest%d", i)
		fmt.Fprintf(&text, "  %s: {every: 1s}\n", name)
		rules[name] = rule{step: time.Second, keep: "latest"}
	}
	text.WriteString("  minute: {cron: \"* * * * *\", timezone: Europe/Berlin, catchup: {window: 1h, keep: all}}\n")
	rules["minute"] = rule{step: time.Minute, keep: "all"}
	text.WriteString("steps:\n  - id: at\n    let: {slot: \"${{ run.scheduled_at }}\"}\n")
	slow := "flowrun: v1\nname: slow\ntriggers:\n  slow: {every: 1s}\nsteps:\n  - uses: core.sleep\n    with: {for: 1500ms}\n"
	rules["slow"] = rule{step: time.Second, keep: "latest", exclusive: true}
	for name, content := range map[string]string{
		"flowrun.yaml": "workflows: [workflows]\n", "workflows/many.yaml": text.String(), "workflows/slow.yaml": slow,
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return rules
}

// TestP10EachSlotHasOneRun kills a server before and after commits, starts it
// again, and sets its clock while it runs and while it does not.
func TestP10EachSlotHasOneRun(t *testing.T) {
	t.Parallel()
	fires := suitesize.Of(t, "FLOWRUN_SCHEDULE_FIRES", 100)
	chance := random(testSeed(t), "fires")
	dir := t.TempDir()
	rules := project(t, dir)
	base := time.Now()
	ahead := time.Duration(0)
	kills, jumps, runs := 0, 0, 0
	for lives := 0; runs < fires || kills < fires/20; lives++ {
		setClock(t, dir, ahead)
		r := role{Dir: dir, KillAt: 1 + chance.IntN(30), Stage: []string{"before", "after"}[chance.IntN(2)]}
		if lives == 0 {
			r.KillAt = 0 // the schedules are seen first
		}
		server := r.start(t)
		if chance.IntN(2) == 0 { // while it runs
			time.Sleep(time.Duration(300+chance.IntN(500)) * time.Millisecond)
			jumps++
			ahead += time.Duration(chance.IntN(45)-10) * time.Second
			setClock(t, dir, ahead)
		}
		server.live(t, 3*time.Second)
		kills++
		switch chance.IntN(8) { // while it does not
		case 0:
			jumps++
			ahead += 90*time.Minute + time.Duration(chance.IntN(60))*time.Minute
		case 1, 2:
			jumps++
			ahead -= time.Duration(chance.IntN(20)) * time.Second
		case 3, 4, 5:
			jumps++
			ahead += time.Duration(chance.IntN(40)) * time.Second
		}
		if lives%5 == 4 {
			s := look(t, dir)
			runs = len(s.runs)
			if wrong := s.judge(rules, time.Time{}); len(wrong) > 0 {
				t.Fatalf("after %d kills:\n%s", kills, strings.Join(wrong, "\n"))
			}
		}
	}
	ahead += 30 * time.Second // past all that a clock that was set back hides
	setClock(t, dir, ahead)
	until := time.Now().Add(ahead)
	var s stored
	for range 10 { // a busy machine needs more than one life for what is left
		role{Dir: dir}.start(t).live(t, 4*time.Second)
		if s = look(t, dir); len(s.judge(rules, until)) == 0 {
			break
		}
	}
	for _, line := range s.judge(rules, until) {
		t.Error(line)
	}
	skipped := 0
	for _, fire := range s.fires {
		if fire.Run == "" {
			skipped++
		}
	}
	t.Logf("%d runs, %d rows of skipped slots, %d kills, %d jumps of the clock, %v of its time in %v", len(s.runs), skipped, kills, jumps, time.Since(base)+ahead, time.Since(base).Round(time.Second))
}

// TestControlAScheduleThatNotesItsFiresApart: where the run and its fire are not
// one transaction, the same kills make a second run of a slot, and the judge says
// so.
func TestControlAScheduleThatNotesItsFiresApart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	project(t, dir)
	for kills := range 40 {
		setClock(t, dir, time.Duration(kills)*5*time.Second)
		role{Dir: dir, KillAt: 3 + kills%3, Stage: "after", Apart: true}.start(t).live(t, 10*time.Second)
		if wrong := look(t, dir).judge(nil, time.Time{}); len(wrong) > 0 && strings.Contains(strings.Join(wrong, "\n"), "has the runs") {
			t.Logf("caught after %d kills: %s", kills+1, wrong[0])
			return
		}
	}
	t.Error("forty kills between a run and its note were not noticed")
}
