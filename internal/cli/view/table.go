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
	Head   []string // nil = none
	Rows   [][]string
	Indent string                                    // before each line
	Paint  func(row, column int, cell string) string // nil = no colours
}

// Add adds a row.
func (t *Table) Add(cells ...string) { t.Rows = append(t.Rows, cells) }

// Write prints the table.
func (t *Table) Write(out io.Writer) {
	var widths []int
	for _, row := range append([][]string{t.Head}, t.Rows...) {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], term.Width(cell))
		}
	}
	if t.Head != nil {
		t.line(out, -1, t.Head, widths)
	}
	for i, cells := range t.Rows {
		t.line(out, i, cells, widths)
	}
}

// line prints the cells of a row; -1 is the head, which has no colours.
func (t *Table) line(out io.Writer, row int, cells []string, widths []int) {
	line := t.Indent
	for i, cell := range cells {
		padded := cell
		if i < len(cells)-1 {
			padded = term.Pad(cell, widths[i]+2)
		}
		if t.Paint != nil && row >= 0 {
			padded = strings.Replace(padded, cell, t.Paint(row, i, cell), 1)
		}
		line += padded
	}
	fmt.Fprintln(out, strings.TrimRight(line, " "))
}
