package view

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/flowrun/flowrun/internal/cli/term"
)

// Table prints rows in columns that are as wide as their widest cell.
type Table struct {
	Head   []string // nil = none
	Rows   [][]string
	Indent string // before each line
}

// Add adds a row.
func (t *Table) Add(cells ...string) { t.Rows = append(t.Rows, cells) }

// drop leaves out a column.
func (t *Table) drop(column int) {
	without := func(row []string) []string { return slices.Delete(slices.Clone(row), column, column+1) }
	t.Head = without(t.Head)
	for i := range t.Rows {
		t.Rows[i] = without(t.Rows[i])
	}
}

// Write prints the table.
func (t *Table) Write(out io.Writer) { t.writeWith(out, func(int) {}) }

// writeWith prints the table, and below each row what below prints for it.
func (t *Table) writeWith(out io.Writer, below func(row int)) {
	rows, first := t.Rows, 0
	if t.Head != nil {
		rows, first = append([][]string{t.Head}, rows...), 1
	}
	widths := widthsOf(rows)
	for n, row := range rows {
		line := t.Indent
		for i, cell := range row {
			if i < len(row)-1 {
				cell = term.Pad(cell, widths[i]+2)
			}
			line += cell
		}
		fmt.Fprintln(out, strings.TrimRight(line, " "))
		if n >= first {
			below(n - first)
		}
	}
}

// widthsOf are the widths of the columns, without the room between them.
func widthsOf(rows [][]string) (widths []int) {
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], term.Width(cell))
		}
	}
	return widths
}

// width is how wide the table is at most.
func (t *Table) width() int {
	widths := widthsOf(append([][]string{t.Head}, t.Rows...))
	total := term.Width(t.Indent) + 2*max(len(widths)-1, 0)
	for _, width := range widths {
		total += width
	}
	return total
}

// list prints a table with a row for each item.
func list[T any](out io.Writer, head []string, items []T, row func(T) []string) {
	table := Table{Head: head}
	for _, item := range items {
		table.Add(row(item)...)
	}
	table.Write(out)
}
