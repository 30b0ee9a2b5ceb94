// Package workflows_test runs every shipped workflow against the simulators.
package workflows_test

import (
	"context"
	"crypto/rand"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/workspace"
	"github.com/flowrun/flowrun/internal/sandbox"
	"github.com/flowrun/flowrun/internal/testparallel"
	"github.com/flowrun/flowrun/plugins/analytics"
	"github.com/flowrun/flowrun/plugins/auth"
	"github.com/flowrun/flowrun/plugins/dictionary"
	"github.com/flowrun/flowrun/plugins/netinfo"
	"github.com/flowrun/flowrun/plugins/tasks"
	"github.com/flowrun/flowrun/sdk"
)

// bundled are the plugins that the test binary serves when the engine executes
// it again.
func bundled() map[string]func() *sdk.Plugin {
	return map[string]func() *sdk.Plugin{
		"analytics": analytics.New, "auth": auth.New, "dictionary": dictionary.New, "netinfo": netinfo.New, "tasks": tasks.New,
	}
}

func TestMain(m *testing.M) {
	if len(os.Args) == 4 && os.Args[1] == "plugins" && os.Args[2] == "serve" {
		bundled()[os.Args[3]]().Serve()
		return
	}
	testparallel.AtLeast(8)
	os.Exit(m.Run())
}

func openProject(t *testing.T) *workspace.Workspace {
	t.Helper()
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	simulators, err := sandbox.Start(sandbox.Options{Now: time.Now, Random: rand.Reader, Window: 2 * time.Second, Interval: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := simulators.Close(); err != nil {
			t.Error(err)
		}
	})
	stand := new(workspace.Sandbox)
	for _, service := range simulators.Services() {
		stand.Simulators = append(stand.Simulators, workspace.Simulator{Plugin: service.Plugin, Config: service.Config, Rate: service.Rate})
	}
	var names []string
	for name := range bundled() {
		names = append(names, name)
	}
	project, err := engine.LoadProject(t.Context(), workspace.Config{
		StateDir: t.TempDir(), Dir: ".", Environ: os.Environ(), Executable: executable, Bundled: names,
		Version: "test", Sandbox: stand, Now: time.Now, Entropy: rand.Reader, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	return project
}

// runWorkflow runs a shipped workflow, which must succeed, and returns its
// outputs.
func runWorkflow(t *testing.T, file string, inputs map[string]workspace.Input) map[string]json.RawMessage {
	t.Helper()
	result := endWorkflow(t, file, inputs)
	if result.Run.Status != runs.RunSucceeded {
		t.Fatalf("%s ended as %s: %v", file, result.Run.Status, result.Error)
	}
	return result.Outputs
}

// endWorkflow runs a shipped workflow to its end.
func endWorkflow(t *testing.T, file string, inputs map[string]workspace.Input) *runs.Result {
	t.Helper()
	return endWorkflowWith(t, file, inputs, nil)
}

// endWorkflowWith runs a shipped workflow to its end, while somebody acts on it.
func endWorkflowWith(t *testing.T, file string, inputs map[string]workspace.Input, act func(e *engine.Engine, run string)) *runs.Result {
	t.Helper()
	return endIn(t, openEngine(t), file, inputs, act)
}

// openEngine opens an engine over a store of its own, with simulators of its own.
func openEngine(t *testing.T) *engine.Engine {
	t.Helper()
	e, err := engine.Open(t.Context(), openProject(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return e
}

// endIn runs a shipped workflow to its end in an engine that is open.
func endIn(t *testing.T, e *engine.Engine, file string, inputs map[string]workspace.Input, act func(e *engine.Engine, run string)) *runs.Result {
	t.Helper()
	source, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	row, problems, err := e.Start(t.Context(), engine.StartRequest{File: file, Source: source, Inputs: inputs})
	if err != nil || row == nil {
		t.Fatalf("start: %v\n%v", err, problems)
	}
	if act != nil {
		act(e, row.ID)
	}
	result, err := e.Wait(t.Context(), row.ID)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func decode[T any](t *testing.T, raw json.RawMessage) T {
	t.Helper()
	var value T
	if err := json.Unmarshal(raw, &value); err != nil {
		t.Fatalf("%v in %s", err, raw)
	}
	return value
}

func TestEveryWorkflowIsTested(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	tested := map[string]bool{
		"campaign-report.yaml": true, "dns-drift.yaml": true, "domain-card.yaml": true, "label-hygiene.yaml": true, "offboard-cleanup.yaml": true,
		"onboard-from-directory.yaml": true, "referrer-spike.yaml": true, "spend-guard.yaml": true, "domain-expiry-watch.yaml": true, "quarter-timesheet.yaml": true, "token-health.yaml": true,
		"traffic-drop-triage.yaml": true, "weekly-review.yaml": true, "word-of-the-day.yaml": true,
	}
	for _, file := range files {
		if !tested[file] && !strings.HasSuffix(file, ".test.yaml") {
			t.Errorf("%s has no test in this file", file)
		}
	}
}

func TestDomainCard(t *testing.T) {
	t.Parallel()
	outputs := runWorkflow(t, "domain-card.yaml", map[string]workspace.Input{"domain": {Text: "go.dev"}})
	if got := decode[string](t, outputs["domain"]); got != "go.dev" {
		t.Errorf("domain is %q", got)
	}
	if addresses := decode[[]string](t, outputs["addresses"]); len(addresses) == 0 {
		t.Error("the card has no address")
	}
	if !decode[bool](t, outputs["registered"]) {
		t.Error("go.dev is not registered")
	}
}

func TestDomainCardOfALostDomain(t *testing.T) {
	t.Parallel()
	outputs := runWorkflow(t, "domain-card.yaml", map[string]workspace.Input{"domain": {Text: "unregistered-shop.com"}})
	if decode[bool](t, outputs["registered"]) {
		t.Error("a lost registration is shown as registered")
	}
}

func TestDomainExpiryWatch(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it waits for a window of the sandbox's limiter")
	}
	outputs := runWorkflow(t, "domain-expiry-watch.yaml", nil)
	if results := decode[[]any](t, outputs["results"]); len(results) != 80 {
		t.Errorf("%d results, want 80", len(results))
	}
	if missing := decode[[]any](t, outputs["missing"]); len(missing) == 0 {
		t.Error("no lost registration was flagged")
	}
}

func TestWordOfTheDay(t *testing.T) {
	t.Parallel()
	outputs := runWorkflow(t, "word-of-the-day.yaml", nil)
	if word := decode[string](t, outputs["word"]); word == "" {
		t.Error("no word")
	}
}

// rowsOf reads the cells of a CSV text below its heading.
func rowsOf(t *testing.T, raw json.RawMessage) []map[string]string {
	t.Helper()
	records, err := csv.NewReader(strings.NewReader(decode[string](t, raw))).ReadAll()
	if err != nil || len(records) == 0 {
		t.Fatalf("no CSV: %v in %s", err, raw)
	}
	var rows []map[string]string
	for _, record := range records[1:] {
		row := map[string]string{}
		for i, name := range records[0] {
			row[name] = record[i]
		}
		rows = append(rows, row)
	}
	return rows
}

// The simulator's weeks are those of UTC, the workflow's those of Berlin: late on a Sunday the last whole week there is
// not the last one here, and may be either the slower or the faster of two.
func TestWeeklyReview(t *testing.T) {
	t.Parallel()
	outputs := runWorkflow(t, "weekly-review.yaml", nil)
	done, change := decode[int](t, outputs["done"]), decode[int](t, outputs["change"])
	if done == 0 || change == 0 {
		t.Errorf("%d done, %d more than before", done, change)
	}
	compared := fmt.Sprintf("%d more than the week before", change)
	if change < 0 {
		compared = fmt.Sprintf("%d fewer than the week before", -change)
	}
	digest := decode[string](t, outputs["digest"])
	for _, want := range []string{"# Week of ", fmt.Sprintf("%d tasks done, %s", done, compared), "| project | tasks |", "\n- "} {
		if !strings.Contains(digest, want) {
			t.Errorf("the digest lacks %q:\n%s", want, digest)
		}
	}
	total := 0
	for _, project := range decode[[]struct {
		Project string `json:"project"`
		Tasks   int    `json:"tasks"`
	}](t, outputs["projects"]) {
		total += project.Tasks
		if project.Project == "another project" {
			t.Error("a project has no name")
		}
	}
	if total != done {
		t.Errorf("the projects have %d tasks of %d", total, done)
	}
}

func TestQuarterTimesheet(t *testing.T) {
	t.Parallel()
	outputs := runWorkflow(t, "quarter-timesheet.yaml", nil)
	if windows := decode[int](t, outputs["windows"]); windows < 2 {
		t.Errorf("%d windows: a quarter does not fit into one", windows)
	}
	from, until := decode[time.Time](t, outputs["from"]), decode[time.Time](t, outputs["until"])
	rows := rowsOf(t, outputs["sheet"])
	if len(rows) == 0 || len(rows) != decode[int](t, outputs["tasks"]) {
		t.Fatalf("%d rows", len(rows))
	}
	ids := map[string]bool{}
	onTime := map[string]int{}
	for _, row := range rows {
		at, err := time.Parse(time.DateOnly, row["completed"])
		if err != nil || at.Before(from.AddDate(0, 0, -1)) || at.After(until) || ids[row["id"]] {
			t.Errorf("row %v is outside the quarter or stands twice", row)
		}
		ids[row["id"]] = true
		if row["due"] != "" && row["completed"] <= row["due"] {
			onTime[row["project"]]++
		}
	}
	for _, project := range rowsOf(t, outputs["projects"]) {
		if got := project["on_time"]; got != strconv.Itoa(onTime[project["project"]]) {
			t.Errorf("project %v: %d tasks were on time", project, onTime[project["project"]])
		}
	}
}

func TestQuarterTimesheetOfNobodyFails(t *testing.T) {
	t.Parallel()
	result := endWorkflow(t, "quarter-timesheet.yaml", map[string]workspace.Input{"filter": {Text: "@nobody"}})
	if result.Run.Status != runs.RunFailed || result.Error == nil || result.Error.Kind != plan.KindNotFound || !strings.Contains(result.Error.Message, "nothing to bill") {
		t.Errorf("ended as %s: %v", result.Run.Status, result.Error)
	}
}

func TestTrafficDropTriage(t *testing.T) {
	t.Parallel()
	outputs := runWorkflow(t, "traffic-drop-triage.yaml", nil)
	if !decode[bool](t, outputs["drop"]) || decode[int](t, outputs["fallen_percent"]) < 60 {
		t.Errorf("no drop: %v", outputs)
	}
	if addresses := decode[[]string](t, outputs["addresses"]); len(addresses) == 0 || !decode[bool](t, outputs["registered"]) {
		t.Errorf("the triage has no answers: %v", outputs)
	}
}

func TestTrafficDropTriageOfAQuietHour(t *testing.T) {
	t.Parallel()
	outputs := runWorkflow(t, "traffic-drop-triage.yaml", map[string]workspace.Input{"site": {Text: "ABCDEFGH"}, "domain": {Text: "harborlight-books.com"}})
	if decode[bool](t, outputs["drop"]) || string(outputs["registered"]) != "null" {
		t.Errorf("a drop where there is none: %v", outputs)
	}
}

func TestCampaignReport(t *testing.T) {
	t.Parallel()
	outputs := runWorkflow(t, "campaign-report.yaml", nil)
	type campaign struct {
		Campaign string `json:"campaign"`
		Visits   int    `json:"visits"`
		Revenue  int    `json:"revenue_cents"`
		Tasks    int    `json:"tasks"`
	}
	rows := decode[[]campaign](t, outputs["campaigns"])
	tasks := 0
	for i, row := range rows {
		tasks += row.Tasks
		if row.Visits == 0 || i > 0 && row.Revenue > rows[i-1].Revenue {
			t.Errorf("row %d is %+v", i, row)
		}
	}
	if len(rows) < 2 || rows[0].Revenue == 0 || tasks == 0 {
		t.Errorf("campaigns %+v", rows)
	}
	if report := decode[string](t, outputs["report"]); !strings.Contains(report, "| "+rows[0].Campaign+" | ") {
		t.Errorf("report:\n%s", report)
	}
}

var loginPrompt = regexp.MustCompile(`open (http://\S+) and enter (\S+)`)

// confirmLogin does what the run's log asks a person for.
func confirmLogin(t *testing.T, e *engine.Engine, run string) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		lines, err := e.Logs(t.Context(), run, "")
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range lines {
			match := loginPrompt.FindStringSubmatch(line.Message)
			if match == nil {
				continue
			}
			response, err := http.PostForm(match[1], url.Values{"user_code": {match[2]}, "decision": {"approve"}})
			if err != nil {
				t.Fatal(err)
			}
			if err := response.Body.Close(); err != nil || response.StatusCode != http.StatusOK {
				t.Fatalf("the page answered %s (%v)", response.Status, err)
			}
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the run asks for no login: %v", lines)
		}
	}
}

func TestTokenHealth(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("waits for a poll of 5 s")
	}
	confirm := func(e *engine.Engine, run string) { confirmLogin(t, e, run) }
	result := endWorkflowWith(t, "token-health.yaml", nil, confirm)
	if result.Run.Status != runs.RunSucceeded {
		t.Fatalf("ended as %s: %v", result.Run.Status, result.Error)
	}
	logins := decode[[]struct {
		Connection string `json:"connection"`
		Was        string `json:"was"`
		Renewed    bool   `json:"renewed"`
	}](t, result.Outputs["logins"])
	if len(logins) != 1 || logins[0].Connection != "auth" || logins[0].Was != "none" || !logins[0].Renewed {
		t.Errorf("logins %+v", logins)
	}
	if deployments := decode[[]any](t, []byte(decode[string](t, result.Outputs["deployments"]))); len(deployments) == 0 {
		t.Error("the login gave no deployments")
	}
}

// From another country the credential is not used at all.
func TestTokenHealthFromAnotherPlace(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("waits for a poll of 5 s")
	}
	confirm := func(e *engine.Engine, run string) { confirmLogin(t, e, run) }
	result := endWorkflowWith(t, "token-health.yaml", map[string]workspace.Input{"country": {Text: "XX"}}, confirm)
	if result.Run.Status != runs.RunFailed || result.Error == nil || result.Error.Step != "check" || result.Error.Reason != "assertion" {
		t.Errorf("ended as %s: %v", result.Run.Status, result.Error)
	}
}
