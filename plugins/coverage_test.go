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
var rows = map[string]int{"I": 24, "D": 21}

var (
	// testName matches TestI09_AddressIsChecked.
	testName = regexp.MustCompile(`(?m)^func (Test([A-Z])([0-9]{2})_\w+)\(`)
	// subtestName matches t.Run("I-09 ...").
	subtestName = regexp.MustCompile(`t\.Run\("([A-Z]-[0-9]{2}) `)
	// pageRow matches a row of coverage.md and its last cell.
	pageRow = regexp.MustCompile(`(?m)^\| ([A-Z]-[0-9]{2}) \|.*\| (.*) \|$`)
	// quoted matches a test's name in such a cell.
	quoted = regexp.MustCompile("`(Test\\w+)`")
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
		for _, m := range subtestName.FindAllStringSubmatch(string(source), -1) {
			found[m[1]] = append(found[m[1]], m[1])
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
	text, err := os.ReadFile("../docs/services/coverage.md")
	if err != nil {
		t.Fatal(err)
	}
	cells := map[string]string{}
	for _, m := range pageRow.FindAllStringSubmatch(string(text), -1) {
		cells[m[1]] = m[2]
	}
	return cells
}

func TestEveryRowHasATestOrAReason(t *testing.T) {
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
