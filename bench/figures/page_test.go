package figures

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
)

// peers are samples of three programs.
func peers() []Sample {
	return append(append(append(
		steps("flowrun", "S2", "", 1200), steps("floor", "S2", unaryMerged, 1000)...),
		steps("Another & Co <1.2>", "S2", "", 50_000)...),
		Sample{Program: "Third", Skipped: "Node is not there"}, Sample{Program: "machine", Scenario: "machine", Variant: "two cores"})
}

func TestAPageKeepsWhatPeopleWrote(t *testing.T) {
	page := "# Speed\n\nwritten by hand\n\n" + beginMark + "\nold figures\n" + endMark + "\n\n## More\n\nby hand, too\n"
	got, err := Page(page, peers(), "images/p.svg")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"# Speed\n\nwritten by hand\n\n" + beginMark, endMark + "\n\n## More\n\nby hand, too\n", "two cores", "![flowrun beside the floor and its peers](images/p.svg)", "| 1.20 |", "| Another & Co <1.2> | - | 50,000 µs |", "- Third was left out: Node is not there\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("the page lacks %q:\n%s", want, got)
		}
	}
	if strings.Contains(got, "old figures") {
		t.Error("the old figures stayed")
	}
	again, err := Page(got, peers(), "images/p.svg")
	if err != nil || again != got {
		t.Errorf("the same figures make another page: %v", err)
	}
	for name, broken := range map[string]string{"no marks": "# Speed\n", "no end": beginMark + "\n", "in another order": endMark + "\n" + beginMark + "\n"} {
		if _, err := Page(broken, peers(), ""); err == nil {
			t.Errorf("a page with %s was written", name)
		}
	}
}

func TestAPictureIsDrawn(t *testing.T) {
	svg := Picture(peers())
	for decoder := xml.NewDecoder(strings.NewReader(svg)); ; {
		if _, err := decoder.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("the picture is not XML: %v\n%s", err, svg)
		}
	}
	for _, want := range []string{"1,200 µs", "50,000 µs", "Another &amp; Co &lt;1.2&gt;", "shorter is better"} {
		if !strings.Contains(svg, want) {
			t.Errorf("the picture lacks %q:\n%s", want, svg)
		}
	}
	if strings.Count(svg, "<rect") != 4 { // three bars and what is behind them
		t.Errorf("%d rectangles", strings.Count(svg, "<rect"))
	}
	if svg != Picture(peers()) {
		t.Error("the same samples make another picture")
	}
	if none := Picture(nil); none != "" {
		t.Errorf("a picture of nothing: %s", none)
	}
}
