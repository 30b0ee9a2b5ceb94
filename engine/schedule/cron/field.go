package cron

import (
	"fmt"
	"strings"

	"github.com/flowrun/flowrun/engine/diag"
)

// kind is one of the five fields.
type kind struct {
	name        string
	least, most int
	names       []string // from the least on
	set         func(*Schedule) *uint64
}

func fields() [5]kind {
	return [5]kind{
		{"minute", 0, 59, nil, func(s *Schedule) *uint64 { return &s.minutes }},
		{"hour", 0, 23, nil, func(s *Schedule) *uint64 { return &s.hours }},
		{"day of month", 1, 31, nil, func(s *Schedule) *uint64 { return &s.days }},
		{"month", 1, 12, []string{"JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"}, func(s *Schedule) *uint64 { return &s.months }},
		{"day of week", 0, 7, []string{"SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"}, func(s *Schedule) *uint64 { return &s.weekday }},
	}
}

func (f kind) article() string {
	if f.name == "hour" {
		return "an hour"
	}
	return "a " + f.name
}

const (
	dayOfMonth = "day of month"
	dayOfWeek  = "day of week"
)

// field reads one field, a list of parts.
func (s *Schedule) field(f kind, whole word) *Error {
	at := whole.at
	for _, text := range strings.Split(whole.text, ",") {
		if problem := s.part(f, word{text, at}); problem != nil {
			return problem
		}
		at += len(text) + 1
	}
	star := strings.HasPrefix(whole.text, "*")
	switch f.name {
	case dayOfMonth:
		s.anyDay = star
	case dayOfWeek:
		s.anyOfWeek = star
		if s.weekday&(1<<7) != 0 {
			s.weekday = s.weekday&^(1<<7) | 1
		}
	}
	return nil
}

func (f kind) problem(w word, format string, args ...any) *Error {
	return &Error{Start: w.at, End: w.at + max(len(w.text), 1), Message: fmt.Sprintf(format, args...)}
}

// part reads one part of a list.
func (s *Schedule) part(f kind, w word) *Error {
	if w.text == "" {
		return f.problem(w, "a value is missing in the %s", f.name)
	}
	if done, problem := s.special(f, w); done || problem != nil {
		return problem
	}
	body, stepText, stepped := strings.Cut(w.text, "/")
	step := 1
	if stepped {
		at := word{stepText, w.at + len(body) + 1}
		n, ok := number(stepText)
		switch size := f.most - f.least + 1; {
		case !ok || n == 0:
			return f.problem(at, "the step of the %s must be a number greater than 0", f.name)
		case n >= size && f.name != dayOfWeek || n > 6 && f.name == dayOfWeek:
			problem := f.problem(at, "the step %d is longer than the %s goes", n, f.name)
			if f.name == "minute" || f.name == "hour" {
				problem.Hint = diag.Sayf("write the trigger `every: %d%s`", n, f.name[:1])
			}
			return problem
		}
		step = n
	}
	from, to, problem := f.bounds(word{body, w.at}, stepped)
	if problem != nil {
		return problem
	}
	set := f.set(s)
	for n := from; n <= to; n += step {
		*set |= 1 << n
	}
	return nil
}

// bounds reads `*`, `a` or `a-b`. With a step a single value goes on to the end.
func (f kind) bounds(w word, stepped bool) (from, to int, problem *Error) {
	last := f.most
	if f.name == dayOfWeek {
		last = 6
	}
	if w.text == "*" {
		return f.least, last, nil
	}
	first, second, isRange := strings.Cut(w.text, "-")
	if from, problem = f.value(word{first, w.at}); problem != nil {
		return 0, 0, problem
	}
	if !isRange {
		if stepped {
			return from, max(last, from), nil
		}
		return from, from, nil
	}
	if to, problem = f.value(word{second, w.at + len(first) + 1}); problem != nil {
		return 0, 0, problem
	}
	if f.name == dayOfWeek && to == 0 && from > 0 {
		to = 7 // FRI-SUN
	}
	if from > to {
		return 0, 0, f.problem(w, "the range `%s` goes backwards", w.text).
			hint("write `%s-%d,%d-%s`", first, last, f.least, second)
	}
	return from, to, nil
}

// value reads a number or a name.
func (f kind) value(w word) (int, *Error) {
	for i, name := range f.names {
		if strings.EqualFold(name, w.text) {
			return f.least + i, nil
		}
	}
	n, ok := number(w.text)
	if ok && n >= f.least && n <= f.most {
		return n, nil
	}
	if ok {
		return 0, f.problem(w, "%d is not %s", n, f.article()).hint("it goes from %d to %d", f.least, f.most)
	}
	problem := f.problem(w, "`%s` is not %s", w.text, f.article())
	switch {
	case w.text == "":
		problem.Message = "a value is missing in the " + f.name
	case w.text == "?":
		problem.Hint = diag.Say("write `*`")
	case f.names != nil:
		problem.Hint = diag.Sayf("it is a number from %d to %d or one of %s", f.least, f.most, strings.Join(f.names, ", "))
	default:
		problem.Hint = diag.Sayf("it is a number from %d to %d", f.least, f.most)
	}
	return 0, problem
}

// special reads the parts with L, W and #; false when the part is none.
func (s *Schedule) special(f kind, w word) (bool, *Error) {
	upper := strings.ToUpper(w.text)
	switch {
	case strings.Contains(upper, "#"):
		return true, s.nthWeekday(f, w)
	case f.name == dayOfMonth && upper == "L":
		s.lastDays |= 1
		return true, nil
	case f.name == dayOfMonth && (upper == "LW" || upper == "WL"):
		s.lastWork = true
		return true, nil
	case f.name == dayOfMonth && strings.HasPrefix(upper, "L-"):
		n, ok := number(upper[2:])
		if !ok || n < 1 || n > 30 {
			return true, f.problem(w, "`%s` is not a day before the last", w.text).hint("it goes from L-1 to L-30")
		}
		s.lastDays |= 1 << n
		return true, nil
	case strings.HasSuffix(upper, "W") && len(upper) > 1 && upper[0] >= '0' && upper[0] <= '9':
		return true, s.nearestWeekday(f, w)
	case strings.HasSuffix(upper, "L") && upper != "JUL":
		return true, s.lastWeekday(f, w)
	}
	return false, nil
}

func (s *Schedule) nearestWeekday(f kind, w word) *Error {
	if f.name != dayOfMonth {
		return f.problem(w, "`W` belongs to the day of month, not to the %s", f.name)
	}
	day, problem := f.value(word{w.text[:len(w.text)-1], w.at})
	if problem != nil {
		return problem
	}
	s.nearest |= 1 << day
	return nil
}

func (s *Schedule) lastWeekday(f kind, w word) *Error {
	switch {
	case f.name == dayOfMonth:
		return f.problem(w, "`%s` is not a day of month", w.text).hint("`L` is the last day, `L-3` the third before it, `LW` the last weekday")
	case f.name != dayOfWeek:
		return f.problem(w, "`L` belongs to the days, not to the %s", f.name)
	case len(w.text) == 1:
		return f.problem(w, "`L` in the day of week needs a day").hint("`5L` is the last Friday of the month; Saturday is 6")
	}
	day, problem := f.value(word{w.text[:len(w.text)-1], w.at})
	if problem != nil {
		return problem
	}
	s.lastOf |= 1 << (day % 7)
	return nil
}

func (s *Schedule) nthWeekday(f kind, w word) *Error {
	if f.name != dayOfWeek {
		return f.problem(w, "`#` belongs to the day of week, not to the %s", f.name)
	}
	dayText, nthText, _ := strings.Cut(w.text, "#")
	day, problem := f.value(word{dayText, w.at})
	if problem != nil {
		return problem
	}
	n, ok := number(nthText)
	if !ok || n < 1 || n > 5 {
		return f.problem(word{nthText, w.at + len(dayText) + 1}, "the number after `#` goes from 1 to 5").hint("`5#2` is the second Friday of the month")
	}
	s.nth[day%7] |= 1 << n
	return nil
}
