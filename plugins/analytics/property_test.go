package analytics

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestSortGrammarProperty: a sort_by is taken exactly when it is a known field and
// a direction.
func TestSortGrammarProperty(t *testing.T) {
	words := slices.Concat(pageviewAggregates, eventAggregates, groupingFields, []string{"timestamp", "domain", "", "x"})
	rapid.Check(t, func(t *rapid.T) {
		field := rapid.OneOf(rapid.SampledFrom(words), rapid.String()).Draw(t, "field")
		direction := rapid.OneOf(rapid.SampledFrom([]string{":asc", ":desc", ":", "", ":ASC", ":asc "}), rapid.String()).Draw(t, "direction")
		entity := rapid.SampledFrom([]string{entityPageview, entityEvent}).Draw(t, "entity")
		grouping := rapid.SampledFrom([]string{"", "day"}).Draw(t, "date_grouping")
		text := field + direction
		if text == "" {
			return // nothing given
		}
		name, order, _ := strings.Cut(text, ":")
		known := slices.Contains(aggregatesOf(entity), name) || slices.Contains(groupingFields, name) || name == timestamp && grouping != ""
		want := known && (order == "asc" || order == "desc")
		got := sortProblems(AggregateInput{Entity: entity, SortBy: text, DateGrouping: grouping}, nil)
		if (len(got) == 0) != want {
			t.Fatalf("%q: %v, want it taken: %v", text, got, want)
		}
	})
}

// TestDatesProperty: every second has one form that is taken as it is, and
// RFC 3339 with a zone is the wall clock of that zone.
func TestDatesProperty(t *testing.T) {
	zones := []string{"UTC", "Europe/Berlin", "America/St_Johns", "Pacific/Kiritimati", "Asia/Kathmandu"}
	rapid.Check(t, func(t *rapid.T) {
		instant := time.Unix(rapid.Int64Range(0, 253402300799-86400).Draw(t, "second"), rapid.Int64Range(0, 999_999_999).Draw(t, "nano")).UTC()
		zone := rapid.SampledFrom(zones).Draw(t, "zone")
		wall := instant.Format(dateLayout)
		if got, problem := readDate("/date_from", wall, ""); problem != nil || got != wall {
			t.Fatalf("%q became %q: %v", wall, got, problem)
		}
		location, err := time.LoadLocation(zone)
		if err != nil {
			t.Fatal(err)
		}
		offset := time.FixedZone("", 60*rapid.IntRange(-14*60, 14*60).Draw(t, "offset"))
		text := instant.In(offset).Format(time.RFC3339Nano)
		if got, problem := readDate("/date_from", text, zone); problem != nil || got != instant.In(location).Format(dateLayout) {
			t.Fatalf("%q in %s became %q: %v", text, zone, got, problem)
		}
		if _, problem := readDate("/date_from", text, ""); problem == nil {
			t.Fatalf("%q is taken without a zone", text)
		}
	})
}

// TestOtherDatesProperty: whatever is taken has the documented form.
func TestOtherDatesProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.StringMatching(`[0-9]{4}-[01]?[0-9]-[0-3]?[0-9][ T][0-2]?[0-9]:[0-6][0-9]:[0-6][0-9](\.[0-9])?(Z|[+-]1[0-9]:00)?`)).Draw(t, "text")
		got, problem := readDate("/date_to", text, rapid.SampledFrom([]string{"", "UTC", "Asia/Tokyo"}).Draw(t, "zone"))
		if problem == nil && text != "" && len(got) != len(dateLayout) {
			t.Fatalf("%q became %q", text, got)
		}
	})
}
