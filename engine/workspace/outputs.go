package workspace

import (
	"encoding/json"

	"github.com/flowrun/flowrun/engine/interp"
	"github.com/flowrun/flowrun/engine/plan"
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
	rendered, err := interp.Render(&plan.Output{Format: format, Columns: columns}, raw)
	return []byte(rendered.Text), err
}
