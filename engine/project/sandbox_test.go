package project

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestSimulatorsAreRead(t *testing.T) {
	read, problems := Parse("flowrun.yaml", []byte(`connections:
  mine: {plugin: billing}
sandbox:
  mine: {command: [./bin/billing-sim, --quiet]}
`))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	want := []Simulator{{Connection: "mine", Command: []string{"./bin/billing-sim", "--quiet"}}}
	if diff := cmp.Diff(want, read.Sandbox, cmpopts.IgnoreFields(Simulator{}, "Pos")); diff != "" {
		t.Errorf("simulators (-want +got)\n%s", diff)
	}
}

func TestWrongSimulators(t *testing.T) {
	const mine = "connections: {mine: {plugin: billing}}\n"
	for text, want := range map[string]string{
		`sandbox: [a]`:                                     "FR5001 2:10",
		`sandbox: {mine: {}}`:                              "FR5031 2:11",
		`sandbox: {mine: [a]}`:                             "FR5001 2:17",
		`sandbox: {mine: {command: ./a}}`:                  "FR5001 2:27",
		`sandbox: {mine: {command: []}}`:                   "FR5001 2:27",
		`sandbox: {mine: {comand: [./a]}}`:                 "FR5002 2:18, FR5031 2:18",
		`sandbox: {mine: {command: ["${{ secrets.A }}"]}}`: "FR5031 2:27",
		`sandbox: {mien: {command: [./a]}}`:                "FR5031 2:11",
		`sandbox: {Mine: {command: [./a]}}`:                "FR5003 2:11",
	} {
		_, problems := Parse("flowrun.yaml", []byte(mine+text))
		var places []string
		for _, p := range problems {
			places = append(places, fmt.Sprintf("%s %d:%d", p.Code, p.Line, p.Column))
		}
		if got := strings.Join(places, ", "); got != want {
			t.Errorf("%s\n got %s\nwant %s\n%v", text, got, want, problems)
		}
	}
}
