package plugins

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/workspace"
	"github.com/flowrun/flowrun/internal/simkit"
	"github.com/flowrun/flowrun/internal/testbuild"
	"github.com/flowrun/flowrun/plugins/analytics/analyticssim"
)

// analyticsProject returns a project that knows the plugin analytics as a program
// of its own, with a connection to a simulator.
func analyticsProject(t *testing.T) (*workspace.Workspace, *analyticssim.Sim) {
	t.Helper()
	dir := t.TempDir()
	binary := filepath.Join(dir, "flowrun-plugin-analytics")
	if err := testbuild.Program(binary, "./analytics/cmd/flowrun-plugin-analytics"); err != nil {
		t.Fatal(err)
	}
	sim := analyticssim.New(analyticssim.Options{})
	srv := httptest.NewServer(sim)
	t.Cleanup(srv.Close)
	project, err := engine.LoadProject(t.Context(), workspace.Config{
		StateDir: t.TempDir(), Dir: dir, Environ: []string{"PATH=" + os.Getenv("PATH")}, Executable: binary, Bundled: []string{"analytics"},
		Version: "test", Now: time.Now, Entropy: rand.Reader, Log: slog.New(slog.DiscardHandler),
		Sandbox: &workspace.Sandbox{Simulators: []workspace.Simulator{{Plugin: "analytics", Config: json.RawMessage(fmt.Sprintf(`{"base_url":%q,"token":"t"}`, srv.URL))}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return project, sim
}

// analyticsReport is a workflow that reads a report by page and evaluates an expression
// over it.
func analyticsReport(inputs, expression string) []byte {
	return []byte(`flowrun: v1
name: report
steps:
  - id: top
    uses: analytics.aggregate
    with: {entity: pageview, entity_id: ABCDEFGH, aggregates: [visits, bounce_rate], field_grouping: [browser]` + inputs + `}
  - uses: core.log
    if: ` + expression + `
    with: {text: "busy"}
`)
}

// TestArgumentsNarrowTheRows checks workflows with the engine's own checker.
func TestArgumentsNarrowTheRows(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a program")
	}
	project, _ := analyticsProject(t)
	tests := map[string]struct{ inputs, expression, problem string }{
		"a requested aggregate is text":     {"", `steps.top.outputs.rows[0].visits == "90"`, ""},
		"text is not compared with number":  {"", `steps.top.outputs.rows[0].visits > 90`, "can't compare text with an integer"},
		"with numeric it is":                {", numeric: true", `steps.top.outputs.rows[0].visits > 90`, ""},
		"with numeric a fraction too":       {", numeric: true", `steps.top.outputs.rows[0].bounce_rate > 0.5`, ""},
		"a grouping is text all the same":   {", numeric: true", `steps.top.outputs.rows[0].browser > 90`, "can't compare text with an integer"},
		"a key that was not asked for":      {", numeric: true", `steps.top.outputs.rows[0].nope == "x"`, "unknown field `nope`"},
		"an aggregate not asked for":        {"", `steps.top.outputs.rows[0].uniques == "x"`, "unknown field `uniques`"},
		"no timestamp without dates":        {"", `steps.top.outputs.rows[0].timestamp == "x"`, "unknown field `timestamp`"},
		"a timestamp with dates":            {", date_grouping: day", `steps.top.outputs.rows[0].timestamp startsWith "2026"`, ""},
		"numbers can be added up":           {", numeric: true", `sum(map(steps.top.outputs.rows, .visits)) > 90`, ""},
		"a number is no text":               {", numeric: true", `upper(steps.top.outputs.rows[0].visits) == "X"`, "expects text"},
		"a fraction is no text":             {", numeric: true", `steps.top.outputs.rows[0].bounce_rate == "0.5"`, "can't compare"},
		"a name that is not documented":     {"", `get(steps.top.outputs.rows[0], "date") == "x"`, ""},
		"count is a number":                 {"", `steps.top.outputs.count > 3`, ""},
		"a plain scalar is a filter's text": {", filters: [{property: pathname, operator: is, value: 404}]", `steps.top.outputs.count > 3`, ""},
		"a number as a filter's text":       {", filters: [{property: pathname, operator: is, value: '${{ 400 + 4 }}'}]", `steps.top.outputs.count > 3`, "string(x) makes text of it"},
		"a rule of the plugin":              {", sort_by: \"value:asc\"", `steps.top.outputs.count > 3`, "can't be sorted by"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, problems := project.Check(t.Context(), "report.yaml", analyticsReport(tt.inputs, tt.expression))
			text := fmt.Sprint(problems)
			switch {
			case tt.problem == "" && problems.HasErrors():
				t.Errorf("got %s", text)
			case tt.problem != "" && (!problems.HasErrors() || !strings.Contains(text, tt.problem)):
				t.Errorf("got %s, want %q", text, tt.problem)
			}
		})
	}
}

// TestTextAmongNumbersPassesTheOutputCheck runs reports whose answers have text
// where numbers are asked for: the step succeeds, for the schema says both.
func TestTextAmongNumbersPassesTheOutputCheck(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a program")
	}
	project, sim := analyticsProject(t)
	e, err := engine.Open(t.Context(), project)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := e.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	for body, want := range map[string]runs.Status{
		`[{"visits":"91","bounce_rate":"0.50","browser":"x","extra":"1"}]`: runs.RunSucceeded,
		`[{"visits":"91","bounce_rate":"","browser":"x"}]`:                 runs.RunSucceeded,
		`[{"visits":"n/a","bounce_rate":"1","browser":"x"}]`:               runs.RunFailed, // `>` finds text
	} {
		if err := sim.Kit().Add(simkit.Fault{Body: body}); err != nil {
			t.Fatal(err)
		}
		row, problems, err := e.Start(t.Context(), engine.StartRequest{File: "report.yaml", Source: analyticsReport(", numeric: true", `steps.top.outputs.rows[0].visits > 90`)})
		if err != nil || row == nil {
			t.Fatalf("start: %v\n%v", err, problems)
		}
		result, err := e.Wait(t.Context(), row.ID)
		if err != nil || result.Run.Status != want {
			t.Errorf("%s: %v %v, %v, want %v", body, result.Run.Status, result.Error, err, want)
		}
		if result.Error != nil && !strings.Contains(result.Error.Message, "text") {
			t.Errorf("%s: %v", body, result.Error)
		}
	}
}
