package cron

import (
	"maps"
	"slices"
	"testing"
	"time"
)

// The days on which clocks change, told by hand: what the calendars of the
// countries say, not what the code gives.
func TestRule17DaysOnWhichClocksChange(t *testing.T) {
	for name, c := range map[string]struct {
		text, zone, after string
		dst               DST
		want              []string
	}{
		"New York, spring: 02:30 does not exist and runs at 03:00":                  {"30 2 * * *", "America/New_York", "2026-03-07 12:00", DST{}, []string{"2026-03-08 03:00 EDT", "2026-03-09 02:30 EDT"}},
		"New York, spring: 02:30 is left out where the rule says so":                {"30 2 * * *", "America/New_York", "2026-03-07 12:00", DST{Skipped: Skip}, []string{"2026-03-09 02:30 EDT"}},
		"New York, spring: every half hour has no 02:00 and 02:30":                  {"*/30 * * * *", "America/New_York", "2026-03-08 01:00", DST{}, []string{"2026-03-08 01:30 EST", "2026-03-08 03:00 EDT", "2026-03-08 03:30 EDT"}},
		"New York, autumn: 01:30 runs once, the first time":                         {"30 1 * * *", "America/New_York", "2026-10-31 12:00", DST{}, []string{"2026-11-01 01:30 EDT", "2026-11-02 01:30 EST"}},
		"New York, autumn: 01:30 runs twice where the rule says so":                 {"30 1 * * *", "America/New_York", "2026-10-31 12:00", DST{Repeated: RunTwice}, []string{"2026-11-01 01:30 EDT", "2026-11-01 01:30 EST"}},
		"New York, autumn: every half hour goes on through both hours":              {"*/30 * * * *", "America/New_York", "2026-11-01 00:30", DST{}, []string{"2026-11-01 01:00 EDT", "2026-11-01 01:30 EDT", "2026-11-01 01:00 EST", "2026-11-01 01:30 EST", "2026-11-01 02:00 EST"}},
		"New York, autumn: 01:30 asked for between the two waits for the next day":  {"30 1 * * *", "America/New_York", "2026-11-01 02:00", DST{}, []string{"2026-11-02 01:30 EST"}},
		"Berlin, spring: two times in the gap are one fire":                         {"0,30 2 * * *", "Europe/Berlin", "2026-03-28 12:00", DST{}, []string{"2026-03-29 03:00 CEST", "2026-03-30 02:00 CEST"}},
		"Berlin, spring: a time in the gap and the one after it are one fire":       {"0 2,3 * * *", "Europe/Berlin", "2026-03-28 12:00", DST{}, []string{"2026-03-29 03:00 CEST", "2026-03-30 02:00 CEST"}},
		"Berlin, spring: a range of hours is not fixed and fires on real times":     {"30 1-3 * * *", "Europe/Berlin", "2026-03-29 00:00", DST{}, []string{"2026-03-29 01:30 CET", "2026-03-29 03:30 CEST"}},
		"Berlin, autumn: 02:30 once; 03:00 is not repeated":                         {"30 2,3 * * *", "Europe/Berlin", "2026-10-24 12:00", DST{}, []string{"2026-10-25 02:30 CEST", "2026-10-25 03:30 CET", "2026-10-26 02:30 CET"}},
		"Berlin, autumn: every 20 minutes of the hour that comes twice":             {"*/20 2 * * *", "Europe/Berlin", "2026-10-25 00:00", DST{}, []string{"2026-10-25 02:00 CEST", "2026-10-25 02:20 CEST", "2026-10-25 02:40 CEST", "2026-10-25 02:00 CET", "2026-10-25 02:20 CET", "2026-10-25 02:40 CET"}},
		"Berlin, autumn: midnight is the same as ever":                              {"@daily", "Europe/Berlin", "2026-10-24 12:00", DST{}, []string{"2026-10-25 00:00 CEST", "2026-10-26 00:00 CET"}},
		"Cairo, spring: midnight itself does not exist":                             {"0 0 * * *", "Africa/Cairo", "2026-04-23 12:00", DST{}, []string{"2026-04-24 01:00 EEST", "2026-04-25 00:00 EEST"}},
		"Cairo, spring: midnight of that Friday is left out where the rule says so": {"0 0 * * 5", "Africa/Cairo", "2026-04-18 00:00", DST{Skipped: Skip}, []string{"2026-05-01 00:00 EEST"}},
		"Cairo, spring: every quarter of the hour 0 has none that day":              {"*/15 0 * * *", "Africa/Cairo", "2026-04-23 01:00", DST{}, []string{"2026-04-25 00:00 EEST"}},
		"Cairo, autumn: 23:30 comes twice on the Thursday":                          {"30 23 * * *", "Africa/Cairo", "2026-10-29 12:00", DST{}, []string{"2026-10-29 23:30 EEST", "2026-10-30 23:30 EET"}},
		"Cairo, autumn: 23:30 twice where the rule says so":                         {"30 23 * * *", "Africa/Cairo", "2026-10-29 12:00", DST{Repeated: RunTwice}, []string{"2026-10-29 23:30 EEST", "2026-10-29 23:30 EET"}},
		"Lord Howe, spring: the gap is half an hour, 02:15 runs at 02:30":           {"15 2 * * *", "Australia/Lord_Howe", "2026-10-03 12:00", DST{}, []string{"2026-10-04 02:30 +11", "2026-10-05 02:15 +11"}},
		"Lord Howe, spring: 02:30 is there and 02:00 joins it":                      {"0,30 2 * * *", "Australia/Lord_Howe", "2026-10-03 12:00", DST{}, []string{"2026-10-04 02:30 +11", "2026-10-05 02:00 +11"}},
		"Lord Howe, autumn: 01:45 comes twice, 01:15 once":                          {"15,45 1 * * *", "Australia/Lord_Howe", "2026-04-04 12:00", DST{Repeated: RunTwice}, []string{"2026-04-05 01:15 +11", "2026-04-05 01:45 +11", "2026-04-05 01:45 +1030", "2026-04-06 01:15 +1030"}},
		"Lord Howe, autumn: every quarter sees the half hour again":                 {"*/15 1 * * *", "Australia/Lord_Howe", "2026-04-05 01:10", DST{}, []string{"2026-04-05 01:15 +11", "2026-04-05 01:30 +11", "2026-04-05 01:45 +11", "2026-04-05 01:30 +1030", "2026-04-05 01:45 +1030"}},
		"Apia: a whole day does not exist":                                          {"30 12 30 12 *", "Pacific/Apia", "2011-12-01 00:00", DST{}, []string{"2011-12-31 00:00 +14", "2012-12-30 12:30 +14"}},
	} {
		if got := fires(t, c.text, c.zone, c.after, len(c.want), c.dst); !slices.Equal(got, c.want) {
			t.Errorf("%s\n got %q\nwant %q", name, got, c.want)
		}
	}
}

func TestRule17NotesSayWhatAChangeOfTheClockDoes(t *testing.T) {
	for _, c := range []struct {
		text, after, want string
		dst               DST
	}{
		{"30 2 * * *", "2026-03-28 12:00", "02:30 does not exist on 2026-03-29: this is the first minute after the gap", DST{}},
		{"30 2 * * *", "2026-03-28 12:00", "02:30 does not exist on 2026-03-29: it is left out", DST{Skipped: Skip}},
		{"*/30 2 * * *", "2026-03-28 12:00", "02:00, 02:30 do not exist on 2026-03-29: they are left out", DST{}},
		{"*/5 * * * *", "2026-03-29 01:55", "02:00, 02:05, 02:10 and others do not exist on 2026-03-29: they are left out", DST{}},
		{"30 2 * * *", "2026-03-29 12:00", "", DST{}},
		{"30 2 * * *", "2026-10-24 12:00", "02:30 comes twice on this day: this is the first, and the only one that fires", DST{}},
		{"30 2 * * *", "2026-10-24 12:00", "02:30 comes twice on this day: this is the first", DST{Repeated: RunTwice}},
		{"0 * * * *", "2026-10-25 01:00", "02:00 comes twice on this day: this is the first", DST{}},
		{"0 9 * * *", "2026-03-28 12:00", "", DST{}},
		{"0 9 * * *", "2026-10-24 12:00", "", DST{}},
	} {
		where := zone(t, "Europe/Berlin")
		after, err := time.ParseInLocation("2006-01-02 15:04", c.after, where)
		if err != nil {
			t.Fatal(err)
		}
		s := parsed(t, c.text)
		fire, _ := s.Next(after, where, c.dst)
		if got := s.Note(after, fire, where, c.dst); got != c.want {
			t.Errorf("%s %v after %s:\n got %q\nwant %q", c.text, c.dst, c.after, got, c.want)
		}
	}
	where := zone(t, "Europe/Berlin")
	second := time.Date(2026, 10, 25, 1, 30, 0, 0, time.UTC)
	if got, want := parsed(t, "30 2 * * *").Note(second.Add(-time.Hour), second, where, DST{Repeated: RunTwice}), "02:30 comes twice on this day: this is the second"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// wallClock is a stretch of time as a person would write it down who looks at a
// clock on the wall every minute.
type wallClock struct {
	minutes []time.Time
	shown   map[int64][]int // what the clock shows, as a time of UTC in minutes: which minutes
}

func watchClock(from, to time.Time) wallClock {
	w := wallClock{shown: map[int64][]int{}}
	for at := from; at.Before(to); at = at.Add(time.Minute) {
		shown := onTheWall(at).Unix() / 60
		w.shown[shown] = append(w.shown[shown], len(w.minutes))
		w.minutes = append(w.minutes, at)
	}
	return w
}

func onTheWall(at time.Time) time.Time {
	return time.Date(at.Year(), at.Month(), at.Day(), at.Hour(), at.Minute(), 0, 0, time.UTC)
}

// wanted goes through all times of the calendar, those that the clock never shows
// too, and returns those that a schedule names.
func (w wallClock) wanted(names func(time.Time) bool) (times []time.Time) {
	first, last := onTheWall(w.minutes[0]), onTheWall(w.minutes[len(w.minutes)-1])
	for at := first; !at.After(last); at = at.Add(time.Minute) {
		if names(at) {
			times = append(times, at)
		}
	}
	return times
}

// fires does what the rule says of each time of the calendar that is wanted.
func (w wallClock) fires(wanted []time.Time, fixed bool, dst DST) []time.Time {
	found := map[int]bool{}
	for _, at := range wanted {
		shown := w.shown[at.Unix()/60]
		switch {
		case len(shown) > 0 && fixed && dst.Repeated != RunTwice:
			found[shown[0]] = true
		case len(shown) > 0:
			for _, i := range shown {
				found[i] = true
			}
		case fixed && dst.Skipped != Skip:
			found[slices.IndexFunc(w.minutes, func(t time.Time) bool { return onTheWall(t).After(at) })] = true
		}
	}
	delete(found, -1) // a time after the stretch
	var out []time.Time
	for _, i := range slices.Sorted(maps.Keys(found)) {
		out = append(out, w.minutes[i])
	}
	return out
}

// changesOf lists the changes of a zone's clock in [from, to).
func changesOf(where *time.Location, from, to time.Time) []time.Time {
	var out []time.Time
	for at := from; ; {
		_, end := at.In(where).ZoneBounds()
		if end.IsZero() || !end.Before(to) {
			return out
		}
		out = append(out, end)
		at = end
	}
}

// TestRule17EveryChangeOfTenYears compares Next with the clock on the wall around
// every change of the clock from 2016 to 2026 in twenty zones. On the way it holds
// that times rise, and that no fixed time of the calendar fires twice.
func TestRule17EveryChangeOfTenYears(t *testing.T) {
	zones := []string{
		"Africa/Cairo", "Africa/Casablanca", "America/Asuncion", "America/Havana", "America/New_York", "America/Santiago", "America/Sao_Paulo",
		"America/St_Johns", "America/Nuuk", "Antarctica/Troll", "Asia/Amman", "Asia/Beirut", "Asia/Gaza", "Asia/Pyongyang", "Asia/Tehran",
		"Australia/Lord_Howe", "Europe/Berlin", "Europe/Dublin", "Pacific/Chatham", "Pacific/Norfolk",
	}
	hours := func(hs ...int) func(time.Time) bool {
		return func(t time.Time) bool { return slices.Contains(hs, t.Hour()) }
	}
	texts := []struct {
		text   string
		fixed  bool
		wanted func(time.Time) bool
	}{
		{"30 2 * * *", true, func(t time.Time) bool { return t.Minute() == 30 && t.Hour() == 2 }},
		{"0 0 * * *", true, func(t time.Time) bool { return t.Minute() == 0 && t.Hour() == 0 }},
		{"0,15,45 0,1,2,3,23 * * *", true, func(t time.Time) bool {
			return slices.Contains([]int{0, 15, 45}, t.Minute()) && hours(0, 1, 2, 3, 23)(t)
		}},
		{"30 23 * * 0,6", true, func(t time.Time) bool {
			return t.Minute() == 30 && t.Hour() == 23 && (t.Weekday() == time.Sunday || t.Weekday() == time.Saturday)
		}},
		{"*/20 * * * *", false, func(t time.Time) bool { return t.Minute()%20 == 0 }},
		{"10-12 1-3 * * *", false, func(t time.Time) bool { return t.Minute() >= 10 && t.Minute() <= 12 && hours(1, 2, 3)(t) }},
	}
	checked := 0
	for _, name := range zones {
		where := zone(t, name)
		for _, change := range changesOf(where, time.Date(2016, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)) {
			from, to := change.Add(-30*time.Hour).In(where), change.Add(30*time.Hour).In(where)
			clock := watchClock(from.Add(-26*time.Hour), to.Add(26*time.Hour))
			for _, c := range texts {
				wanted := clock.wanted(c.wanted)
				for _, dst := range []DST{{}, {Skipped: Skip}, {Repeated: RunTwice}} {
					want := slices.DeleteFunc(clock.fires(wanted, c.fixed, dst), func(t time.Time) bool { return !t.After(from) || !t.Before(to) })
					holdNext(t, parsed(t, c.text), dst, from, to, want)
					checked++
				}
			}
		}
	}
	if checked < 4_000 {
		t.Errorf("only %d stretches were compared", checked)
	}
}

// holdNext compares what Next gives in (from, to) with what is wanted.
func holdNext(t *testing.T, s *Schedule, dst DST, from, to time.Time, want []time.Time) {
	t.Helper()
	var got []time.Time
	civil := map[time.Time]bool{}
	for at := from; ; {
		next, ok := s.Next(at, from.Location(), dst)
		if !ok || !next.Before(to) {
			break
		}
		if !next.After(at) {
			t.Fatalf("%s in %v: %v is not after %v", s, from.Location(), next, at)
		}
		if wall := onTheWall(next); s.Fixed() && dst.Repeated != RunTwice && civil[wall] {
			t.Errorf("%s in %v: %v fires twice", s, from.Location(), next)
		} else {
			civil[wall] = true
		}
		got = append(got, next)
		at = next
	}
	if !slices.EqualFunc(got, want, time.Time.Equal) {
		t.Errorf("%s in %v %v from %v\n got %v\nwant %v", s, from.Location(), dst, from, got, want)
	}
}

// TestControlTheWallSeesAWrongRule: the comparison above notices a schedule that
// fires by another rule than it should.
func TestControlTheWallSeesAWrongRule(t *testing.T) {
	where := zone(t, "Europe/Berlin")
	change := time.Date(2026, 10, 25, 1, 0, 0, 0, time.UTC)
	from, to := change.Add(-30*time.Hour).In(where), change.Add(30*time.Hour).In(where)
	clock := watchClock(from.Add(-26*time.Hour), to.Add(26*time.Hour))
	at230 := func(t time.Time) bool { return t.Minute() == 30 && t.Hour() == 2 }
	wanted := clock.wanted(at230)
	once, twice := clock.fires(wanted, true, DST{}), clock.fires(wanted, true, DST{Repeated: RunTwice})
	if len(twice) != len(once)+1 {
		t.Errorf("once %v, twice %v", once, twice)
	}
	asReal := clock.fires(wanted, false, DST{})
	if slices.EqualFunc(once, asReal, time.Time.Equal) {
		t.Error("a schedule that is not fixed looks like a fixed one")
	}
}
