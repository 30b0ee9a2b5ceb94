package content

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/flowrun/flowrun/sdk"
)

// maxColumns bounds the columns of a table.
const maxColumns = 10_000

// wholeGrammar and numberGrammar are what a cell must look like to be a number: as JSON
// writes it, with a plus in front besides.
var (
	wholeGrammar  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[+-]?[0-9]{1,400}$`) })
	numberGrammar = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^[+-]?[0-9]{1,400}(?:\.[0-9]{1,400})?(?:[eE][+-]?[0-9]{1,3})?$`)
	})
)

// table reads rows of CSV into objects.
type table struct {
	columns []string
	answer  *sdk.Schema
	types   []*sdk.Schema // of each column; nil = text
}

// readCSV makes a list of objects of a text. A row that has more or fewer cells than
// there are columns is a problem; a blank line is none.
func readCSV(text string, o Options) (sdk.Value, error) {
	reader := csv.NewReader(strings.NewReader(text))
	reader.FieldsPerRecord = -1
	reader.ReuseRecord = true
	if o.Delimiter != 0 {
		reader.Comma = o.Delimiter
	}
	t := &table{columns: o.Columns, answer: o.Answer}
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
			return nil, problemf("it is no CSV: %v", err)
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
	out.WriteByte(']')
	return out.Bytes(), nil
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
	t.types = make([]*sdk.Schema, len(t.columns))
	if t.answer == nil {
		return nil
	}
	for i, name := range t.columns {
		if t.types[i] = t.answer.Property(name); t.types[i] == nil && t.answer.Closed() {
			return &Problem{Message: fmt.Sprintf("there is a column `%s`, which `answer` does not have", sdk.Shown(name, 100)),
				Hint: "add it to `answer`, or take `additionalProperties: false` out"}
		}
	}
	for _, name := range t.answer.Names() {
		if t.answer.Required(name) && !seen[name] {
			return problemf("there is no column `%s`; there are %s", name, sdk.Shown(strings.Join(t.columns, ", "), 300))
		}
	}
	return nil
}

// row makes an object of the cells of a row, which stands in a line of the text.
func (t *table) row(cells []string, number, line int) (sdk.Value, error) {
	if len(cells) != len(t.columns) {
		return nil, &Problem{Pointer: sdk.Pointer(number), Message: fmt.Sprintf("line %d has %d cells, and there are %d columns", line, len(cells), len(t.columns))}
	}
	members := make(sdk.Members, len(cells))
	for i, cell := range cells {
		value, wrong := typed(cell, t.types[i])
		if wrong != "" {
			return nil, &Problem{
				Pointer: sdk.Pointer(number, t.columns[i]),
				Message: fmt.Sprintf("line %d, column `%s`: %s", line, sdk.Shown(t.columns[i], 100), wrong),
			}
		}
		members[i] = sdk.Member{Name: t.columns[i], Value: value}
	}
	row := members.JSON()
	if t.answer == nil {
		return row, nil
	}
	for _, p := range t.answer.Check(row) {
		if !p.Warning {
			return nil, &Problem{Pointer: sdk.Pointer(number) + p.Pointer, Message: fmt.Sprintf("line %d: %s%s", line, at(p.Pointer), p.Summary), Hint: p.Detail}
		}
	}
	return row, nil
}

// typed makes a value of a cell, by the type of its column: null of an empty one where
// null may be, a number or a boolean where the text is one, else text.
func typed(cell string, t *sdk.Schema) (value sdk.Value, wrong string) {
	if t == nil {
		return sdk.Text(cell), ""
	}
	trimmed := strings.TrimSpace(cell)
	switch {
	case trimmed == "" && t.Takes("null"):
		return sdk.Value("null"), ""
	case t.Takes("integer") && !t.Takes("string") && wholeGrammar().MatchString(trimmed),
		t.Takes("number") && !t.Takes("string") && numberGrammar().MatchString(trimmed):
		return number(trimmed), ""
	case t.Takes("boolean") && !t.Takes("string") && (strings.EqualFold(trimmed, "true") || strings.EqualFold(trimmed, "false")):
		return sdk.Value(strings.ToLower(trimmed)), ""
	case t.Takes("string"):
		return sdk.Text(cell), ""
	case trimmed == "":
		return nil, "is empty, and must be " + wanted(t)
	}
	return nil, fmt.Sprintf("must be %s, is %q", wanted(t), sdk.Shown(cell, 60))
}

// wanted names what a column takes, for people.
func wanted(t *sdk.Schema) string {
	var words []string
	for _, w := range []struct{ jsonType, word string }{{"number", "a number"}, {"integer", "an integer"}, {"boolean", "true or false"}, {"array", "a list"}, {"object", "an object"}} {
		if t.Takes(w.jsonType) && (w.jsonType != "integer" || !t.Takes("number")) {
			words = append(words, w.word)
		}
	}
	return strings.Join(words, " or ")
}

// number writes a number as JSON does: without a plus and without zeros in front.
func number(text string) sdk.Value {
	sign := ""
	if text[0] == '-' {
		sign = "-"
	}
	text = strings.TrimLeft(text, "+-")
	for len(text) > 1 && text[0] == '0' && text[1] >= '0' && text[1] <= '9' {
		text = text[1:]
	}
	return sdk.Value(sign + text)
}

// writeCSV writes a list of objects, with the names of the columns in the first row:
// those of Options, else those of the objects in the order in which they come.
func writeCSV(value sdk.Value, o Options) ([]byte, error) {
	var items []json.RawMessage
	if sdk.IsNull(value) || json.Unmarshal(value, &items) != nil {
		return nil, problemf("must be a list of objects, one a row")
	}
	rows := make([]sdk.Members, len(items))
	columns := slices.Clone(o.Columns)
	seen := map[string]bool{}
	for i, item := range items {
		members, ok := sdk.ReadMembers(item)
		if !ok {
			return nil, &Problem{Pointer: sdk.Pointer(i), Message: "must be an object: it is a row"}
		}
		rows[i] = members
		for _, m := range members {
			if o.Columns == nil && !seen[m.Name] {
				columns = append(columns, m.Name)
				seen[m.Name] = true
			}
		}
	}
	var out bytes.Buffer
	writer := csv.NewWriter(&out)
	if o.Delimiter != 0 {
		writer.Comma = o.Delimiter
	}
	if len(columns) > 0 {
		_ = writer.Write(columns) // into memory
	}
	for i, row := range rows {
		cells := make([]string, len(columns))
		for j, name := range columns {
			cell, ok := cellOf(row.Get(name))
			if !ok {
				return nil, &Problem{Pointer: sdk.Pointer(i, name), Message: "a cell is text, a number, true, false or null", Hint: "write lists and objects as JSON: `format: json`"}
			}
			cells[j] = cell
		}
		if len(cells) == 1 && cells[0] == "" { // a blank line would be no row
			writer.Flush()
			out.WriteString("\"\"\n")
			continue
		}
		_ = writer.Write(cells)
	}
	writer.Flush()
	if err := writer.Error(); err != nil {
		return nil, problemf("can't be written as CSV: %v", err)
	}
	return out.Bytes(), nil
}

// cellOf is the text of a scalar; null and what is absent are empty.
func cellOf(value sdk.Value) (string, bool) {
	value = bytes.TrimSpace(value)
	switch {
	case sdk.IsNull(value):
		return "", true
	case value[0] == '"':
		var text string
		err := json.Unmarshal(value, &text)
		return text, err == nil
	case value[0] == '{' || value[0] == '[':
		return "", false
	}
	return string(value), true
}
