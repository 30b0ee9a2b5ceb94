package figures

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"text/tabwriter"
)

// Row is a line of the table.
type Row struct {
	ID, What, Unit string
	Median, Least  float64
	Floor          float64 // the median; 0 = the floor has none
	Ratio          float64 // of the medians
	Goal           string  // "" = none
	Missed         bool
	Skipped        string
	N              int // repetitions
}

// Rows makes the table of what was measured: goals of which nothing was measured have no
// line.
func Rows(samples []Sample) []Row {
	var rows []Row
	for _, g := range goals() {
		values, skipped := g.ours(samples)
		if len(values) == 0 && (skipped == "" || strings.HasPrefix(g.what, "...")) {
			continue
		}
		r := Row{ID: g.id, What: g.what, Unit: g.unit, Goal: g.text(), Skipped: skipped, N: len(values)}
		if len(values) == 0 {
			r.Missed = r.Goal != "" && strings.HasPrefix(skipped, "it fails")
			rows = append(rows, r)
			continue
		}
		r.Median, r.Least = Median(values), Least(values)
		if g.rate {
			r.Least = Most(values)
		}
		if g.floor != nil {
			if its, _ := g.floor(samples); len(its) > 0 {
				r.Floor = Median(its)
				r.Ratio = r.Median / r.Floor
			}
		}
		r.Missed = g.missed(r)
		rows = append(rows, r)
	}
	return rows
}

func (g goal) missed(r Row) bool {
	switch {
	case g.most > 0 && r.Median > g.most, g.least > 0 && r.Median < g.least:
		return true
	case g.times > 0 && r.Floor > 0 && g.rate:
		return r.Ratio < g.times
	case g.times > 0 && r.Floor > 0:
		return r.Ratio > g.times
	}
	return false
}

// text says what is aimed at.
func (g goal) text() string {
	var parts []string
	if g.most > 0 {
		parts = append(parts, strings.TrimSpace(number(g.most)+" "+g.unit))
	}
	if g.least > 0 {
		parts = append(parts, strings.TrimSpace("at least "+number(g.least)+" "+g.unit))
	}
	switch {
	case g.times > 0 && g.rate:
		parts = append(parts, "at least "+number(g.times)+" of the floor")
	case g.times > 0:
		parts = append(parts, number(g.times)+" times the floor")
	}
	return strings.Join(parts, "; ")
}

// number writes a figure with two or three digits that matter.
func number(v float64) string {
	switch a := math.Abs(v); {
	case a >= 1000:
		return thousands(int64(math.Round(v)))
	case a >= 100 || v == math.Trunc(v):
		return fmt.Sprintf("%.0f", v)
	case a >= 10:
		return fmt.Sprintf("%.1f", v)
	case a >= 0.095:
		return fmt.Sprintf("%.2f", v)
	}
	return fmt.Sprintf("%.3f", v)
}

func thousands(n int64) string {
	text := fmt.Sprint(n)
	sign := ""
	if n < 0 {
		sign, text = "-", text[1:]
	}
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return sign + text
}

// cells are those of a line of the table.
func (r Row) cells() []string {
	floor, ratio, result := "", "", ""
	if r.Floor > 0 {
		floor, ratio = number(r.Floor), number(r.Ratio)
	}
	switch {
	case r.Goal == "":
	case r.Missed:
		result = "missed"
	case r.N > 0:
		result = "met"
	}
	value, least := number(r.Median)+unit(r.Unit), number(r.Least)
	if r.N == 0 {
		value, least = r.Skipped, ""
	}
	return []string{r.ID, r.What, value, least, floor, ratio, r.Goal, result}
}

func unit(u string) string {
	if u == "" {
		return ""
	}
	return " " + u
}

func headings() []string {
	return []string{"", "what", "median", "best", "floor", "ratio", "goal", ""}
}

// Text is the table for a terminal.
func Text(rows []Row) string {
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, strings.Join(headings(), "\t"))
	for _, r := range rows {
		fmt.Fprintln(w, strings.Join(r.cells(), "\t"))
	}
	w.Flush() //nolint:errcheck // a builder takes all
	return text.String()
}

// Markdown is the table for a page.
func Markdown(rows []Row) string {
	return markdown(headings(), func(yield func([]string) bool) {
		for _, r := range rows {
			if !yield(r.cells()) {
				return
			}
		}
	})
}

// markdown writes a table.
func markdown(headings []string, lines func(yield func([]string) bool)) string {
	var text strings.Builder
	fmt.Fprintf(&text, "| %s |\n|%s\n", strings.Join(headings, " | "), strings.Repeat("---|", len(headings)))
	for cells := range lines {
		for i := range cells {
			cells[i] = strings.ReplaceAll(cells[i], "|", "\\|")
		}
		fmt.Fprintf(&text, "| %s |\n", strings.Join(cells, " | "))
	}
	return text.String()
}

// Costs is a table of what a unit of work cost, of flowrun and of the floor, for what runs
// steps: medians.
func Costs(samples []Sample) string {
	type work struct{ program, scenario, variant string }
	var order []work
	for _, s := range samples {
		w := work{s.Program, s.Scenario, s.Variant}
		if s.Allocs > 0 && !slices.Contains(order, w) {
			order = append(order, w)
		}
	}
	metrics := []Metric{perUnit, cpuEach, pluginCPUEach, allocsEach, allocBytesEach, fsyncsEach, writtenEach}
	return markdown([]string{"work", "of", "unit", "µs", "µs of CPU, engine", "µs of CPU, plugin", "allocations", "KiB allocated", "fsyncs", "KiB written"}, func(yield func([]string) bool) {
		for _, w := range order {
			cells := []string{strings.TrimSpace(w.scenario + " " + w.variant), w.program, unitOf(samples, w.scenario, w.variant)}
			for _, m := range metrics {
				cell := ""
				if values, _ := of(w.program, w.scenario, w.variant, m)(samples); len(values) > 0 {
					cell = number(Median(values))
				}
				cells = append(cells, cell)
			}
			if !yield(cells) {
				return
			}
		}
	})
}

func unitOf(samples []Sample, scenario, variant string) string {
	for _, s := range samples {
		if s.Scenario == scenario && s.Variant == variant {
			return s.Unit
		}
	}
	return ""
}
