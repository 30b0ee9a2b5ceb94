package conformance

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
)

// WriteText writes a report for people: a line for each case, the failures below.
func (r *Report) WriteText(w io.Writer) error {
	var b strings.Builder
	for _, result := range r.Results {
		switch result.Status {
		case Passed:
			fmt.Fprintf(&b, "ok    %-22s %s\n", result.Case, result.Title)
		case Failed:
			fmt.Fprintf(&b, "FAIL  %-22s %s\n", result.Case, result.Title)
		case Skipped:
			fmt.Fprintf(&b, "skip  %-22s %s\n", result.Case, oneLine(result.Reason))
		}
	}
	for _, result := range r.Results {
		if f := result.Failure; f != nil {
			fmt.Fprintf(&b, "\n%s: it must be that it %s\n", result.Case, result.Title)
			for _, part := range []struct{ label, text string }{
				{"sent", f.Sent}, {"came", f.Came}, {"contract", f.Contract}, {"see", f.Section}, {"change", f.Change},
			} {
				fmt.Fprintf(&b, "  %-9s %s\n", part.label, strings.ReplaceAll(part.text, "\n", "\n            "))
			}
		}
	}
	if len(r.Ignored) > 0 {
		fmt.Fprintf(&b, "\nnote: its schemas say `%s`, which flowrun does not read: what it excludes is not noticed\n", strings.Join(r.Ignored, "`, `"))
	}
	name := strings.TrimSpace(r.Plugin + " " + r.Version)
	if name == "" {
		name = "the plugin"
	}
	fmt.Fprintf(&b, "\n%s: %d passed, %d failed, %d skipped\n", name, r.Passed, r.Failed, r.Skipped)
	_, err := io.WriteString(w, b.String())
	return err
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// The JUnit document, as CI systems read it.
type (
	junitSuites struct {
		XMLName xml.Name   `xml:"testsuites"`
		Suite   junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Skipped  int         `xml:"skipped,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Name    string       `xml:"name,attr"`
		Class   string       `xml:"classname,attr"`
		Time    string       `xml:"time,attr"`
		Failure *junitResult `xml:"failure"`
		Skipped *junitResult `xml:"skipped"`
	}
	junitResult struct {
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

// WriteJUnit writes a report as JUnit XML.
func (r *Report) WriteJUnit(w io.Writer) error {
	suite := junitSuite{Name: "flowrun plugins test " + r.Plugin, Tests: len(r.Results), Failures: r.Failed, Skipped: r.Skipped}
	for _, result := range r.Results {
		c := junitCase{Name: result.Case, Class: "flowrun." + r.Plugin, Time: fmt.Sprintf("%.3f", result.Seconds)}
		if f := result.Failure; f != nil {
			c.Failure = &junitResult{
				Message: xmlText(oneLine(f.Came)),
				Text:    xmlText(fmt.Sprintf("sent: %s\ncame: %s\ncontract: %s\nsee: %s\nchange: %s", f.Sent, f.Came, f.Contract, f.Section, f.Change)),
			}
		}
		if result.Status == Skipped {
			c.Skipped = &junitResult{Message: xmlText(oneLine(result.Reason))}
		}
		suite.Cases = append(suite.Cases, c)
	}
	text, err := xml.MarshalIndent(junitSuites{Suite: suite}, "", "  ")
	if err != nil {
		return fmt.Errorf("write the report as JUnit XML: %w", err)
	}
	_, err = fmt.Fprintf(w, "%s%s\n", xml.Header, text)
	return err
}

// xmlText takes out what XML can't hold.
func xmlText(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }
