package workspace

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/flowrun/flowrun/engine/eval"
	"github.com/flowrun/flowrun/engine/schema"
)

// The formats of an output.
const (
	FormatMarkdown = "markdown"
	FormatCSV      = "csv"
)

// RenderOutput returns an output as a file holds it: text as it is, rows of the
// format csv as CSV with the columns in order, every other value as JSON and a line
// feed.
func RenderOutput(format string, columns []string, raw json.RawMessage) ([]byte, error) {
	var text string
	if json.Unmarshal(raw, &text) == nil && string(raw) != "null" {
		return []byte(text), nil
	}
	if format != FormatCSV {
		return append(append([]byte{}, raw...), '\n'), nil
	}
	if text := bytes.TrimSpace(raw); !json.Valid(text) || text[0] != '[' {
		return nil, fmt.Errorf("the format csv needs text or rows")
	}
	rows, err := schema.NewEncoded(schema.EncodedPart{Text: raw})
	if err != nil {
		return nil, fmt.Errorf("read the rows: %w", err)
	}
	var rendered bytes.Buffer
	if err := eval.CSV(&rendered, rows, columns); err != nil {
		return nil, fmt.Errorf("the format csv: %w", err)
	}
	return rendered.Bytes(), nil
}
