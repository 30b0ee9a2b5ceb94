package runquery

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/store"
)

// queryTime is now() of the queries of these tests.
var queryTime = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

// queried is a row with everything in it.
func queried() runs.Run {
	finished := queryTime.Add(-time.Hour)
	return runs.Run{
		ID: "01k8zq4c0vdx3y6t7k9m2n5p8r", Workflow: "weekly-review", Status: runs.RunFailed, Paused: runs.PausedError, Attempt: 2,
		Trigger: "monday", Labels: map[string]string{"team": "web", "größe": "3"}, RerunOf: "01k8zq4c0vdx3y6t7k9m2n5p8q", RerunFrom: "fetch",
		Edited: []string{"depth"}, ScheduledAt: queryTime.Add(-3 * time.Hour), StartedAt: queryTime.Add(-2 * time.Hour), FinishedAt: &finished,
		DurationMS: 3_600_000, PlanHash: "p", LatestPlan: "q", Closed: true, Asks: 1, Undriven: true,
		Error: &runs.Error{
			Kind: plan.KindUnavailable, Action: "tasks.list", Step: "fetch", Attempt: 4, Message: "the service is down", Reason: "status",
			HTTPStatus: 503, Applied: runs.NotApplied, Pointer: "/limit", RetryAfterS: 2.5, Hint: diag.Say("wait"), Limiter: "tasks",
			Details: json.RawMessage(`{"region":"eu"}`),
		},
		Slot:   &runs.Slot{Key: "k", Limit: 2, State: runs.SlotHeld},
		Parent: &runs.ParentStep{Run: "01k8zq4c0vdx3y6t7k9m2n5p8p", Step: "child", Path: "child#1"},
		Fire: &runs.Fire{
			Workflow: "weekly-review", Trigger: "monday", Kind: plan.TriggerCron, Slot: queryTime.Add(-3 * time.Hour), At: queryTime.Add(-2 * time.Hour),
			Note: "n", Backfill: true, By: "ada", From: "f", Depth: 1,
		},
	}
}

func selects(t *testing.T, text string, row runs.Run) (bool, error) {
	t.Helper()
	query, err := New(text, queryTime)
	if err != nil {
		return false, err
	}
	return query.Selects(t.Context(), &row)
}

func TestAQuerySelectsByTheFieldsOfARun(t *testing.T) {
	bare := runs.Run{ID: "01k8zq4c0vdx3y6t7k9m2n5p8s", Workflow: "w", Status: runs.RunRunning, Attempt: 1, Trigger: "manual", ScheduledAt: queryTime, StartedAt: queryTime}
	for _, test := range []struct {
		query      string
		full, bare bool
	}{
		{`true`, true, true},
		{`status == "failed" && duration_ms > 60000 && started_at > now() - duration("24h")`, true, false},
		{`status in ["running", "waiting", "queued"]`, false, true},
		{`not (status == "failed")`, false, true},
		{`id == "01k8zq4c0vdx3y6t7k9m2n5p8s"`, false, true},
		{`workflow startsWith "weekly"`, true, false},
		{`workflow matches "^w$"`, false, true},
		{`paused == "error" && attempt > 1 && trigger == "monday"`, true, false},
		{`paused == nil`, false, true},
		{`labels.team == "web"`, true, false},
		{`labels["größe"] == "3"`, true, false},
		{`labels.team == nil`, false, true},
		{`"team" in labels`, true, false},
		{`len(labels) == 0`, false, true},
		{`int(labels["größe"] ?? "0") > 2`, true, false},
		{`rerun_of != nil && rerun_from == "fetch" && "depth" in edited_inputs`, true, false},
		{`len(edited_inputs) == 0`, false, true},
		{`scheduled_at < now() - duration("150m")`, true, false},
		{`started_at - scheduled_at >= duration("1h")`, true, false},
		{`finished_at != nil && now() - finished_at <= duration("1h")`, true, false},
		{`finished_at == nil && now() - started_at < duration("1m")`, false, true},
		{`(finished_at ?? now()) == now()`, false, true},
		{`started_at.Weekday() == 1`, true, true},
		{`formatTime(started_at, "15:04", "Europe/Berlin") == "11:00"`, true, false},
		{`started_at > date("2026-03-02T11:00:00Z")`, false, true},
		{`error != nil && error.kind == "unavailable" && error.http_status == 503`, true, false},
		{`error?.step == "fetch" && error?.reason == "status" && error?.attempt == 4`, true, false},
		{`(error?.message ?? "") contains "down"`, true, false},
		{`error?.kind in ["timeout", "unavailable"]`, true, false},
		{`error?.details?.region == "eu"`, true, false},
		{`(error?.retry_after_s ?? 0) > 2`, true, false},
		{`error == nil`, false, true},
		{`parent?.run == "01k8zq4c0vdx3y6t7k9m2n5p8p"`, true, false},
		{`parent == nil && !closed && !undriven`, false, true},
		{`concurrency?.state == "held"`, true, false},
		{`fire?.kind == "cron" && fire?.backfill == true && fire?.slot == scheduled_at`, true, false},
		{`plan_hash != latest_plan_hash`, true, false},
		{`let day = duration("24h"); started_at > now() - day`, true, true},
		{`any(["failed", "timed_out"], # == status)`, true, false},
	} {
		for row, want := range map[*runs.Run]bool{new(queried()): test.full, &bare: test.bare} {
			if got, err := selects(t, test.query, *row); err != nil || got != want {
				t.Errorf("%s at %s: %v, %v", test.query, row.Workflow, got, err)
			}
		}
	}
}

func TestAWrongQueryIsToldWithItsPlaceCodeAndHint(t *testing.T) {
	for marked, want := range map[string]string{
		`«statuss» == "failed"`:                        "FR3005 unknown name `statuss`; did you mean `status`?",
		`«run».status == "failed"`:                     "FR3005 unknown name `run`; a query reads the fields of a run: asks, attempt, closed, ",
		`status «==» "faild"`:                          "FR3015 ",
		`error != nil && error.kind «==» "broken"`:     "FR3015 ",
		`duration_ms «>» "1m"`:                         "FR3009 ",
		`started_at «>» "2026-01-01"`:                  "FR3009 ",
		`error.«kind» == "timeout"`:                    "FR3011 ",
		`«finished_at» > now()`:                        "FR3011 ",
		`error?.«kindd» == "x"`:                        "FR3006 unknown field `kindd` in `error`; did you mean `kind`?",
		`«duration_ms + 1»`:                            "FR3010 a query must be true or false, got an integer",
		`«labels.team»`:                                "FR3010 a query must be true or false, got text or null",
		`«»`:                                           "FR3001 the expression is empty",
		`status == «"failed»`:                          "FR3002 ",
		`«(»status == "failed"`:                        "FR3002 ",
		`«env»("HOME") == ""`:                          "FR3007 ",
		`«secrets».TOKEN == ""`:                        "FR3005 ",
		`status == "failed" &&` + "\n  «nam» == \"ü\"": "FR3005 unknown name `nam`",
		`"ü" == workflow && «nam» == "x"`:              "FR3005 unknown name `nam`",
	} {
		start := strings.Index(marked, "«")
		text := strings.NewReplacer("«", "", "»", "").Replace(marked)
		err := Check(text)
		var wrong *QueryError
		if !errors.As(err, &wrong) {
			t.Errorf("%s: %v", marked, err)
			continue
		}
		first := wrong.Problems[0]
		if got := first.Code + " " + first.Message + "; " + first.Hint.Text; !strings.HasPrefix(got, want) || strings.TrimSpace(first.Message) == "" {
			t.Errorf("%s:\n got %s\nwant %s", marked, got, want)
		}
		line, column := placeIn(text, start)
		if first.File != QueryFile || first.Line != line || first.Column != column {
			t.Errorf("%s: at %s, want %d:%d", marked, first.Pos, line, column)
		}
		if !strings.Contains(wrong.Error(), fmt.Sprintf("column %d: %s", column, first.Message)) || !strings.Contains(wrong.Error(), first.Code) {
			t.Errorf("%s: %s", marked, wrong)
		}
	}
}

func TestAQueryThatFailsAtARunNamesIt(t *testing.T) {
	for query, want := range map[string]string{
		`int(labels["team"] ?? "1") > 1`:                             "expression",
		`error?.details.region`:                                      "expression",
		`all(1..2000, {any(1..2000, {# < 0}) || true})`:              "limit",
		`fromJSON("{}")`:                                             "expression",
		`len(repeat(repeat(workflow, 1000), 1000)) > 1`:              "limit",
		`reduce(1..60, {#acc + #acc}, workflow + trigger) == "w"`:    "limit",
		`len(map(1..1000, {map(1..1000, {string(#)})})) == 0`:        "limit",
		`sum(map(1..100000, {# * # })) > 1 && len(1..100000) > 1000`: "limit",
	} {
		_, err := selects(t, query, queried())
		var wrong *QueryError
		if !errors.As(err, &wrong) {
			t.Errorf("%s: %v", query, err)
			continue
		}
		if wrong.Run != queried().ID || wrong.Problems[0].Code != want || !strings.Contains(err.Error(), "at run "+wrong.Run) {
			t.Errorf("%s: %s %s", query, wrong.Problems[0].Code, err)
		}
	}
}

// A field that a row gains is one of a query too, under the name that it has in JSON.
func TestAQueryReadsEveryFieldOfARow(t *testing.T) {
	var names []string
	known := runScope()
	for i := range reflect.TypeFor[runs.Run]().NumField() {
		name, _, _ := strings.Cut(reflect.TypeFor[runs.Run]().Field(i).Tag.Get("json"), ",")
		names = append(names, name)
		if _, found := known.Lookup(name); !found {
			t.Errorf("a query does not know %s", name)
		}
	}
	if len(known.Names()) != len(names) {
		t.Errorf("fields of a query: %v, of a row: %v", known.Names(), names)
	}
	full, empty := queried(), runs.Run{}
	for _, field := range runFields() {
		for row, value := range map[string]any{"full": field.value(&full), "empty": field.value(&empty)} {
			if row == "full" && value == nil {
				t.Errorf("%s is null in a full row", field.name)
			}
			if row == "empty" && (field.name == "status") {
				continue // a row always has one
			}
			if _, err := field.typ.Accept(value); err != nil {
				t.Errorf("%s of the %s row: %v is none of its type: %v", field.name, row, value, err)
			}
		}
	}
}

func TestThePagesOfAQueryBoundTheirWork(t *testing.T) {
	count := func(q *Query) (rows int) {
		t.Helper()
		for row := queried(); ; rows++ {
			_, err := q.Selects(t.Context(), &row)
			if errors.Is(err, store.ErrEnough) {
				return rows
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	for text, most := range map[string]int{
		`status == "queued"`:                       maxQueryRows,
		`all(1..30000, {# > 0})`:                   maxQuerySteps/30_000 + 1,
		`len(repeat(workflow, 40000)) < 0`:         maxQuerySteps / 1000,
		`len(1..100000) < 0`:                       maxQuerySteps/100_000 + 1,
		strings.Repeat(`!`, 90) + `closed`:         maxQueryRows,
		strings.Repeat(`closed && `, 700) + `true`: maxQuerySteps / 100,
	} {
		query, err := New(text, queryTime)
		if err != nil {
			t.Fatalf("%.60s: %v", text, err)
		}
		if got := count(query); got < 1 || got > most {
			t.Errorf("%.60s: a page looks at %d rows, at most %d are due", text, got, most)
		}
	}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	query, err := New("true", queryTime)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := query.Selects(canceled, new(queried())); !errors.Is(err, context.Canceled) {
		t.Errorf("a list that nobody waits for any more: %v", err)
	}
}
