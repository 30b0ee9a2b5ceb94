package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// TestIssue15_EachCommandHasAManualPage: a page for each command that people see, which
// names each of its flags and each command below it.
func TestIssue15_EachCommandHasAManualPage(t *testing.T) {
	dir := t.TempDir()
	if got := runIn(t, dir, []string{"SOURCE_DATE_EPOCH=86400"}, "man", "--dir", "pages"); got.code != exitOK {
		t.Fatalf("exit %d, %s", got.code, got.stderr)
	}
	root := (&app{}).rootCommand(nil)
	commands := documented(root)
	if len(commands) < 80 {
		t.Fatalf("%d commands only", len(commands))
	}
	for _, c := range commands {
		data, err := os.ReadFile(filepath.Join(dir, "pages", pageName(c)+".1"))
		if err != nil {
			t.Errorf("%s: %v", c.CommandPath(), err)
			continue
		}
		page := string(data)
		if !strings.HasPrefix(page, `.TH "`+roff(strings.ToUpper(pageName(c)))+`" 1 "1970\-01\-02" "flowrun v0" "flowrun manual"`) {
			t.Errorf("%s begins %.90q", c.CommandPath(), page)
		}
		for _, sub := range c.Commands() {
			if sub.IsAvailableCommand() && strings.Count(page, ".BR "+roff(pageName(sub))+" (1)") != 2 {
				t.Errorf("the page of %s does not name %s", c.CommandPath(), sub.Name())
			}
		}
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden && !strings.Contains(page, `\fB`+roff("--"+f.Name)+`\fR`) {
				t.Errorf("the page of %s lacks --%s", c.CommandPath(), f.Name)
			}
		})
	}
	names, err := os.ReadDir(filepath.Join(dir, "pages"))
	if err != nil || len(names) != len(commands) {
		t.Errorf("%d pages of %d commands (%v)", len(names), len(commands), err)
	}
	rendered(t, filepath.Join(dir, "pages"))
}

// rendered has groff read each page, where it is: it warns of nothing.
func rendered(t *testing.T, dir string) {
	t.Helper()
	groff, err := exec.LookPath("groff")
	if err != nil {
		t.Log("there is no groff: nobody has read the pages")
		return
	}
	pages, err := filepath.Glob(filepath.Join(dir, "*.1"))
	if err != nil {
		t.Fatal(err)
	}
	output, err := exec.Command(groff, append([]string{"-man", "-Tutf8", "-ww", "-z"}, pages...)...).CombinedOutput()
	if err != nil || len(output) > 0 {
		t.Errorf("groff: %v\n%s", err, output)
	}
}

var instruction = regexp.MustCompile(`(?m)^\.(TH|SH|TP|BR|B|PP|nf|fi|nh|ad) ?`)

// TestIssue15_TextIsNoInstructionOfAPage: what commands say of themselves changes nothing
// of the page.
func TestIssue15_TextIsNoInstructionOfAPage(t *testing.T) {
	for text, want := range map[string]string{
		".so /etc/passwd":   `\&.so /etc/passwd`,
		"'br":               `\&'br`,
		`a\fBb`:             `a\efBb`,
		"a… b":              `a\[u2026] b`,
		"--flag":            `\-\-flag`,
		"one\n  two\nthree": "one\n.nf\n  two\n.fi\nthree",
		"one\n\ntwo":        "one\n.PP\ntwo",
	} {
		if got := roffText(text); got != want {
			t.Errorf("%q is written as %q, want %q", text, got, want)
		}
	}
	for _, c := range documented((&app{}).rootCommand(nil)) {
		for line := range strings.Lines((manual{}).page(c)) {
			if strings.HasPrefix(line, ".") && !instruction.MatchString(line) || strings.HasPrefix(line, "'") {
				t.Errorf("the page of %s has the instruction %q", c.CommandPath(), line)
			}
		}
	}
}

// TestIssue15_TheExitCodesOfThePageAreThoseOfTheDocumentation compares with
// docs/commands.md.
func TestIssue15_TheExitCodesOfThePageAreThoseOfTheDocumentation(t *testing.T) {
	text, err := os.ReadFile("../../docs/commands.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "## Exit codes")
	table, _, _ = strings.Cut(table, "\n\nThe first")
	var want strings.Builder
	for _, exit := range exitMeanings() {
		want.WriteString("| " + exit.code + " | " + exit.meaning + " |\n")
	}
	if !strings.Contains(table+"\n", want.String()) {
		t.Errorf("docs/commands.md has\n%s\nthe manual page\n%s", table, want.String())
	}
}

func TestIssue15_AManualPageOfOneCommand(t *testing.T) {
	if got := runIn(t, t.TempDir(), nil, "man", "runs", "list"); got.code != exitOK || !strings.Contains(got.stdout, `flowrun\-runs\-list \- `) {
		t.Errorf("exit %d, %s", got.code, got.stdout)
	}
	for hint, c := range map[string]struct{ args, environ []string }{
		"did you mean `list`?":      {[]string{"man", "runs", "lst"}, nil},
		"leave out the command":     {[]string{"man", "runs", "--dir", "x"}, nil},
		"such as SOURCE_DATE_EPOCH": {[]string{"man"}, []string{"SOURCE_DATE_EPOCH=today"}},
	} {
		got := runIn(t, t.TempDir(), c.environ, c.args...)
		if got.code != exitUsage || !strings.Contains(got.stderr, hint) {
			t.Errorf("%v: exit %d, %s", c.args, got.code, got.stderr)
		}
	}
}

func TestIssue15_TheVersionNamesTheCommit(t *testing.T) {
	for want, b := range map[string]Build{
		"":                           {},
		"commit 12ab, ":              {Commit: "12ab"},
		"commit 12ab with changes, ": {Commit: "12ab", Modified: true},
	} {
		if got := b.words(); got != want {
			t.Errorf("%+v is told as %q, want %q", b, got, want)
		}
	}
}
