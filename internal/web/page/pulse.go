package page

import (
	"cmp"
	"fmt"
	"html/template"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/order"
	"github.com/flowrun/flowrun/engine/runs"
)

// pulses are the workflows of some runs, which come newest first: those that fail
// first, then by their newest run.
func pulses(rows []runs.Run) []pulse {
	byName := map[string][]runs.Run{}
	var names []string
	for _, run := range rows {
		if run.Parent != nil {
			continue
		}
		if byName[run.Workflow] == nil {
			names = append(names, run.Workflow)
		}
		byName[run.Workflow] = append(byName[run.Workflow], run)
	}
	var list []pulse
	for _, name := range names {
		list = append(list, newPulse(name, byName[name]))
	}
	order.Sort(list, func(a, b pulse) int { return cmp.Compare(min(b.Failed, 1), min(a.Failed, 1)) })
	return list
}

func newPulse(name string, rows []runs.Run) pulse {
	one := pulse{Name: name, URL: runFilter{Workflow: name}.path(), Last: rows[0]}
	for _, run := range rows {
		if run.Status == runs.RunFailed || run.Status == runs.RunTimedOut {
			one.Failed++
			if one.Failed == 1 {
				one.Last = run
			}
			continue
		}
		if run.Status.Ended() && run.Status != runs.RunCanceled {
			break
		}
	}
	one.Typical = typical(rows)
	one.Runs = beats(rows[:min(len(rows), pulseRuns)])
	return one
}

// typical is the median of how long runs took that succeeded.
func typical(rows []runs.Run) string {
	var took []int64
	for _, run := range rows {
		if run.Status == runs.RunSucceeded {
			took = append(took, run.DurationMS)
		}
	}
	if len(took) == 0 {
		return ""
	}
	slices.Sort(took)
	return duration(time.Duration(took[len(took)/2]) * time.Millisecond)
}

// beats draws the latest runs, the newest at the right: a line each, as high as
// the run was long beside the others.
func beats(runs []runs.Run) template.HTML {
	const wide, high = 7, 22
	longest := int64(1)
	for _, run := range runs {
		longest = max(longest, run.DurationMS)
	}
	lines := map[string]*strings.Builder{}
	failed := 0
	for i, run := range runs {
		tone := toneOf(string(run.Status))
		if tone == "bad" {
			failed++
		}
		if lines[tone] == nil {
			lines[tone] = new(strings.Builder)
		}
		share := 1.0
		if run.FinishedAt != nil {
			share = 0.25 + 0.75*math.Log1p(float64(run.DurationMS))/math.Log1p(float64(longest))
		}
		fmt.Fprintf(lines[tone], "M%d %dv-%d", (pulseRuns-1-i)*wide+3, high-1, int(share*(high-3)))
	}
	words := plural(len(runs), "run")
	if failed > 0 {
		words += fmt.Sprintf(", %d failed", failed)
	}
	var out strings.Builder
	fmt.Fprintf(&out, `<svg class="beats" width="%d" height="%d" role="img" aria-label="the last %s">`, pulseRuns*wide, high, words)
	for _, tone := range []string{"calm", "ok", "run", "wait", "hold", "bad"} {
		if lines[tone] != nil {
			fmt.Fprintf(&out, `<path class="t-%s" d="%s"/>`, tone, lines[tone])
		}
	}
	out.WriteString("</svg>")
	return template.HTML(out.String()) //nolint:gosec // digits and words of ours
}

// chartHours is how many hours the chart of the first page counts.
const chartHours = 24

// hoursChart shows the runs of the last hours by the hour that they were accepted in.
func hoursChart(counted []engine.HourSummary, now time.Time, location *time.Location) (chart template.HTML, words string) {
	const hours, wide, high = chartHours, 100.0 / chartHours, 46
	var good, bad, open [hours]int
	begin := now.Truncate(time.Hour).Add(-(hours - 1) * time.Hour)
	all, failed, most := 0, 0, 1
	for _, one := range counted {
		i := int(one.Hour.Sub(begin) / time.Hour)
		if one.Hour.Before(begin) || i >= hours {
			continue
		}
		for status, n := range one.Runs {
			all += n
			switch toneOf(string(status)) {
			case "bad":
				failed += n
				bad[i] += n
			case "ok":
				good[i] += n
			default:
				open[i] += n
			}
		}
		most = max(most, good[i]+bad[i]+open[i])
	}
	words = fmt.Sprintf("%s in the last %d hours, %d failed", plural(all, "run"), hours, failed)
	var out strings.Builder
	fmt.Fprintf(&out, `<svg class="hours" height="%d" role="img" aria-label="%s">`, high+16, words)
	for i := range hours {
		y := float64(high)
		at := begin.Add(time.Duration(i) * time.Hour).In(location)
		fmt.Fprintf(&out, `<g><title>%s: %d ended well, %d failed, %d others</title>`, at.Format("15:04"), good[i], bad[i], open[i])
		for _, part := range []struct {
			tone  string
			count int
		}{{"ok", good[i]}, {"run", open[i]}, {"bad", bad[i]}} {
			if part.count == 0 {
				continue
			}
			h := max(2, float64(part.count)*(high-4)/float64(most))
			y -= h
			fmt.Fprintf(&out, `<rect class="t-%s" x="%s" y="%.1f" width="%s" height="%.1f"/>`, part.tone, percent(float64(i)*wide+wide*0.12), y, percent(wide*0.76), h)
		}
		out.WriteString("</g>")
		if at.Hour()%6 == 0 {
			fmt.Fprintf(&out, `<text x="%s" y="%d">%s</text>`, percent(float64(i)*wide), high+13, at.Format("15:04"))
		}
	}
	fmt.Fprintf(&out, `<line x1="0" x2="100%%" y1="%[1]d" y2="%[1]d"/></svg>`, high)
	return template.HTML(out.String()), words //nolint:gosec // digits and words of ours
}
