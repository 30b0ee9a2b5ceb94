package main

import (
	"fmt"
	"strings"
)

// The marks of the page between which the profiles are written. What stands around them
// is people's, and stays.
const (
	beginMark = "<!-- profiles: `make bench` writes what stands from here -->"
	endMark   = "<!-- to here: end of the profiles -->"
)

// between puts text between the marks of a page. A page without both, or with them in
// another order, is an error.
func between(page, text string) (string, error) {
	before, rest, found := strings.Cut(page, beginMark)
	if !found {
		return "", fmt.Errorf("the page has no line %q", beginMark)
	}
	_, after, found := strings.Cut(rest, endMark)
	if !found {
		return "", fmt.Errorf("the page has no line %q after %q", endMark, beginMark)
	}
	return before + beginMark + "\n\n" + text + endMark + after, nil
}
