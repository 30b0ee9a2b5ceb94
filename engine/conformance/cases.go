package conformance

import (
	"context"
	"slices"
	"strings"
)

// need is what must be there before a case can be tried.
type need int

const (
	needsNothing need = iota
	needsStart
	needsDescription
	needsConnection
)

// testCase is one promise of the contract.
type testCase struct {
	id       string
	title    string // what the plugin does, as a sentence without its subject
	needs    need
	section  string // of the contract's page
	contract string // what it says
	change   string // what to do where the promise is broken
	run      func(context.Context, *kit) error
}

// among reports whether the case is one of those named.
func (c testCase) among(names []string) bool {
	return len(names) == 0 || slices.ContainsFunc(names, func(name string) bool { return c.id == name || strings.HasPrefix(c.id, name+".") })
}

// allCases are all cases in the order in which they are tried. Those that look at what was
// heard of the plugin come last.
func allCases() []testCase {
	return slices.Concat(
		startCases(), tokenCases(), describeCases(), toldCases(), validateCases(), connectCases(), executeCases(), streamCases(), faultCases(), effectCases(),
		pageCases(), blobCases(), pendingCases(), stopCases(), secretCases(),
	)
}

// Case is one promise that a plugin is tested for.
type Case struct {
	ID       string `json:"id"`
	Title    string `json:"title"`
	Contract string `json:"contract"`
	Section  string `json:"section"` // of proto/flowrun/plugin/v1/README.md
}

// Cases returns all cases in their order.
func Cases() []Case {
	var cases []Case
	for _, c := range allCases() {
		cases = append(cases, Case{ID: c.id, Title: c.title, Contract: c.contract, Section: c.section})
	}
	return cases
}
