// Package rows reads CSV (RFC 4180) into JSON objects, one a row, whose values are what
// their column's type says, by the rules that the bundled plugins go by (plugins/content).
package rows

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// maxColumns bounds the columns of a table.
const maxColumns = 10_000

// Options say what a table is like.
type Options struct {
	Columns   []string // nil = the first row names them
	Delimiter rune     // 0 = a comma
	Row       Row      // nil = any columns, and all values are texts
	// Decode makes UTF-8 of the bytes of a cell, or says what is wrong with them; nil =
	// they are UTF-8.
	Decode func(cell string) (text, wrong string)
	// FirstLine is the number of the line in which the text begins; 0 = 1.
	FirstLine int
}

// Row is the type of a row, an object.
type Row interface {
	// Column returns the type of a column; nil for one that is not declared.
	Column(name string) Column
	// Required are the columns that must be there, in an order.
	Required() []string
	// Closed says that there may be no column that is not declared.
	Closed() bool
}

// Column is the type of a column's values.
type Column interface {
	// Takes reports whether a value may be of this JSON type: null, boolean, integer,
	// number, string, array or object.
	Takes(jsonType string) bool
}

// Problem is why a text is no table, or not the one that is expected.
type Problem struct {
	Column  string // "" = none in particular
	Row     int    // number of the row, from 0; -1 = none in particular
	Message string // with the line, where there is one
	Hint    string // what to do about it, may be empty
}

// Error is the message.
func (p *Problem) Error() string { return p.Message }

// Reader reads the rows of one table, one at a time.
type Reader struct {
	csv     *csv.Reader
	options Options
	columns []string
	types   []Column // of each column; nil = text
	rows    int
	line    int // of the row that was read last
}

// NewReader returns a reader of a table. It reads on as rows are asked for.
func NewReader(r io.Reader, options Options) *Reader {
	reader := csv.NewReader(r)
	reader.FieldsPerRecord, reader.ReuseRecord = -1, true
	if options.Delimiter != 0 {
		reader.Comma = options.Delimiter
	}
	if options.Decode == nil {
		options.Decode = func(cell string) (text, wrong string) { return cell, "" }
	}
	options.FirstLine = max(options.FirstLine, 1)
	return &Reader{csv: reader, options: options}
}

// Columns returns the names of the columns, reading the row that names them where that
// was not done. Nil for an empty text. The error is a *Problem, or one of the source.
func (r *Reader) Columns() ([]string, error) {
	if r.columns != nil {
		return r.columns, nil
	}
	names := slices.Clone(r.options.Columns)
	if names == nil {
		record, err := r.csv.Read()
		if errors.Is(err, io.EOF) {
			return nil, nil
		}
		if err != nil {
			return nil, r.noTable(err)
		}
		for i, cell := range record {
			name, wrong := r.options.Decode(cell)
			if wrong != "" {
				return nil, &Problem{Row: -1, Message: fmt.Sprintf("the name of column %d: %s", i+1, wrong)}
			}
			names = append(names, name)
		}
	}
	if err := r.begin(names); err != nil {
		return nil, err
	}
	return r.columns, nil
}

// Next returns the next row as a JSON object, its members in the order of the columns.
// io.EOF ends the table; other errors are *Problem, or of the source.
func (r *Reader) Next() (json.RawMessage, error) {
	if columns, err := r.Columns(); err != nil {
		return nil, err
	} else if columns == nil {
		return nil, io.EOF
	}
	record, err := r.csv.Read()
	if errors.Is(err, io.EOF) {
		return nil, io.EOF
	}
	if err != nil {
		return nil, r.noTable(err)
	}
	line, _ := r.csv.FieldPos(0)
	r.line = line + r.options.FirstLine - 1
	row, err := r.row(record)
	if err != nil {
		return nil, err
	}
	r.rows++
	return row, nil
}

// Offset is where the text goes on behind the row that was read last, in bytes.
func (r *Reader) Offset() int64 { return r.csv.InputOffset() }

// Line is the line, from 1, in which the row begins that was read last.
func (r *Reader) Line() int { return r.line }

// noTable says that the text can't be read, with the line; errors of its source stay.
func (r *Reader) noTable(err error) error {
	parse, ok := errors.AsType[*csv.ParseError](err)
	if !ok {
		return err
	}
	own := *parse
	own.StartLine, own.Line = parse.StartLine+r.options.FirstLine-1, parse.Line+r.options.FirstLine-1
	return &Problem{Row: -1, Message: fmt.Sprintf("it is no CSV: %v", &own)}
}

// begin looks at the columns, once they are known.
func (r *Reader) begin(names []string) error {
	if len(names) > maxColumns {
		return &Problem{Row: -1, Message: fmt.Sprintf("it has %d columns, more than %d", len(names), maxColumns)}
	}
	seen := map[string]bool{}
	for i, name := range names {
		name = strings.TrimSpace(name)
		names[i] = name
		switch {
		case name == "":
			return &Problem{Row: -1, Message: fmt.Sprintf("column %d has no name", i+1), Hint: "name the columns in the first row, or with `columns`"}
		case seen[name]:
			return &Problem{Row: -1, Message: fmt.Sprintf("two columns have the name `%s`", shown(name, 100)), Hint: "name the columns with `columns`"}
		}
		seen[name] = true
	}
	r.columns, r.types = names, make([]Column, len(names))
	row := r.options.Row
	if row == nil {
		return nil
	}
	for i, name := range names {
		if r.types[i] = row.Column(name); r.types[i] == nil && row.Closed() {
			return &Problem{Row: -1, Column: name, Message: fmt.Sprintf("there is a column `%s`, which `answer` does not have", shown(name, 100)),
				Hint: "add it to `answer`, or take `additionalProperties: false` out"}
		}
	}
	for _, name := range row.Required() {
		if !seen[name] {
			return &Problem{Row: -1, Message: fmt.Sprintf("there is no column `%s`; there are %s", name, shown(strings.Join(names, ", "), 300))}
		}
	}
	return nil
}

// row makes an object of the cells of a row.
func (r *Reader) row(cells []string) (json.RawMessage, error) {
	if len(cells) != len(r.columns) {
		return nil, &Problem{Row: r.rows, Message: fmt.Sprintf("line %d has %d cells, and there are %d columns", r.line, len(cells), len(r.columns))}
	}
	var out bytes.Buffer
	out.WriteByte('{')
	for i, cell := range cells {
		decoded, wrong := r.options.Decode(cell)
		var value json.RawMessage
		if wrong == "" {
			value, wrong = typed(decoded, r.types[i])
		}
		if wrong != "" {
			return nil, &Problem{
				Row: r.rows, Column: r.columns[i], Message: fmt.Sprintf("line %d, column `%s`: %s", r.line, shown(r.columns[i], 100), wrong),
			}
		}
		if i > 0 {
			out.WriteByte(',')
		}
		out.Write(text(r.columns[i]))
		out.WriteByte(':')
		out.Write(value)
	}
	out.WriteByte('}')
	return out.Bytes(), nil
}

// text is a text as JSON, with <, > and & as they are.
func text(s string) json.RawMessage {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(s) // a text into memory
	return bytes.TrimSuffix(out.Bytes(), []byte("\n"))
}

// shown cuts a text for a message, and keeps what can't be printed out of it.
func shown(s string, most int) string {
	quoted := []rune(strconv.Quote(s))
	if quoted = quoted[1 : len(quoted)-1]; len(quoted) > most {
		return string(quoted[:most]) + "…"
	}
	return string(quoted)
}
