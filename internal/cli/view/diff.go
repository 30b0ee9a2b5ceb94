package view

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// diffContext is how many equal lines stand around a change.
const diffContext = 3

// maxDiffCells bounds the table of two texts' lines; larger ones are shown as
// one change.
const maxDiffCells = 4_000_000

// change is one line of a diff: ' ', '-' or '+'.
type change struct {
	sign rune
	text string
}

// Diff prints what changes from one text to another as a unified diff.
func (p Page) Diff(out io.Writer, name string, before, after []byte) {
	changes := diff(lines(before), lines(after))
	if !slices.ContainsFunc(changes, func(c change) bool { return c.sign != ' ' }) {
		return
	}
	fmt.Fprintf(out, "--- %s\n+++ %s (formatted)\n", name, name)
	p.hunks(out, changes)
}

func (p Page) hunks(out io.Writer, changes []change) {
	for _, h := range hunks(changes) {
		fmt.Fprintln(out, p.Style.Cyan(h.head(changes)))
		for _, c := range changes[h.from:h.to] {
			line := string(c.sign) + c.text
			switch c.sign {
			case '-':
				line = p.Style.Red(line)
			case '+':
				line = p.Style.Green(line)
			}
			fmt.Fprintln(out, line)
		}
	}
}

func lines(text []byte) []string {
	split := strings.Split(string(text), "\n")
	if split[len(split)-1] == "" {
		return split[:len(split)-1]
	}
	split[len(split)-1] += "\\ no line break at the end"
	return split
}

// diff finds the longest common lines.
func diff(before, after []string) []change {
	start := 0
	for start < len(before) && start < len(after) && before[start] == after[start] {
		start++
	}
	end := 0
	for end < len(before)-start && end < len(after)-start && before[len(before)-1-end] == after[len(after)-1-end] {
		end++
	}
	var changes []change
	for _, line := range before[:start] {
		changes = append(changes, change{' ', line})
	}
	changes = append(changes, middle(before[start:len(before)-end], after[start:len(after)-end])...)
	for _, line := range before[len(before)-end:] {
		changes = append(changes, change{' ', line})
	}
	return changes
}

func middle(before, after []string) []change {
	common := func(int, int) int { return 0 }
	if len(before)*len(after) <= maxDiffCells {
		common = table(before, after)
	}
	var changes []change
	i, j := 0, 0
	for i < len(before) || j < len(after) {
		switch {
		case i < len(before) && j < len(after) && before[i] == after[j]:
			changes = append(changes, change{' ', before[i]})
			i, j = i+1, j+1
		case i < len(before) && (j == len(after) || common(i+1, j) >= common(i, j+1)):
			changes = append(changes, change{'-', before[i]})
			i++
		default:
			changes = append(changes, change{'+', after[j]})
			j++
		}
	}
	return changes
}

// table returns how many lines the rests from i and j have in common at most.
func table(before, after []string) func(i, j int) int {
	width := len(after) + 1
	cells := make([]int32, (len(before)+1)*width)
	for i := len(before) - 1; i >= 0; i-- {
		for j := len(after) - 1; j >= 0; j-- {
			if before[i] == after[j] {
				cells[i*width+j] = cells[(i+1)*width+j+1] + 1
			} else {
				cells[i*width+j] = max(cells[(i+1)*width+j], cells[i*width+j+1])
			}
		}
	}
	return func(i, j int) int { return int(cells[i*width+j]) }
}

type hunk struct{ from, to int }

// hunks cuts a diff into its changes with the lines around them.
func hunks(changes []change) []hunk {
	var list []hunk
	for i, c := range changes {
		if c.sign == ' ' {
			continue
		}
		from, to := max(i-diffContext, 0), min(i+diffContext+1, len(changes))
		if n := len(list); n > 0 && from <= list[n-1].to {
			list[n-1].to = to
			continue
		}
		list = append(list, hunk{from, to})
	}
	return list
}

func (h hunk) head(changes []change) string {
	before, after := heights(changes[:h.from])
	removed, added := heights(changes[h.from:h.to])
	return fmt.Sprintf("@@ -%d,%d +%d,%d @@", before+1, removed, after+1, added)
}

// heights are how many lines changes have in the first and in the second text.
func heights(changes []change) (before, after int) {
	for _, c := range changes {
		if c.sign != '+' {
			before++
		}
		if c.sign != '-' {
			after++
		}
	}
	return before, after
}
