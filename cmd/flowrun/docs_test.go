package main_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/flowrun/flowrun/internal/testcommand"
	"github.com/flowrun/flowrun/internal/testpage"
)

// comingFrom is the folder with the jobs that other products' documentation
// shows, written as workflows.
const comingFrom = "../../docs/coming-from"

// askAPerson are the workflows there that wait for somebody's answer, with the
// step that asks.
var askAPerson = map[string]string{"access-request.yaml": "approve", "stale-label.yaml": "ask"}

// TestJobsOfOtherProducts validates each workflow of docs/coming-from as a part
// of one project, and runs it against the simulators.
func TestJobsOfOtherProducts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	binary := experienced(t, dir)
	if err := os.CopyFS(dir, os.DirFS(comingFrom)); err != nil {
		t.Fatal(err)
	}
	if output, code := flowrunIn(t, binary, dir, "validate", "."); code != 0 {
		t.Fatalf("validate exits with %d:\n%s", code, output)
	}
	for _, name := range filesBelow(t, dir, ".yaml") {
		t.Run(name, func(t *testing.T) {
			want, asks := 0, askAPerson[name]
			if asks != "" {
				want = 8 // waits for a person
			}
			if output, code := flowrunIn(t, binary, dir, "run", "--sandbox", name); code != want {
				t.Fatalf("run exits with %d, want %d:\n%s", code, want, output)
			}
			if asks != "" {
				approve(t, binary, dir, asks)
			}
		})
	}
}

// TestEveryJobIsExplained wants each workflow of docs/coming-from to be linked
// from one of the pages there.
func TestEveryJobIsExplained(t *testing.T) {
	t.Parallel()
	var pages strings.Builder
	for _, name := range filesBelow(t, comingFrom, ".md") {
		text, err := os.ReadFile(filepath.Join(comingFrom, name))
		if err != nil {
			t.Fatal(err)
		}
		pages.Write(text)
	}
	for _, name := range filesBelow(t, comingFrom, ".yaml") {
		if !strings.Contains(pages.String(), "]("+name+")") {
			t.Errorf("no page links %s", name)
		}
	}
}

// approve says yes to the newest run of the sandbox, and goes on with it.
func approve(t *testing.T, binary, dir, step string) {
	t.Helper()
	list, code := flowrunIn(t, binary, dir, "runs", "list", "--sandbox", "--limit", "1", "-o", "json")
	id := firstID(list)
	if code != 0 || id == "" {
		t.Fatalf("runs list exits with %d:\n%s", code, list)
	}
	for _, args := range [][]string{{"runs", "approve", id, step, "--sandbox"}, {"runs", "resume", id, "--sandbox"}} {
		if output, code := flowrunIn(t, binary, dir, args...); code != 0 {
			t.Fatalf("flowrun %s exits with %d:\n%s", strings.Join(args, " "), code, output)
		}
	}
}

// TestTheDocumentationIsTrue does what the pages below docs show, each in a folder of its
// own: files with a name before them are written, commands behind a prompt are typed and
// print what stands below them, and each whole workflow is valid.
func TestTheDocumentationIsTrue(t *testing.T) {
	t.Parallel()
	workflows, typed := 0, 0
	for _, name := range filesBelow(t, "../../docs", ".md") {
		if slices.Contains([]string{"api.md", "commands.md", "long-lists.md", "plugins/debug.md", "plugins/first-plugin.md", "plugins/python.md", "plugins/upgrade.md"}, name) {
			continue // test/pages, test/authors, test/python, and tests here of their own, do what these show
		}
		page := filepath.Join("../../docs", name)
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range testpage.Read(text) {
			typed += len(b.Session())
			if b.Language == "yaml" && strings.HasPrefix(b.Text, "flowrun: v1\n") {
				workflows++
			}
		}
		t.Run(name, func(t *testing.T) {
			r := newPageReader(t, page)
			if filepath.Dir(page) == filepath.Clean(comingFrom) {
				if err := os.CopyFS(r.typist.Dir, os.DirFS(comingFrom)); err != nil {
					t.Fatal(err)
				}
			}
			r.read(nil)
		})
	}
	if workflows < 30 || typed < 40 {
		t.Errorf("the pages below docs show %d whole workflows and %d commands only", workflows, typed)
	}
}

// flowrunIn runs a command in a folder, with its state below it, and returns
// what it prints and its exit code.
func flowrunIn(t *testing.T, binary, dir string, args ...string) (output string, code int) {
	t.Helper()
	code, output, err := testcommand.Command{Dir: dir, Executable: binary, Environ: append(os.Environ(), "XDG_STATE_HOME="+dir, "TZ=UTC")}.Combined(args...)
	if err != nil {
		t.Fatal(err)
	}
	return output, code
}

// filesBelow lists the files of a folder with an ending, folders below it
// included, by their path from there.
func filesBelow(t *testing.T, dir, ending string) []string {
	t.Helper()
	var found []string
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && filepath.Ext(path) == ending {
			found = append(found, path)
		}
		return err
	})
	if err != nil || len(found) == 0 {
		t.Fatalf("no %s files in %s (%v)", ending, dir, err)
	}
	return found
}

// TestNothingThatPeopleTypeIsHidden looks for comments in the pages that carry commands or
// names of files: people who read a page do not see them.
func TestNothingThatPeopleTypeIsHidden(t *testing.T) {
	t.Parallel()
	for _, name := range pagesOfTheTree(t) {
		text, err := os.ReadFile(filepath.Join("../..", name))
		if err != nil {
			t.Fatal(err)
		}
		for _, hidden := range testpage.Hidden(text) {
			t.Errorf("%s hides %q in a comment: write `$ COMMAND` in the block, and the name of a file as \"`NAME`:\" before it (ADR 92)", name, hidden)
		}
	}
}

// pagesOfTheTree are the pages that people read: those at the top and below docs.
func pagesOfTheTree(t *testing.T) []string {
	t.Helper()
	top, err := filepath.Glob("../../*.md")
	if err != nil {
		t.Fatal(err)
	}
	var pages []string
	for _, page := range top {
		pages = append(pages, filepath.Base(page))
	}
	for _, page := range filesBelow(t, "../../docs", ".md") {
		pages = append(pages, filepath.Join("docs", page))
	}
	return pages
}
