// Package analytics is the plugin of the analytics service: reports over the page
// views and events of a site, and who is on it right now.
//
// Row ids (N-01 ...) are those of the requirements, see docs/services/coverage.md.
// What the service's document leaves open and is decided here is listed in
// docs/services/analytics.md.
package analytics

import (
	"time"

	"github.com/flowrun/flowrun/sdk"
)

// Version is the version of the plugin.
const Version = "1.0.0"

// Config is a connection's settings. The credential is a token, or comes from
// another connection (N-02).
type Config struct {
	sdk.HTTPSettings
	sdk.TokenSettings
}

// Options are what the plugin takes from outside.
type Options struct {
	Now func() time.Time // clock for the check of an hour report without an end (N-16)
}

// New returns the plugin with the real clock.
func New() *sdk.Plugin { return NewWith(Options{Now: time.Now}) }

// NewWith returns the plugin with what a test passes in. It declares no limiter:
// the service's document shows no rate limit (N-44).
func NewWith(o Options) *sdk.Plugin {
	return sdk.New("analytics", Version, "Reports over page views and events of a site, and its current visitors.",
		sdk.PathPrefix("/v1"), // N-01
		sdk.CheckConnection(checkConnection),
		sdk.Read("aggregate", aggregateDoc, aggregate,
			options(sdk.Output(aggregateSchema()), sdk.ValidateWith(aggregateProblems(o.Now)), sdk.NarrowWith(narrowAggregate),
				sdk.Timeout(60*time.Second),
				sdk.Example("the ten pages with most visits", map[string]any{
					"entity": "pageview", "entity_id": "ABCDEFGH", "aggregates": []string{"visits", "uniques"},
					"field_grouping": []string{"pathname"}, "sort_by": "visits:desc", "limit": 10, "numeric": true,
				}, sdk.Value(topPagesOutput)),
				sdk.Example("one day by the hour", map[string]any{
					"entity": "pageview", "entity_id": "ABCDEFGH", "aggregates": []string{"visits"}, "date_grouping": "hour",
					"date_from": "2026-03-02 00:00:00", "date_to": "2026-03-02 23:59:59", "sort_by": "timestamp:asc",
				}, sdk.Value(byHourOutput)),
				sdk.Example("revenue in cents by campaign", map[string]any{
					"entity": "event", "site_id": "ABCDEFGH", "entity_name": "purchase", "aggregates": []string{"conversions", "value"},
					"field_grouping": []string{"utm_campaign"}, "numeric": true,
					"filters": []map[string]string{{"property": "utm_source", "operator": "is not", "value": "internal"}},
				}, sdk.Value(revenueOutput)))...),
		sdk.Read("current_visitors", currentDoc, currentVisitors,
			options(sdk.Output(visitorsSchema(true, false)), sdk.NarrowWith(narrowVisitors),
				sdk.Timeout(30*time.Second),
				sdk.Example("how many are there", map[string]any{"site_id": "ABCDEFGH"}, sdk.Value(visitorsOutput1)),
				sdk.Example("where they are and where they came from", map[string]any{"site_id": "ABCDEFGH", "detailed": true}, sdk.Value(detailedOutput)))...),
	)
}

// options adds to an action's options what both of them have.
func options(own ...sdk.ActionOption) []sdk.ActionOption {
	return append(own,
		sdk.Fault(sdk.CodeInvalid, "", "An input breaks a documented rule, or the connection has no token: found before anything is sent. Or the service says 400."),
		sdk.Fault(sdk.CodeUnauthorized, "", "The token is refused (401)."),
		sdk.Fault(sdk.CodeForbidden, "", "The token's permission does not cover the site (403)."),
		sdk.Fault(sdk.CodeRateLimited, "", "The service asks to wait (429); Retry-After is honoured where it is sent."),
		sdk.Fault(sdk.CodeUnavailable, "", "No connection, or the service failed (5xx)."),
		sdk.Fault(sdk.CodeUnexpectedResponse, "", "The answer is no JSON, cut short or of another shape."),
	)
}

// checkConnection makes sure that there is a token. No request can try it: every
// documented one names a site, and there is no list of sites (N-45).
func checkConnection(c *sdk.Call[Config]) (string, error) {
	if _, err := token(c); err != nil {
		return "", err
	}
	c.NotTried("a token is configured, and no request can try it: each names a site")
	return "", nil
}
