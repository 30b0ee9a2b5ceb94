package analytics

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/flowrun/flowrun/sdk"
)

// sortGrammar is the form of sort_by (N-21).
var sortGrammar = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([a-z_]+):(?:asc|desc)$`) })

// aggregateProblems checks every rule across the inputs of aggregate that is
// known before a request. What the schema says is checked before.
func aggregateProblems(now func() time.Time) func(AggregateInput, []string) []sdk.Problem {
	return func(in AggregateInput, unknown []string) []sdk.Problem {
		return slices.Concat(
			entityProblems(in, unknown),
			requestedProblems(in, unknown),
			groupingProblems(in, unknown),
			sortProblems(in, unknown),
			dateProblems(in, unknown, now),
			filterProblems(in, unknown),
		)
	}
}

// isGiven reports whether an input stands there, known or not.
func isGiven(unknown []string, pointer, text string) bool {
	return text != "" || sdk.IsUnknown(unknown, pointer)
}

// entityProblems checks how the entity is named (N-06 to N-08).
func entityProblems(in AggregateInput, unknown []string) []sdk.Problem {
	id, site, name := isGiven(unknown, "/entity_id", in.EntityID), isGiven(unknown, "/site_id", in.SiteID), isGiven(unknown, "/entity_name", in.EntityName)
	switch in.Entity {
	case entityPageview:
		return pageviewProblems(id, site, name)
	case entityEvent:
		return eventProblems(id, site, name)
	}
	return nil // not known yet
}

func pageviewProblems(id, site, name bool) []sdk.Problem {
	switch {
	case site && !id:
		return []sdk.Problem{sdk.Problemf("/site_id", "the site of a page view is its `entity_id`").
			WithDetail("use entity_id instead of site_id")}
	case !id:
		return []sdk.Problem{sdk.Problemf("/entity_id", "`entity_id` is required for `entity: pageview`").WithDetail("give the site id")}
	case site:
		return []sdk.Problem{sdk.Problemf("/site_id", "`site_id` is for events; a page view has its site in `entity_id`").WithDetail("leave site_id out")}
	case name:
		return []sdk.Problem{sdk.Problemf("/entity_name", "`entity_name` is for events").WithDetail("leave entity_name out")}
	}
	return nil
}

func eventProblems(id, site, name bool) []sdk.Problem {
	const both = "give either entity_id (the tracking code), or site_id and entity_name"
	switch {
	case id && site:
		return []sdk.Problem{sdk.Problemf("/site_id", "`site_id` beside `entity_id` is ambiguous").WithDetail(both)}
	case id && name:
		return []sdk.Problem{sdk.Problemf("/entity_name", "`entity_name` beside `entity_id` is ambiguous").WithDetail(both)}
	case id || site && name:
		return nil
	case site:
		return []sdk.Problem{sdk.Problemf("/entity_name", "an event with `site_id` needs `entity_name` too").WithDetail(both)}
	case name:
		return []sdk.Problem{sdk.Problemf("/site_id", "an event with `entity_name` needs `site_id` too").WithDetail(both)}
	}
	return []sdk.Problem{sdk.Problemf("/entity_id", "the event is not named").WithDetail(both)}
}

// requestedProblems checks the aggregates: those of the entity, each once (N-09
// to N-11).
func requestedProblems(in AggregateInput, unknown []string) []sdk.Problem {
	problems := repeats("aggregates", in.Aggregates, unknown)
	if in.Entity == "" {
		return problems
	}
	known := aggregatesOf(in.Entity)
	for i, name := range in.Aggregates {
		if pointer := sdk.Pointer("aggregates", i); !sdk.IsUnknown(unknown, pointer) && !slices.Contains(known, name) {
			problems = append(problems, sdk.Problemf(pointer, "`%s` is no aggregate of `entity: %s`", name, in.Entity).
				WithDetail("it has %s", strings.Join(known, ", ")))
		}
	}
	return problems
}

// repeats refuses a name that stands twice in a list.
func repeats(list string, names []string, unknown []string) []sdk.Problem {
	var problems []sdk.Problem
	for i, name := range names {
		if pointer := sdk.Pointer(list, i); !sdk.IsUnknown(unknown, pointer) && slices.Contains(names[:i], name) {
			problems = append(problems, sdk.Problemf(pointer, "`%s` is there twice", name).WithDetail("name it once"))
		}
	}
	return problems
}

// groupingProblems checks the fields to group by (N-17, N-18) and warns of a
// report that may be very long (N-27).
func groupingProblems(in AggregateInput, unknown []string) []sdk.Problem {
	problems := repeats("field_grouping", in.FieldGrouping, unknown)
	for i, name := range in.FieldGrouping {
		pointer := sdk.Pointer("field_grouping", i)
		switch {
		case sdk.IsUnknown(unknown, pointer) || slices.Contains(groupingFields, name):
		case name == "domain":
			problems = append(problems, sdk.Problemf(pointer, "`domain` can be filtered on, not grouped by").
				WithDetail("group by hostname"))
		default:
			problems = append(problems, sdk.Problemf(pointer, "%q is no field to group by", name).
				WithDetail("%s", suggestion(name, groupingFields)))
		}
		if in.Limit == 0 && !sdk.IsUnknown(unknown, "/limit") && slices.Contains(highCardinality, name) {
			problems = append(problems, sdk.Warningf(pointer, "a report by `%s` can have very many rows", name).
				WithDetail("set limit, and sort_by for which rows are kept"))
		}
	}
	return problems
}

// sortProblems checks the grammar of sort_by and its field (N-21, N-22).
func sortProblems(in AggregateInput, unknown []string) []sdk.Problem {
	if in.SortBy == "" {
		return nil
	}
	match := sortGrammar().FindStringSubmatch(in.SortBy)
	if match == nil {
		return []sdk.Problem{sdk.Problemf("/sort_by", "%q is not of the form field:asc or field:desc", in.SortBy).
			WithDetail("write, for example, %s:desc", aggregatesOf(in.Entity)[0])}
	}
	field := match[1]
	fields := slices.Concat(aggregatesOf(in.Entity), groupingFields)
	switch {
	case slices.Contains(fields, field):
		return nil
	case field == timestamp && isGiven(unknown, "/date_grouping", in.DateGrouping):
		return nil
	case field == timestamp:
		return []sdk.Problem{sdk.Problemf("/sort_by", "`timestamp` can be sorted by only with `date_grouping`").
			WithDetail("add date_grouping, or sort by an aggregate or a grouping field")}
	}
	return []sdk.Problem{sdk.Problemf("/sort_by", "`%s` can't be sorted by", field).
		WithDetail("%s", suggestion(field, append(fields, timestamp)))}
}

// suggestion says what a name may be, or what there is.
func suggestion(name string, names []string) string {
	if near := sdk.Nearest(name, names); near != "" {
		return fmt.Sprintf("did you mean `%s`?", near)
	}
	return "there are " + strings.Join(names, ", ")
}
