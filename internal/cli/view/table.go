package view

import (
	"fmt"
	"io"
	"strings"

	"github.com/flowrun/flowrun/internal/cli/term"
)

// Table prints rows in columns that are as wide as their widest cell. Cells may
// not hold colours but those that paint adds.
type Table struct {
	Head  []string
	Rows  [][]string
	Paint func(column int, cell string) string // nil = no colours
}

// Write prints the table.
func (t *Table) Write(out io.Writer) {
	widths := make([]int, len(t.Head))
	for _, row := range append([][]string{t.Head}, t.Rows...) {
		for i, cell := range row {
			widths[i] = max(widths[i], term.Width(cell))
		}
	}
	t.line(out, t.Head, widths, nil)
	for _, row := range t.Rows {
		t.line(out, row, widths, t.Paint)
	}
}

func (t *Table) line(out io.Writer, row []string, widths []int, paint func(int, string) string) {
	var line strings.Builder
	for i, cell := range row {
		padded := cell
		if i < len(row)-1 {
			padded = term.Pad(cell, widths[i]+2)
		}
		if paint != nil {
			padded = strings.Replace(padded, cell, paint(i, cell), 1)
		}
		line.WriteString(padded)
	}
	fmt.Fprintln(out, strings.TrimRight(line.String(), " "))
}
