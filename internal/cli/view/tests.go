package view

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/duration"
	"github.com/flowrun/flowrun/engine/workspace"
	"github.com/flowrun/flowrun/internal/cli/term"
)

// Tests prints what became of tests, file by file, and how many passed.
func (p Page) Tests(out io.Writer, results []workspace.TestResult) {
	for _, file := range results {
		fmt.Fprintln(out, p.Style.Bold(term.Clean(file.File)))
		if file.Status == workspace.TestInvalid {
			fmt.Fprintf(out, "  %s not run: %s\n", p.Style.Red("✗"), diag.Count(len(file.Problems), "problem"))
		}
		for _, c := range file.Cases {
			p.testCase(out, c)
		}
		p.coverage(out, file)
	}
	summary := workspace.SummarizeTests(results)
	parts := []string{p.Style.Green(fmt.Sprintf("%d passed", summary.Passed))}
	for _, part := range []struct {
		n    int
		text string
	}{{summary.Failed, "failed"}, {summary.Stale, "stale"}} {
		if part.n > 0 {
			parts = append(parts, p.Style.Red(fmt.Sprintf("%d %s", part.n, part.text)))
		}
	}
	if summary.Invalid > 0 {
		parts = append(parts, p.Style.Red(diag.Count(summary.Invalid, "invalid file")))
	}
	fmt.Fprintf(out, "\n%s\n", strings.Join(parts, ", "))
}

func (p Page) testCase(out io.Writer, c workspace.TestCase) {
	mark, note := p.Style.Green("✓"), ""
	if c.Status != workspace.TestPassed {
		mark = p.Style.Red("✗")
	}
	if c.Status == workspace.TestStale {
		note = " " + p.Style.Red("stale")
	}
	facts := diag.Count(c.Calls, "call")
	if c.Took > 0 {
		facts += ", " + duration.Brief(c.Took) + " of virtual time"
	}
	fmt.Fprintf(out, "  %s %s%s %s\n", mark, term.Clean(c.Name), note, p.Style.Dim("· "+facts))
	for _, failure := range c.Failures {
		fmt.Fprintf(out, "      %s: %s\n", p.Style.Dim(term.Clean(failure.Pos.String())), term.CleanText(failure.Message))
		if failure.Hint != "" && failure.Kind == "unanswered" {
			fmt.Fprintf(out, "        %s\n", term.CleanText(failure.Hint))
		}
		for _, line := range failure.Lines {
			fmt.Fprintf(out, "        %s\n", term.Clean(line))
		}
		if failure.Hint != "" && failure.Kind != "unanswered" {
			fmt.Fprintf(out, "        %s %s\n", p.Style.Cyan("help:"), term.CleanText(failure.Hint))
		}
	}
}

func (p Page) coverage(out io.Writer, file workspace.TestResult) {
	if len(file.Cases) == 0 || file.Coverage.Steps == 0 {
		return
	}
	text := fmt.Sprintf("ran %d of %s", file.Coverage.Ran, diag.Count(file.Coverage.Steps, "step"))
	if len(file.Coverage.Never) > 0 {
		text += "; no case ran " + strings.Join(file.Coverage.Never, ", ")
	}
	fmt.Fprintf(out, "  %s\n", p.Style.Dim(term.Clean(text)))
}

// The elements of a JUnit report.
type (
	junitSuites struct {
		XMLName  xml.Name     `xml:"testsuites"`
		Tests    int          `xml:"tests,attr"`
		Failures int          `xml:"failures,attr"`
		Errors   int          `xml:"errors,attr"`
		Time     string       `xml:"time,attr"`
		Suites   []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Errors   int         `xml:"errors,attr"`
		Time     string      `xml:"time,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Name    string      `xml:"name,attr"`
		Class   string      `xml:"classname,attr"`
		File    string      `xml:"file,attr"`
		Line    int         `xml:"line,attr,omitempty"`
		Time    string      `xml:"time,attr"`
		Failure []junitNote `xml:"failure"`
		Error   []junitNote `xml:"error"`
	}
	junitNote struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr"`
		Text    string `xml:",chardata"`
	}
)

// JUnit writes a JUnit report: a suite for each file, whose problems are errors
// of a case of its own.
func JUnit(out io.Writer, results []workspace.TestResult) error {
	report := junitSuites{}
	var total time.Duration
	for _, file := range results {
		suite := junitSuite{Name: file.File}
		var took time.Duration
		if file.Status == workspace.TestInvalid {
			suite.Errors++
			suite.Cases = append(suite.Cases, junitProblems(file))
		}
		for _, c := range file.Cases {
			took += c.Wall
			if c.Status != workspace.TestPassed {
				suite.Failures++
			}
			suite.Cases = append(suite.Cases, junitOf(file, c))
		}
		suite.Tests, suite.Time = len(suite.Cases), seconds(took)
		report.Tests, report.Failures, report.Errors = report.Tests+suite.Tests, report.Failures+suite.Failures, report.Errors+suite.Errors
		total += took
		report.Suites = append(report.Suites, suite)
	}
	report.Time = seconds(total)
	if _, err := io.WriteString(out, xml.Header); err != nil {
		return err
	}
	encoder := xml.NewEncoder(out)
	encoder.Indent("", "  ")
	if err := encoder.Encode(report); err != nil {
		return fmt.Errorf("write the JUnit report: %w", err)
	}
	_, err := io.WriteString(out, "\n")
	return err
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.3f", d.Seconds()) }

func junitProblems(file workspace.TestResult) junitCase {
	c := junitCase{Name: "the file is valid", Class: file.File, File: file.File, Time: seconds(0)}
	for _, problem := range file.Problems {
		text := problem.Pos.String() + ": " + problem.Message
		if problem.Hint.Text != "" {
			text += "\nhelp: " + problem.Hint.Text
		}
		c.Error = append(c.Error, junitNote{Message: problem.Message, Type: problem.Code, Text: term.CleanText(text)})
	}
	return c
}

func junitOf(file workspace.TestResult, c workspace.TestCase) junitCase {
	shown := junitCase{Name: c.Name, Class: file.File, File: file.File, Line: c.Line, Time: seconds(c.Wall)}
	for _, failure := range c.Failures {
		lines := append([]string{failure.Pos.String() + ": " + failure.Message}, failure.Lines...)
		if failure.Hint != "" {
			lines = append(lines, "help: "+failure.Hint)
		}
		shown.Failure = append(shown.Failure, junitNote{Message: failure.Message, Type: failure.Kind, Text: term.CleanText(strings.Join(lines, "\n"))})
	}
	return shown
}
