package taskssim

import (
	"maps"
	"net/http"
	"slices"
	"time"
)

// dayCount is the tasks of a day, or of the week that begins on it.
type dayCount struct {
	Date  string         `json:"date"`
	Total int            `json:"total_completed"`
	Items []projectCount `json:"items"`
}

type projectCount struct {
	ID        string `json:"id"`
	Completed int    `json:"completed"`
}

// stats answers E10b with all that the document lists (T-13); the names of the
// fields are the simulator's.
func (s *Sim) stats(*http.Request) (any, *refusal) {
	s.mu.Lock()
	all, projects, now := s.world.completed(), s.world.projects, s.world.now
	s.mu.Unlock()
	today := now.Truncate(24 * time.Hour)
	monday := today.AddDate(0, 0, -(int(today.Weekday())+6)%7)
	colorsOf := map[string]string{}
	for _, p := range projects {
		if !p.IsArchived && p.IsJoined {
			colorsOf[p.ID] = p.Color
		}
	}
	return map[string]any{
		"completed_count": 3120 + len(all),
		"days_items":      counts(all, today, 7, 1),
		"week_items":      counts(all, monday, 4, 7),
		"karma":           18431.5,
		"karma_trend":     "up",
		"karma_graph_data": []map[string]any{
			{"date": today.AddDate(0, 0, -1).Format(time.DateOnly), "karma_avg": 18402}, {"date": today.Format(time.DateOnly), "karma_avg": 18431},
		},
		"karma_update_reasons": []map[string]any{{"time": stamp(now), "new_karma": 18431.5, "positive_karma": 12, "negative_karma": 0}},
		"goals":                map[string]any{"daily_goal": 4, "weekly_goal": 18, "ignore_days": []int{6, 7}, "vacation_mode": 0},
		"streaks": map[string]any{
			"current_daily": 3, "last_daily": 9, "max_daily": 41, "current_weekly": 1, "last_weekly": 5, "max_weekly": 17,
		},
		"project_colors": colorsOf,
	}, nil
}

// counts counts spans of days, the latest first.
func counts(all []task, from time.Time, spans, days int) []dayCount {
	out := make([]dayCount, 0, spans)
	for i := range spans {
		start := from.AddDate(0, 0, -i*days)
		end := start.AddDate(0, 0, days)
		perProject := map[string]int{}
		span := dayCount{Date: start.Format(time.DateOnly), Items: []projectCount{}}
		for _, t := range all {
			if !t.completed.Before(start) && t.completed.Before(end) {
				span.Total++
				perProject[t.ProjectID]++
			}
		}
		for _, id := range slices.Sorted(maps.Keys(perProject)) {
			span.Items = append(span.Items, projectCount{id, perProject[id]})
		}
		out = append(out, span)
	}
	return out
}
