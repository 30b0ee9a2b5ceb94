package analytics

import (
	"encoding/json"
	"slices"

	"github.com/flowrun/flowrun/sdk"
)

// node is a JSON Schema under construction; its keys are written in their
// alphabetical order.
type node map[string]any

// aggregateSchema is the output of aggregate when nothing is known of the input:
// rows of any names. Values are text, or numbers with numeric.
func aggregateSchema() json.RawMessage {
	return reportSchema(node{"type": "object", "additionalProperties": node{"type": []string{"string", "number"}}}, false)
}

func reportSchema(row node, expected bool) json.RawMessage {
	report := node{
		"type": "object",
		"properties": node{
			"rows":  node{"type": "array", "items": row, "description": "The report, in the service's order."},
			"count": node{"type": "integer", "minimum": 0, "description": "How many rows there are."},
		},
		"required":             []string{"rows", "count"},
		"additionalProperties": false,
	}
	if expected {
		report["x-flowrun-expected"] = true // text among the numbers stays text
	}
	return sdk.JSON(report)
}

// narrowAggregate returns the schema of the rows that an input asks for: the
// requested aggregates and groupings, and timestamp with date_grouping (N-36).
// What the service adds to them stays (N-37), and can't be read by name. As long as
// one of these is not known, the names are not, but without numeric every value is
// text.
//
// With numeric an aggregate is a number: so `rows[0].visits > 90` is right and
// `upper(rows[0].visits)` is found before a run. The service may send text that is
// no number, which stays text (N-37): the schema is marked as what to expect, so the step
// takes it with a warning, and an expression that meets it fails. While it is not
// known whether numeric is set, a value may be either.
func narrowAggregate(in AggregateInput, unknown []string) json.RawMessage {
	for _, shaping := range []string{"/aggregates", "/field_grouping", "/date_grouping"} {
		if sdk.IsUnknown(unknown, shaping) && (in.Numeric || sdk.IsUnknown(unknown, "/numeric")) {
			return nil
		}
		if sdk.IsUnknown(unknown, shaping) {
			return reportSchema(node{"type": "object", "additionalProperties": node{"type": "string"}}, false)
		}
	}
	properties, required := node{}, slices.Concat(in.Aggregates, in.FieldGrouping)
	for _, name := range in.Aggregates {
		properties[name] = aggregateValue(name, in.Numeric, sdk.IsUnknown(unknown, "/numeric"))
	}
	for _, name := range in.FieldGrouping {
		properties[name] = node{"type": "string", "description": "Grouping field. Empty where the service has no value."}
	}
	if in.DateGrouping != "" {
		// not required: the document names timestamp for sort_by only
		properties[timestamp] = node{"description": "Start of the " + in.DateGrouping + ", text as the service sends it."}
	}
	return reportSchema(node{"type": "object", "properties": properties, "required": required}, in.Numeric)
}

// aggregateValue is the schema of one aggregate; open when it is not known whether
// it is converted.
func aggregateValue(name string, numeric, open bool) node {
	what := map[string]string{
		"visits": "Unique site visits", "uniques": "Unique page visits", "pageviews": "Page views",
		"avg_duration": "Average duration", "bounce_rate": "Bounce rate",
		"conversions": "Conversions", "unique_conversions": "Unique conversions", "value": "Value in cents",
	}[name]
	switch {
	case open:
		return node{"type": []string{"number", "string"}, "description": what + ": a number with numeric, else text."}
	case !numeric:
		return node{"type": "string", "description": what + ", as text."}
	case name == "avg_duration" || name == "bounce_rate":
		return node{"type": "number", "description": what + "."}
	}
	return node{"type": "integer", "description": what + ", a whole number."}
}

// visitorsSchema is the output of current_visitors: with the lists or without, or
// with lists that may be missing.
func visitorsSchema(lists, always bool) json.RawMessage {
	properties, required := node{"total": node{"type": "integer", "description": "Visitors right now."}}, []string{"total"}
	if lists {
		properties["content"] = listSchema("Pages they are on, at most 150. Their sum may be below total.", "hostname", "pathname")
		properties["referrers"] = listSchema("Where they came from, at most 150.", "referrer_hostname", "referrer_pathname")
		properties["content_truncated"] = node{"type": "boolean", "description": "content has 150 elements: there may be more."}
		properties["referrers_truncated"] = node{"type": "boolean", "description": "referrers has 150 elements: there may be more."}
	}
	if always {
		required = append(required, "content", "referrers", "content_truncated", "referrers_truncated")
	}
	return sdk.JSON(node{"type": "object", "properties": properties, "required": required, "additionalProperties": false})
}

func listSchema(doc string, texts ...string) node {
	properties := node{"total": node{"type": "integer", "description": "Visitors."}}
	for _, name := range texts {
		properties[name] = node{"type": "string", "description": "Empty where the service has no value."}
	}
	return node{"type": "array", "description": doc, "items": node{
		"type": "object", "properties": properties, "required": append(slices.Clone(texts), "total"),
	}}
}

// narrowVisitors says whether the lists are there.
func narrowVisitors(in VisitorsInput, unknown []string) json.RawMessage {
	if sdk.IsUnknown(unknown, "/detailed") {
		return nil
	}
	return visitorsSchema(in.Detailed, in.Detailed)
}
