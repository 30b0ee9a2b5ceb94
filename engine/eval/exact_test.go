package eval

import (
	"math/big"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// Beyond 2^53 an integer as a number is another one.
func TestIntegersCompareExactlyWithNumbers(t *testing.T) {
	for source, want := range map[string]bool{
		`9007199254740993 == 9007199254740992.0`: false, `9007199254740992 == 9007199254740992.0`: true,
		`9007199254740993 > 9007199254740992.0`: true, `9007199254740992.0 < 9007199254740993`: true,
		`9223372036854775807 < 9223372036854775808.0`: true, `9223372036854775807 == 9223372036854775808.0`: false,
		`-9223372036854775807 - 1 == -9223372036854775808.0`: true, `1 == 1.0`: true, `1 < 1.5`: true, `-1 > -1.5`: true,
		`9007199254740993 in [9007199254740992.0]`: false, `max([9007199254740992.0, 9007199254740993]) == 9007199254740993`: true,
	} {
		got, err := run(t, source)
		if err != nil || got != want {
			t.Errorf("%s is %v, want %v (%v)", source, got, want, err)
		}
	}
}

func TestCompareMixedAgreesWithExactNumbers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.OneOf(rapid.Int(), rapid.IntRange(1<<53-4, 1<<53+4), rapid.Just(-1<<63), rapid.Just(1<<63-1)).Draw(t, "n")
		near := rapid.Just(float64(n))
		f := rapid.OneOf(near, rapid.Float64Range(-1e19, 1e19), rapid.Custom(func(t *rapid.T) float64 {
			return float64(n) + rapid.Float64Range(-2, 2).Draw(t, "by")
		})).Draw(t, "f")
		want := new(big.Float).SetInt64(int64(n)).Cmp(new(big.Float).SetFloat64(f))
		if got := compareMixed(n, f); got != want {
			t.Fatalf("compare %d with %v: %d, want %d", n, f, got, want)
		}
	})
}

// An hour that comes twice is the first one, in every zone, as for schedules.
func TestAnHourThatComesTwiceIsTheFirstOne(t *testing.T) {
	for source, want := range map[string]string{
		`parseTime("2026-10-25 02:30", "2006-01-02 15:04", "Europe/Berlin")`:             "2026-10-25T00:30:00Z",
		`parseTime("2026-11-01 01:30", "2006-01-02 15:04", "America/New_York")`:          "2026-11-01T05:30:00Z",
		`parseTime("2026-04-05 01:45", "2006-01-02 15:04", "Australia/Lord_Howe")`:       "2026-04-04T14:45:00Z",
		`parseTime("2026-10-25 02:30 +0100", "2006-01-02 15:04 -0700", "Europe/Berlin")`: "2026-10-25T01:30:00Z",
		`date("2026-10-25 02:30:00", "2006-01-02 15:04:05", "Europe/Berlin")`:            "2026-10-25T00:30:00Z",
		`addTime(date("2026-10-24T00:30:00Z"), "1d", "Europe/Berlin")`:                   "2026-10-25T00:30:00Z",
		`addTime(date("2026-10-26T01:30:00Z"), "-1d", "Europe/Berlin")`:                  "2026-10-25T00:30:00Z",
		`addTime(date("2026-09-25T00:30:00Z"), "1mo", "Europe/Berlin")`:                  "2026-10-25T00:30:00Z",
		`addTime(date("2026-10-31T05:30:00Z"), "1d", "America/New_York")`:                "2026-11-01T05:30:00Z",
		`addTime(date("2026-10-25T00:30:00Z"), "1h", "Europe/Berlin")`:                   "2026-10-25T01:30:00Z",
		`addTime(date("2026-10-25T01:30:00Z"), "0s", "Europe/Berlin")`:                   "2026-10-25T01:30:00Z",
		`addTime(date("2026-10-24T00:30:00Z"), "1d1h", "Europe/Berlin")`:                 "2026-10-25T01:30:00Z",
		`parseTime("2026-10-25 03:30", "2006-01-02 15:04", "Europe/Berlin")`:             "2026-10-25T02:30:00Z",
		`parseTime("2026-10-25 01:59", "2006-01-02 15:04", "Europe/Berlin")`:             "2026-10-24T23:59:00Z",
	} {
		got, err := run(t, source)
		at, _ := got.(time.Time)
		if err != nil || at.UTC().Format(time.RFC3339) != want {
			t.Errorf("%s is %v, want %s (%v)", source, got, want, err)
		}
	}
}
