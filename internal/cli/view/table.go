package view

import (
	"fmt"
	"io"
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

// Write prints the table.
func (t *Table) Write(out io.Writer) {
	rows := t.Rows
	if t.Head != nil {
		rows = append([][]string{t.Head}, rows...)
	}
	widths := widthsOf(rows)
	for _, row := range rows {
		line := t.Indent
		for i, cell := range row {
			if i < len(row)-1 {
				cell = term.Pad(cell, widths[i]+2)
			}
			line += cell
		}
		fmt.Fprintln(out, strings.TrimRight(line, " "))
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
