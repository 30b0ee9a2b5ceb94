package figures

// Set is a measuring's samples.
type Set []Sample

// Series gives a figure of each repetition, and why there is none.
type Series func(set Set) (values []float64, skipped string)

// of reads a metric of the samples of a program.
func of(program, scenario, variant string, m Metric) Series {
	return func(set Set) (values []float64, skipped string) {
		for _, s := range set {
			if s.Program != program || s.Scenario != scenario || s.Variant != variant {
				continue
			}
			if s.Skipped != "" {
				skipped = s.Skipped
				continue
			}
			if value, ok := m(s); ok {
				values = append(values, value)
			}
		}
		return values, skipped
	}
}

func ours(scenario, variant string, m Metric) Series { return of("flowrun", scenario, variant, m) }

func floors(scenario, variant string, m Metric) Series { return of("floor", scenario, variant, m) }

// paired joins the figures of two series, repetition by repetition: they were measured in
// turns, so that what disturbed one has disturbed the other.
func paired(a, b Series, join func(a, b float64) float64) Series {
	return func(set Set) (values []float64, skipped string) {
		first, why := a(set)
		second, whyNot := b(set)
		for i := range min(len(first), len(second)) {
			values = append(values, join(first[i], second[i]))
		}
		return values, why + whyNot
	}
}

func difference(a, b float64) float64 { return a - b }

func ratio(a, b float64) float64 { return a / b }

// spread is how far the medians of several series are from each other.
func spread(all ...Series) Series {
	return func(set Set) (values []float64, skipped string) {
		var medians []float64
		for _, s := range all {
			found, why := s(set)
			if why != "" || len(found) == 0 {
				return nil, why
			}
			medians = append(medians, Median(found))
		}
		return []float64{Most(medians) - Least(medians)}, ""
	}
}
