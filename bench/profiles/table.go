package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// shown are the works of the table: flowrun's, beside the floor with unary calls.
func shown() []struct{ scenario, title, ours, floor string } {
	return []struct{ scenario, title, ours, floor string }{
		{"S2", "S2, a step with an effect", "", "merged unary"},
		{"S2r", "S2r, a step that reads", "", "reads unary"},
		{"S3", "S3, a step of 1,000 at once", "after ten runs", "merged unary"},
		{"S4", "S4, a run of 3 steps, 64 at a time", "64 at a time", "merged unary"},
	}
}

// little is the share of a work below which a place is one of the others.
const little = 0.02

// table is the text of all works that were profiled, a table each.
func table(works []*work) string {
	var text strings.Builder
	for _, s := range shown() {
		ours := find(works, sample{Program: "flowrun", Scenario: s.scenario, Variant: s.ours})
		if ours == nil {
			continue
		}
		floor := find(works, sample{Program: "floor", Scenario: s.scenario, Variant: s.floor})
		writeTable(&text, s.title, ours, floor)
	}
	return text.String()
}

func writeTable(text *strings.Builder, title string, ours, floor *work) {
	fmt.Fprintf(text, "| %s | us | share | floor |\n|---|---|---|---|\n", title)
	var others, itsOthers time.Duration
	for _, place := range places(ours, floor) {
		spent, its := ours.spent[place], floorSpent(floor, place)
		if float64(spent) < little*float64(ours.spent.sum()) && (floor == nil || float64(its) < little*float64(floor.spent.sum())) {
			others, itsOthers = others+spent, itsOthers+its
			continue
		}
		writeRow(text, place, ours, floor, spent, its)
	}
	writeRow(text, "less than 2 % each", ours, floor, others, itsOthers)
	sum := time.Duration(0)
	if floor != nil {
		sum = floor.spent.sum()
	}
	writeRow(text, "all", ours, floor, ours.spent.sum(), sum)
	text.WriteString("\n")
}

func writeRow(text *strings.Builder, place string, ours, floor *work, spent, its time.Duration) {
	cell := ""
	if floor != nil {
		cell = each(its, floor.units)
	}
	fmt.Fprintf(text, "| %s | %s | %.0f %% | %s |\n", place, each(spent, ours.units), 100*float64(spent)/float64(max(ours.spent.sum(), 1)), cell)
}

// each is the time of one unit in microseconds.
func each(spent time.Duration, units int) string {
	return fmt.Sprintf("%.1f", float64(spent)/float64(time.Microsecond)/float64(max(units, 1)))
}

func floorSpent(floor *work, place string) time.Duration {
	if floor == nil {
		return 0
	}
	return floor.spent[place]
}

// places are those of both, the dearest of ours first.
func places(ours, floor *work) []string {
	var all []string
	for place := range ours.spent {
		all = append(all, place)
	}
	if floor != nil {
		for place := range floor.spent {
			if _, both := ours.spent[place]; !both {
				all = append(all, place)
			}
		}
	}
	slices.SortFunc(all, func(a, b string) int {
		return cmp.Or(cmp.Compare(ours.spent[b], ours.spent[a]), cmp.Compare(floorSpent(floor, b), floorSpent(floor, a)), cmp.Compare(a, b))
	})
	return all
}
