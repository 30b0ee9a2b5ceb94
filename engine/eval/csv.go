package eval

import (
	"cmp"
	"encoding/csv"
	"io"
	"iter"
	"math"

	"github.com/flowrun/flowrun/engine/schema"
)

// CSV writes rows as CSV by RFC 4180: objects as toCSV does, with a header; lists as
// they stand, the first one being the header if there is one. Unlike an expression it
// has no limits: the rows are an output, which has its own. They are decoded one by one.
// order names columns that come first.
func CSV(out io.Writer, rows *schema.Encoded, order []string) error {
	const plenty = math.MaxInt / 4 // what elements add to it overflows nothing
	m := &machine{steps: plenty, bytes: plenty, units: plenty, visits: plenty}
	list, _ := sequenceOf(rows)
	var unread error
	if err := TableRows(list.all(m, &unread)); err != nil || unread != nil {
		return cmp.Or(unread, err)
	}
	first, err := list.atOrNull(m, 0)
	if err != nil {
		return err
	}
	if schema.KindOf(first) == schema.List {
		return m.listsToCSV(out, &list)
	}
	names := make([]any, len(order))
	for i, name := range order {
		names[i] = name
	}
	return m.toCSV(out, []any{rows, []any{}, names})
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

func (m *machine) listsToCSV(out io.Writer, rows *sequence) error {
	w := csv.NewWriter(out)
	w.UseCRLF = true
	for at := range rows.len() {
		row, err := rows.at(m, at)
		if err != nil {
			return err
		}
		values, _ := row.([]any)
		record := make([]string, len(values))
		for i, value := range values {
			cell, err := m.cell(value)
			if err != nil {
				return err
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
			return err
		}
	}
	w.Flush()
	return w.Error()
}
