package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// TestACommandThatIsMadeAloneIsTheSame: a command line that names a command makes no
// other, and its help, with all flags, is what it is among all.
func TestACommandThatIsMadeAloneIsTheSame(t *testing.T) {
	all := documented((&app{}).rootCommand(nil))
	if len(all) < 80 {
		t.Fatalf("%d commands only", len(all))
	}
	alone := 0
	for _, c := range all {
		path := strings.Fields(c.CommandPath())[1:]
		root := (&app{}).rootCommand(path)
		found, rest, err := root.Find(path)
		if err != nil || len(rest) > 0 || found.CommandPath() != c.CommandPath() {
			t.Errorf("%v is found as %s with %v left, %v", path, found.CommandPath(), rest, err)
			continue
		}
		if got, want := helpOf(t, found), helpOf(t, c); got != want {
			t.Errorf("%s made alone says\n%s\namong all\n%s", c.CommandPath(), got, want)
		}
		if len(root.Commands()) == 1 {
			alone++
		}
	}
	if others := len(all) - alone; others > 8 { // the program itself, help, completion with its shells, the manual
		t.Errorf("%d of %d commands make all of them", others, len(all))
	}
	for _, c := range (&app{}).commands() {
		if made := c.make().Name(); made != c.name {
			t.Errorf("the command %s is listed as %s", made, c.name)
		}
	}
}

// TestSuggestedCommandsTakeTheirFlags: in a sandbox a hint's command has --sandbox where the
// command takes it, and nowhere else.
func TestSuggestedCommandsTakeTheirFlags(t *testing.T) {
	a := &app{sandbox: true}
	for _, c := range documented((&app{}).rootCommand(nil))[1:] {
		path := strings.Fields(c.CommandPath())[1:]
		takes := c.Flag("sandbox") != nil
		if c.HasSubCommands() && !takes {
			continue // nothing but the commands below it
		}
		if said := strings.Contains(a.commandText(path...), " --sandbox"); said != takes {
			t.Errorf("%s: its hint has --sandbox: %t, it takes it: %t", c.CommandPath(), said, takes)
		}
	}
}

func helpOf(t *testing.T, c *cobra.Command) string {
	t.Helper()
	var out bytes.Buffer
	c.Root().SetOut(&out)
	c.InitDefaultHelpFlag()
	if err := c.Help(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}
