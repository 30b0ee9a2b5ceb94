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
	lists, there, leaves := slices.Concat(serverCommands, fileCommands, machineCommands), map[string]bool{}, 0
	for _, c := range documented((&app{}).rootCommand(nil)) {
		name := strings.TrimPrefix(strings.TrimPrefix(c.CommandPath(), "flowrun"), " ")
		there[name] = true
		if name == "" || c.HasAvailableSubCommands() {
			continue
		}
		leaves++
		if !slices.ContainsFunc(lists, func(n string) bool { return name == n || strings.HasPrefix(name, n+" ") }) {
			t.Errorf("%s is in no list", c.CommandPath())
		}
	}
	for i, name := range lists {
		if !there[name] && name != "flowrun" && name != "help" && name != "completion" {
			t.Errorf("there is no command %s", name)
		}
		if slices.Contains(lists[i+1:], name) {
			t.Errorf("%s is in two lists", name)
		}
	}
	if leaves < 80 {
		t.Errorf("%d leaves: is the tree whole?", leaves)
	}
}

func TestWhatACommandActsOn(t *testing.T) {
	for name, want := range map[string]reach{
		"runs": reachServer, "runs show": reachServer, "tokens": reachServer, "tokens create": reachServer, "tokens link": reachMachine,
		"db check": reachMachine, "workflows": reachServer, "workflows show": reachServer, "workflows edit": reachFiles, "init": reachFiles, "unheard of": reachMachine,
	} {
		if got := reachOf(name); got != want {
			t.Errorf("%s: %d, want %d", name, got, want)
		}
	}
}
