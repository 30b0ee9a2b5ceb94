// This package holds a test over all plugins: each row of the requirements has a
// test or a reason why it has none.
package plugins

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// rows says how many rows each service has, by the letter of their ids.
var rows = map[string]int{"T": 70, "A": 63, "N": 45, "I": 24, "D": 21}

var (
	// testName matches TestI09_AddressIsChecked.
	testName = regexp.MustCompile(`(?m)^func (Test([A-Z])([0-9]{2})_\w+)\(`)
	// testOrSubtest matches the beginning of a test, and t.Run("I-09 ...").
	testOrSubtest = regexp.MustCompile(`(?m)^func (Test\w+)\(|t\.Run\("([A-Z]-[0-9]{2}) `)
	// pageRow matches a row of coverage.md and its last cell.
	pageRow = regexp.MustCompile(`(?m)^\| ([A-Z]-[0-9]{2}) \|.*\| (.*) \|$`)
	// quoted matches a test's name in such a cell.
	quoted = regexp.MustCompile("`(Test[\\w/-]+)`")
)

// testsByRow returns the names of the tests of each row, sorted.
func testsByRow(t *testing.T) map[string][]string {
	t.Helper()
	files, err := filepath.Glob("*/*_test.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("no tests found: %v", err)
	}
	found := map[string][]string{}
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range testName.FindAllStringSubmatch(string(source), -1) {
			row := m[2] + "-" + m[3]
			found[row] = append(found[row], m[1])
		}
		around := ""
		for _, m := range testOrSubtest.FindAllStringSubmatch(string(source), -1) {
			if m[1] != "" {
				around = m[1]
				continue
			}
			found[m[2]] = append(found[m[2]], around+"/"+m[2])
		}
	}
	for _, names := range found {
		slices.Sort(names)
	}
	return found
}

// page returns the last cell of each row of docs/services/coverage.md.
func page(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile(pageFile)
	if err != nil {
		t.Fatal(err)
	}
	cells := map[string]string{}
	for _, m := range pageRow.FindAllStringSubmatch(string(text), -1) {
		cells[m[1]] = m[2]
	}
	return cells
}

const pageFile = "../docs/services/coverage.md"

// update writes the tests into the page; a reason for none stays.
func update(t *testing.T, found map[string][]string) {
	t.Helper()
	text, err := os.ReadFile(pageFile)
	if err != nil {
		t.Fatal(err)
	}
	written := pageRow.ReplaceAllStringFunc(string(text), func(line string) string {
		m := pageRow.FindStringSubmatch(line)
		if len(found[m[1]]) == 0 {
			return line
		}
		var cells []string
		for _, name := range found[m[1]] {
			cells = append(cells, "`"+name+"`")
		}
		return strings.TrimSuffix(line, " "+m[2]+" |") + " " + strings.Join(cells, "<br>") + " |"
	})
	if err := os.WriteFile(pageFile, []byte(written), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestEveryRowHasATestOrAReason(t *testing.T) {
	if os.Getenv("UPDATE") != "" {
		update(t, testsByRow(t))
	}
	found, cells := testsByRow(t), page(t)
	for letter, count := range rows {
		for n := 1; n <= count; n++ {
			row := fmt.Sprintf("%s-%02d", letter, n)
			cell, ok := cells[row]
			switch {
			case !ok:
				t.Errorf("row %s is not on docs/services/coverage.md", row)
			case len(found[row]) == 0 && !strings.HasPrefix(cell, "Not testable: "):
				t.Errorf("row %s has no test, and the page gives no reason that begins with \"Not testable: \"", row)
			}
		}
	}
}

func TestCoveragePageNamesTheTestsThatThereAre(t *testing.T) {
	named := map[string][]string{}
	for row, cell := range page(t) {
		for _, m := range quoted.FindAllStringSubmatch(cell, -1) {
			named[row] = append(named[row], m[1])
		}
		slices.Sort(named[row])
	}
	maps.DeleteFunc(named, func(_ string, tests []string) bool { return len(tests) == 0 })
	if diff := cmp.Diff(testsByRow(t), named); diff != "" {
		t.Errorf("docs/services/coverage.md is not what the tests say (-tests +page):\n%s", diff)
	}
}
