// Package diag holds the problems that are found in workflows and project
// files before anything runs: a place, a stable code, what was expected and
// what to do about it.
package diag

import (
	"fmt"
	"slices"
	"strings"

	"github.com/flowrun/flowrun/engine/order"
)

// Pos is a place in a file. Lines and columns count from 1, columns in Unicode
// characters. The end is exclusive; a zero EndLine means that only the start is
// known.
type Pos struct {
	File      string `json:"file"`
	Line      int    `json:"line"`
	Column    int    `json:"column"`
	EndLine   int    `json:"end_line,omitempty"`
	EndColumn int    `json:"end_column,omitempty"`
}

// String returns file:line:column.
func (p Pos) String() string { return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column) }

// Before reports whether p stands before q: by file, line, then column.
func (p Pos) Before(q Pos) bool {
	if c := strings.Compare(p.File, q.File); c != 0 {
		return c < 0
	}
	if p.Line != q.Line {
		return p.Line < q.Line
	}
	return p.Column < q.Column
}

// Severity tells whether a problem stops the workflow from running.
type Severity string

// The severities: only Error keeps a workflow from running.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
)

// Related is another place that belongs to a problem, such as the first use of
// a duplicate key.
type Related struct {
	Pos
	Message string `json:"message"`
}

// Problem is one finding. Code is stable (FR and four digits) and has a page
// under `flowrun explain`. Message is one lower-case sentence without a full
// stop; Hint says what to do next.
type Problem struct {
	Pos
	Code     string   `json:"code"`
	Severity Severity `json:"severity"`
	Message  string   `json:"message"`
	Hint
	Related []Related `json:"related,omitempty"`
	Stderr  []string  `json:"stderr,omitempty" doc:"What a plugin that did not start wrote last, by lines."`
	Mend    *Mend     `json:"mend,omitempty" doc:"Edits of the file that put the problem right."`
}

// String renders the problem on one line.
func (p Problem) String() string {
	text := fmt.Sprintf("%s: %s[%s]: %s", p.Pos, p.Severity, p.Code, p.Message)
	if p.Hint.Text != "" {
		text += "; " + p.Hint.Text
	}
	return text
}

// List collects the problems of one pass. The zero value is empty. Not safe for
// concurrent use.
type List []Problem

// Errorf adds an error at pos and returns it for a hint or related places.
// The pointer is valid until the next addition.
func (l *List) Errorf(pos Pos, code, format string, args ...any) *Problem {
	*l = append(*l, Problem{Pos: pos, Code: code, Severity: Error, Message: fmt.Sprintf(format, args...)})
	return &(*l)[len(*l)-1]
}

// Warnf is Errorf for a warning.
func (l *List) Warnf(pos Pos, code, format string, args ...any) *Problem {
	problem := l.Errorf(pos, code, format, args...)
	problem.Severity = Warning
	return problem
}

// HasErrors reports whether one of the problems is an error.
func (l List) HasErrors() bool {
	return slices.ContainsFunc(l, func(p Problem) bool { return p.Severity == Error })
}

// Sort orders the problems by place; those at one place keep their order.
func (l List) Sort() {
	order.Sort(l, func(a, b Problem) int {
		switch {
		case a.Pos.Before(b.Pos):
			return -1
		case b.Pos.Before(a.Pos):
			return 1
		}
		return 0
	})
}

// Err returns l as an error when it has errors, else nil.
func (l List) Err() error {
	if l.HasErrors() {
		return l
	}
	return nil
}

// Error joins the problems, one a line.
func (l List) Error() string {
	lines := make([]string, len(l))
	for i, problem := range l {
		lines[i] = problem.String()
	}
	return strings.Join(lines, "\n")
}
