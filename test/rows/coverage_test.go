package rows

import (
	"fmt"
	"maps"
	"slices"
	"testing"
)

// rowsOf says how many rows each service has, by the letter of their ids.
var rowsOf = map[string]int{"T": 70, "A": 63, "N": 45, "I": 24, "D": 21}

// mostBroken is how many broken answers there are at least.
const mostBroken = 150

// notByBytes are rows that no answer can show, with the reason. A command may
// show them all the same.
var notByBytes = map[string]string{}

func TestEveryRowHasACase(t *testing.T) {
	cases, err := loadAll("cases", "")
	if err != nil {
		t.Fatal(err)
	}
	shown := map[string]int{}
	for _, e := range cases {
		for _, id := range e.ids {
			shown[id]++
		}
	}
	total := 0
	for letter, count := range rowsOf {
		for n := 1; n <= count; n++ {
			total++
			row := fmt.Sprintf("%s-%02d", letter, n)
			if shown[row] == 0 && notByBytes[row] == "" {
				t.Errorf("row %s has no case", row)
			}
			if shown[row] > 0 && notByBytes[row] != "" {
				t.Errorf("row %s has a case: take it out of notByBytes", row)
			}
			delete(shown, row)
		}
	}
	if len(shown) > 0 || total != 223 {
		t.Errorf("%d rows, and cases of rows that there are not: %v", total, shown)
	}
}

// TestBrokenAnswers counts the broken answers: over all services, of each class,
// and both ways in.
func TestBrokenAnswers(t *testing.T) {
	cases, err := loadAll("cases", "")
	if err != nil {
		t.Fatal(err)
	}
	classes, services, total := map[string]int{}, map[string]int{}, 0
	for _, e := range cases {
		if e.broken == "" {
			continue
		}
		total++
		classes[e.broken]++
		services[e.plugin()]++
	}
	if total < mostBroken {
		t.Errorf("%d broken answers, there must be %d", total, mostBroken)
	}
	for _, class := range brokenClasses {
		if classes[class] == 0 {
			t.Errorf("no answer is broken by %q", class)
		}
		t.Logf("%4d %s", classes[class], class)
		delete(classes, class)
	}
	if len(classes) > 0 {
		t.Errorf("classes that nobody listed: %v", slices.Sorted(maps.Keys(classes)))
	}
	for _, service := range []string{"tasks", "auth", "analytics", "netinfo", "dictionary"} {
		if services[service] < 20 {
			t.Errorf("%s has %d broken answers", service, services[service])
		}
	}
	t.Logf("%d broken answers: %v", total, services)
}

// brokenClasses are the ways in which an answer is broken.
var brokenClasses = []string{
	"empty", "cut", "HTML with 200", "foreign error page", "wrong envelope", "wrong type", "missing field", "null where required", "null list",
	"list for object", "object for list", "two lists", "repeated page", "past the end", "duplicate keys", "huge number", "unusual number",
	"invalid UTF-8", "wrong charset", "BOM", "wrong Content-Length", "chunks", "compressed", "more than one document", "deep nesting", "large body",
	"header bomb", "bad header", "redirect", "no HTTP", "no answer", "status without body", "unknown status",
}
