package view

import (
	"fmt"
	"io"

	"github.com/flowrun/flowrun/internal/cli/term"
	"github.com/flowrun/flowrun/internal/doctor"
)

// nameWidth is how far the names of findings reach at most.
const nameWidth = 24

// Diagnosis prints a line for each finding, and below it what to do.
func (p Page) Diagnosis(out io.Writer, report doctor.Report) {
	width := 0
	for _, finding := range report.Items {
		width = max(width, min(nameWidth, term.Width(term.Clean(finding.Name()))))
	}
	for _, finding := range report.Items {
		name, detail := term.Pad(term.Clean(finding.Name()), width), term.Clean(finding.Detail)
		if finding.Fixed {
			detail += " " + p.Style.Green("(mended)")
		}
		fmt.Fprintf(out, "%s %s  %s\n", p.findingMark(finding.Status), name, detail)
		if finding.Hint.Text != "" {
			fmt.Fprintf(out, "       %s %s\n", p.Style.Cyan("help:"), term.CleanText(finding.Hint.Text))
		}
	}
}

// findingMark is a word of four letters: no reader needs colours.
func (p Page) findingMark(status string) string {
	switch status {
	case doctor.OK:
		return p.Style.Green("ok  ")
	case doctor.Warn:
		return p.Style.Yellow("warn")
	case doctor.Fail:
		return p.Style.Red("fail")
	}
	return p.Style.Dim("-   ")
}
