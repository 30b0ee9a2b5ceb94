package view

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/internal/cli/term"
)

var start = time.Date(2026, 3, 1, 14, 3, 0, 0, time.UTC)

func after(d time.Duration) *time.Time {
	at := start.Add(d)
	return &at
}

func stepUpdate(step runs.Step) engine.Update {
	return engine.Update{Kind: engine.UpdateStep, Step: &step}
}

func runUpdate(status runs.Status) engine.Update {
	return engine.Update{Kind: engine.UpdateRun, Run: &runs.Run{ID: "01x", Workflow: "watch", Status: status, StartedAt: start}}
}

// story is a loop that a limiter holds back, a step that is retried, and a log
// line that tries to steer the terminal.
func story() []engine.Update {
	return []engine.Update{
		runUpdate(runs.RunRunning),
		stepUpdate(runs.Step{Path: "domains", Status: runs.StepRunning, Items: 80, Done: 60, StartedAt: &start}),
		stepUpdate(runs.Step{Path: "tell", Status: runs.StepPending}),
		{Kind: engine.UpdateWait, Path: "domains[go.dev].whois", Wait: "rate limit", Until: start.Add(22 * time.Second)},
		{Kind: engine.UpdateLog, Log: &runs.Log{At: start, Level: "warn", Step: "domains", Message: "slow\x1b[2J"}},
	}
}

func TestPlainPrintsOneLineForEveryChange(t *testing.T) {
	var out bytes.Buffer
	plain := NewPlain(&out, term.Style{}, Times{})
	plain.Tick(start)
	for _, update := range story() {
		plain.Apply(update)
	}
	plain.Tick(start.Add(4 * time.Second))
	plain.Apply(stepUpdate(runs.Step{Path: "domains[a.org].whois", Status: runs.StepFailed, Attempts: 4, Error: &runs.Error{Kind: plan.KindTimeout, Message: "no answer"}}))
	plain.Apply(engine.Update{Kind: engine.UpdateWait, Path: "domains[go.dev].whois"})
	plain.Apply(stepUpdate(runs.Step{Path: "domains", Status: runs.StepSucceeded, Items: 80, Done: 80, ItemErrors: 1, StartedAt: &start, FinishedAt: after(10 * time.Second)}))
	plain.Apply(stepUpdate(runs.Step{Path: "tell", Status: runs.StepSucceeded, StartedAt: &start, FinishedAt: &start}))
	plain.Apply(runUpdate(runs.RunSucceeded))
	plain.Close()
	want := `14:03:00 run 01x watch: running
14:03:00 domains running · 60/80
14:03:00 warn domains: slow[2J
14:03:04 domains waiting · 60/80 · waiting (rate limit, next 14:03:22)
14:03:04 domains[a.org].whois failed · attempt 4 · timeout: no answer
14:03:04 domains succeeded · 80/80 · 1 error · 10s
14:03:04 tell succeeded
14:03:04 run 01x watch: succeeded
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error("(-want +got)", diff)
	}
}

func TestPlainPrintsALogLineAfterTheLineOfItsStep(t *testing.T) {
	var out bytes.Buffer
	plain := NewPlain(&out, term.Style{}, Times{})
	log := func(step, message string) {
		plain.Apply(engine.Update{Kind: engine.UpdateLog, Log: &runs.Log{At: start, Level: "info", Step: step, Message: message}})
	}
	plain.Tick(start)
	plain.Apply(runUpdate(runs.RunRunning))
	log("b[1].x", "first item")
	log("a", "of a")
	log("", "of the run")
	plain.Apply(stepUpdate(runs.Step{Path: "a", Status: runs.StepPending}))
	plain.Apply(stepUpdate(runs.Step{Path: "a", Status: runs.StepSucceeded}))
	log("a", "late")
	log("gone", "of a step without news")
	plain.Tick(start.Add(100 * time.Millisecond))
	plain.Apply(stepUpdate(runs.Step{Path: "b", Status: runs.StepSucceeded}))
	plain.Tick(start.Add(1200 * time.Millisecond))
	log("end", "before the end")
	plain.Apply(runUpdate(runs.RunSucceeded))
	plain.Close()
	want := `14:03:00 run 01x watch: running
14:03:00 a succeeded
14:03:00 b succeeded
14:03:00 b[1].x: first item
14:03:00 a: of a
14:03:00 of the run
14:03:00 a: late
14:03:00 gone: of a step without news
14:03:00 end: before the end
14:03:01 run 01x watch: succeeded
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error("(-want +got)", diff)
	}
}

func TestOutputsFitTheTerminal(t *testing.T) {
	var out bytes.Buffer
	p := page()
	p.Width = 60
	p.Outputs(&out, map[string]json.RawMessage{"list": json.RawMessage(`["` + strings.Repeat("x", 300) + `"]`)})
	for _, line := range strings.Split(out.String(), "\n") {
		if term.Width(line) > 60 {
			t.Errorf("%d cells: %s", term.Width(line), line)
		}
	}
}

func TestPlainBeatsWhileNothingChanges(t *testing.T) {
	var out bytes.Buffer
	plain := NewPlain(&out, term.Style{}, Times{})
	plain.Tick(start)
	plain.Apply(runUpdate(runs.RunWaiting))
	plain.Apply(stepUpdate(runs.Step{Path: "wait", Status: runs.StepWaiting, Wait: "sleep", Until: after(time.Hour)}))
	out.Reset()
	plain.Tick(start.Add(29 * time.Second))
	plain.Tick(start.Add(31 * time.Second))
	plain.Tick(start.Add(40 * time.Second))
	want := "14:03:31 still waiting: wait waiting (sleep, next 15:03:00)\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error("(-want +got)", diff)
	}
}

func TestPlainSummarisesManyFailedItems(t *testing.T) {
	var out bytes.Buffer
	plain := NewPlain(&out, term.Style{}, Times{})
	for i := range 100 {
		path := "domains[" + string(rune('a'+i%26)) + strings.Repeat("x", i) + "].whois"
		plain.Apply(stepUpdate(runs.Step{Path: path, Status: runs.StepFailed, Error: &runs.Error{Kind: plan.KindTimeout}}))
	}
	if lines := strings.Count(out.String(), "\n"); lines != itemErrorLines+1 {
		t.Errorf("%d lines, want %d", lines, itemErrorLines+1)
	}
}

func newTestLive(width, height int) (*Live, *bytes.Buffer) {
	out := new(bytes.Buffer)
	return NewLive(out, func() (int, int) { return width, height }, term.Style{}, Times{}), out
}

func TestLiveShowsProgressAndTheLimitersWait(t *testing.T) {
	live, out := newTestLive(100, 24)
	for _, update := range story() {
		live.Apply(update)
	}
	live.Tick(start.Add(4 * time.Second))
	want := []string{
		"watch  01x  running 4s",
		"◔ domains  60/80 · waiting (rate limit, next 14:03:22) · 4s",
		"○ tell     pending",
	}
	if diff := cmp.Diff(want, live.lines()); diff != "" {
		t.Error("(-want +got)", diff)
	}
	if !strings.HasPrefix(out.String(), "14:03:00 warn domains: slow[2J\x1b[K\n") {
		t.Errorf("the log line stands not above the block: %q", out.String())
	}
}

func TestLiveFitsTheTerminal(t *testing.T) {
	live, _ := newTestLive(40, 10)
	live.Apply(runUpdate(runs.RunRunning))
	for i := range 30 {
		status := runs.StepPending
		if i < 15 {
			status = runs.StepSucceeded
		}
		if i == 15 {
			status = runs.StepRunning
		}
		live.Apply(stepUpdate(runs.Step{Path: "step_" + strings.Repeat("词", i), Status: status, Message: strings.Repeat("long ", 30)}))
	}
	live.Tick(start)
	lines := live.lines()
	if len(lines) >= 10 {
		t.Errorf("%d lines on a terminal of 10", len(lines))
	}
	for _, line := range lines {
		if term.Width(line) >= 40 {
			t.Errorf("%q is %d wide", line, term.Width(line))
		}
	}
	if text := strings.Join(lines, "\n"); !strings.Contains(text, "●") || !strings.Contains(text, "more steps") {
		t.Errorf("what runs is not shown:\n%s", text)
	}
}

func TestLivePutsAPromptInABox(t *testing.T) {
	live, _ := newTestLive(80, 24)
	live.Apply(runUpdate(runs.RunWaiting))
	live.Apply(stepUpdate(runs.Step{Path: "login", Status: runs.StepWaiting, Prompt: &runs.Prompt{
		Title: "log in", URL: "https://login.example/device", UserCode: "WXYZ-1234", ExpiresAt: start.Add(time.Minute),
	}}))
	text := strings.Join(live.lines(), "\n")
	for _, want := range []string{"│ open   https://login.example/device", "│ code   WXYZ-1234", "14:04:00"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
}

func TestJSONLPrintsEveryRecordOnce(t *testing.T) {
	var out bytes.Buffer
	jsonl := NewJSONL(&out, func(string) {})
	for _, seq := range []uint64{1, 2, 2, 1, 3} {
		jsonl.Apply(engine.Update{Kind: engine.UpdateRecord, Seq: seq, Record: json.RawMessage(`{"seq":` + string(rune('0'+seq)) + `}`)})
		jsonl.Apply(runUpdate(runs.RunRunning))
	}
	if got := out.String(); got != "{\"seq\":1}\n{\"seq\":2}\n{\"seq\":3}\n" {
		t.Errorf("got %q", got)
	}
}

func page() Page {
	return Page{Command: func(args ...string) string { return "flowrun " + strings.Join(args, " ") }}
}

func TestErrorsSayWhereWhatAndWhatToDo(t *testing.T) {
	var out bytes.Buffer
	page().Error(&out, &runs.Result{Error: &runs.Error{
		Kind: plan.KindRateLimited, Message: "too many\nrequests", Step: "domains[a.org].whois", Action: "netinfo.whois", Attempt: 4,
		HTTPStatus: 429, Applied: runs.NotApplied, RetryAfterS: 90, Hint: diag.Say("lower max_parallel"),
	}})
	want := `✗ error in step domains[a.org].whois (netinfo.whois, attempt 4)
  rate_limited: too many
  requests
  HTTP 429 · nothing was changed · again after 1m30s
  help: lower max_parallel
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error("(-want +got)", diff)
	}
	out.Reset()
	page().FailureOf(&out, "the call", &runs.Error{Kind: plan.KindInvalid, Message: "no", Step: "call", Action: "netinfo.dns"})
	if !strings.HasPrefix(out.String(), "✗ error in the call (netinfo.dns)\n") {
		t.Errorf("a call's error begins with %q", out.String())
	}
}

func TestOutputsAreCutForPeople(t *testing.T) {
	var out bytes.Buffer
	list := "[" + strings.Repeat(`"domain",`, 99) + `"domain"]`
	page().Outputs(&out, map[string]json.RawMessage{"text": json.RawMessage(`"two\nlines"`), "list": json.RawMessage(list), "n": json.RawMessage("3")})
	got := out.String()
	for _, want := range []string{"text: \n  two\n  lines\n", "n: 3\n", "list: 100 items\n  \"domain\"\n", "\n  … 97 more\n", "--out NAME=FILE has all"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in\n%s", want, got)
		}
	}
}

func TestRunsAreATable(t *testing.T) {
	var out bytes.Buffer
	page().Runs(&out, []runs.Run{
		{ID: "01b", Workflow: "词", Status: runs.RunRunning, Trigger: "manual", StartedAt: start},
		{ID: "01a", Workflow: "report", Status: runs.RunPaused, Paused: "auth_required", Trigger: "manual", StartedAt: start, FinishedAt: &start, DurationMS: 4200},
	})
	want := `RUN  WORKFLOW  STATUS                  TRIGGER  STARTED              TOOK
01b  词        running                 manual   2026-03-01 14:03:00
01a  report    paused (auth_required)  manual   2026-03-01 14:03:00  4.2s
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error("(-want +got)", diff)
	}
}

func TestTimesInTheirZone(t *testing.T) {
	zone := time.FixedZone("CST", 8*3600)
	if got := (Times{zone}).Full(start); got != "2026-03-01 22:03:00 CST" {
		t.Errorf("got %s", got)
	}
	if got := (Times{}).Short(time.Time{}); got != "-" {
		t.Errorf("the zero time is %s", got)
	}
}

func rawOutputs(name, raw string) map[string]json.RawMessage {
	return map[string]json.RawMessage{name: json.RawMessage(raw)}
}
