package analytics

import "slices"

// The words of the service. They are only read.

// Entities (N-05).
const (
	entityPageview = "pageview"
	entityEvent    = "event"
)

// timestamp names the start of a bucket in sort_by (N-22) and in a row.
const timestamp = "timestamp"

// Aggregates by entity (N-10, N-11). visits are unique site visits, uniques
// unique page visits (N-13); value is in cents (N-12).
var (
	pageviewAggregates = []string{"visits", "uniques", "pageviews", "avg_duration", "bounce_rate"}
	eventAggregates    = []string{"conversions", "unique_conversions", "value"}
)

// groupingFields are the 21 fields to group by (N-17).
var groupingFields = []string{
	"hostname", "pathname", "entry_page", "exit_page", "referrer_hostname", "referrer_pathname", "referrer_source",
	"browser", "country_code", "city", "state", "region", "device_type", "operating_system",
	"utm_campaign", "utm_content", "utm_medium", "utm_source", "utm_term", "keyword", "ref",
}

// Filter properties by the operators that they allow (N-31, N-32).
var (
	textProperties = []string{
		"domain", "hostname", "pathname", "entry_page", "exit_page", "referrer_hostname", "referrer_pathname",
		"referrer_source", "ref", "utm_campaign", "utm_source", "utm_medium", "utm_content", "utm_term",
	}
	choiceProperties = []string{"device_type", "operating_system", "browser", "country_code", "city", "state", "region"}
)

// highCardinality are the grouping fields with so many values that a report by
// them wants a limit (N-27).
var highCardinality = []string{"pathname", "referrer_pathname", "entry_page", "exit_page"}

// aggregatesOf returns the aggregates of an entity; those of both when the
// entity is "".
func aggregatesOf(entity string) []string {
	switch entity {
	case entityPageview:
		return pageviewAggregates
	case entityEvent:
		return eventAggregates
	}
	return slices.Concat(pageviewAggregates, eventAggregates)
}

// properties are all that can be filtered on.
func properties() []string { return slices.Concat(textProperties, choiceProperties) }
