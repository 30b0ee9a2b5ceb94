package http

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/flowrun/flowrun/sdk"
)

// table reads a CSV into rows: objects by the names of its columns, their values typed by
// the schema of a row.
type table struct {
	columns []string
	row     *sdk.Schema // nil = all values are texts
}

// readCSV reads the body as a table.
func (how reading) readCSV(r *sdk.Response) (kind string, body sdk.Value, err error) {
	content, err := decoded(r)
	if err != nil {
		return "", nil, answeredAll(err)
	}
	rows, err := readTable(content, how.CSV, how.shape)
	if err != nil {
		failure := r.Fail(sdk.CodeUnexpectedResponse, "the answer is no table as it should be: %s", err.Error())
		failure.Applied = sdk.AppliedFully
		return "", nil, failure
	}
	return kindCSV, rows, nil
}

// readTable reads a CSV; its errors name the row, as lines are counted, and the column.
func readTable(content string, form *csvForm, row shape) (sdk.Value, error) {
	if form == nil {
		form = &csvForm{}
	}
	t := table{columns: form.Columns}
	if t.row = row.Schema; row.isList() && row.Items() != nil {
		t.row = row.Items()
	}
	reader := csv.NewReader(strings.NewReader(strings.TrimPrefix(content, "\ufeff")))
	reader.FieldsPerRecord, reader.ReuseRecord = -1, true
	reader.Comma, _ = utf8.DecodeRuneInString(or(form.Separator, ","))
	if form.Comment != "" {
		reader.Comment, _ = utf8.DecodeRuneInString(form.Comment)
	}
	if t.columns == nil {
		header, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return nil, errors.New("it is empty where a line with the names of its columns is due")
		}
		if err != nil {
			return nil, csvError(err)
		}
		t.columns = slices.Clone(header)
	}
	if err := t.checkColumns(); err != nil {
		return nil, err
	}
	return t.readRows(reader)
}

func (t *table) checkColumns() error {
	for i, name := range t.columns {
		if t.columns[i] = strings.TrimSpace(name); t.columns[i] == "" {
			return fmt.Errorf("column %d has no name", i+1)
		}
		if slices.Contains(t.columns[:i], t.columns[i]) {
			return fmt.Errorf("two columns have the name %q", shown(t.columns[i]))
		}
	}
	if t.row == nil {
		return nil
	}
	for _, name := range t.row.Names() {
		if t.row.Required(name) && !slices.Contains(t.columns, name) {
			return fmt.Errorf("there is no column %q; it has %s", shown(name), shown(strings.Join(t.columns, ", ")))
		}
	}
	return nil
}

func (t *table) readRows(reader *csv.Reader) (sdk.Value, error) {
	out := []byte{'['}
	for first := true; ; first = false {
		record, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return append(out, ']'), nil
		}
		if err != nil {
			return nil, csvError(err)
		}
		line, _ := reader.FieldPos(0)
		row, err := t.readRow(record)
		if err != nil {
			return nil, fmt.Errorf("row at line %d: %w", line, err)
		}
		if !first {
			out = append(out, ',')
		}
		out = append(out, row...)
	}
}

func (t *table) readRow(record []string) (sdk.Value, error) {
	if len(record) != len(t.columns) {
		return nil, fmt.Errorf("it has %d cells where %d are due", len(record), len(t.columns))
	}
	row := make(sdk.Members, 0, len(record))
	for i, cell := range record {
		name := t.columns[i]
		value, keep, err := t.cell(name, cell)
		if err != nil {
			return nil, fmt.Errorf("column %q %w", shown(name), err)
		}
		if keep {
			row = append(row, sdk.Member{Name: name, Value: value})
		}
	}
	document := row.JSON()
	if t.row != nil {
		if problems := t.row.CheckAnswer(document); len(problems) > 0 {
			return nil, fmt.Errorf("column %q %s", strings.TrimPrefix(problems[0].Pointer, "/"), problems[0].Summary)
		}
	}
	return document, nil
}

// cell is the value of a cell; keep is false where it is left out: an empty cell of a
// column that need not be there, or a column that the schema excludes.
func (t *table) cell(name, text string) (value sdk.Value, keep bool, err error) {
	if t.row == nil {
		return sdk.Text(text), true, nil
	}
	shape := t.row.Property(name)
	if shape == nil {
		shape = t.row.Additional()
	}
	switch {
	case shape == nil:
		return sdk.Text(text), !t.row.Closed(), nil
	case !shape.Says():
		return sdk.Text(text), true, nil
	}
	return typed(text, shape, t.row.Required(name))
}

var number = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$`)
})

// typed makes of a text what a schema takes: the first of integer, number, boolean, null
// and text that fits.
func typed(text string, shape *sdk.Schema, required bool) (value sdk.Value, keep bool, err error) {
	bare := strings.TrimSpace(text)
	if bare == "" {
		switch {
		case shape.Takes("null"):
			return null, true, nil
		case shape.Takes("string"):
			return sdk.Text(text), true, nil
		case !required:
			return nil, false, nil
		}
		return nil, false, fmt.Errorf("is empty where %s is due", dueIn(shape))
	}
	if shape.Takes("integer") || shape.Takes("number") {
		if plain, ok := plainNumber(bare); ok && (shape.Takes("number") || sdk.IsInteger(plain)) {
			return plain, true, nil
		}
	}
	switch word := strings.ToLower(bare); {
	case shape.Takes("boolean") && (word == "true" || word == "false"):
		return sdk.Value(word), true, nil
	case shape.Takes("null") && word == "null" && !shape.Takes("string"):
		return null, true, nil
	case shape.Takes("string"):
		return sdk.Text(text), true, nil
	}
	return nil, false, fmt.Errorf("is text where %s is due", dueIn(shape))
}

// plainNumber writes a number as JSON does: without a plus, without zeros in front.
func plainNumber(text string) (sdk.Value, bool) {
	if !number().MatchString(text) {
		return nil, false
	}
	sign, digits := "", strings.TrimPrefix(text, "+")
	if rest, negative := strings.CutPrefix(digits, "-"); negative {
		sign, digits = "-", rest
	}
	digits = strings.TrimLeft(digits, "0")
	if digits == "" || digits[0] < '0' || digits[0] > '9' {
		digits = "0" + digits
	}
	whole, fraction, _ := strings.Cut(digits, ".")
	if fraction == "" || fraction[0] < '0' || fraction[0] > '9' {
		digits = whole + fraction // 1. and 1.e5
	}
	return sdk.Value(sign + digits), json.Valid([]byte(sign + digits))
}

// dueIn names what a schema takes.
func dueIn(shape *sdk.Schema) string {
	var words []string
	for _, kind := range []struct{ jsonType, word string }{
		{"integer", "an integer"}, {"number", "a number"}, {"boolean", "true or false"}, {"string", "text"}, {"null", "null"},
	} {
		if shape.Takes(kind.jsonType) && !(kind.jsonType == "integer" && shape.Takes("number")) {
			words = append(words, kind.word)
		}
	}
	if words == nil {
		return "a value of another kind, which a cell can't have,"
	}
	return strings.Join(words, " or ")
}

// csvError says what is wrong with the form of a CSV, with line and column.
func csvError(err error) error {
	parse, is := errors.AsType[*csv.ParseError](err)
	if !is {
		return err
	}
	what := map[error]string{csv.ErrBareQuote: "a quote stands in the middle of a cell", csv.ErrQuote: "a quote is not closed, or something stands behind one"}[parse.Err]
	return errors.New("line " + strconv.Itoa(parse.Line) + ", sign " + strconv.Itoa(parse.Column) + ": " + or(what, parse.Err.Error()))
}

func shown(text string) string { return sdk.Shown(text, 200) }
