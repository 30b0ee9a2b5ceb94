package taskssim

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// maxPage is the longest page of completed tasks. The document names no maximum,
// so a client must live with a page that is shorter than it asked for (T-47).
const maxPage = 200

// completedByCompletion answers E9. With a public key it needs no credential and
// shows the one public project (T-48).
func (s *Sim) completedByCompletion(r *http.Request) (any, *refusal) {
	key, public := r.URL.Query()["public_key"]
	switch {
	case public && key[0] != s.options.PublicKey:
		return nil, forbidden("The public key is not valid.")
	case !public && !s.authorized(r):
		return nil, unauthorized()
	}
	since, until, refused := readRange(r, "3 months", func(t time.Time) time.Time { return threeMonths(t) })
	if refused != nil {
		return nil, refused
	}
	return s.completed(r, func(t task) bool {
		return !t.completed.Before(since) && t.completed.Before(until) && (!public || t.project.Name == "Website")
	})
}

// completedByDue answers E10, latest due date first.
func (s *Sim) completedByDue(r *http.Request) (any, *refusal) {
	since, until, refused := readRange(r, "6 weeks", func(t time.Time) time.Time { return t.AddDate(0, 0, 42) })
	if refused != nil {
		return nil, refused
	}
	return s.completed(r, func(t task) bool {
		at, ok := t.dueAt()
		return ok && !at.Before(since) && at.Before(until)
	})
}

// completed serves the tasks in a range that the other parameters let through.
func (s *Sim) completed(r *http.Request, inRange func(task) bool) (any, *refusal) {
	limit, refused := number(r, "limit", 50, 1, 0)
	matches, refusedFilter := taskFilter(r)
	if refused = cmp.Or(refused, refusedFilter); refused != nil {
		return nil, refused
	}
	s.mu.Lock()
	all := s.world.completed()
	s.mu.Unlock()
	found := []task{}
	for _, t := range all {
		if inRange(t) && matches(t) {
			found = append(found, t)
		}
	}
	if strings.HasSuffix(r.URL.Path, "by_due_date") {
		slices.SortStableFunc(found, func(a, b task) int { return strings.Compare(b.Due.Date, a.Due.Date) })
	}
	return pageOf(s, r, "items", found, min(limit, maxPage))
}

// readRange reads since and until: required, at most as long as the limit.
func readRange(r *http.Request, words string, last func(time.Time) time.Time) (since, until time.Time, refused *refusal) {
	var bounds [2]time.Time
	for i, name := range []string{"since", "until"} {
		at, err := time.ParseInLocation(time.RFC3339Nano, r.URL.Query().Get(name), time.UTC)
		if err != nil {
			return since, until, badRequest(name + " is required and must be a date-time with an offset")
		}
		bounds[i] = at
	}
	since, until = bounds[0], bounds[1]
	switch {
	case !since.Before(until):
		return since, until, badRequest("until must be later than since")
	case until.After(last(since)):
		return since, until, badRequest(fmt.Sprintf("the range must not be longer than %s", words))
	}
	return since, until, nil
}

// threeMonths is the same day three months later, or the last one of a shorter
// month.
func threeMonths(t time.Time) time.Time {
	at := t.AddDate(0, 3, 0)
	for (int(at.Month())-int(t.Month())+12)%12 != 3 {
		at = at.AddDate(0, 0, -1)
	}
	return at
}

// taskFilter makes the test of the parameters besides the range.
func taskFilter(r *http.Request) (func(task) bool, *refusal) {
	query := r.URL.Query()
	for _, name := range []string{"project_id", "section_id", "parent_id"} {
		if refused := serverID(name, query.Get(name)); refused != nil {
			return nil, refused
		}
	}
	if text := query.Get("workspace_id"); text != "" {
		if _, err := strconv.ParseInt(text, 10, 64); err != nil {
			return nil, badRequest("workspace_id must be an integer")
		}
	}
	filter := query.Get("filter_query")
	if n := utf8.RuneCountInString(filter); query.Has("filter_query") && (n < 1 || n > 1024) {
		return nil, badRequest("filter_query must have 1 to 1024 characters")
	}
	return func(t task) bool {
		return equals(query.Get("workspace_id"), strconv.FormatInt(t.WorkspaceID, 10)) && equals(query.Get("project_id"), t.ProjectID) &&
			equalsOptional(query.Get("section_id"), t.SectionID) && equalsOptional(query.Get("parent_id"), t.ParentID) &&
			(filter == "" || matchesAny(t, filter))
	}, nil
}

func equals(want, got string) bool { return want == "" || want == got }

func equalsOptional(want string, got *string) bool { return want == "" || got != nil && want == *got }

// matchesAny reads the simulator's own filter language, since the service's is
// not documented: @label, #project, !not and plain words, joined by & and |.
func matchesAny(t task, filter string) bool {
	return slices.ContainsFunc(strings.Split(filter, "|"), func(part string) bool {
		return !slices.ContainsFunc(strings.Split(part, "&"), func(term string) bool { return !matchesTerm(t, strings.TrimSpace(term)) })
	})
}

func matchesTerm(t task, term string) bool {
	if rest, negated := strings.CutPrefix(term, "!"); negated {
		return !matchesTerm(t, strings.TrimSpace(rest))
	}
	if label, ok := strings.CutPrefix(term, "@"); ok {
		return slices.Contains(t.Labels, label)
	}
	if name, ok := strings.CutPrefix(term, "#"); ok {
		return strings.EqualFold(t.project.Name, name)
	}
	term = strings.TrimSpace(strings.TrimPrefix(term, "search:"))
	return strings.Contains(strings.ToLower(t.Content), strings.ToLower(term))
}
