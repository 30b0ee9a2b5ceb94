// Package runquery evaluates the query of a list of runs: an expression over the fields of
// a row, with a bound on the work of one page.
package runquery

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/eval"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/store"
)

// The work of one page of a list with a query: rows, and steps of the expression
// over all of them, of which each is at most about a microsecond. A row that is
// begun is ended, so a page takes one evaluation more than that at most.
const (
	maxQueryRows  = 20_000
	maxQuerySteps = 2_000_000
)

// QueryFile is the file that the problems of a query name.
const QueryFile = "query"

// QueryError says why a query selects nothing: it is wrong, or it gives no answer
// for a run. Problems tell the places in the expression; the code of one that was
// found at a run is its reason, `expression` or `limit` (docs/language.md, rule 9).
type QueryError struct {
	Query    string
	Run      string // at which it failed; "" = it is wrong whatever there is
	Problems diag.List
}

// Error returns the first problem with its place, on one line.
func (e *QueryError) Error() string {
	first := e.Problems[0]
	place := fmt.Sprintf("column %d", first.Column)
	if strings.Contains(e.Query, "\n") {
		place = fmt.Sprintf("line %d, %s", first.Line, place)
	}
	if e.Run != "" {
		return fmt.Sprintf("the query fails: %s: %s", place, first.Message)
	}
	text := fmt.Sprintf("the query is wrong: %s: %s [%s]", place, first.Message, first.Code)
	if more := len(e.Problems) - 1; more > 0 {
		text += fmt.Sprintf(", and %d more", more)
	}
	return text
}

// Hint says what to do about the first problem, "" where nothing is known.
func (e *QueryError) Hint() diag.Hint { return e.Problems[0].Hint }

// Check returns what is wrong with runs.Filter.Query as a *QueryError.
func Check(text string) error {
	_, err := New(text, time.Time{})
	return err
}

// Query is a query that is being answered. Used by one goroutine.
type Query struct {
	text        string
	program     *eval.Program
	fields      []runField // those that it reads
	at          time.Time  // now() of all rows
	Rows, steps int        // of this page so far
}

// New checks and compiles a query. The error is a *QueryError.
func New(text string, at time.Time) (*Query, error) {
	x, issues := eval.Parse(text)
	if len(issues) == 0 {
		issues = x.CheckCondition(runScope())
	}
	if len(issues) > 0 {
		wrong := &QueryError{Query: text}
		for _, issue := range issues {
			wrong.add(issue.Start, issue.End, issue.Code, queryWords(issue.Message), queryHint(issue))
		}
		return nil, wrong
	}
	q := &Query{text: text, program: x.Compile(), at: at}
	read := map[string]bool{}
	for _, r := range x.Reads() {
		read[r.Path[0]] = true
	}
	for _, field := range runFields() {
		if read[field.name] {
			q.fields = append(q.fields, field)
		}
	}
	return q, nil
}

// Selects evaluates the query for a row.
func (q *Query) Selects(ctx context.Context, row *runs.Run) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	if q.Rows >= maxQueryRows || q.steps >= maxQuerySteps {
		return false, store.ErrEnough
	}
	env := make(map[string]any, len(q.fields))
	for _, field := range q.fields {
		env[field.name] = field.value(row)
	}
	result, steps, err := q.program.RunCounted(env, q.at)
	q.Rows, q.steps = q.Rows+1, q.steps+steps
	if err != nil {
		return false, q.failed(row.ID, err)
	}
	selected, boolean := result.(bool)
	if !boolean { // of an expression of which nothing was known
		return false, q.failed(row.ID, &eval.RunError{
			Message: "it must be true or false, and here it is neither", Reason: "expression", End: len(q.text),
			Hint: diag.Say("compare it with something, or write `?? false` behind it"),
		})
	}
	return selected, nil
}

func (q *Query) failed(run string, err error) error {
	var cause *eval.RunError
	if !errors.As(err, &cause) {
		return fmt.Errorf("evaluate the query at run %s: %w", run, err)
	}
	wrong := &QueryError{Query: q.text, Run: run}
	wrong.add(cause.Start, cause.End, cause.Reason, "at run "+run+": "+cause.Message, cause.Hint)
	return wrong
}

// add adds a problem at a part of the expression, given in bytes.
func (e *QueryError) add(start, end int, code, message string, hint diag.Hint) {
	pos := diag.Pos{File: QueryFile}
	pos.Line, pos.Column = placeIn(e.Query, start)
	pos.EndLine, pos.EndColumn = placeIn(e.Query, end)
	e.Problems.Errorf(pos, code, "%s", message).Hint = hint
}

// placeIn returns the line and column of a byte of a text, from 1.
func placeIn(text string, at int) (line, column int) {
	before := text[:min(max(at, 0), len(text))]
	line = 1 + strings.Count(before, "\n")
	return line, 1 + utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:])
}

// queryWords calls the expression as a whole what it is here.
func queryWords(message string) string {
	if rest, ok := strings.CutPrefix(message, "a condition must be"); ok {
		return "a query must be" + rest
	}
	return strings.Replace(message, "and a condition must be", "and a query must be", 1)
}

// queryHint leaves out what only a workflow can do, and names the fields.
func queryHint(issue eval.Issue) diag.Hint {
	switch {
	case issue.Code == eval.CodeTooLarge, issue.Code == eval.CodeParts:
		return diag.Say("make it shorter")
	case issue.Code == eval.CodeName && issue.Hint.Text == "":
		if strings.Contains(issue.Message, "`run`") || strings.Contains(issue.Message, "unknown name") {
			return diag.Say("a query reads the fields of a run: " + strings.Join(runScope().Names(), ", "))
		}
	}
	return issue.Hint
}
