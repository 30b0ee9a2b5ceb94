package analytics

import (
	"slices"

	"github.com/flowrun/flowrun/sdk"
)

// filterProblems checks property and operator of each filter (N-19, N-31, N-32).
// The patterns of matching are not looked at: their dialect is not shown (N-34).
func filterProblems(in AggregateInput, unknown []string) []sdk.Problem {
	var problems []sdk.Problem
	for i, filter := range in.Filters {
		if pointer := sdk.Pointer("filters", i); !sdk.IsUnknown(unknown, pointer+"/property") {
			problems = append(problems, filterProblem(filter, pointer)...)
		}
	}
	return problems
}

func filterProblem(filter Filter, pointer string) []sdk.Problem {
	switch {
	case slices.Contains(textProperties, filter.Property):
		return nil
	case slices.Contains(choiceProperties, filter.Property):
		if slices.Contains([]string{"is", "is not", ""}, filter.Operator) { // "" is not known yet
			return nil
		}
		return []sdk.Problem{sdk.Problemf(pointer+"/operator", "`%s` allows `is` and `is not` only", filter.Property).
			WithDetail("use several filters with `is not`, or one with `is`")}
	case filter.Property == "keyword":
		return []sdk.Problem{sdk.Problemf(pointer+"/property", "`keyword` can be grouped by, not filtered on").WithDetail("filter on utm_term, or group by keyword")}
	}
	return []sdk.Problem{sdk.Problemf(pointer+"/property", "%q is no property to filter on", filter.Property).
		WithDetail("%s", suggestion(filter.Property, properties()))}
}
