package check

import (
	"context"
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

// aheadCatalog notes what it is told ahead, and what is asked then.
type aheadCatalog struct {
	*fakeCatalog
	decided      string // an action that is not asked
	ahead, asked map[string]bool
}

func (c *aheadCatalog) Asks(_ context.Context, action string) bool { return action != c.decided }

func (c *aheadCatalog) AskAhead(_ context.Context, questions []Question) {
	for _, q := range questions {
		c.ahead[q.key()] = true
	}
}

func (c *aheadCatalog) ValidateOn(ctx context.Context, action, connection string, input json.RawMessage, unknown []string) (Validation, error) {
	c.asked[Question{action, connection, input, unknown}.key()] = true
	return c.Validate(ctx, action, input, unknown)
}

// What is told ahead is what is asked, in every file; of wrong ones no less than what is
// asked. Polls, of which a file has few, are asked about when they are checked. Nothing is reported twice or by the look ahead.
func TestWhatIsToldAheadIsWhatIsAsked(t *testing.T) {
	told := 0
	for _, file := range append(files(t, "testdata/valid/*.yaml", 60), files(t, "testdata/mistakes/*.yaml", 200)...) {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		_, want := checkText(catalogFor(string(source)), file, string(source))
		catalog := &aheadCatalog{fakeCatalog: catalogFor(string(source)), ahead: map[string]bool{}, asked: map[string]bool{}}
		_, problems := checkText(catalog, file, string(source))
		if places(problems) != places(want) {
			t.Errorf("%s: %s\nwithout the look ahead: %s", file, places(problems), places(want))
		}
		told += len(catalog.ahead)
		wrong := problems.HasErrors()
		missing := slices.DeleteFunc(slices.Sorted(maps.Keys(catalog.asked)), func(q string) bool { return catalog.ahead[q] || strings.HasPrefix(q, corePlugin+".") })
		alone := len(catalog.ahead) == 0 && len(missing) == 1 // is not told
		if len(missing) > 0 && !alone && !strings.Contains(string(source), "poll:") {
			t.Errorf("%s: %q are asked, and were not told ahead", file, missing)
		}
		for _, q := range slices.Sorted(maps.Keys(catalog.ahead)) {
			if !catalog.asked[q] && !wrong {
				t.Errorf("%s: %q was told ahead, and is not asked", file, q)
			}
		}
	}
	if told < 20 {
		t.Errorf("%d questions were told ahead: the test looks at little", told)
	}
}

// One question is not told ahead, nor what is asked of nobody, nor the same twice.
func TestOnlyQuestionsAreToldAhead(t *testing.T) {
	for _, c := range []struct {
		steps, decided string
		want           int
	}{
		{"  - {uses: net.whois, with: {domain: a.example}}\n", "", 0},
		{"  - {uses: net.whois, with: {domain: a.example}}\n  - {id: b, uses: net.whois, with: {domain: b.example}}\n", "", 2},
		{"  - {uses: net.whois, with: {domain: a.example}}\n  - {id: b, uses: net.whois, with: {domain: b.example}}\n", "net.whois", 0},
		{"  - {uses: net.whois, with: {domain: a.example}}\n  - {id: b, uses: net.whois, with: {domain: a.example}}\n  - {id: c, uses: net.whois, with: {domain: c.example}}\n", "", 2},
		{"  - foreach: [1, 2]\n    steps:\n      - {uses: net.whois, with: {domain: a.example}}\n      - {id: b, uses: net.whois, with: {domain: \"${{ item }}.example\"}}\n", "", 2},
		{"  - {uses: core.sleep, with: {for: 1s}}\n  - {uses: net.nothing, with: {domain: 1}}\n  - {id: c, uses: net.whois, with: {domain: [1]}}\n", "", 0},
	} {
		catalog := &aheadCatalog{fakeCatalog: fake(), decided: c.decided, ahead: map[string]bool{}, asked: map[string]bool{}}
		checkText(catalog, "t.yaml", "flowrun: v1\nname: t\nsteps:\n"+c.steps)
		if len(catalog.ahead) != c.want {
			t.Errorf("told ahead of\n%s%q, want %d", c.steps, strings.Join(slices.Sorted(maps.Keys(catalog.ahead)), "\n"), c.want)
		}
	}
}
