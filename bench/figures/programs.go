package figures

import (
	"slices"
	"strings"
)

// column is one of those in which programs are compared.
type column struct {
	heading  string
	unit     string
	scenario string
	metric   Metric
	rate     bool              // more is better
	variants map[string]string // of flowrun and the floor; peers have none
}

func columns() []column {
	return []column{
		{"cold run of one step", "ms", "S1", milliseconds, false, map[string]string{"flowrun": "plugin, empty", "floor": "plugin"}},
		{"a step of 1,000 with an effect, one after the other", "µs", "S2", perUnit, false, map[string]string{"floor": unaryMerged}},
		{"1,000 steps at once", "ms", "S3", milliseconds, false, map[string]string{"flowrun": "after ten runs", "floor": unaryMerged}},
		{"runs of 3 steps, 64 at a time", "runs/s", "S4", perSecond, true, map[string]string{"flowrun": "64 at a time", "floor": unaryMerged}},
		{"memory then", "MiB", "S4", anonymous, false, map[string]string{"flowrun": "64 at a time", "floor": unaryMerged}},
		{"fsyncs a step", "", "S2", fsyncsEach, false, map[string]string{"floor": unaryMerged}},
	}
}

// value is the median of a program in a column; 0 where it was not measured.
func (c column) value(samples []Sample, program string) float64 {
	values, _ := of(program, c.scenario, c.variants[program], c.metric)(samples)
	return Median(values)
}

// programsOf are those that were measured: the floor, flowrun, the peers in their order.
func programsOf(samples []Sample) []string {
	programs := []string{"floor", "flowrun"}
	for _, s := range samples {
		if s.Program != "machine" && s.Skipped == "" && !slices.Contains(programs, s.Program) {
			programs = append(programs, s.Program)
		}
	}
	return programs
}

// Programs is a table of what flowrun, the floor and the peers do with the same work.
func Programs(samples []Sample) string {
	headings := []string{""}
	for _, c := range columns() {
		headings = append(headings, c.heading)
	}
	return markdown(append(headings, "what is on the disk when a step counts"), func(yield func([]string) bool) {
		for _, program := range programsOf(samples) {
			cells := []string{program}
			for _, c := range columns() {
				cell := "-"
				if v := c.value(samples, program); v > 0 {
					cell = strings.TrimSpace(number(v) + " " + c.unit)
				}
				cells = append(cells, cell)
			}
			if !yield(append(cells, durability(samples, program))) {
				return
			}
		}
	})
}

func durability(samples []Sample, program string) string {
	for _, s := range samples {
		if s.Program == program && s.Durability != "" {
			return s.Durability
		}
	}
	return ""
}

// Skipped says which programs were left out of a measuring, and why.
func Skipped(samples []Sample) string {
	var text strings.Builder
	for _, s := range samples {
		if s.Skipped != "" && s.Program != "flowrun" && s.Program != "floor" {
			text.WriteString("- " + s.Program + " was left out: " + s.Skipped + "\n")
		}
	}
	return text.String()
}

// Machine says of what and where something was measured.
func Machine(samples []Sample) string {
	var loads []float64
	of := "an unknown machine"
	for _, s := range samples {
		if s.Scenario == "machine" {
			of = s.Variant
		}
		if s.Repetition > 0 {
			loads = append(loads, s.Load)
		}
	}
	return of + "; load of the machine before a measurement: " + number(Median(loads)) + " in the middle, " + number(Most(loads)) + " at most"
}
