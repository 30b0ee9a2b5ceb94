package main_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/flowrun/flowrun/internal/testcommand"
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

// TestTheDocumentationIsTrue looks at the Markdown below docs. Every YAML block
// that is a whole workflow must be valid; one marked <!-- runs --> must run
// against the simulators. Files and commands are marked as in the README: the
// block after <!-- file: NAME --> is that file of the page's folder, the one after
// <!-- runs: COMMAND --> or <!-- fails: COMMAND --> has lines that the command
// prints.
func TestTheDocumentationIsTrue(t *testing.T) {
	t.Parallel()
	checked := 0
	for _, name := range filesBelow(t, "../../docs", ".md") {
		if slices.Contains([]string{"long-lists.md", "plugins/debug.md", "plugins/first-plugin.md", "plugins/python.md", "plugins/upgrade.md"}, name) {
			continue // test/pages, test/authors, test/python, and tests here of their own, build their plugins and run their workflows
		}
		page := filepath.Join("../../docs", name)
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		blocks := workflowBlocks(string(text))
		marked := markedBlock.FindAllStringSubmatch(string(text), -1)
		checked += len(blocks)
		if len(blocks)+len(marked) == 0 {
			continue
		}
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			binary := experienced(t, dir)
			if filepath.Dir(page) == filepath.Clean(comingFrom) {
				if err := os.CopyFS(dir, os.DirFS(comingFrom)); err != nil {
					t.Fatal(err)
				}
			}
			for _, b := range blocks {
				b.check(t, binary, dir)
			}
			for _, match := range marked {
				checkMarked(t, binary, dir, block{match[1], match[2], match[3]}, refused(string(text)))
			}
		})
	}
	if checked < 10 {
		t.Errorf("the pages below docs show %d whole workflows only", checked)
	}
}

// refused lists the words of the commands that a page shows to fail: a file
// among them need not be valid.
func refused(page string) []string {
	var words []string
	for _, match := range markedBlock.FindAllStringSubmatch(page, -1) {
		if match[1] == "fails" {
			words = append(words, strings.Fields(match[2])...)
		}
	}
	return words
}

// checkMarked writes a page's file, which must be valid when it is a workflow,
// or runs its command and compares what it prints.
func checkMarked(t *testing.T, binary, dir string, b block, refused []string) {
	t.Helper()
	if b.kind == "file" {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, b.argument)), 0o755); err != nil {
			t.Fatal(err)
		}
		write(t, dir, b.argument, b.text)
		if !strings.HasPrefix(b.text, "flowrun: v1") || slices.Contains(refused, b.argument) {
			return
		}
		if output, code := flowrunIn(t, binary, dir, "validate", b.argument); code != 0 {
			t.Errorf("%s is not valid:\n%s", b.argument, output)
		}
		return
	}
	words, err := shellWords(b.argument+"\n", nil)
	if err != nil {
		t.Fatal(err)
	}
	output, code := flowrunIn(t, binary, dir, words[1:]...)
	if (code == 0) != (b.kind == "runs") {
		t.Errorf("%s exits with %d:\n%s", b.argument, code, output)
	}
	compareLines(t, b, output)
}

// workflowBlock is a YAML block of a page that is a whole workflow.
type workflowBlock struct {
	line int    // in the page, of the block's first line
	mark string // the comment above it, "" when there is none
	text string
}

var fencedYAML = regexp.MustCompile("(?ms)(?:^<!-- ([^\n]*) -->\n)?^```yaml\n(flowrun: v1\n.*?)^```$")

func workflowBlocks(page string) []workflowBlock {
	var found []workflowBlock
	for _, at := range fencedYAML.FindAllStringSubmatchIndex(page, -1) {
		b := workflowBlock{line: 1 + strings.Count(page[:at[4]], "\n"), text: page[at[4]:at[5]]}
		if at[2] >= 0 {
			b.mark = page[at[2]:at[3]]
		}
		found = append(found, b)
	}
	return found
}

// check validates a block, and runs it where the page says so. Files are
// checkMarked's.
func (b workflowBlock) check(t *testing.T, binary, dir string) {
	t.Helper()
	if strings.HasPrefix(b.mark, "file: ") {
		return
	}
	name := "line-" + strconv.Itoa(b.line) + ".yaml"
	write(t, dir, name, b.text)
	if output, code := flowrunIn(t, binary, dir, "validate", name); code != 0 {
		t.Errorf("line %d: the workflow is not valid:\n%s", b.line, output)
		return
	}
	if b.mark != "runs" {
		return
	}
	if output, code := flowrunIn(t, binary, dir, "run", "--sandbox", name); code != 0 {
		t.Errorf("line %d: run exits with %d:\n%s", b.line, code, output)
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
