package cli

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestTheTableOfReachIsTheOneInForce: docs/commands.md says of each command what it acts
// on, and each command of the tree is in one line of it.
func TestTheTableOfReachIsTheOneInForce(t *testing.T) {
	text, err := os.ReadFile("../../docs/commands.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, found := strings.Cut(string(text), "<!-- reach -->\n| commands | what they act on |\n|---|---|\n")
	if !found {
		t.Fatal("docs/commands.md has no such table")
	}
	table, _, _ = strings.Cut(table, "\n\n")
	lines := strings.Split(table, "\n")
	if len(lines) != 3 {
		t.Fatalf("%d lines", len(lines))
	}
	code := regexp.MustCompile("`([^`]+)`")
	for i, list := range [][]string{serverCommands, fileCommands, machineCommands} {
		var told []string
		for _, match := range code.FindAllStringSubmatch(strings.Split(lines[i], "|")[1], -1) {
			told = append(told, match[1])
		}
		want := slices.DeleteFunc(slices.Clone(list), func(name string) bool { return name == "flowrun" })
		slices.Sort(told)
		slices.Sort(want)
		if !slices.Equal(told, want) {
			t.Errorf("line %d tells of %v, in force is %v", i+1, told, want)
		}
	}
	tops := map[string]bool{}
	for _, c := range documented((&app{}).rootCommand(nil)) {
		path := strings.Fields(c.CommandPath())[1:]
		if len(path) == 0 {
			continue
		}
		tops[path[0]] = true
		if name := path[0]; !slices.Contains(serverCommands, name) && !slices.Contains(fileCommands, name) && !slices.Contains(machineCommands, name) {
			t.Errorf("%s is in no list", c.CommandPath())
		}
	}
	for _, name := range slices.Concat(serverCommands, fileCommands, machineCommands) {
		if top, _, _ := strings.Cut(name, " "); !tops[top] && top != "flowrun" && top != "help" && top != "completion" {
			t.Errorf("there is no command %s", name)
		}
	}
}

func TestWhatACommandActsOn(t *testing.T) {
	for name, want := range map[string]reach{
		"runs": reachServer, "runs show": reachServer, "tokens": reachServer, "tokens create": reachServer, "tokens link": reachMachine,
		"db check": reachMachine, "init": reachFiles, "unheard of": reachMachine,
	} {
		if got := reachOf(name); got != want {
			t.Errorf("%s: %d, want %d", name, got, want)
		}
	}
}
