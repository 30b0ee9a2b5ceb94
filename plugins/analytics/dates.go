package analytics

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/flowrun/flowrun/sdk"
)

// dateLayout is the documented form of a date (N-23), in the reporting timezone.
const dateLayout = "2006-01-02 15:04:05"

// maxHourRange is the longest range of a report by the hour (N-16).
const maxHourRange = 7 * 24 * time.Hour

// westmost is the largest offset behind UTC: the reporting timezone is not known,
// and nowhere is it earlier.
const westmost = 12 * time.Hour

// readDate returns a date in the documented form, "" for "". RFC 3339 is taken
// only with a zone to convert to; fractions of a second are cut off.
func readDate(pointer, text, zone string) (string, []sdk.Problem) {
	refuse := func(hint, format string, args ...any) (string, []sdk.Problem) {
		return "", []sdk.Problem{sdk.Problemf(pointer, format, args...).WithDetail("%s", hint)}
	}
	const form = "write it as YYYY-MM-DD HH:MM:SS in the reporting timezone, such as 2026-03-01 00:00:00"
	if text == "" {
		return "", nil
	}
	if _, ok := parseDate(text); ok {
		return text, nil
	}
	instant, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return refuse(form, "%q is no date of the form YYYY-MM-DD HH:MM:SS", text)
	}
	if zone == "" {
		return refuse(form+", or give date_zone to convert to", "%q has an offset, but the service takes dates in its reporting timezone", text)
	}
	location, problems := readZone(zone)
	if problems != nil {
		return "", problems
	}
	converted := instant.In(location).Format(dateLayout)
	if _, ok := parseDate(converted); !ok {
		return refuse(form, "%q is beyond the year 9999 in %s", text, zone)
	}
	return converted, nil
}

// parseDate reads the documented form exactly. The time is the wall clock's,
// counted as if it were UTC.
func parseDate(text string) (time.Time, bool) {
	wall, err := time.Parse(dateLayout, text)
	// time.Parse also takes one digit for an hour and fractions of a second
	return wall, err == nil && wall.Format(dateLayout) == text
}

// readZone returns an IANA zone.
func readZone(name string) (*time.Location, []sdk.Problem) {
	location, err := time.LoadLocation(name)
	if err != nil || strings.EqualFold(name, "local") {
		return nil, []sdk.Problem{sdk.Problemf("/date_zone", "%q is no time zone", name).WithDetail("write an IANA name such as Europe/Berlin or UTC")}
	}
	return location, nil
}

// dateProblems checks both dates, their order and, for a report by the hour,
// their distance (N-16, N-23).
func dateProblems(in AggregateInput, unknown []string, now func() time.Time) []sdk.Problem {
	var problems []sdk.Problem
	if in.DateZone != "" {
		_, problems = readZone(in.DateZone)
	}
	zone := in.DateZone
	if sdk.IsUnknown(unknown, "/date_zone") || len(problems) > 0 {
		zone = "UTC" // some zone: what it converts to is not looked at
	}
	from, wrongFrom := readDate("/date_from", in.DateFrom, zone)
	to, wrongTo := readDate("/date_to", in.DateTo, zone)
	if problems = slices.Concat(problems, wrongFrom, wrongTo); len(problems) > 0 {
		return problems
	}
	problems = zoneProblems(in, unknown)
	if zone != in.DateZone && (from != in.DateFrom || to != in.DateTo) {
		return problems
	}
	start, ok := parseDate(from)
	end, bounded := parseDate(to)
	if repeated := repeatedHour(in, from, to); repeated != nil && ok && bounded && !start.Before(end) {
		return append(problems, repeated...)
	}
	if ok && bounded && end.Before(start) {
		return append(problems, sdk.Problemf("/date_to", "date_to %s is before date_from %s", to, from).
			WithDetail("dates are compared in the reporting timezone"))
	}
	if in.DateGrouping == "hour" {
		problems = append(problems, hourProblems(in, unknown, start, end, now)...)
	}
	return problems
}

// repeatedHour refuses a range whose instants are in order and whose wall clocks
// are not, since it lies in the hour that the zone has twice: the service would
// take it for empty. nil for any other range.
func repeatedHour(in AggregateInput, from, to string) []sdk.Problem {
	start, errFrom := time.Parse(time.RFC3339Nano, in.DateFrom)
	end, errTo := time.Parse(time.RFC3339Nano, in.DateTo)
	if errFrom != nil || errTo != nil || end.Sub(start) < time.Second {
		return nil
	}
	return []sdk.Problem{sdk.Problemf("/date_to", "the range is empty in the reporting timezone: it lies in the hour that %s has twice, from %s to %s", in.DateZone, from, to).
		WithDetail("the service takes wall clocks, which can't tell the two hours apart: begin before that hour, or end after it")}
}

// zoneProblems warns of a zone that converts nothing.
func zoneProblems(in AggregateInput, unknown []string) []sdk.Problem {
	if in.DateZone == "" || sdk.IsUnknown(unknown, "/date_from") || sdk.IsUnknown(unknown, "/date_to") {
		return nil
	}
	for _, text := range []string{in.DateFrom, in.DateTo} {
		if _, ok := parseDate(text); text != "" && !ok {
			return nil
		}
	}
	return []sdk.Problem{sdk.Warningf("/date_zone", "date_zone has no effect: there is no RFC 3339 date to convert").
		WithDetail("dates without an offset are in the reporting timezone already")}
}

// hourProblems refuses a report by the hour over more than 7 days, as far as that
// is certain: without date_to the range ends now, at an hour that depends on a
// zone which is not known.
func hourProblems(in AggregateInput, unknown []string, start, end time.Time, now func() time.Time) []sdk.Problem {
	const hint = "group by day, or ask for several shorter ranges"
	switch {
	case sdk.IsUnknown(unknown, "/date_from") || sdk.IsUnknown(unknown, "/date_to"):
		return nil
	case in.DateFrom == "":
		return []sdk.Problem{sdk.Problemf("/date_from", "`date_grouping: hour` needs date_from: without it the range starts at the first recorded data").
			WithDetail("the service groups by hour over at most 7 days")}
	case in.DateTo == "" && now().UTC().Add(-westmost).Sub(start) > maxHourRange:
		return []sdk.Problem{sdk.Problemf("/date_from", "`date_grouping: hour` takes at most 7 days, and date_from is longer ago").WithDetail(hint)}
	case in.DateTo != "" && end.Sub(start) > maxHourRange:
		return []sdk.Problem{sdk.Problemf("/date_to", "`date_grouping: hour` takes at most 7 days, from date_from to date_to it is %s", days(end.Sub(start))).WithDetail(hint)}
	}
	return nil
}

// days writes a range of more than a day for people.
func days(d time.Duration) string {
	const day = 24 * time.Hour
	if d%day != 0 {
		return fmt.Sprintf("more than %d days", d/day)
	}
	return fmt.Sprintf("%d days", d/day)
}
