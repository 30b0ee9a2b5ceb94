package figures

import (
	"fmt"
	"strings"
)

// The marks of a page between which figures are written. What stands around them is
// people's, and stays.
const (
	beginMark = "<!-- figures: `make bench` writes what stands from here -->"
	endMark   = "<!-- to here: end of the figures -->"
)

// Page puts the figures of samples between the marks of a page. picture is the name of
// the picture, as the page refers to it; "" = there is none. A page without both marks, or
// with them in another order, is an error.
func Page(page string, samples []Sample, picture string) (string, error) {
	before, rest, found := strings.Cut(page, beginMark)
	if !found {
		return "", fmt.Errorf("the page has no line %q", beginMark)
	}
	_, after, found := strings.Cut(rest, endMark)
	if !found {
		return "", fmt.Errorf("the page has no line %q after %q", endMark, beginMark)
	}
	var text strings.Builder
	fmt.Fprintf(&text, "\n\nMeasured on: %s.\n\n", Machine(samples))
	if picture != "" {
		fmt.Fprintf(&text, "![flowrun beside the floor and its peers](%s)\n\n", picture)
	}
	fmt.Fprintf(&text, "%s\nWhat a unit of work costs, medians:\n\n%s\nThe same work by others, in the same run:\n\n%s\n", Markdown(Rows(samples)), Costs(samples), Programs(samples))
	if skipped := Skipped(samples); skipped != "" {
		fmt.Fprintf(&text, "%s\n", skipped)
	}
	return before + beginMark + text.String() + endMark + after, nil
}
