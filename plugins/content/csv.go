package content

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/flowrun/flowrun/sdk"
)

// maxColumns bounds the columns of a table.
const maxColumns = 10_000

// table reads rows of CSV into objects.
type table struct {
	Options
	columns []string
}

// ReadTable makes a list of objects of a text that is CSV: Read for a text that is decoded
// already. A row that has more or fewer cells than there are columns is a problem; a blank
// line is none. The error is a *Problem.
func ReadTable(text string, o Options) (sdk.Value, error) {
	reader := csv.NewReader(strings.NewReader(text))
	reader.FieldsPerRecord = -1
	reader.ReuseRecord = true
	reader.Comment = o.Comment
	if o.Delimiter != 0 {
		reader.Comma = o.Delimiter
	}
	t := &table{Options: o, columns: slices.Clone(o.Columns)}
	if t.columns != nil {
		if err := t.begin(); err != nil {
			return nil, err
		}
	}
	var out bytes.Buffer
	out.WriteByte('[')
	rows := 0
	for {
		record, err := reader.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, syntaxProblem(err)
		}
		if t.columns == nil {
			t.columns = slices.Clone(record)
			if err := t.begin(); err != nil {
				return nil, err
			}
			continue
		}
		line, _ := reader.FieldPos(0)
		row, err := t.row(record, rows, line)
		if err != nil {
			return nil, err
		}
		if rows++; rows > 1 {
			out.WriteByte(',')
		}
		out.Write(row)
	}
	if t.columns == nil && o.Lenient {
		return nil, problemf("it is empty where a line with the names of its columns is due")
	}
	out.WriteByte(']')
	return out.Bytes(), nil
}

// syntaxProblem says what is wrong with the form of a CSV, with line and column.
func syntaxProblem(err error) error {
	parse, is := errors.AsType[*csv.ParseError](err)
	if !is {
		return problemf("it is no CSV: %v", err)
	}
	what := map[error]string{csv.ErrBareQuote: "a quote stands in the middle of a cell", csv.ErrQuote: "a quote is not closed, or something stands behind one"}[parse.Err]
	if what == "" {
		what = parse.Err.Error()
	}
	return problemf("it is no CSV: line %d, sign %d: %s", parse.Line, parse.Column, what)
}

// begin looks at the columns, once they are known.
func (t *table) begin() error {
	if len(t.columns) > maxColumns {
		return problemf("it has %d columns, more than %d", len(t.columns), maxColumns)
	}
	seen := map[string]bool{}
	for i, name := range t.columns {
		name = strings.TrimSpace(name)
		t.columns[i] = name
		switch {
		case name == "":
			return &Problem{Message: fmt.Sprintf("column %d has no name", i+1), Hint: "name the columns in the first row, or with `columns`"}
		case seen[name]:
			return &Problem{Message: fmt.Sprintf("two columns have the name `%s`", sdk.Shown(name, 100)), Hint: "name the columns with `columns`"}
		}
		seen[name] = true
	}
	if t.Answer == nil {
		return nil
	}
	for _, name := range t.columns {
		if t.Answer.Property(name) == nil && t.Answer.Closed() && !t.Lenient {
			return &Problem{
				Message: fmt.Sprintf("there is a column `%s`, which `answer` does not have", sdk.Shown(name, 100)),
				Hint:    "add it to `answer`, or take `additionalProperties: false` out",
			}
		}
	}
	for _, name := range t.Answer.Names() {
		if t.Answer.Required(name) && !seen[name] {
			return problemf("there is no column `%s`; there are %s", sdk.Shown(name, 100), sdk.Shown(strings.Join(t.columns, ", "), 300))
		}
	}
	return nil
}

// row makes an object of the cells of a row, which stands in a line of the text.
func (t *table) row(cells []string, number, line int) (sdk.Value, error) {
	if len(cells) != len(t.columns) {
		return nil, &Problem{Pointer: sdk.Pointer(number), Message: fmt.Sprintf("line %d has %d cells, and there are %d columns", line, len(cells), len(t.columns))}
	}
	members := make(sdk.Members, 0, len(cells))
	for i, cell := range cells {
		name := t.columns[i]
		value, wrong := t.cell(name, cell)
		if wrong != "" {
			return nil, &Problem{Pointer: sdk.Pointer(number, name), Message: fmt.Sprintf("line %d, column `%s`: %s", line, sdk.Shown(name, 100), wrong)}
		}
		if value != nil {
			members = append(members, sdk.Member{Name: name, Value: value})
		}
	}
	row := members.JSON()
	if t.Answer == nil {
		return row, nil
	}
	problems := t.Answer.CheckAnswer
	if !t.Lenient {
		problems = func(row sdk.Value) []sdk.Problem { return t.Answer.Check(row) }
	}
	for _, p := range problems(row) {
		if !p.Warning {
			return nil, &Problem{Pointer: sdk.Pointer(number) + p.Pointer, Message: fmt.Sprintf("line %d: %s%s", line, at(p.Pointer), p.Summary), Hint: p.Detail}
		}
	}
	return row, nil
}
