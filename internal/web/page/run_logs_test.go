package page

import (
	"fmt"
	"html"
	"net/http"
	"regexp"
	"strings"
	"testing"
)

// chattyFlow writes 1,201 lines, the last one a warning.
func chattyFlow() string {
	var tens, ones []string
	for i := range 40 {
		ones = append(ones, fmt.Sprint(i))
		if i < 30 {
			tens = append(tens, fmt.Sprint(i))
		}
	}
	return `flowrun: v1
name: chatty
steps:
  - id: tens
    foreach: [` + strings.Join(tens, ",") + `]
    as: ten
    key: ${{ string(ten) }}
    steps:
      - id: ones
        foreach: [` + strings.Join(ones, ",") + `]
        key: ${{ string(item) }}
        steps:
          - id: say
            uses: core.log
            with: {text: "line <${{ ten * 40 + item }}>"}
  - id: last
    needs: [tens]
    uses: core.log
    with: {text: "at the end", level: warn}
`
}

var (
	logLine   = regexp.MustCompile(`<li class="l-`)
	olderLink = regexp.MustCompile(`rel="prev" href="([^"]+)"`)
)

func TestIssue12_23_ALogIsReadBackToItsFirstLine(t *testing.T) {
	d := newDesk(t, map[string]string{"chatty.yaml": chattyFlow()})
	id := d.start("chatty", nil)
	path, lines, pages := runURL(id)+"/logs", 0, ""
	for asked := 0; ; asked++ {
		shown := d.get(path, http.StatusOK)
		count := len(logLine.FindAllString(shown, -1))
		if lines += count; count > shownLines || asked > 5 {
			t.Fatalf("%d lines on one page", count)
		}
		pages = shown + pages
		if asked > 0 && (!strings.Contains(shown, "Newest lines") || strings.Contains(shown, "data-live")) {
			t.Error("an older page does not lead back, or is followed")
		}
		older := olderLink.FindStringSubmatch(shown)
		if older == nil {
			break
		}
		path = html.UnescapeString(older[1])
	}
	if lines != 1201 {
		t.Errorf("%d lines on all pages", lines)
	}
	if first, last := strings.Index(pages, "line &lt;0&gt;"), strings.Index(pages, "at the end"); first < 0 || last < first {
		t.Errorf("the first line is at %d, the last at %d", first, last)
	}
}

func TestIssue12_23_ALogIsSearchedAndSaved(t *testing.T) {
	d := newDesk(t, map[string]string{"chatty.yaml": chattyFlow()})
	id := d.start("chatty", nil)
	for query, want := range map[string]int{"q=LINE+%3C77": 11, "level=warn": 1, "step=tens[7].ones[7].say": 1, "q=nothing": 0, "level=loud": shownLines, "before=6": 5} {
		shown := d.get(runURL(id)+"/logs?"+query, http.StatusOK)
		if got := len(logLine.FindAllString(shown, -1)); got != want {
			t.Errorf("%s: %d lines", query, got)
		}
	}
	if shown := d.get(runURL(id)+"/logs?q=a%22b&level=warn", http.StatusOK); !strings.Contains(shown, `value="a&#34;b"`) || !strings.Contains(shown, "--grep") {
		t.Error("what was searched for is not in its field, or not in the command")
	}
	saved := d.get(runURL(id)+"/log.txt", http.StatusOK)
	if strings.Count(saved, "\n") != 1201 || !strings.Contains(saved, " info tens[0].ones[0].say line <0>\n") || !strings.HasSuffix(saved, " warn last at the end\n") {
		t.Errorf("saved: %.200s", saved)
	}
	if saved := d.get(runURL(id)+"/log.txt?level=warn", http.StatusOK); strings.Count(saved, "\n") != 1 {
		t.Errorf("saved with a filter: %.200s", saved)
	}
	d.get("/runs/01k8zq4c0vdx3y6t7k9m2n5p8r/log.txt", http.StatusNotFound)
	d.get("/runs/nope/log.txt", http.StatusNotFound)
}
