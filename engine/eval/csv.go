package eval

import (
	"encoding/csv"
	"iter"
	"math"
	"slices"
	"strings"

	"github.com/flowrun/flowrun/engine/schema"
)

// CSV returns rows as CSV by RFC 4180: objects as toCSV does, with a header;
// lists as they stand, the first one being the header if there is one. Unlike
// an expression it has no limits: the rows are an output, which has its own.
// order names columns that come first.
func CSV(rows []any, order []string) (string, error) {
	m := &machine{steps: math.MaxInt, bytes: math.MaxInt, units: math.MaxInt}
	if err := TableRows(slices.Values(rows)); err != nil {
		return "", err
	}
	if len(rows) > 0 {
		if _, lists := rows[0].([]any); lists {
			return m.listsToCSV(rows)
		}
	}
	names := make([]any, len(order))
	for i, name := range order {
		names[i] = name
	}
	text, err := m.toCSV([]any{rows, []any{}, names})
	if err != nil {
		return "", err
	}
	return text.(string), nil
}

// TableRows says why rows are no table: all must be objects, or all lists.
func TableRows(rows iter.Seq[any]) error {
	count, lists := 0, 0
	for row := range rows {
		count++
		switch schema.KindOf(row) {
		case schema.Object:
		case schema.List:
			lists++
		default:
			return failf("a table needs rows that are objects or lists, row %d is %s", count, article(row))
		}
	}
	if lists != 0 && lists != count {
		return failf("a table needs rows of one kind: %d of %d are lists, the others objects", lists, count)
	}
	return nil
}

func (m *machine) listsToCSV(rows []any) (string, error) {
	var b strings.Builder
	w := csv.NewWriter(&b)
	w.UseCRLF = true
	for _, row := range rows {
		values := row.([]any)
		record := make([]string, len(values))
		for i, value := range values {
			cell, err := m.cell(value)
			if err != nil {
				return "", err
			}
			if _, isText := value.(string); isText {
				cell = defused(cell)
			}
			record[i] = cell
		}
		if len(record) == 0 {
			record = []string{""}
		}
		if err := m.writeRecord(w, record); err != nil {
			return "", err
		}
	}
	w.Flush()
	return b.String(), nil
}
