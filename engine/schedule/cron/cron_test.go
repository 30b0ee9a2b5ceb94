package cron

import (
	"fmt"
	"strings"
	"testing"
	"time"
	_ "time/tzdata"

	"github.com/google/go-cmp/cmp"
)

func zone(t testing.TB, name string) *time.Location {
	t.Helper()
	found, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func parsed(t testing.TB, text string) *Schedule {
	t.Helper()
	s, err := Parse(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return s
}

const layout = "2006-01-02 15:04 MST"

// fires lists the next n fires after a time of the zone.
func fires(t testing.TB, text, zoneName, after string, n int, dst DST) []string {
	t.Helper()
	where := zone(t, zoneName)
	at, err := time.ParseInLocation("2006-01-02 15:04", after, where)
	if err != nil {
		t.Fatal(err)
	}
	s, out := parsed(t, text), []string{}
	for range n {
		next, ok := s.Next(at, where, dst)
		if !ok {
			return append(out, "never")
		}
		out = append(out, next.Format(layout))
		at = next
	}
	return out
}

func TestRule17Next(t *testing.T) {
	for _, c := range []struct {
		text, zone, after string
		want              []string
	}{
		{"30 2 * * 1", "UTC", "2026-01-01 00:00", []string{"2026-01-05 02:30 UTC", "2026-01-12 02:30 UTC"}},
		{"*/20 * * * *", "UTC", "2026-01-01 00:00", []string{"2026-01-01 00:20 UTC", "2026-01-01 00:40 UTC", "2026-01-01 01:00 UTC"}},
		{"5/20 8-9 * * *", "UTC", "2026-01-01 08:30", []string{"2026-01-01 08:45 UTC", "2026-01-01 09:05 UTC"}},
		{"0 0 L * *", "UTC", "2028-01-31 00:00", []string{"2028-02-29 00:00 UTC", "2028-03-31 00:00 UTC"}},
		{"0 0 L-3 * *", "UTC", "2026-01-01 00:00", []string{"2026-01-28 00:00 UTC", "2026-02-25 00:00 UTC"}},
		{"0 0 LW * *", "UTC", "2026-01-01 00:00", []string{"2026-01-30 00:00 UTC", "2026-02-27 00:00 UTC"}},
		{"0 0 1W * *", "UTC", "2026-01-02 00:00", []string{"2026-02-02 00:00 UTC", "2026-03-02 00:00 UTC"}},
		{"0 0 1W * *", "UTC", "2026-07-31 00:00", []string{"2026-08-03 00:00 UTC"}}, // Saturday the 1st: Monday, never the month before
		{"0 0 31W * *", "UTC", "2026-02-01 00:00", []string{"2026-03-31 00:00 UTC", "2026-05-29 00:00 UTC"}},
		{"0 0 * * 5L", "UTC", "2026-01-01 00:00", []string{"2026-01-30 00:00 UTC", "2026-02-27 00:00 UTC"}},
		{"0 0 * * fri#2", "UTC", "2026-01-01 00:00", []string{"2026-01-09 00:00 UTC", "2026-02-13 00:00 UTC"}},
		{"0 0 * * 1#5", "UTC", "2026-01-01 00:00", []string{"2026-03-30 00:00 UTC", "2026-06-29 00:00 UTC"}},
		{"0 0 13 * 5", "UTC", "2026-02-01 00:00", []string{"2026-02-06 00:00 UTC", "2026-02-13 00:00 UTC", "2026-02-20 00:00 UTC"}}, // either
		{"0 0 */2 * 1", "UTC", "2026-02-01 00:00", []string{"2026-02-09 00:00 UTC", "2026-02-23 00:00 UTC"}},                        // both
		{"0 0 * * 7", "UTC", "2026-01-01 00:00", []string{"2026-01-04 00:00 UTC"}},
		{"0 0 * * FRI-SUN", "UTC", "2026-01-01 00:00", []string{"2026-01-02 00:00 UTC", "2026-01-03 00:00 UTC", "2026-01-04 00:00 UTC", "2026-01-09 00:00 UTC"}},
		{"0 0 29 2 *", "UTC", "2096-03-01 00:00", []string{"2104-02-29 00:00 UTC"}}, // 2100 has none
		{"@hourly", "UTC", "2026-01-01 00:00", []string{"2026-01-01 01:00 UTC"}},
		{"@Weekly", "UTC", "2026-01-01 00:00", []string{"2026-01-04 00:00 UTC"}},
		{"@yearly", "Europe/Berlin", "2026-01-01 00:00", []string{"2027-01-01 00:00 CET"}},
		{"0 9 * jul,Aug mon-fri", "UTC", "2026-06-30 00:00", []string{"2026-07-01 09:00 UTC", "2026-07-02 09:00 UTC"}},
		{"\t0  9 1 1 * ", "UTC", "2026-06-30 00:00", []string{"2027-01-01 09:00 UTC"}},
	} {
		if diff := cmp.Diff(c.want, fires(t, c.text, c.zone, c.after, len(c.want), DST{})); diff != "" {
			t.Errorf("%s after %s (-want +got)\n%s", c.text, c.after, diff)
		}
	}
}

// In Berlin the clock goes from 02:00 to 03:00 on 2026-03-29, and from 03:00
// back to 02:00 on 2026-10-25.
func TestRule17FixedTimesWhereClocksChange(t *testing.T) {
	for _, c := range []struct {
		text, after string
		dst         DST
		want        []string
	}{
		{"30 2 * * *", "2026-03-28 03:00", DST{}, []string{"2026-03-29 03:00 CEST", "2026-03-30 02:30 CEST"}},
		{"30 2 * * *", "2026-03-28 03:00", DST{Skipped: Skip}, []string{"2026-03-30 02:30 CEST"}},
		{"0,15,30 2 * * *", "2026-03-28 03:00", DST{}, []string{"2026-03-29 03:00 CEST", "2026-03-30 02:00 CEST"}}, // several in one gap: one
		{"0 2,3 * * *", "2026-03-28 03:00", DST{}, []string{"2026-03-29 03:00 CEST", "2026-03-30 02:00 CEST"}},     // the gap's fire is the time itself
		{"30 2 29 3 *", "2026-01-01 00:00", DST{}, []string{"2026-03-29 03:00 CEST", "2027-03-29 02:30 CEST"}},
		{"*/30 2 * * *", "2026-03-28 03:00", DST{}, []string{"2026-03-30 02:00 CEST"}}, // not fixed: only real matches
		{"30 1-2 * * *", "2026-03-29 01:00", DST{}, []string{"2026-03-29 01:30 CET", "2026-03-30 01:30 CEST"}},
		{"30 2 * * *", "2026-10-24 03:00", DST{}, []string{"2026-10-25 02:30 CEST", "2026-10-26 02:30 CET"}},
		{"30 2 * * *", "2026-10-24 03:00", DST{Repeated: RunTwice}, []string{"2026-10-25 02:30 CEST", "2026-10-25 02:30 CET", "2026-10-26 02:30 CET"}},
		{"30 * * * *", "2026-10-25 01:00", DST{}, []string{"2026-10-25 01:30 CEST", "2026-10-25 02:30 CEST", "2026-10-25 02:30 CET", "2026-10-25 03:30 CET"}},
		{"0 3 * * *", "2026-10-24 04:00", DST{}, []string{"2026-10-25 03:00 CET"}},
	} {
		if diff := cmp.Diff(c.want, fires(t, c.text, "Europe/Berlin", c.after, len(c.want), c.dst)); diff != "" {
			t.Errorf("%s after %s %v (-want +got)\n%s", c.text, c.after, c.dst, diff)
		}
	}
	// Samoa had no 2011-12-30; Lord Howe moves by half an hour.
	if diff := cmp.Diff([]string{"2011-12-29 12:00 -10", "2011-12-31 00:00 +14", "2011-12-31 12:00 +14"}, fires(t, "0 12 * * *", "Pacific/Apia", "2011-12-29 00:00", 3, DST{})); diff != "" {
		t.Errorf("Apia (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff([]string{"2026-10-04 02:30 +11", "2026-10-05 02:15 +11"}, fires(t, "15 2 * * *", "Australia/Lord_Howe", "2026-10-03 03:00", 2, DST{})); diff != "" {
		t.Errorf("Lord Howe (-want +got)\n%s", diff)
	}
}

// A mistake is marked with « ».
func TestRule17MistakesHaveTheirPlace(t *testing.T) {
	for marked, want := range map[string]string{
		"«»": "the schedule is empty", "«* * * *»": "has five fields, this has 4", "«0 * * * * *»": "there are no seconds", "«a»": "this has 1",
		"«60» * * * *": "60 is not a minute; it goes from 0 to 59", "* «24» * * *": "is not an hour", "* * «0» * *": "from 1 to 31", "* * * «13» *": "from 1 to 12", "* * * * «8»": "from 0 to 7",
		"* * * «FOO» *": "JAN, FEB", "* * * * «noon»": "SUN, MON", "* * «?» * *": "write `*`", "1,«,»2 * * * *": "a value is missing",
		"* «9-5» * * *": "write `9-23,0-5`", "*/«0» * * * *": "greater than 0", "*/«x» * * * *": "greater than 0", "*/«60» * * * *": "every: 60m", "* */«24» * * *": "every: 24h", "* * * * */«7»": "longer than the day of week goes",
		"* * * * «L»": "needs a day", "* * «5L» * *": "LW", "«L» * * * *": "belongs to the days", "«5W» * * * *": "belongs to the day of month", "* * «5#2» * *": "belongs to the day of week", "* * * * 5#«6»": "from 1 to 5", "* * * * «9»#1": "from 0 to 7",
		"* * «L-31» * *": "L-1 to L-30", "* * «32»W * *": "from 1 to 31", "* * * * «8»L": "from 0 to 7", "0 0 «30 2» *": "never fires", "0 0 «31 2,4,6» *": "never fires", "0 0 «30W 2» *": "never fires", "0 0 «L-30 2,4» *": "never fires", "0 0 «30 2» */2": "never fires",
		"«@every» 5m": "every: 15m", "«@reboot»": "is not a schedule", "«@dialy»": "@daily", "@daily «x»": "nothing can follow", "«TZ=Europe/Berlin» 0 0 * * *": "timezone: Europe/Berlin", "«99999999999999999999» * * * *": "is not a minute",
		"«-1» * * * *": "", "«１» * * * *": "is not a minute", "* * * «jul»L *": "", "0 0 * * «MON-»": "",
	} {
		start, end := strings.Index(marked, "«"), strings.Index(marked, "»")-len("«")
		text := strings.NewReplacer("«", "", "»", "").Replace(marked)
		_, err := Parse(text)
		problem, ok := err.(*Error)
		if !ok {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if !strings.Contains(problem.Error(), want) {
			t.Errorf("%s: %v, want %q", text, problem, want)
		}
		if want != "" && (problem.Start != start || problem.End != max(end, start) && len(text) > 0 && problem.End != start+1) {
			t.Errorf("%s: at %d-%d, want %d-%d (%v)", text, problem.Start, problem.End, start, end, problem)
		}
	}
}

func TestRule17WhatIsFixed(t *testing.T) {
	for text, want := range map[string]bool{
		"30 2 * * 1": true, "0,30 2,4 * * *": true, "@daily": true, "@weekly": true, "@hourly": false, "*/30 2 * * *": false, "0 2-4 * * *": false, "0 * * * *": false, "5/10 2 * * *": false,
	} {
		if got := parsed(t, text).Fixed(); got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}

func BenchmarkNext(b *testing.B) {
	where := zone(b, "Europe/Berlin")
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, where)
	for _, text := range []string{"*/5 * * * *", "30 2 * * 1", "0 0 29 2 *"} {
		s := parsed(b, text)
		b.Run(fmt.Sprintf("%q", text), func(b *testing.B) {
			for b.Loop() {
				s.Next(at, where, DST{})
			}
		})
	}
}
