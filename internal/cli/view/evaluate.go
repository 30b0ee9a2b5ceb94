package view

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/flowrun/flowrun/engine/evaluate"
	"github.com/flowrun/flowrun/internal/cli/term"
)

// shortValue is how much of a value that was read is shown.
const shortValue = 60

// Answer prints what an expression gave: the type, the value, and what it read.
func (p Page) Answer(out io.Writer, answer *evaluate.Answer) {
	fmt.Fprintf(out, "%s\n%s\n", p.Style.Bold(answer.Type), term.CleanText(valueText(answer.Value)))
	widest := 0
	for _, read := range answer.Reads {
		widest = max(widest, term.Width(read.Name))
	}
	for _, read := range answer.Reads {
		fmt.Fprintf(out, "%s %s  %s\n", p.Style.Dim("read"), term.Pad(read.Name, widest), term.Truncate(term.Clean(string(read.Value)), shortValue))
	}
}

// valueText is a value for people: JSON, laid out where it is long.
func valueText(raw json.RawMessage) string {
	if len(raw) <= shortValue || !strings.ContainsAny(string(raw[:1]), "{[") {
		return string(raw)
	}
	var b bytes.Buffer
	if err := json.Indent(&b, raw, "", "  "); err != nil {
		return string(raw)
	}
	return b.String()
}
