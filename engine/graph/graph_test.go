package graph_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flowrun/flowrun/engine/graph"
	"github.com/flowrun/flowrun/engine/plan"
)

// sample has every kind of step and edge.
func sample() *plan.Workflow {
	return &plan.Workflow{
		Name: "sample",
		Steps: []plan.Step{
			{ID: "range", Kind: plan.StepLet},
			{ID: "rows", Kind: plan.StepAction, Uses: "svc.list", Reads: []string{"range"}},
			{
				ID: "each", Kind: plan.StepLoop, Needs: []string{"rows"}, If: &plan.Expr{Source: "len(steps.rows.outputs.items)\n  > 0"},
				Loop: &plan.Loop{As: "row", MaxParallel: 4, Steps: []plan.Step{
					{ID: "one", Kind: plan.StepAction, Uses: "svc.get"},
					{ID: "two", Kind: plan.StepAction, Uses: "core.log", Needs: []string{"one"}, If: &plan.Expr{Source: `row.name != "<a>"`}},
				}},
			},
			{ID: "repair", Kind: plan.StepAction, Uses: "core.log", Needs: []string{"each"}, Reads: []string{"rows"}, RunIf: plan.RunIfFailed},
		},
		Finally: []plan.Step{{ID: "end", Kind: plan.StepAction, Uses: "core.log"}},
	}
}

func TestTextShowsOrderReadsAndConditions(t *testing.T) {
	want := `sample
├─ range   let
├─ rows    svc.list  <~ range
├─ each    foreach row (at most 4 at a time)  <- rows  if len(steps.rows.outputs.items) > 0
│  ├─ one  svc.get
│  └─ two  core.log  <- one  if row.name != "<a>"
└─ repair  core.log  <- each  <~ rows  run_if failed
finally
└─ end     core.log
`
	if diff := cmp.Diff(want, graph.Text(sample())); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestMermaidShowsOrderReadsAndConditions(t *testing.T) {
	want := `flowchart TD
  s_range["range<br/>let"]
  s_rows["rows<br/>svc.list"]
  subgraph s_each["each<br/>foreach row (at most 4 at a time)<br/>if len(steps.rows.outputs.items) #gt; 0"]
    s_each_one["one<br/>svc.get"]
    s_each_two{{"two<br/>core.log<br/>if row.name != #quot;#lt;a#gt;#quot;"}}
    s_each_one --> s_each_two
  end
  s_repair["repair<br/>core.log<br/>run_if failed"]
  s_range -.-> s_rows
  s_rows --> s_each
  s_each --> s_repair
  s_rows -.-> s_repair
  subgraph finally
    finally_end["end<br/>core.log"]
  end
`
	if diff := cmp.Diff(want, graph.Mermaid(sample())); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// golden compares a drawing with testdata; UPDATE=1 writes it.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got)\n%s", name, diff)
	}
}

func TestSVGGolden(t *testing.T) {
	drawn := graph.SVG(sample())
	golden(t, "sample.svg", drawn)
	for _, want := range []string{
		"prefers-color-scheme:dark", `role="img"`, "<title id=", "<desc id=", `class="edge reads"`, `data-step="each.two"`, "if row.name != &quot;&lt;a&gt;&quot;",
	} {
		if !strings.Contains(drawn, want) {
			t.Errorf("the drawing lacks %s", want)
		}
	}
}

func TestDotGolden(t *testing.T) { golden(t, "sample.dot", graph.Dot(sample())) }
