package content

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/flowrun/flowrun/engine/content/rows"
	"github.com/flowrun/flowrun/engine/schema"
)

// rowType is the type of a row as a table reads it.
type rowType struct{ *schema.Type }

// Column returns the type of a column; nil for one that is not declared.
func (t rowType) Column(name string) rows.Column {
	i := slices.IndexFunc(t.Fields, func(f schema.Field) bool { return f.Name == name })
	switch {
	case i >= 0:
		return columnType{t.Fields[i].Type}
	case t.Additional != nil && t.Additional.Known():
		return columnType{t.Additional}
	}
	return nil
}

// Required returns the columns that must be there.
func (t rowType) Required() []string {
	var names []string
	for _, f := range t.Fields {
		if f.Required {
			names = append(names, f.Name)
		}
	}
	return names
}

// Closed says that there may be no other columns.
func (t rowType) Closed() bool { return t.Additional == nil && !t.Open }

type columnType struct{ *schema.Type }

// Takes reports whether a value may be of a JSON type.
func (t columnType) Takes(jsonType string) bool {
	if !t.Known() {
		return true
	}
	if jsonType == "null" {
		return t.MayBeNull()
	}
	return slices.ContainsFunc(t.Each(), func(one *schema.Type) bool {
		switch one.Kind {
		case schema.Bool:
			return jsonType == "boolean"
		case schema.Int:
			return jsonType == "integer"
		case schema.Number:
			return jsonType == "number" || jsonType == "integer"
		case schema.String, schema.Time, schema.Duration:
			return jsonType == "string"
		case schema.List:
			return jsonType == "array"
		}
		return jsonType == "object" && one.Kind == schema.Object
	})
}

// readRows reads rows of a table.
func readRows(source Source, o Options, at place) (Page, error) {
	options := rows.Options{Columns: o.Columns, Delimiter: o.Delimiter, Decode: o.Encoding.part, FirstLine: at.line}
	if o.Answer != nil {
		options.Row = rowType{o.Answer}
	}
	if options.Columns == nil && at.line > 1 { // they stand in the first row
		head, _ := section(source, o, start(source, o))
		columns, err := rows.NewReader(head, rows.Options{Delimiter: o.Delimiter, Decode: o.Encoding.part}).Columns()
		if err != nil {
			return Page{}, asProblem(err)
		}
		options.Columns = columns
	}
	begin := at
	part, ends := section(source, o, at.offset)
	reader := rows.NewReader(part, options)
	// cut says that what was read last may go on behind the part of this page.
	cut := func() bool { return !ends && reader.Offset() >= part.Size() }
	w := pageWriter{field: CSV.Field()}
	_, err := reader.Columns()
	for err == nil && !w.full() {
		var row []byte
		if row, err = reader.Next(); err == nil && !cut() {
			if err := fits(row, o.Answer, fmt.Sprintf("line %d: ", reader.Line())); err != nil {
				return Page{}, err
			}
			w.add(row)
			at.offset = begin.offset + reader.Offset()
		} else if err == nil {
			break
		}
	}
	switch {
	case errors.Is(err, io.EOF) && ends:
		at.offset = source.Size()
	case err != nil && !cut():
		return Page{}, asProblem(err)
	}
	lines, err := linesIn(source, begin.offset, at.offset)
	if err != nil {
		return Page{}, err
	}
	at.line += lines
	return o.endOf(&w, source, begin, at)
}

// linesIn counts the ends of lines between two offsets, which are a page apart.
func linesIn(source Source, from, to int64) (int, error) {
	raw := make([]byte, to-from)
	if _, err := io.ReadFull(io.NewSectionReader(source, from, to-from), raw); err != nil {
		return 0, err
	}
	return bytes.Count(raw, []byte{'\n'}), nil
}

// asProblem is what a table says; errors of the source stay.
func asProblem(err error) error {
	var wrong *rows.Problem
	if !errors.As(err, &wrong) {
		return err
	}
	return &Problem{Message: wrong.Message, Hint: wrong.Hint}
}
