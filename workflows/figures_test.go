package workflows_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/workspace"
)

// figure is a shipped workflow that computes something: cases makes raw answers of
// random content and what they come to, computed by other means than the
// workflow's.
type figure struct {
	workflow string
	at       time.Time
	cases    func(r *rand.Rand) figureCase
}

// figureCase is one case of a file of tests; JSON is YAML.
type figureCase struct {
	Name    string         `json:"name"`
	Inputs  map[string]any `json:"inputs,omitempty"`
	State   map[string]any `json:"state,omitempty"`
	Answers map[string]any `json:"answers,omitempty"`
	Events  []any          `json:"events,omitempty"`
	Expect  map[string]any `json:"expect"`
}

// TestIssue12_05_FiguresAreRecomputed holds each figure of a shipped workflow
// against one that is computed from the raw answers, with records at both edges of
// its window and a nanosecond beside them.
func TestIssue12_05_FiguresAreRecomputed(t *testing.T) {
	t.Parallel()
	const cases = 40
	project := openProject(t)
	defer project.Close()
	for _, f := range []figure{quarterFigure(), weekFigure(), trafficFigure(), campaignFigure(), spendFigure(), spikeFigure()} {
		t.Run(f.workflow, func(t *testing.T) {
			r := rand.New(rand.NewPCG(12, 5))
			file := map[string]any{"flowrun_test": "v1", "workflow": f.workflow, "at": f.at.Format(time.RFC3339Nano)}
			var list []figureCase
			for n := range cases {
				c := f.cases(r)
				c.Name = fmt.Sprintf("case %d", n)
				list = append(list, c)
			}
			file["cases"] = list
			source, err := json.MarshalIndent(file, "", " ")
			if err != nil {
				t.Fatal(err)
			}
			result := project.Test(t.Context(), []workspace.TestFile{{Name: "figures.test.yaml", Source: source}}, workspace.TestOptions{Read: os.ReadFile})[0]
			for _, problem := range result.Problems {
				t.Errorf("%s", problem)
			}
			for _, c := range result.Cases {
				for _, failure := range c.Failures {
					t.Errorf("%s: %s\n%s", c.Name, failure.Message, strings.Join(failure.Lines, "\n"))
				}
			}
			if len(result.Cases) != cases {
				t.Errorf("%d cases ran", len(result.Cases))
			}
		})
	}
}

func berlin() *time.Location {
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		panic(err)
	}
	return zone
}

// around draws a moment at, just beside, or anywhere around the edges of a window.
func around(r *rand.Rand, edges ...time.Time) time.Time {
	at := edges[r.IntN(len(edges))]
	switch r.IntN(5) {
	case 0:
		return at
	case 1:
		return at.Add(-time.Nanosecond)
	case 2:
		return at.Add(time.Nanosecond)
	case 3:
		return at.Add(-time.Second)
	}
	span := edges[len(edges)-1].Sub(edges[0]) + 48*time.Hour
	return edges[0].Add(-24*time.Hour + time.Duration(r.Int64N(int64(span))))
}

func inside(at, from, until time.Time) bool { return !at.Before(from) && at.Before(until) }

// quarterFigure: what was finished in the quarter, and how much of it by its due
// day, whenever that was.
func quarterFigure() figure {
	zone := berlin()
	since, until := time.Date(2026, 7, 1, 0, 0, 0, 0, zone), time.Date(2026, 10, 1, 0, 0, 0, 0, zone)
	return figure{"quarter-timesheet.yaml", time.Date(2026, 10, 1, 8, 0, 0, 0, zone), func(r *rand.Rand) figureCase {
		tasks, dated, onTime := 1, map[string]int{}, map[string]int{}
		records := []any{map[string]any{"id": "sure", "content": "x", "project_id": "sure", "completed_at": since.UTC().Format(time.RFC3339Nano)}}
		for n := range r.IntN(12) {
			at, project := around(r, since, until), string(rune('a'+r.IntN(3)))
			record := map[string]any{"id": fmt.Sprint("t", n), "content": "x", "project_id": project, "completed_at": at.UTC().Format(time.RFC3339Nano)}
			due := ""
			if r.IntN(4) > 0 {
				due = at.In(zone).AddDate(0, 0, r.IntN(200)-120).Format(time.DateOnly)
				if r.IntN(3) == 0 {
					due = at.In(zone).Format(time.DateOnly)
				}
				record["due"] = map[string]any{"date": due}
			}
			records = append(records, record)
			if !inside(at, since, until) {
				continue
			}
			tasks++
			if due != "" {
				dated[project]++
				if day, err := time.ParseInLocation(time.DateOnly, due, zone); err == nil && at.Before(day.AddDate(0, 0, 1)) {
					onTime[project]++
				}
			}
		}
		that := []string{fmt.Sprintf("len(split(outputs.projects, '\\r\\n')) == %d", lines(len(dated)))}
		for project, all := range dated {
			that = append(that, fmt.Sprintf("outputs.projects contains '%s,%d,%d,%d\\r\\n'", project, all, onTime[project], 100*onTime[project]/all))
		}
		return figureCase{
			Answers: map[string]any{"completed": []any{pagesOf(records[:len(records)/2]), pagesOf(records[len(records)/2:])}},
			Expect:  map[string]any{"outputs": map[string]any{"tasks": tasks}, "that": that},
		}
	}}
}

// lines counts the parts of a CSV with a header and so many rows, cut at its ends
// of lines; no row is no header either.
func lines(rows int) int {
	if rows == 0 {
		return 1
	}
	return rows + 2
}

func pagesOf(records []any) map[string]any {
	if records == nil {
		records = []any{}
	}
	return map[string]any{"pages": []any{records}}
}

// weekFigure: the tasks of the last whole week, and how many more they are than
// those of the week before.
func weekFigure() figure {
	zone := berlin()
	since, middle, until := time.Date(2026, 10, 19, 0, 0, 0, 0, zone), time.Date(2026, 10, 26, 0, 0, 0, 0, zone), time.Date(2026, 11, 2, 0, 0, 0, 0, zone)
	return figure{"weekly-review.yaml", until.Add(7 * time.Hour), func(r *rand.Rand) figureCase {
		week, before, projects := 0, 0, map[string]int{}
		var records []any
		for n := range r.IntN(14) {
			at, project := around(r, since, middle, until), string(rune('a'+r.IntN(3)))
			records = append(records, map[string]any{"id": n, "content": "x", "project_id": project, "completed_at": at.UTC().Format(time.RFC3339Nano)})
			switch {
			case inside(at, middle, until):
				week++
				projects["P"+project]++
			case inside(at, since, middle):
				before++
			}
		}
		that := []string{fmt.Sprintf("len(outputs.projects) == %d", len(projects))}
		for project, tasks := range projects {
			that = append(that, fmt.Sprintf("any(outputs.projects, .project == '%s' and .tasks == %d)", project, tasks))
		}
		return figureCase{
			Answers: map[string]any{
				"completed":    pagesOf(records),
				"projects":     pagesOf([]any{map[string]any{"id": "a", "name": "Pa"}, map[string]any{"id": "b", "name": "Pb"}, map[string]any{"id": "c", "name": "Pc"}}),
				"productivity": map[string]any{"outputs": map[string]any{"stats": map[string]any{"completed_count": 3}}},
			},
			Expect: map[string]any{"outputs": map[string]any{"done": week, "change": week - before}, "that": that},
		}
	}}
}

// trafficFigure: by how many percent the visits of a day fell.
func trafficFigure() figure {
	return figure{"traffic-drop-triage.yaml", time.Date(2026, 11, 16, 8, 20, 0, 0, time.UTC), func(r *rand.Rand) figureCase {
		hours := func(most int) (rows []any, total int) {
			rows = []any{}
			for n := range r.IntN(24) {
				visits := r.IntN(most)
				total += visits
				rows = append(rows, map[string]any{"timestamp": fmt.Sprintf("2026-11-15 %02d:00:00", n), "visits": visits})
			}
			return rows, total
		}
		today, now := hours(1 + r.IntN(200))
		lastWeek, then := hours(1 + r.IntN(200))
		fallen := 0
		if then > 0 {
			fallen = (then - now) * 100 / then // Go cuts toward 0 too
		}
		drop := fallen >= 60
		answer := func(rows []any) map[string]any {
			return map[string]any{"outputs": map[string]any{"count": len(rows), "rows": rows}}
		}
		answers := map[string]any{"today": answer(today), "last_week": answer(lastWeek)}
		if drop {
			answers["addresses"] = map[string]any{"outputs": map[string]any{"domain": "copperline.net", "type": "A", "authority": []any{}, "records": []any{}}}
			answers["registration"] = map[string]any{"outputs": map[string]any{"domain": "copperline.net", "found": false}}
			answers["live"] = map[string]any{"outputs": map[string]any{"total": 3}}
		}
		return figureCase{
			Answers: answers,
			Expect:  map[string]any{"outputs": map[string]any{"visits": now, "visits_a_week_ago": then, "fallen_percent": fallen, "drop": drop}},
		}
	}}
}

// campaignFigure: revenue, visits and tasks of each campaign that was seen or sold.
func campaignFigure() figure {
	return figure{"campaign-report.yaml", time.Date(2026, 11, 16, 8, 0, 0, 0, time.UTC), func(r *rand.Rand) figureCase {
		type sums struct{ visits, revenue, tasks int }
		want := map[string]*sums{}
		of := func(name string) *sums {
			if want[name] == nil {
				want[name] = &sums{}
			}
			return want[name]
		}
		purchases, visits := []any{}, []any{}
		for _, name := range []string{"", "brand", "mail", "spring", "x y"} {
			if r.IntN(2) == 0 {
				value := r.IntN(100_000)
				purchases = append(purchases, map[string]any{"utm_campaign": name, "conversions": 1, "value": value})
				of(name).revenue = value
			}
			if r.IntN(2) == 0 {
				seen := r.IntN(1000)
				visits = append(visits, map[string]any{"utm_campaign": name, "visits": seen})
				of(name).visits = seen
			}
		}
		delete(want, "")
		answers := map[string]any{
			"purchases": map[string]any{"outputs": map[string]any{"count": len(purchases), "rows": purchases}},
			"visits":    map[string]any{"outputs": map[string]any{"count": len(visits), "rows": visits}},
		}
		that := []string{fmt.Sprintf("len(outputs.campaigns) == %d", len(want))}
		for name, sum := range want {
			sum.tasks = r.IntN(3)
			records := make([]any, sum.tasks)
			for i := range records {
				records[i] = map[string]any{"id": fmt.Sprint(name, i)}
			}
			answers["work["+name+"].tasks"] = pagesOf(records)
			that = append(that, fmt.Sprintf("any(outputs.campaigns, .campaign == '%s' and .visits == %d and .revenue_cents == %d and .tasks == %d)", name, sum.visits, sum.revenue, sum.tasks))
		}
		return figureCase{Answers: answers, Expect: map[string]any{"that": that}}
	}}
}

// spendFigure: which categories are near the budget, and which are over it.
func spendFigure() figure {
	return figure{"spend-guard.yaml", time.Date(2026, 11, 16, 23, 45, 0, 0, time.UTC), func(r *rand.Rand) figureCase {
		budget := 10 * (1 + r.IntN(10))
		spent := []int{budget, budget - 1, budget * 8 / 10, budget*8/10 - 1, r.IntN(2 * budget), 0}[r.IntN(6)]
		near, over := spent*10 >= budget*8, spent >= budget
		status := map[bool]string{true: "succeeded", false: "skipped"}
		steps := map[string]any{"tell": status[near], "approve": status[over], "top_up": status[over]}
		c := figureCase{
			Inputs: map[string]any{"budget": budget},
			Answers: map[string]any{
				"usage[automation_run].summary": map[string]any{"outputs": map[string]any{"summary": map[string]any{"cost": spent}}},
				"ledger":                        pagesOf(nil),
			},
			Expect: map[string]any{"steps": steps, "that": []string{fmt.Sprintf("outputs.usage[0].spent == %d", spent)}},
		}
		if over {
			c.Events = []any{map[string]any{"approve": "approve"}}
			c.Answers["top_up"] = map[string]any{"outputs": map[string]any{"response": map[string]any{}}}
		}
		return c
	}}
}

// spikeFigure: whether there are more visitors now than so many times the median of
// the last two hours.
func spikeFigure() figure {
	return figure{"referrer-spike.yaml", time.Date(2026, 11, 16, 8, 0, 0, 0, time.UTC), func(r *rand.Rand) figureCase {
		counts := make([]int, r.IntN(27))
		for i := range counts {
			counts[i] = r.IntN(40)
		}
		counts = counts[max(0, len(counts)-24):]
		sorted := slices.Clone(counts)
		sort.Ints(sorted)
		twice := 0 // twice the median
		if n := len(sorted); n > 0 {
			twice = sorted[(n-1)/2] + sorted[n/2]
		}
		total := []int{3 * twice / 2, 3*twice/2 + 1, r.IntN(100)}[r.IntN(3)]
		spike := len(counts) >= 3 && 2*total > 3*twice
		answers := map[string]any{"now": map[string]any{"outputs": map[string]any{"total": total}}}
		if spike {
			answers["detail"] = map[string]any{"outputs": map[string]any{"total": total, "referrers": []any{}, "content": []any{}, "content_truncated": false, "referrers_truncated": false}}
		}
		kept := append(slices.Clone(counts), total)
		encoded, err := json.Marshal(kept[max(0, len(kept)-24):])
		if err != nil {
			panic(err)
		}
		return figureCase{
			State: map[string]any{"counts": counts}, Answers: answers,
			Expect: map[string]any{
				"outputs": map[string]any{"visitors": total, "spike": spike},
				"that":    []string{fmt.Sprintf("outputs.usual * 2 == %d", twice), "state.counts == " + string(encoded)},
			},
		}
	}}
}
