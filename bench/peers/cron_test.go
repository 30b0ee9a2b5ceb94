package peers

import (
	"maps"
	"slices"
	"testing"
	"time"
	_ "time/tzdata"

	"github.com/adhocore/gronx"
	robfig "github.com/robfig/cron/v3"

	"github.com/flowrun/flowrun/engine/schedule/cron"
)

// next is the first fire after a time; false where there is none, or where the
// library does not know the notation.
type next func(t *testing.T, text string, after time.Time) (time.Time, bool)

func flowrun(t *testing.T, text string, after time.Time) (time.Time, bool) {
	s, err := cron.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return s.Next(after, after.Location(), cron.DST{})
}

func withRobfig(t *testing.T, text string, after time.Time) (time.Time, bool) {
	s, err := robfig.ParseStandard(text)
	if err != nil {
		return time.Time{}, false
	}
	at := s.Next(after)
	return at, !at.IsZero()
}

func withGronx(t *testing.T, text string, after time.Time) (time.Time, bool) {
	at, err := gronx.NextTickAfter(text, after, false)
	return at, err == nil
}

func list(t *testing.T, f next, text, zone, after string, n int) []string {
	t.Helper()
	where, err := time.LoadLocation(zone)
	if err != nil {
		t.Fatal(err)
	}
	at, err := time.ParseInLocation("2006-01-02 15:04", after, where)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for range n {
		found, ok := f(t, text, at)
		if !ok {
			return append(out, "none")
		}
		out = append(out, found.In(where).Format("2006-01-02 15:04 MST"))
		at = found
	}
	return out
}

// side is one schedule with what each library makes of it. An empty list of
// another library means the same fires as ours.
type side struct {
	text, zone, after      string
	flowrun, robfig, gronx []string
}

// none stands where a library refuses the notation or finds no time.
func none() []string { return []string{"none"} }

func sides() map[string]side {
	return map[string]side{
		"New York, spring: a daily time in the gap": {
			"30 2 * * *", "America/New_York", "2026-03-07 12:00",
			[]string{"2026-03-08 03:00 EDT", "2026-03-09 02:30 EDT"},
			[]string{"2026-03-09 02:30 EDT", "2026-03-10 02:30 EDT"}, // no run that day
			[]string{"2026-03-09 02:30 EDT", "2026-03-10 02:30 EDT"}, // no run that day
		},
		"New York, autumn: a daily time that comes twice": {
			"30 1 * * *", "America/New_York", "2026-10-31 12:00",
			[]string{"2026-11-01 01:30 EDT", "2026-11-02 01:30 EST"},
			[]string{"2026-11-01 01:30 EDT", "2026-11-01 01:30 EST"}, // two runs
			nil,
		},
		"New York, spring: every half hour": {
			"*/30 * * * *", "America/New_York", "2026-03-08 01:00",
			[]string{"2026-03-08 01:30 EST", "2026-03-08 03:00 EDT", "2026-03-08 03:30 EDT"}, nil, nil,
		},
		"New York, autumn: every half hour": {
			"*/30 * * * *", "America/New_York", "2026-11-01 00:30",
			[]string{"2026-11-01 01:00 EDT", "2026-11-01 01:30 EDT", "2026-11-01 01:00 EST", "2026-11-01 01:30 EST", "2026-11-01 02:00 EST"}, nil, nil,
		},
		"Berlin, spring: two times in one gap": {
			"0,30 2 * * *", "Europe/Berlin", "2026-03-28 12:00",
			[]string{"2026-03-29 03:00 CEST", "2026-03-30 02:00 CEST"},
			[]string{"2026-03-30 02:00 CEST", "2026-03-30 02:30 CEST"}, // no run that day
			[]string{"2026-03-30 02:00 CEST", "2026-03-30 02:30 CEST"}, // no run that day
		},
		"Berlin, autumn: a daily time that comes twice": {
			"30 2 * * *", "Europe/Berlin", "2026-10-24 12:00",
			[]string{"2026-10-25 02:30 CEST", "2026-10-26 02:30 CET"},
			[]string{"2026-10-25 02:30 CEST", "2026-10-25 02:30 CET"}, // two runs
			[]string{"2026-10-25 02:30 CET", "2026-10-26 02:30 CET"},  // the second one
		},
		"Berlin, autumn: every 20 minutes of the hour that comes twice": {
			"*/20 2 * * *", "Europe/Berlin", "2026-10-25 00:00",
			[]string{"2026-10-25 02:00 CEST", "2026-10-25 02:20 CEST", "2026-10-25 02:40 CEST", "2026-10-25 02:00 CET", "2026-10-25 02:20 CET", "2026-10-25 02:40 CET"},
			nil,
			[]string{"2026-10-25 02:00 CET", "2026-10-25 02:20 CET", "2026-10-25 02:40 CET", "2026-10-26 02:00 CET", "2026-10-26 02:20 CET", "2026-10-26 02:40 CET"},
		},
		"Cairo, spring: midnight does not exist": {
			"0 0 * * *", "Africa/Cairo", "2026-04-23 12:00",
			[]string{"2026-04-24 01:00 EEST", "2026-04-25 00:00 EEST"},
			[]string{"2026-04-25 00:00 EEST", "2026-04-26 00:00 EEST"}, // no run that day
			[]string{"2026-04-25 00:00 EEST", "2026-04-26 00:00 EEST"}, // no run that day
		},
		"Cairo, spring: a weekly midnight that does not exist": {
			"0 0 * * 5", "Africa/Cairo", "2026-04-18 00:00",
			[]string{"2026-04-24 01:00 EEST", "2026-05-01 00:00 EEST"},
			[]string{"2026-05-01 00:00 EEST", "2026-05-08 00:00 EEST"}, // no run that week
			[]string{"2026-05-01 00:00 EEST", "2026-05-08 00:00 EEST"}, // no run that week
		},
		"Cairo, autumn: 23:30 comes twice": {
			"30 23 * * *", "Africa/Cairo", "2026-10-29 12:00",
			[]string{"2026-10-29 23:30 EEST", "2026-10-30 23:30 EET"},
			[]string{"2026-10-29 23:30 EEST", "2026-10-29 23:30 EET"}, // two runs
			[]string{"2026-10-29 23:30 EET", "2026-10-30 23:30 EET"},  // the second one
		},
		"Lord Howe, spring: a gap of half an hour": {
			"15 2 * * *", "Australia/Lord_Howe", "2026-10-03 12:00",
			[]string{"2026-10-04 02:30 +11", "2026-10-05 02:15 +11"},
			[]string{"2026-10-05 02:15 +11", "2026-10-06 02:15 +11"}, // no run that day
			[]string{"2026-10-05 02:15 +11", "2026-10-06 02:15 +11"}, // no run that day
		},
		"Lord Howe, autumn: every quarter of the half hour that comes twice": {
			"*/15 1 * * *", "Australia/Lord_Howe", "2026-04-05 01:10",
			[]string{"2026-04-05 01:15 +11", "2026-04-05 01:30 +11", "2026-04-05 01:45 +11", "2026-04-05 01:30 +1030", "2026-04-05 01:45 +1030"},
			nil,
			[]string{"2026-04-05 01:15 +11", "2026-04-05 01:30 +1030", "2026-04-05 01:45 +1030", "2026-04-06 01:00 +1030", "2026-04-06 01:15 +1030"},
		},
		"Apia: a whole day does not exist": {
			"30 12 30 12 *", "Pacific/Apia", "2011-12-01 00:00",
			[]string{"2011-12-31 00:00 +14", "2012-12-30 12:30 +14"},
			[]string{hangs}, // it turns round between the 29th and the 31st for ever
			none(),
		},
		"the next leap day is eight years away": {
			"0 0 29 2 *", "UTC", "2096-03-01 00:00",
			[]string{"2104-02-29 00:00 UTC"}, none(), nil, // it looks five years ahead
		},
		"a step in a day field, with a weekday": {
			"0 0 */2 * 1", "UTC", "2026-02-01 00:00",
			[]string{"2026-02-09 00:00 UTC", "2026-02-23 00:00 UTC"},
			[]string{"2026-02-02 00:00 UTC", "2026-02-03 00:00 UTC"}, // either, not both
			nil,
		},
		"the weekday nearest to a day": {
			"0 0 31W * *", "UTC", "2026-02-01 00:00",
			[]string{"2026-03-31 00:00 UTC", "2026-05-29 00:00 UTC"}, none(), nil,
		},
		"the last day": {
			"0 0 L * *", "UTC", "2028-01-31 00:00",
			[]string{"2028-02-29 00:00 UTC", "2028-03-31 00:00 UTC"}, none(), nil,
		},
		"the second Friday": {
			"0 0 * * 5#2", "UTC", "2026-01-01 00:00",
			[]string{"2026-01-09 00:00 UTC", "2026-02-13 00:00 UTC"}, none(), nil,
		},
		"from Friday to Sunday": {
			"0 0 * * FRI-SUN", "UTC", "2026-01-01 00:00",
			[]string{"2026-01-02 00:00 UTC", "2026-01-03 00:00 UTC", "2026-01-04 00:00 UTC"}, none(), none(),
		},
		"Sunday as 7": {
			"0 0 * * 7", "UTC", "2026-01-01 00:00",
			[]string{"2026-01-04 00:00 UTC"}, none(), nil,
		},
		"working days": {
			"0 9 * * 1-5", "Europe/Berlin", "2026-03-27 12:00",
			[]string{"2026-03-30 09:00 CEST", "2026-03-31 09:00 CEST"}, nil, nil,
		},
	}
}

// hangs stands where a library never answers: it is not asked.
const hangs = "never answers"

// TestCronSideBySide holds what each library gives, so that a new version that
// behaves otherwise is noticed. `go test -v` prints where they differ.
func TestCronSideBySide(t *testing.T) {
	names := slices.Sorted(maps.Keys(sides()))
	differ := map[string]int{}
	for _, name := range names {
		c := sides()[name]
		for library, peer := range map[string]struct {
			next next
			want []string
		}{"flowrun": {flowrun, c.flowrun}, "robfig/cron": {withRobfig, c.robfig}, "gronx": {withGronx, c.gronx}} {
			want := peer.want
			if want == nil {
				want = c.flowrun
			}
			if !slices.Equal(want, c.flowrun) {
				differ[library]++
				t.Logf("%s: %s in %s: %s gives %q, flowrun %q", name, c.text, c.zone, library, want, c.flowrun)
			}
			if want[0] == hangs {
				continue
			}
			if got := list(t, peer.next, c.text, c.zone, c.after, len(c.flowrun)); !slices.Equal(got, want) {
				t.Errorf("%s: %s in %s with %s\n got %q\nwant %q", name, c.text, c.zone, library, got, want)
			}
		}
	}
	t.Logf("of %d schedules robfig/cron differs in %d, gronx in %d", len(names), differ["robfig/cron"], differ["gronx"])
}

func BenchmarkNext(b *testing.B) {
	where, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		b.Fatal(err)
	}
	const text = "30 2 * * 1"
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, where)
	ours, err := cron.Parse(text)
	if err != nil {
		b.Fatal(err)
	}
	theirs, err := robfig.ParseStandard(text)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("flowrun", func(b *testing.B) {
		for b.Loop() {
			ours.Next(at, where, cron.DST{})
		}
	})
	b.Run("robfig", func(b *testing.B) {
		for b.Loop() {
			theirs.Next(at)
		}
	})
	b.Run("gronx", func(b *testing.B) {
		for b.Loop() {
			if _, err := gronx.NextTickAfter(text, at, false); err != nil {
				b.Fatal(err)
			}
		}
	})
}
