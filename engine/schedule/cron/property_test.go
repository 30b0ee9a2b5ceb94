package cron

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// drawn is a schedule of which the sets are known without the parser.
type drawn struct {
	text           string
	minutes, hours []int
	fixed          bool
}

func drawSchedule(t *rapid.T) drawn {
	d := drawn{fixed: true}
	set := func(name string, most int) ([]int, string) {
		switch rapid.IntRange(0, 3).Draw(t, name+" form") {
		case 0:
			d.fixed = false
			return upTo(0, most, 1), "*"
		case 1:
			d.fixed = false
			step := rapid.IntRange(1, most/2).Draw(t, name+" step")
			return upTo(0, most, step), fmt.Sprintf("*/%d", step)
		case 2:
			d.fixed = false
			from := rapid.IntRange(0, most).Draw(t, name+" from")
			to := rapid.IntRange(from, most).Draw(t, name+" to")
			return upTo(from, to, 1), fmt.Sprintf("%d-%d", from, to)
		}
		values := rapid.SliceOfN(rapid.IntRange(0, most), 1, 4).Draw(t, name+" list")
		texts := make([]string, len(values))
		for i, v := range values {
			texts[i] = fmt.Sprint(v)
		}
		return values, strings.Join(texts, ",")
	}
	var minute, hour string
	d.minutes, minute = set("minute", 59)
	d.hours, hour = set("hour", 23)
	d.text = minute + " " + hour + " * * *"
	return d
}

func upTo(from, to, step int) []int {
	var out []int
	for n := from; n <= to; n += step {
		out = append(out, n)
	}
	return out
}

func (d drawn) on(wall time.Time) bool {
	return slices.Contains(d.minutes, wall.Minute()) && slices.Contains(d.hours, wall.Hour())
}

// expected goes through every minute of a stretch, and for fixed times through
// every time of its days: all that a person would do with a clock and a
// calendar.
func (d drawn) expected(from, to time.Time, dst DST) []time.Time {
	clock := func(t time.Time) time.Time { // what a clock on the wall shows, as a time of UTC
		return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), 0, 0, time.UTC)
	}
	shown := map[time.Time][]time.Time{}
	var all []time.Time
	for t := from.Add(-50 * time.Hour); t.Before(to.Add(50 * time.Hour)); t = t.Add(time.Minute) {
		all = append(all, t)
		shown[clock(t)] = append(shown[clock(t)], t)
	}
	var out []time.Time
	for at := clock(from).Add(-26 * time.Hour); at.Before(clock(to).Add(26 * time.Hour)); at = at.Add(time.Minute) {
		if !d.on(at) {
			continue
		}
		switch times := shown[at]; {
		case len(times) > 1 && d.fixed && dst.Repeated != RunTwice:
			out = append(out, times[0])
		case len(times) > 0:
			out = append(out, times...)
		case d.fixed && dst.Skipped != Skip:
			if i := slices.IndexFunc(all, func(t time.Time) bool { return clock(t).After(at) }); i >= 0 {
				out = append(out, all[i])
			}
		}
	}
	out = slices.DeleteFunc(out, func(t time.Time) bool { return !t.After(from) || !t.Before(to) })
	slices.SortFunc(out, time.Time.Compare)
	return slices.CompactFunc(out, time.Time.Equal)
}

// TestRule17EveryFireAsOnTheWall compares Next with a walk through every minute
// around changes of the clock in six zones.
func TestRule17EveryFireAsOnTheWall(t *testing.T) {
	changes := map[string][]string{
		"Europe/Berlin": {"2026-03-29", "2026-10-25", "2026-06-01"}, "America/New_York": {"2026-03-08", "2026-11-01"}, "Australia/Lord_Howe": {"2026-04-05", "2026-10-04"},
		"Pacific/Apia": {"2011-12-30", "2011-09-24"}, "America/Sao_Paulo": {"2018-11-04", "2018-02-18"}, "Asia/Gaza": {"2026-03-28", "2026-10-24"}, "UTC": {"2028-02-29"},
	}
	zones := make([]string, 0, len(changes))
	for name := range changes {
		zones = append(zones, name)
	}
	slices.Sort(zones)
	rapid.Check(t, func(t *rapid.T) {
		d := drawSchedule(t)
		name := rapid.SampledFrom(zones).Draw(t, "zone")
		where, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		day, err := time.ParseInLocation(time.DateOnly, rapid.SampledFrom(changes[name]).Draw(t, "day"), where)
		if err != nil {
			t.Fatal(err)
		}
		dst := DST{
			Skipped:  rapid.SampledFrom([]SkippedTime{"", RunAfter, Skip}).Draw(t, "skipped"),
			Repeated: rapid.SampledFrom([]RepeatedTime{"", RunOnce, RunTwice}).Draw(t, "repeated"),
		}
		s, err := Parse(d.text)
		if err != nil || s.Fixed() != d.fixed {
			t.Fatalf("%s: %v, fixed %v", d.text, err, s.Fixed())
		}
		from, to := day.Add(-12*time.Hour), day.Add(30*time.Hour)
		var got []time.Time
		for at := from; ; {
			next, ok := s.Next(at, where, dst)
			if !ok || !next.Before(to) {
				break
			}
			if !next.After(at) {
				t.Fatalf("%s: %v is not after %v", d.text, next, at)
			}
			got = append(got, next)
			at = next
		}
		if diff := cmp.Diff(d.expected(from, to, dst), got); diff != "" {
			t.Errorf("%s in %s from %v (-want +got)\n%s", d.text, name, from, diff)
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"30 2 * * 1", "*/5 8-17/2 1,15,L,L-3,LW,15W JAN-MAR,jul MON#2,5L,SUN", "@daily", "@every 5m", "0 0 30 2 *", "", "TZ=UTC * * * * *", "0 0 29 2 */6"} {
		f.Add(seed, int64(1_770_000_000))
	}
	berlin := zone(f, "Europe/Berlin")
	f.Fuzz(func(t *testing.T, text string, seconds int64) {
		s, err := Parse(text)
		if err != nil {
			problem, ok := err.(*Error)
			if !ok || problem.Start < 0 || problem.Start > len(text) || problem.End < problem.Start || problem.Message == "" {
				t.Fatalf("%q: %#v", text, err)
			}
			return
		}
		after := time.Unix(seconds%4_000_000_000, 0)
		next, ok := s.Next(after, berlin, DST{})
		if !ok || !next.After(after) || next.Second() != 0 {
			t.Fatalf("%q after %v: %v %v", text, after, next, ok)
		}
		if again, err := Parse(s.String()); err != nil || again.text != s.text {
			t.Fatalf("%q: not read again: %v", text, err)
		}
	})
}
