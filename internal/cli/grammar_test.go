package cli

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// leaves are the commands that do something themselves.
func leaves(t *testing.T) []*cobra.Command {
	t.Helper()
	all := slices.DeleteFunc(documented((&app{}).rootCommand(nil)), func(c *cobra.Command) bool { return c.HasAvailableSubCommands() })
	if len(all) < 70 {
		t.Fatalf("%d commands only", len(all))
	}
	return all
}

// isOfCobra reports whether a command is one of the completion's, which cobra makes.
func isOfCobra(c *cobra.Command) bool {
	return strings.HasPrefix(c.CommandPath(), "flowrun completion ")
}

// TestIssue18_EachLeafHasAnExample: and each line of an example that is a command of
// flowrun names a command, flags that it takes, and arguments that it takes.
func TestIssue18_EachLeafHasAnExample(t *testing.T) {
	for _, leaf := range leaves(t) {
		if isOfCobra(leaf) {
			continue
		}
		if leaf.Example == "" {
			t.Errorf("%s has no example", leaf.CommandPath())
		}
	}
	for _, c := range documented((&app{}).rootCommand(nil)) {
		if isOfCobra(c) {
			continue
		}
		own := 0
		for line := range strings.Lines(c.Example) {
			for _, words := range commandsIn(line) {
				if parses(t, c.CommandPath(), words) == c.CommandPath() {
					own++
				}
			}
		}
		if own == 0 && !c.HasAvailableSubCommands() {
			t.Errorf("no example of %s is of that command:\n%s", c.CommandPath(), c.Example)
		}
	}
}

// commandsIn are the commands of flowrun in a line for a shell.
func commandsIn(line string) [][]string {
	var found [][]string
	line, _, _ = strings.Cut(strings.TrimSpace(line), "   ") // a remark stands behind
	line = strings.ReplaceAll(line, "01jq…", "01k8zq4c0vdx3y6t7k9m2n5p8r")
	if strings.Contains(line, "$(") {
		line = strings.NewReplacer("$(", "| ", ")", " ").Replace(line)
	}
	all := append(wordsOf(line), "|")
	for len(all) > 0 {
		end := slices.Index(all, "|")
		words := all[:end]
		all = all[end+1:]
		if at := slices.Index(words, ">"); at >= 0 {
			words = words[:at]
		}
		if at := slices.Index(words, "flowrun"); at >= 0 && (at == 0 || words[at-1] == "xargs" || words[at-1] == "--") {
			words = words[at+1:]
			if len(words) > 1 && words[0] == "runs" && words[1] == "rm" && len(words) == 2 {
				words = append(words, "01k8zq4c0vdx3y6t7k9m2n5p8r")
			}
			found = append(found, words)
		}
	}
	return found
}

// wordsOf splits a line as a shell does, with quotes of both kinds.
func wordsOf(line string) []string {
	var words []string
	for _, match := range regexp.MustCompile(`(?:[^\s'"]|'[^']*'|"[^"]*")+`).FindAllString(line, -1) {
		words = append(words, strings.NewReplacer("'", "", `"`, "").Replace(match))
	}
	return words
}

// parses reads a command line as the program does, and returns the command's path.
func parses(t *testing.T, where string, words []string) string {
	t.Helper()
	root := (&app{}).rootCommand(nil)
	c, rest, err := root.Find(shortcut(words))
	if err != nil {
		t.Errorf("%s shows `flowrun %s`: %v", where, strings.Join(words, " "), err)
		return ""
	}
	if err := c.ParseFlags(rest); err != nil {
		t.Errorf("%s shows `flowrun %s`: %v", where, strings.Join(words, " "), err)
	}
	if err := c.ValidateArgs(c.Flags().Args()); err != nil {
		t.Errorf("%s shows `flowrun %s`: %v", where, strings.Join(words, " "), err)
	}
	return c.CommandPath()
}

// TestIssue18_OneMeaningOfEachShortFlag: -o is the form of the output, -n a number, -i an
// input, -f goes on, -w a workflow, wherever they stand.
func TestIssue18_OneMeaningOfEachShortFlag(t *testing.T) {
	meaning := map[string][]string{"o": {"output"}, "n": {"limit", "tail"}, "i": {"input"}, "f": {"follow"}, "w": {"workflow"}, "h": {"help"}, "v": {"version"}}
	seen := map[string]bool{}
	for _, c := range documented((&app{}).rootCommand(nil)) {
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Shorthand == "" || f.Hidden {
				return
			}
			seen[f.Shorthand] = true
			if !slices.Contains(meaning[f.Shorthand], f.Name) {
				t.Errorf("%s: -%s is --%s", c.CommandPath(), f.Shorthand, f.Name)
			}
		})
		for _, name := range []string{"limit", "tail", "output", "input"} {
			if f := c.Flags().Lookup(name); f != nil && f.Shorthand == "" {
				t.Errorf("%s: --%s has no short form", c.CommandPath(), name)
			}
		}
	}
	for _, short := range []string{"o", "n", "i", "f", "v"} {
		if !seen[short] {
			t.Errorf("nothing takes -%s", short)
		}
	}
}

// TestIssue18_WhatIsListedOrMadeHasJSON: all but what prints another form, or runs until
// it is ended.
func TestIssue18_WhatIsListedOrMadeHasJSON(t *testing.T) {
	without := []string{"flowrun demo", "flowrun help", "flowrun man", "flowrun mcp tools", "flowrun plugins serve", "flowrun sandbox", "flowrun schema", "flowrun serve"}
	for _, leaf := range leaves(t) {
		flag := leaf.Flags().ShorthandLookup("o")
		if hasNone := isOfCobra(leaf) || slices.Contains(without, leaf.CommandPath()); hasNone {
			continue
		}
		if flag == nil {
			t.Errorf("%s has no -o", leaf.CommandPath())
			continue
		}
		choices := flag.Annotations[outputChoices]
		if !slices.Contains(choices, "json") && leaf.Name() != "graph" {
			t.Errorf("%s: -o takes %v", leaf.CommandPath(), choices)
		}
	}
}

var goTypes = regexp.MustCompile(`--[a-z-]+ (string|stringArray|stringSlice|strings|int|uint|uint64|duration|bool)\b`)

// TestIssue18_HelpHasNoWordsOfTypes: a flag says what it takes, not how a program in Go
// keeps it.
func TestIssue18_HelpHasNoWordsOfTypes(t *testing.T) {
	used := map[string]bool{}
	for _, c := range documented((&app{}).rootCommand(nil)) {
		if match := goTypes.FindString(helpOf(t, c)); match != "" {
			t.Errorf("the help of %s has %q", c.CommandPath(), match)
		}
		page := (manual{}).page(c)
		if match := regexp.MustCompile(`\\fI(string|stringArray|stringSlice|strings|int|uint|uint64|duration)\\fR`).FindString(page); match != "" {
			t.Errorf("the manual page of %s has %q", c.CommandPath(), match)
		}
		c.Flags().VisitAll(func(f *pflag.Flag) {
			used[f.Name] = true
			if word := valueWord(f); word == "TEXT" && !slices.Contains([]string{"comment", "grep", "reason"}, f.Name) {
				t.Errorf("%s: nothing says what --%s takes", c.CommandPath(), f.Name)
			}
		})
	}
	for name := range valueWords() {
		if !used[name] {
			t.Errorf("no command has a flag --%s", name)
		}
	}
}

// TestIssue18_EachCommandHasAGroup: the help of the program tells all of its commands
// apart but those about itself.
func TestIssue18_EachCommandHasAGroup(t *testing.T) {
	root := (&app{}).rootCommand(nil)
	for _, c := range root.Commands() {
		if c.GroupID == "" && !slices.Contains([]string{"completion", "help", "man", "version"}, c.Name()) {
			t.Errorf("%s belongs to no group", c.Name())
		}
	}
	text := helpOf(t, root)
	for _, g := range groups() {
		if !strings.Contains(text, "\n"+g.Title+":\n") {
			t.Errorf("the help has no %q:\n%s", g.Title, text)
		}
	}
}

// TestIssue18_ShortNamesAreWrittenOut: they stand for a command that is there, also behind
// flags of all commands.
func TestIssue18_ShortNamesAreWrittenOut(t *testing.T) {
	for _, name := range shortcutNames() {
		if got, _, err := (&app{}).rootCommand(nil).Find(shortcut([]string{name})); err != nil || got.CommandPath() != "flowrun "+strings.Join(shortcuts(name), " ") {
			t.Errorf("%s is %v, %v", name, got.CommandPath(), err)
		}
	}
	for given, want := range map[string]string{
		"ps -o json": "runs list -o json", "--utc ps": "--utc runs list", "--config ps ps": "--config ps runs list", "--config=a lint": "--config=a validate",
		"runs ps": "runs ps", "__complete logs ": "__complete runs logs ", "": "", "--utc": "--utc", "run ps": "run ps",
	} {
		if got := strings.Join(shortcut(strings.Split(given, " ")), " "); got != want {
			t.Errorf("%q is written out as %q, want %q", given, got, want)
		}
	}
}

var ownVariable = regexp.MustCompile(`\bFLOWRUN_[A-Z_]*[A-Z]\b|\bFLOWRUN_(?:SANDBOX_)?SECRET_`)

// TestIssue18_EachVariableIsDocumented: those that the program's source names are those of
// `flowrun help environment` and of docs/commands.md, and no others are.
func TestIssue18_EachVariableIsDocumented(t *testing.T) {
	inCode := map[string]bool{}
	for _, dir := range []string{"../../cmd", "../../engine", "../../internal", "../../plugins", "../../sdk"} {
		err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case entry.IsDir() && (entry.Name() == "testdata" || strings.HasPrefix(entry.Name(), "test") && path != dir || entry.Name() == "mutant" || entry.Name() == "suitesize"):
				return fs.SkipDir
			case entry.IsDir() || !strings.HasSuffix(path, ".go") && filepath.Base(path) != "flowrun.py", strings.HasSuffix(path, "_test.go"), filepath.Base(path) == "environment.go":
				return nil
			}
			text, err := os.ReadFile(path)
			for _, quoted := range regexp.MustCompile(`"[^"\n]*FLOWRUN_[^"\n]*"`).FindAllString(string(text), -1) {
				for _, name := range ownVariable.FindAllString(quoted, -1) {
					inCode[name] = true
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	delete(inCode, "FLOWRUN_LAUNCH") // how two of them begin
	page, err := os.ReadFile("../../docs/commands.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n## Environment\n")
	section, _, _ = strings.Cut(section, "\n## ")
	told := map[string]bool{}
	for _, v := range variables() {
		name := v.name
		if strings.HasSuffix(name, "SECRET_NAME") {
			name = strings.TrimSuffix(name, "NAME")
		}
		told[name] = true
		if !inCode[name] {
			t.Errorf("nothing in the source names %s", name)
		}
		if row := "| `" + v.name + "` | " + v.by + " | " + v.doc + " |\n"; !strings.Contains(section, row) {
			t.Errorf("docs/commands.md lacks the row\n%s", row)
		}
	}
	for name := range inCode {
		if !told[name] && !strings.HasPrefix(name, "FLOWRUN_SECRET_") && !strings.HasPrefix(name, "FLOWRUN_TEST_") {
			t.Errorf("%s is not among the variables of `flowrun help environment`", name)
		}
	}
	if rows := strings.Count(section, "\n| `FLOWRUN_"); rows != len(variables()) {
		t.Errorf("docs/commands.md has %d rows, the program knows %d variables", rows, len(variables()))
	}
}
