package cli

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flowrun/flowrun/engine/diag"
)

func findings() diag.List {
	return diag.List{
		{
			Pos: diag.Pos{File: "work flows/a.yaml", Line: 3, Column: 5, EndLine: 3, EndColumn: 9}, Code: "FR2004", Severity: diag.Error,
			Message: "100% of `x`\nis, gone", Hint: diag.Say("did you mean `y`?"),
			Related: []diag.Related{{Pos: diag.Pos{File: "b.yaml", Line: 1, Column: 2}, Message: "the other"}},
		},
		{Pos: diag.Pos{File: "a,b:c.yaml"}, Code: "FR2004", Severity: diag.Warning, Message: "m"},
	}
}

func TestRule7GitHubAnnotations(t *testing.T) {
	var got []string
	for _, p := range findings() {
		got = append(got, githubLine(p))
	}
	want := []string{
		"::error file=work flows/a.yaml,line=3,col=5,endLine=3,endColumn=9,title=FR2004::100%25 of `x`%0Ais, gone; did you mean `y`?",
		"::warning file=a%2Cb%3Ac.yaml,title=FR2004::m",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestRule7Sarif reads the log as a reader of SARIF 2.1.0 does: each result
// names a rule by its place, each place is an URI with lines from 1.
func TestRule7Sarif(t *testing.T) {
	type place struct {
		PhysicalLocation struct {
			ArtifactLocation struct{ URI string }
			Region           *struct{ StartLine, StartColumn, EndLine, EndColumn int }
		}
		Message struct{ Text string }
	}
	var log struct {
		Schema  string `json:"$schema"`
		Version string
		Runs    []struct {
			Tool struct {
				Driver struct {
					Name  string
					Rules []struct {
						ID               string
						ShortDescription struct{ Text string }
						Help             struct{ Text string }
					}
				}
			}
			ColumnKind string
			Results    []struct {
				RuleID           string
				RuleIndex        int
				Level            string
				Message          struct{ Text string }
				Locations        []place
				RelatedLocations []place
			}
		}
	}
	data, err := json.Marshal(sarif(findings(), "1.0.0"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &log); err != nil {
		t.Fatal(err)
	}
	if log.Version != "2.1.0" || !strings.Contains(log.Schema, "sarif-2.1.0") || len(log.Runs) != 1 {
		t.Fatalf("%s", data)
	}
	run := log.Runs[0]
	if len(run.Tool.Driver.Rules) != 1 || run.Tool.Driver.Rules[0].ShortDescription.Text == "" || !strings.Contains(run.Tool.Driver.Rules[0].Help.Text, "Wrong:") || run.ColumnKind != "unicodeCodePoints" {
		t.Errorf("%+v", run.Tool)
	}
	for i, r := range run.Results {
		if r.RuleID != run.Tool.Driver.Rules[r.RuleIndex].ID || r.Message.Text == "" || len(r.Locations) != 1 || r.Level != string(findings()[i].Severity) {
			t.Errorf("%+v", r)
		}
	}
	first := run.Results[0]
	if at := first.Locations[0].PhysicalLocation; at.ArtifactLocation.URI != "work%20flows/a.yaml" || at.Region.StartLine != 3 || at.Region.EndColumn != 9 {
		t.Errorf("%+v", at)
	}
	if len(first.RelatedLocations) != 1 || first.RelatedLocations[0].Message.Text != "the other" {
		t.Errorf("%+v", first.RelatedLocations)
	}
	if run.Results[1].Locations[0].PhysicalLocation.Region != nil {
		t.Error("a problem of a whole file has a region")
	}
	if empty, err := json.Marshal(sarif(nil, "")); err != nil || !strings.Contains(string(empty), `"results":[]`) {
		t.Errorf("%s, %v", empty, err)
	}
}
