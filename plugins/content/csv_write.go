package content

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"slices"

	"github.com/flowrun/flowrun/sdk"
)

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
