package taskssim

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var noon = time.Date(2031, 5, 8, 12, 0, 0, 0, time.UTC) // a Thursday

func frozen() time.Time { return noon }

func newSim() *Sim { return New(Options{Now: frozen, Token: "good"}) }

// do returns the answer to one request with the credential.
func do(t *testing.T, h http.Handler, method, target, body string, header ...string) (int, any) {
	t.Helper()
	rec := httptest.NewRecorder()
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer good")
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	h.ServeHTTP(rec, r)
	var out any
	if err := json.Unmarshal(rec.Body.Bytes(), &out); err != nil {
		t.Fatalf("%s %s: %v in %s", method, target, err, rec.Body)
	}
	return rec.Code, out
}

func get(t *testing.T, h http.Handler, target string) map[string]any {
	t.Helper()
	status, body := do(t, h, http.MethodGet, target, "")
	if status != http.StatusOK {
		t.Fatalf("%s: %d %v", target, status, body)
	}
	return body.(map[string]any)
}

// all reads every page of a list.
func all(t *testing.T, h http.Handler, target, list string) (records []map[string]any, pages int) {
	t.Helper()
	for cursor := ""; ; {
		separator := "?"
		if strings.Contains(target, "?") {
			separator = "&"
		}
		at := target
		if cursor != "" {
			at += separator + "cursor=" + url.QueryEscape(cursor)
		}
		page := get(t, h, at)
		pages++
		for _, record := range page[list].([]any) {
			records = append(records, record.(map[string]any))
		}
		next, more := page["next_cursor"].(string)
		if !more {
			return records, pages
		}
		cursor = next
	}
}

const completedPath = "/api/v1/tasks/completed/by_completion_date"

// span is a range that ends now.
func span(days int) string {
	return "?since=" + noon.AddDate(0, 0, -days).Format(time.RFC3339) + "&until=" + noon.Format(time.RFC3339)
}

func TestDataIsRich(t *testing.T) {
	s := newSim()
	if n := len(s.world.completed()); n < 400 {
		t.Errorf("%d completed tasks", n)
	}
	if n := len(s.world.ledger); n < 250 {
		t.Errorf("%d ledger entries", n)
	}
	for id, want := range map[int64][2]int{Brightwater: {12, 130}, Northgate: {9, 24}} {
		active, _ := all(t, s, fmt.Sprintf("/api/v1/workspaces/%d/projects/active", id), "results")
		archived, _ := all(t, s, fmt.Sprintf("/api/v1/workspaces/%d/projects/archived", id), "results")
		if len(active) != want[0] || len(archived) != want[1] {
			t.Errorf("workspace %d: %d active, %d archived", id, len(active), len(archived))
		}
	}
	records, pages := all(t, s, completedPath+span(88), "items")
	if len(records) < 150 || pages < 4 {
		t.Errorf("%d tasks on %d pages in 88 days", len(records), pages)
	}
	labels := map[any]int{}
	for _, r := range records {
		for _, l := range r["labels"].([]any) {
			labels[l]++
		}
	}
	for _, l := range []string{"client-x", "client-y", "review", "waiting", "deep-work"} {
		if labels[l] < 5 {
			t.Errorf("label %s is on %d tasks", l, labels[l])
		}
	}
}

func TestTwoWeeksDifferOnAnyDay(t *testing.T) {
	for day := range 30 {
		now := noon.AddDate(0, 0, day)
		s := New(Options{Now: func() time.Time { return now }, Token: "good"})
		count := func(from, to time.Time) int {
			records, _ := all(t, s, completedPath+"?since="+from.Format(time.RFC3339)+"&until="+to.Format(time.RFC3339), "items")
			return len(records)
		}
		week := func(n int) time.Time { return now.AddDate(0, 0, -7*n) }
		if last, before := count(week(1), now), count(week(2), week(1)); last == before || last < 8 || before < 8 {
			t.Errorf("%s: %d in the last 7 days, %d in those before", now.Format("Mon 2 Jan"), last, before)
		}
		monday := now.Truncate(24*time.Hour).AddDate(0, 0, -(int(now.Weekday())+6)%7)
		if last, before := count(monday.AddDate(0, 0, -7), monday), count(monday.AddDate(0, 0, -14), monday.AddDate(0, 0, -7)); last >= before {
			t.Errorf("%s: %d last week, %d in the week before", now.Format("Mon 2 Jan"), last, before)
		}
	}
}

func TestSameMomentSameData(t *testing.T) {
	for _, target := range []string{completedPath + span(40), "/api/v1/usage_billing/history", "/api/v1/tasks/completed/stats", "/api/v1/workspaces/40317/projects/archived"} {
		if diff := cmp.Diff(get(t, newSim(), target), get(t, newSim(), target)); diff != "" {
			t.Errorf("%s (-first +second):\n%s", target, diff)
		}
	}
}

func TestIdsAreOfBothKinds(t *testing.T) {
	s := newSim()
	texts, numbers := 0, 0
	for _, task := range s.world.completed() {
		switch id := task.ID.(type) {
		case string:
			texts++
		case json.Number:
			if n, err := id.Int64(); err != nil || n <= 1<<53 {
				t.Errorf("id %s", id)
			}
			numbers++
		}
	}
	if texts < 50 || numbers < 50 {
		t.Errorf("%d texts and %d numbers", texts, numbers)
	}
}

func TestCursorsAreSigned(t *testing.T) {
	s := newSim()
	first := get(t, s, "/api/v1/usage_billing/history?limit=20")
	cursor := first["next_cursor"].(string)
	if strings.Count(cursor, ".") != 1 || strings.ContainsAny(cursor, "=+/") {
		t.Errorf("cursor %q", cursor)
	}
	for name, target := range map[string]string{
		"other limit":    "/api/v1/usage_billing/history?limit=21&cursor=" + cursor,
		"no limit":       "/api/v1/usage_billing/history?cursor=" + cursor,
		"other endpoint": "/api/v1/workspaces/40317/projects/active?limit=20&cursor=" + cursor,
		"changed":        "/api/v1/usage_billing/history?limit=20&cursor=A" + cursor,
		"one segment":    "/api/v1/usage_billing/history?limit=20&cursor=abc",
		"empty":          "/api/v1/usage_billing/history?limit=20&cursor=",
	} {
		if status, body := do(t, s, http.MethodGet, target, ""); status != http.StatusBadRequest {
			t.Errorf("%s: %d %v", name, status, body)
		}
	}
	second := get(t, s, "/api/v1/usage_billing/history?limit=20&cursor="+cursor)
	if len(second["entries"].([]any)) != 20 || cmp.Equal(first["entries"], second["entries"]) {
		t.Error("the second page is not one")
	}
}

func TestErrorsAreTheDocumentedOnes(t *testing.T) {
	tests := map[string]struct {
		method, target, body string
		status               int
		code                 string
	}{
		"no credential in a range":   {"GET", completedPath + span(9), "", 401, "UNAUTHORIZED"},
		"range of over 3 months":     {"GET", completedPath + "?since=2030-11-30T00:00:00Z&until=2031-03-01T00:00:00Z", "", 400, "INVALID_ARGUMENT"},
		"range of over 6 weeks":      {"GET", "/api/v1/tasks/completed/by_due_date?since=2031-03-01T00:00:00Z&until=2031-04-12T00:00:01Z", "", 400, "INVALID_ARGUMENT"},
		"no range":                   {"GET", completedPath, "", 400, "INVALID_ARGUMENT"},
		"an empty range":             {"GET", completedPath + "?since=2031-03-01T00:00:00Z&until=2031-03-01T00:00:00Z", "", 400, "INVALID_ARGUMENT"},
		"placeholder":                {"GET", completedPath + span(9) + "&project_id=tmp-1", "", 400, "INVALID_ARGUMENT"},
		"placeholder code":           {"PUT", "/api/v1/workspaces/invitations/tmp-1/accept", "", 400, "INVALID_ARGUMENT"},
		"filter too long":            {"GET", completedPath + span(9) + "&filter_query=" + strings.Repeat("a", 1025), "", 400, "INVALID_ARGUMENT"},
		"limit of projects":          {"GET", "/api/v1/workspaces/40317/projects/active?limit=501", "", 400, "INVALID_ARGUMENT"},
		"limit of history":           {"GET", "/api/v1/usage_billing/history?limit=201", "", 400, "INVALID_ARGUMENT"},
		"limit 0":                    {"GET", completedPath + span(9) + "&limit=0", "", 400, "INVALID_ARGUMENT"},
		"archived of a guest":        {"GET", "/api/v1/workspaces/52088/projects/archived", "", 403, "FORBIDDEN"},
		"unknown workspace":          {"GET", "/api/v1/workspaces/0/projects/archived", "", 404, "NOT_FOUND"},
		"invite to 0":                {"POST", "/api/v1/workspaces/0/users/invite", `{"a":"b@c"}`, 400, "INVALID_ARGUMENT"},
		"delete as a member":         {"POST", "/api/v1/workspaces/invitations/delete", `{"a":"kim@example.com"}`, 403, "FORBIDDEN"},
		"body is a list":             {"POST", "/api/v1/labels/shared/remove", `[]`, 400, "INVALID_ARGUMENT"},
		"no body":                    {"POST", "/api/v1/labels/shared/rename", ``, 400, "INVALID_ARGUMENT"},
		"somebody else's invitation": {"PUT", "/api/v1/workspaces/invitations/" + OthersCode + "/reject", "", 403, "FORBIDDEN"},
		"unknown endpoint":           {"GET", "/api/v1/sync", "", 404, "NOT_FOUND"},
		"a day is no date-time":      {"GET", "/api/v1/usage_billing/usage_summary?since=2031-05-01", "", 400, "INVALID_ARGUMENT"},
		"wrong public key":           {"GET", completedPath + span(9) + "&public_key=x", "", 403, "FORBIDDEN"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var header []string
			if tt.status == http.StatusUnauthorized {
				header = []string{"Authorization", ""}
			}
			status, body := do(t, newSim(), tt.method, tt.target, tt.body, header...)
			if refusal, _ := body.(map[string]any); status != tt.status || refusal["error"] != tt.code || refusal["message"] == "" {
				t.Errorf("got %d %v, want %d %s", status, body, tt.status, tt.code)
			}
		})
	}
}

func TestRangesThatJustFit(t *testing.T) {
	s := newSim()
	get(t, s, completedPath+"?since=2030-11-30T00:00:00Z&until=2031-02-28T00:00:00Z")
	get(t, s, completedPath+"?since=2031-02-01T00:00:00Z&until=2031-05-01T00:00:00Z")
	get(t, s, "/api/v1/tasks/completed/by_due_date?since=2031-03-01T00:00:00Z&until=2031-04-12T00:00:00Z")
}

func TestCredential(t *testing.T) {
	s := newSim()
	for _, header := range []string{"", "good", "Bearer ", "Bearer bad", "bearer good", "Basic good"} {
		if status, body := do(t, s, http.MethodGet, "/api/v1/tasks/completed/stats", "", "Authorization", header); status != 401 {
			t.Errorf("Authorization %q: %d %v", header, status, body)
		}
	}
	_, migrated := do(t, s, http.MethodPost, "/api/v1/access_tokens/migrate_personal_token", `{"old":"token"}`)
	token := migrated.(map[string]any)["access_token"].(string)
	if status, body := do(t, s, http.MethodGet, "/api/v1/tasks/completed/stats", "", "Authorization", "Bearer "+token); status != 200 {
		t.Errorf("the migrated token: %d %v", status, body)
	}
	open := New(Options{Now: frozen})
	if status, _ := do(t, open, http.MethodGet, "/api/v1/tasks/completed/stats", "", "Authorization", "Bearer whatever"); status != 200 {
		t.Errorf("any credential: %d", status)
	}
}

func TestPublicKeyShowsOneProject(t *testing.T) {
	s := newSim()
	status, body := do(t, s, http.MethodGet, completedPath+span(88)+"&public_key=public-brightwater-site", "", "Authorization", "")
	if status != 200 {
		t.Fatalf("got %d %v", status, body)
	}
	projects := map[any]bool{}
	for _, item := range body.(map[string]any)["items"].([]any) {
		projects[item.(map[string]any)["project_id"]] = true
	}
	if len(projects) != 1 {
		t.Errorf("projects %v", projects)
	}
}

func TestFilters(t *testing.T) {
	s := newSim()
	count := func(filter string) int {
		records, _ := all(t, s, completedPath+span(88)+"&filter_query="+url.QueryEscape(filter), "items")
		return len(records)
	}
	everything := count("!no such words")
	x, notX := count("@client-x"), count("!@client-x")
	if x == 0 || notX == 0 || x+notX != everything {
		t.Errorf("%d with the label, %d without, %d in all", x, notX, everything)
	}
	site, both, either := count("#Website"), count("#website & @client-x"), count("#Website | @client-x")
	if site == 0 || both == 0 || either != site+x-both {
		t.Errorf("%d of the project, %d of both, %d of either", site, both, either)
	}
	if count("search: invoice") == 0 || count("INVOICE") != count("search: invoice") {
		t.Errorf("%d with a word", count("search: invoice"))
	}
}

func TestWritesChangeState(t *testing.T) {
	s := newSim()
	pendingOf := func() int {
		_, body := do(t, s, http.MethodGet, "/api/v1/workspaces/invitations/all?workspace_id=40317", "")
		return len(body.([]any))
	}
	steps := []struct {
		method, target, body string
		pending              int
	}{
		{"POST", "/api/v1/workspaces/40317/users/invite", `{"people":[{"mail":"new@example.com"},{"mail":"other@example.com"}]}`, 5},
		{"POST", "/api/v1/workspaces/invitations/delete", `{"who":"new@example.com"}`, 4},
		{"PUT", "/api/v1/workspaces/invitations/" + LanternCode + "/accept", "", 4},
		{"POST", "/api/v1/labels/shared/rename", `{"from":"wating","to":"waiting"}`, 4},
	}
	for _, step := range steps {
		if status, body := do(t, s, step.method, step.target, step.body); status != 200 || pendingOf() != step.pending {
			t.Errorf("%s: %d %v, %d pending", step.target, status, body, pendingOf())
		}
	}
	if status, _ := do(t, s, http.MethodPut, "/api/v1/workspaces/invitations/"+LanternCode+"/reject", ""); status != 400 {
		t.Errorf("a second answer: %d", status)
	}
	if labels := s.Labels(); labels["waiting"] != 14 {
		t.Errorf("labels %v", labels)
	}
	if got := len(s.Bodies()); got != 3 {
		t.Errorf("%d bodies are remembered", got)
	}
	rec := httptest.NewRecorder()
	s.ServeHTTP(rec, httptest.NewRequest(http.MethodPost, "/_sim/reset", nil))
	if rec.Code != http.StatusNoContent || pendingOf() != 3 || len(s.Bodies()) != 0 || s.Labels()["wating"] != 3 {
		t.Errorf("after a reset: %d, %d pending", rec.Code, pendingOf())
	}
}

func TestLedger(t *testing.T) {
	s := newSim()
	entries, pages := all(t, s, "/api/v1/usage_billing/history", "entries")
	if pages < 5 {
		t.Errorf("%d pages", pages)
	}
	kinds, moments := map[any]int{}, map[any]int{}
	for i, e := range entries {
		kinds[e["kind"]]++
		moments[e["created_at"]]++
		if i > 0 && entries[i-1]["created_at"].(string) < e["created_at"].(string) {
			t.Errorf("entry %d is newer than the one before it", i)
		}
	}
	if len(kinds) != 5 || len(moments) == len(entries) {
		t.Errorf("kinds %v, %d moments of %d entries", kinds, len(moments), len(entries))
	}
	summary := get(t, s, "/api/v1/usage_billing/usage_summary")
	if summary["run_count"] != float64(kinds[settled]) {
		t.Errorf("summary %v, kinds %v", summary, kinds)
	}
}

func TestRateLimitIsOffByDefault(t *testing.T) {
	s := newSim()
	for range 200 {
		get(t, s, "/api/v1/tasks/completed/stats")
	}
	s = New(Options{Now: frozen, Token: "good", Requests: 1, Window: 30 * time.Second})
	get(t, s, "/api/v1/tasks/completed/stats")
	rec := httptest.NewRecorder()
	s.ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/api/v1/tasks/completed/stats", nil))
	if rec.Code != http.StatusTooManyRequests || rec.Header().Get("Retry-After") != "30" {
		t.Errorf("got %d, Retry-After %q", rec.Code, rec.Header().Get("Retry-After"))
	}
}
