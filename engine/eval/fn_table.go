package eval

import (
	"encoding/csv"
	"io"
	"strings"

	"github.com/flowrun/flowrun/engine/schema"
)

func tableFunctions() []*function {
	return []*function{
		{
			signature: "toCSV(rows: list, columns?: list, order?: list): text", doc: "The rows (objects) as CSV by RFC 4180 with a header: the columns that are named, or all in the order in which the author of the rows wrote them (order names it where no type tells it). Text that a spreadsheet would take for a formula gets a leading apostrophe.", example: `toCSV(steps.traffic.outputs.rows, ["site", "visits"])`,
			result: (*call).table, encoded: true,
			run: func(m *machine, args []any) (any, error) {
				var b strings.Builder
				err := m.toCSV(&b, args)
				return b.String(), err
			},
		},
		{
			signature: "mdTable(rows: list, columns?: list, order?: list): text", doc: "The rows (objects) as a Markdown table: the columns that are named, or all in the order in which the author of the rows wrote them (order names it where no type tells it).", example: `mdTable(steps.domains.outputs.items, ["domain", "days"])`,
			result: (*call).table, encoded: true,
			run: func(m *machine, args []any) (any, error) { return m.mdTable(args) },
		},
	}
}

// fieldsOf returns the names of all rows' fields: each row's in order, new ones
// behind.
func (m *machine) fieldsOf(name string, rows *sequence) ([]string, error) {
	columns := []string{}
	seen := map[string]bool{}
	for i := range rows.len() {
		row, err := rows.at(m, i)
		if err != nil {
			return nil, err
		}
		object, ok := row.(map[string]any)
		if !ok {
			return nil, failf("%s expects objects, got %s", name, article(row))
		}
		if err := m.step(1 + len(object)); err != nil {
			return nil, err
		}
		for _, key := range sortedKeys(object) {
			if seen[key] {
				continue
			}
			if err := m.grow(3); err != nil {
				return nil, err
			}
			seen[key] = true
			columns = append(columns, key)
		}
	}
	return columns, nil
}

// cell is the text of a value in a table: lists and objects as JSON, null as
// nothing.
func (m *machine) cell(v any) (string, error) {
	text, err := "", error(nil)
	switch v.(type) {
	case nil:
	case []any, *schema.Encoded, map[string]any:
		text, err = m.encoded(v)
	default:
		text, err = Text(v)
	}
	if err != nil {
		return "", err
	}
	return text, m.text(len(text) + 3)
}

func (m *machine) toCSV(out io.Writer, args []any) error {
	rows, _ := sequenceOf(args[0])
	columns, err := m.columns("toCSV", &rows, args)
	if err != nil || len(columns) == 0 {
		return err
	}
	w := csv.NewWriter(out)
	w.UseCRLF = true
	record := make([]string, len(columns))
	for i, column := range columns {
		record[i] = defused(column)
	}
	if err := m.writeRecord(w, record); err != nil {
		return err
	}
	for at := range rows.len() {
		row, err := rows.at(m, at)
		if err != nil {
			return err
		}
		object := row.(map[string]any)
		for i, column := range columns {
			if record[i], err = m.cell(object[column]); err != nil {
				return err
			}
			if _, isText := object[column].(string); isText {
				record[i] = defused(record[i])
			}
		}
		if err := m.writeRecord(w, record); err != nil {
			return err
		}
	}
	w.Flush()
	return w.Error()
}

func (m *machine) writeRecord(w *csv.Writer, record []string) error {
	if err := m.step(1 + len(record)/4); err != nil {
		return err
	}
	if err := m.text(4 * len(record)); err != nil {
		return err
	}
	if len(record) == 1 && record[0] == "" {
		record = []string{" "} // an empty line would be no record
	}
	return w.Write(record)
}

// defused puts an apostrophe before text that a spreadsheet would run as a
// formula. Signed numbers and telephone numbers are none.
func defused(text string) string {
	if text == "" {
		return text
	}
	switch text[0] {
	case '=', '@', '\t', '\r':
		return "'" + text
	case '+', '-':
		if strings.Trim(text, "+-0123456789.,() /") != "" {
			return "'" + text
		}
	}
	return text
}

func (m *machine) mdTable(args []any) (any, error) {
	rows, _ := sequenceOf(args[0])
	columns, err := m.columns("mdTable", &rows, args)
	if err != nil || len(columns) == 0 {
		return "", err
	}
	var b strings.Builder
	writeRow := func(cell func(column string) (string, error)) error {
		for _, column := range columns {
			text, err := cell(column)
			if err != nil {
				return err
			}
			b.WriteString("| " + escapeCell(text) + " ")
		}
		b.WriteString("|\n")
		return m.step(1 + len(columns)/4)
	}
	if err := writeRow(func(column string) (string, error) { return m.cell(column) }); err != nil {
		return nil, err
	}
	if err := writeRow(func(string) (string, error) { return m.cell("---") }); err != nil {
		return nil, err
	}
	for at := range rows.len() {
		row, err := rows.at(m, at)
		if err != nil {
			return nil, err
		}
		object := row.(map[string]any)
		if err := writeRow(func(column string) (string, error) { return m.cell(object[column]) }); err != nil {
			return nil, err
		}
	}
	return b.String(), nil
}

// escapeCell keeps a text inside its cell.
func escapeCell(text string) string {
	if !strings.ContainsAny(text, "\\|\r\n") {
		return text
	}
	return strings.NewReplacer("\\", "\\\\", "|", "\\|", "\r\n", "<br>", "\n", "<br>", "\r", "<br>").Replace(text)
}
