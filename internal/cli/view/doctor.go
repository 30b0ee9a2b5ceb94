package view

import (
	"fmt"
	"io"

	"github.com/flowrun/flowrun/internal/cli/term"
)

// The statuses of a finding.
const (
	FindingOK      = "ok"
	FindingWarn    = "warn"
	FindingFail    = "fail"
	FindingSkipped = "skipped"
)

// Finding is one thing that the doctor looked at.
type Finding struct {
	Check   string `json:"check"`             // what was looked at: store, plugin, connection
	Subject string `json:"subject,omitempty"` // which one: the plugin's name
	Status  string `json:"status"`            // ok, warn, fail, skipped
	Detail  string `json:"detail"`
	Hint    string `json:"hint,omitempty"`  // what to do
	Fixed   bool   `json:"fixed,omitempty"` // --fix has mended it
	CanFix  bool   `json:"can_fix,omitempty"`
}

// Name is how a finding is called in a list: "plugin tasks".
func (f Finding) Name() string {
	if f.Subject == "" {
		return f.Check
	}
	return f.Check + " " + f.Subject
}

// Diagnosis is all that the doctor found.
type Diagnosis struct {
	Status string    `json:"status"` // the worst of the findings: ok, warn or fail
	Items  []Finding `json:"items"`
}

// nameWidth is how far the names of findings reach at most.
const nameWidth = 24

// Diagnosis prints a line for each finding, and below it what to do.
func (p Page) Diagnosis(out io.Writer, found Diagnosis) {
	width := 0
	for _, finding := range found.Items {
		width = max(width, min(nameWidth, term.Width(term.Clean(finding.Name()))))
	}
	for _, finding := range found.Items {
		name, detail := term.Pad(term.Clean(finding.Name()), width), term.Clean(finding.Detail)
		if finding.Fixed {
			detail += " " + p.Style.Green("(mended)")
		}
		fmt.Fprintf(out, "%s %s  %s\n", p.findingMark(finding.Status), name, detail)
		if finding.Hint != "" {
			fmt.Fprintf(out, "       %s %s\n", p.Style.Cyan("help:"), term.CleanText(finding.Hint))
		}
	}
}

// findingMark is a word of four letters: no reader needs colours.
func (p Page) findingMark(status string) string {
	switch status {
	case FindingOK:
		return p.Style.Green("ok  ")
	case FindingWarn:
		return p.Style.Yellow("warn")
	case FindingFail:
		return p.Style.Red("fail")
	}
	return p.Style.Dim("-   ")
}
