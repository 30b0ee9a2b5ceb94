package netinfo

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/flowrun/flowrun/plugins/internal/recipe"
	"github.com/flowrun/flowrun/plugins/internal/service"
	"github.com/flowrun/flowrun/sdk"
)

// whois returns what stands around the request of netinfo.whois (I-17): two outputs of
// ours, days_to_expiry and found. now is read after the answer has come. A 404 of something
// else than the service must not make a domain look lost (I-18).
func whois(now func() time.Time) service.Around[Config] {
	return func(c *sdk.Call[Config], input sdk.Members, ask func(sdk.Members) (recipe.Reply, error)) (sdk.Value, error) {
		domain := plainDomain(recipe.Text(input.JSON(), "/domain"))
		found, err := ask(input)
		if string(input.Get("missing_ok")) == "true" && service.IsRefused(err, sdk.CodeNotFound) {
			fields, _ := sdk.ReadMembers(missing)
			return fields.With("domain", sdk.Text(domain)).JSON(), nil
		}
		fields, isObject := sdk.ReadMembers(found.Output)
		if err != nil || !isObject {
			return found.Output, err
		}
		expires := recipe.Text(found.Output, "/expiration_date")
		days, problem := daysUntil(&expires, now())
		if problem != "" {
			c.Log().Warn(problem, "domain", domain)
		}
		left := sdk.Value("null")
		if days != nil {
			left = strconv.AppendInt(nil, *days, 10)
		}
		return fields.With("days_to_expiry", left).With("found", sdk.Value("true")).JSON(), nil
	}
}

// plainDomain returns a name as it is sent: without the trailing dot (I-11).
func plainDomain(name string) string { return strings.TrimSuffix(name, ".") }

// missing is the output for a name that the registry does not know.
var missing = sdk.Value(`{"domain":null,"registrar":null,"creation_date":null,"expiration_date":null,"last_updated":null,
	"name_servers":null,"status":null,"rdap_link":null,"days_to_expiry":null,"found":false}`)

// narrowWhois types the timestamps as times for workflows: what to expect, since a
// registry may write another text (I-17). A step takes that with a warning, and an
// expression that needs the time fails.
func narrowWhois(output sdk.Value) sdk.Value {
	typed := strings.ReplaceAll(string(output), `"description":"ISO 8601`, `"format":"date-time","description":"ISO 8601`)
	return sdk.Value(`{"x-flowrun-expected":true,` + strings.TrimPrefix(typed, "{"))
}

// timestampLayouts are the forms of ISO 8601 that are read; one without an
// offset counts as UTC, which is our choice (I-17).
var timestampLayouts = []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04Z07:00", "2006-01-02T15:04:05Z0700"}

// daysUntil returns the whole days from now to the timestamp, rounded down: 0 is
// less than a day, -1 is past. A date without a time counts to its end, so that
// today is 0. It is nil without a timestamp, and says so when there is one that
// can't be read.
func daysUntil(timestamp *string, now time.Time) (*int64, string) {
	if timestamp == nil || *timestamp == "" {
		return nil, ""
	}
	at, ok := parseTimestamp(*timestamp)
	if day, err := time.Parse(time.DateOnly, *timestamp); err == nil {
		at, ok = day.AddDate(0, 0, 1).Add(-time.Second), true
	}
	if !ok {
		return nil, "expiration_date is no ISO 8601 timestamp, days_to_expiry stays empty"
	}
	days := int64(math.Floor(float64(at.Unix()-now.Unix()) / (24 * 60 * 60)))
	return &days, ""
}

// parseTimestamp reads a date with its time.
func parseTimestamp(text string) (time.Time, bool) {
	for _, layout := range timestampLayouts {
		if at, err := time.Parse(layout, text); err == nil {
			return at, true
		}
	}
	return time.Time{}, false
}
