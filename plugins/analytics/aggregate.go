package analytics

import (
	"encoding/json"
	"net/url"
	"strconv"
	"strings"

	"github.com/flowrun/flowrun/sdk"
)

const aggregateDoc = "A report over the page views or one event of a site: aggregates, by dates and fields. " +
	"All values of a row are text, as the service sends them; with numeric the requested aggregates are numbers. " +
	"visits are unique site visits, uniques unique page visits, value is in cents."

// AggregateInput is the input of aggregate.
type AggregateInput struct {
	Entity        string   `json:"entity" enum:"pageview,event" doc:"What to report on."`
	EntityID      string   `json:"entity_id,omitempty" min:"1" doc:"For a page view the site id, required. For an event its tracking code, unless site_id and entity_name name it." example:"ABCDEFGH"`
	SiteID        string   `json:"site_id,omitempty" min:"1" doc:"Site that the event belongs to; with entity_name, without entity_id."`
	EntityName    string   `json:"entity_name,omitempty" min:"1" doc:"Name of the event; with site_id, without entity_id." example:"purchase"`
	Aggregates    []string `json:"aggregates" min:"1" enum:"visits,uniques,pageviews,avg_duration,bounce_rate,conversions,unique_conversions,value" doc:"What to compute, each once. For a page view: visits (unique site visits), uniques (unique page visits), pageviews, avg_duration, bounce_rate. For an event: conversions, unique_conversions, value (in cents)."`
	DateGrouping  string   `json:"date_grouping,omitempty" enum:"hour,day,month,year" doc:"One row for each of them. hour is for ranges of up to 7 days and needs date_from."`
	FieldGrouping []string `json:"field_grouping,omitempty" doc:"One row for each value: hostname, pathname, entry_page, exit_page (session-level: first and last page of a visit), referrer_hostname, referrer_pathname, referrer_source, browser, country_code, city, state, region, device_type, operating_system, utm_campaign, utm_content, utm_medium, utm_source, utm_term, keyword, ref."`
	SortBy        string   `json:"sort_by,omitempty" min:"1" doc:"field:asc or field:desc. The field is an aggregate of the entity or a grouping field; with date_grouping also timestamp." example:"visits:desc"`
	DateFrom      string   `json:"date_from,omitempty" min:"1" doc:"YYYY-MM-DD HH:MM:SS in the reporting timezone, or RFC 3339 with date_zone. Without it: the first recorded data." example:"2026-03-01 00:00:00"`
	DateTo        string   `json:"date_to,omitempty" min:"1" doc:"As date_from. Without it: now." example:"2026-03-07 23:59:59"`
	DateZone      string   `json:"date_zone,omitempty" min:"1" doc:"The reporting timezone, an IANA name, to convert RFC 3339 dates to. It is not sent." example:"Europe/Berlin"`
	Limit         int64    `json:"limit,omitempty" min:"1" doc:"Most rows to return. Set it when grouping by a field of many values, such as pathname."`
	Filters       []Filter `json:"filters,omitempty" doc:"Conditions on what is counted, any number."`
	Numeric       bool     `json:"numeric" default:"false" doc:"Make numbers of the requested aggregates. Empty or other text stays text; groupings always do."`
}

// Filter is one condition (N-28, N-29).
type Filter struct {
	Property string `json:"property" min:"1" doc:"domain, hostname, pathname, entry_page (with is: only visits that entered there; pathname takes those that came later too), exit_page, referrer_hostname, referrer_pathname, referrer_source, ref, utm_campaign, utm_source, utm_medium, utm_content, utm_term; with is and is not only: device_type, operating_system, browser, country_code, city, state, region."`
	Operator string `json:"operator" enum:"is,is not,is like,is not like,matching,not matching" doc:"is and is not compare exactly, is like and is not like look for a term in which * stands for anything, matching and not matching take a regular expression in the service's own dialect."`
	Value    string `json:"value" doc:"Always text: quote a number."`
}

// aggregateOutput is the output of aggregate.
type aggregateOutput struct {
	Rows  []json.RawMessage `json:"rows"`
	Count int               `json:"count"`
}

// aggregate is action analytics.aggregate. The rows are passed on in the service's
// order; see rowReader for what happens to them (N-36, N-37).
func aggregate(c *sdk.Call[Config], in AggregateInput) (aggregateOutput, error) {
	response, err := get(c, siteOf(in), "/aggregations", aggregateQuery(in))
	if err != nil {
		return aggregateOutput{}, err
	}
	rows, err := newRowReader(in).rows(response)
	return aggregateOutput{Rows: rows, Count: len(rows)}, err
}

// siteOf returns the site that a report is about, as far as the input says.
func siteOf(in AggregateInput) string {
	switch {
	case in.Entity == entityPageview:
		return in.EntityID
	case in.SiteID != "":
		return in.SiteID
	}
	return sitePlaceholder
}

// aggregateQuery writes the parameters: what is not given is omitted (N-24), and
// neither timezone (N-25) nor date_zone is ever sent.
func aggregateQuery(in AggregateInput) url.Values {
	in.DateFrom, _ = readDate("/date_from", in.DateFrom, in.DateZone) // dateProblems has seen both
	in.DateTo, _ = readDate("/date_to", in.DateTo, in.DateZone)
	query := url.Values{}
	for name, text := range map[string]string{
		"entity": in.Entity, "entity_id": in.EntityID, "site_id": in.SiteID, "entity_name": in.EntityName,
		"aggregates":    strings.Join(in.Aggregates, ","), // N-14: how several are combined is not shown
		"date_grouping": in.DateGrouping, "field_grouping": strings.Join(in.FieldGrouping, ","), "sort_by": in.SortBy,
		"date_from": in.DateFrom, "date_to": in.DateTo,
	} {
		if text != "" {
			query.Set(name, text)
		}
	}
	if in.Limit > 0 {
		query.Set("limit", strconv.FormatInt(in.Limit, 10))
	}
	if len(in.Filters) > 0 {
		query.Set("filters", string(sdk.JSON(in.Filters)))
	}
	return query
}
