package interp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/flowrun/flowrun/engine/eval"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/schema"
)

// The formats of an output.
const (
	formatMarkdown = "markdown"
	formatCSV      = "csv"
)

// Rendered is an output as it goes out.
type Rendered struct {
	Output    *plan.Output
	Value     json.RawMessage // as it is stored
	Text      string          // as a file holds it
	MediaType string
}

// Render makes of the value of an output what goes out: text as it is, rows of the format
// csv as CSV with the columns in order, every other value as JSON and a line feed.
func Render(out *plan.Output, value json.RawMessage) (Rendered, error) {
	rendered := Rendered{Output: out, Value: value}
	isText := json.Unmarshal(value, &rendered.Text) == nil && string(value) != "null"
	switch {
	case out.Format == formatMarkdown:
		rendered.MediaType = "text/markdown; charset=utf-8"
	case out.Format == formatCSV:
		rendered.MediaType = "text/csv; charset=utf-8"
	case isText:
		rendered.MediaType = "text/plain; charset=utf-8"
	default:
		rendered.MediaType = "application/json"
	}
	if isText {
		return rendered, nil
	}
	if out.Format != formatCSV {
		rendered.Text = string(value) + "\n"
		return rendered, nil
	}
	if text := bytes.TrimSpace(value); !json.Valid(text) || text[0] != '[' {
		return rendered, errors.New("the format csv needs text or rows")
	}
	rows, err := schema.NewEncoded(schema.EncodedPart{Text: value})
	if err != nil {
		return rendered, fmt.Errorf("read the rows: %w", err)
	}
	var text strings.Builder
	if err := eval.CSV(&text, rows, out.Columns); err != nil {
		return rendered, fmt.Errorf("the format csv: %w", err)
	}
	rendered.Text = text.String()
	return rendered, nil
}
