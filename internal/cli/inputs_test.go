package cli

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/workspace"
)

func TestInputsOfFlagsWinOverTheFile(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "in.yaml"), "site: A\nrows: [1, 2]\nday: \"007\"\n")
	write(t, filepath.Join(dir, "options.json"), `{"deep": true}`)
	a := &app{sys: System{Dir: dir, Stdin: strings.NewReader("[3]")}}
	got, err := a.readInputs([]string{"site=B=C", "options=@options.json", "list=@-"}, "in.yaml")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]workspace.Input{
		"site": {Text: "B=C"}, "rows": {JSON: []byte("[1,2]")}, "day": {JSON: []byte(`"007"`)},
		"options": {JSON: []byte(`{"deep": true}`)}, "list": {JSON: []byte("[3]")},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error("(-want +got)", diff)
	}
}

func TestWrongInputsNameTheFlag(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "broken.json"), `{`)
	a := &app{sys: System{Dir: dir, Stdin: strings.NewReader("")}}
	for text, want := range map[string]string{
		"site":           "is not NAME=VALUE",
		"=x":             "is not NAME=VALUE",
		"a=@nope.json":   "-i a: nope.json can't be read",
		"a=@broken.json": "does not hold one JSON value",
	} {
		if _, err := a.readInputs([]string{text}, ""); err == nil || exitCode(err) != exitUsage || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	if _, err := a.readInputs([]string{"a=1", "a=2"}, ""); err == nil || exitCode(err) != exitUsage {
		t.Errorf("an input given twice: %v", err)
	}
}

func TestCommandsAreSuggestedWithTheFlagsOfThisOne(t *testing.T) {
	a := &app{sandbox: true}
	a.flags.state = "my state"
	if got, want := a.commandText("runs", "show", "01x"), "flowrun runs show 01x --sandbox --state 'my state'"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := diag.Sayf("try %s, or not", diag.Command{"runs", "rerun", "01x"}).Typed(a.commandText).Text, "try `flowrun runs rerun 01x --sandbox --state 'my state'`, or not"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
