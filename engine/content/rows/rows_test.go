package rows_test

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/flowrun/flowrun/engine/content/rows"
)

// rowType is a row of typed columns.
type rowType struct {
	columns  map[string]column
	required []string
	closed   bool
}

func (r rowType) Column(name string) rows.Column {
	if c, ok := r.columns[name]; ok {
		return c
	}
	return nil
}
func (r rowType) Required() []string { return r.required }
func (r rowType) Closed() bool       { return r.closed }

// column are the types that it takes.
type column []string

func (c column) Takes(jsonType string) bool { return slices.Contains(c, jsonType) }

func all(text string, o rows.Options) (string, error) {
	reader := rows.NewReader(strings.NewReader(text), o)
	var out []string
	for {
		row, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return strings.Join(out, " "), nil
		}
		if err != nil {
			return strings.Join(out, " "), err
		}
		out = append(out, string(row))
	}
}

func TestRowsAreObjectsOfTypedValues(t *testing.T) {
	typed := rowType{columns: map[string]column{"i": {"integer"}, "n": {"number", "null"}, "b": {"boolean"}, "s": {"string"}}}
	for _, c := range []struct {
		text string
		o    rows.Options
		want string
	}{
		{"a,b\n1,\"x\ny\"\n", rows.Options{}, `{"a":"1","b":"x\ny"}`},
		{"i,n,b,s,o\n+007,,TRUE,7,<&>\n", rows.Options{Row: typed}, `{"i":7,"n":null,"b":true,"s":"7","o":"<&>"}`},
		{"1;2\n", rows.Options{Columns: []string{"a", "b"}, Delimiter: ';'}, `{"a":"1","b":"2"}`},
		{"a\nx\n", rows.Options{Decode: func(cell string) (string, string) { return strings.ToUpper(cell), "" }}, `{"A":"X"}`},
		{"", rows.Options{}, ""},
	} {
		if got, err := all(c.text, c.o); err != nil || got != c.want {
			t.Errorf("%q is %s, %v, want %s", c.text, got, err, c.want)
		}
	}
	for text, want := range map[string]string{
		"i\nx\n":       "line 12, column `i`: must be an integer, is \"x\"",
		"i\n1,2\n":     "line 12 has 2 cells",
		"a\n\"x\n":     "line 12, column 4",
		"a,a\n":        "two columns have the name `a`",
		"a,\n":         "column 2 has no name",
		"a\n\x00bad\n": "line 12, column `a`: no",
	} {
		_, err := all(text, rows.Options{Row: typed, FirstLine: 11, Decode: func(cell string) (string, string) {
			if strings.HasPrefix(cell, "\x00") {
				return "", "no"
			}
			return cell, ""
		}})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	_, err := all("b\n1\n", rows.Options{Row: rowType{required: []string{"a"}}})
	if err == nil || err.Error() != "there is no column `a`; there are b" {
		t.Error(err)
	}
	if _, err = all("b\n1\n", rows.Options{Row: rowType{closed: true}}); err == nil || !strings.Contains(err.Error(), "there is a column `b`") {
		t.Error(err)
	}
}

func TestAReaderSaysWhereItIs(t *testing.T) {
	text := "a\n1\n\"2\n3\"\n4\n"
	reader := rows.NewReader(strings.NewReader(text), rows.Options{})
	var offsets []int64
	var lines []int
	for {
		if _, err := reader.Next(); err != nil {
			break
		}
		offsets, lines = append(offsets, reader.Offset()), append(lines, reader.Line())
	}
	if !slices.Equal(offsets, []int64{4, 10, 12}) || !slices.Equal(lines, []int{2, 3, 5}) {
		t.Errorf("%v %v", offsets, lines)
	}
	broken := errors.New("the disk")
	if _, err := rows.NewReader(io.MultiReader(strings.NewReader("a\n"), iotest.ErrReader(broken)), rows.Options{}).Next(); !errors.Is(err, broken) {
		t.Errorf("an error of the source: %v", err)
	}
}
