// Package duration reads durations as workflows, flowrun.yaml, tests and the command line write them. It is the only reader of that grammar:
// what one place takes, all take.
package duration

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Pattern is the grammar as a regular expression that Go and JavaScript read alike: numbers with ms, s, m, h or d ("1h30m", "7d"), or
// ISO 8601 without months and years ("PT20M", "P7D"). What it takes Parse takes too, unless it is 0 or longer than 292 years.
const Pattern = `^(?:(?:[0-9]+(?:ms|s|m|h|d))+|` + isoHead + `{1,9}` + isoTail + `)$`

// ISO 8601 before and behind the count of the digits that the seconds have after their point.
const (
	isoHead = `P(?:[0-9]+W|[0-9]+D|(?:[0-9]+D)?T(?:[0-9]+H|(?:[0-9]+H)?[0-9]+M|(?:[0-9]+H)?(?:[0-9]+M)?[0-9]+(?:\.[0-9]`
	isoTail = `)?S))`
)

// Parse reads a duration as an author writes it: greater than 0; a bare number is refused. The error is one sentence for the author, with the
// text in double quotes.
func Parse(text string) (time.Duration, error) {
	d, err := magnitude(text)
	if err == nil && d == 0 {
		return 0, fmt.Errorf("duration %s must be greater than 0", Quote(text))
	}
	return d, err
}

// Signed reads a duration as values hold it: it may also be 0 or have a minus sign in front. Errors are those of Parse.
func Signed(text string) (time.Duration, error) {
	rest, negative := strings.CutPrefix(text, "-")
	d, err := magnitude(rest)
	if negative {
		d = -d
	}
	return d, err
}

// Hint says what to do about a text that Parse refuses, "" where its error says enough: a bare number lacks its unit.
func Hint(text string) string {
	if strings.Trim(text, "0123456789") != "" || strings.Trim(text, "0") == "" || len(text) > 18 {
		return ""
	}
	return "a bare number has no unit: write `" + text + "s` for seconds"
}

// magnitude adds the parts up. It reads without the expression, which takes longer to compile than the durations of a project take to be read.
func magnitude(text string) (time.Duration, error) {
	amounts, ok := split(text)
	if !ok {
		return 0, fmt.Errorf("%s is not a duration; write 30s, 6h, 7d or PT20M", Quote(text))
	}
	if last := amounts[len(amounts)-1]; len(last.fraction) > 9 {
		return 0, fmt.Errorf("%s is finer than a nanosecond; write at most nine digits behind the point", Quote(text))
	}
	total := time.Duration(0)
	for _, a := range amounts {
		size := unit(a.unit)
		n, err := strconv.ParseInt(a.number, 10, 64)
		if err != nil || n > math.MaxInt64/int64(size) || total > math.MaxInt64-time.Duration(n)*size {
			return 0, fmt.Errorf("duration %s is too long", Quote(text))
		}
		total += time.Duration(n) * size
		if a.fraction == "" {
			continue
		}
		nanos, err := strconv.ParseInt((a.fraction + "00000000")[:9], 10, 64)
		if err != nil || total > math.MaxInt64-time.Duration(nanos) {
			return 0, fmt.Errorf("duration %s is too long", Quote(text))
		}
		total += time.Duration(nanos)
	}
	return total, nil
}

// amount is a number with its unit, and of seconds the digits behind their point.
type amount struct{ number, fraction, unit string }

// split reads the amounts of a duration in either form; ok is false where it has neither. Digits behind a point may be any number of them.
func split(text string) (amounts []amount, ok bool) {
	rest, iso := strings.CutPrefix(text, "P")
	units, clock := "smhd", "" // each any number of times
	if iso {
		timed := false
		units = "WD"
		if rest, clock, timed = strings.Cut(rest, "T"); timed == (clock == "") {
			return nil, false
		}
	}
	for rest != "" {
		a, behind, ok := next(rest, units)
		if !ok {
			return nil, false
		}
		amounts, rest = append(amounts, a), behind
	}
	if iso && (len(amounts) > 1 || clock != "" && len(amounts) == 1 && amounts[0].unit == "W") {
		return nil, false
	}
	for units = "HMS"; clock != ""; {
		a, behind, ok := next(clock, units)
		if !ok {
			return nil, false
		}
		amounts, clock = append(amounts, a), behind
		units = units[strings.Index(units, a.unit)+1:]
	}
	return amounts, len(amounts) > 0
}

// next reads the amount at the front of a text, in one of the units.
func next(text, units string) (a amount, rest string, ok bool) {
	rest = strings.TrimLeft(text, "0123456789")
	a.number = text[:len(text)-len(rest)]
	if point, found := strings.CutPrefix(rest, "."); found {
		rest = strings.TrimLeft(point, "0123456789")
		a.fraction = point[:len(point)-len(rest)]
		if a.fraction == "" || !strings.HasPrefix(rest, "S") {
			return a, "", false
		}
	}
	switch {
	case a.number == "" || rest == "" || !strings.Contains(units, rest[:1]):
		return a, "", false
	case strings.HasPrefix(rest, "ms"):
		a.unit = rest[:2]
	default:
		a.unit = rest[:1]
	}
	return a, rest[len(a.unit):], true
}

// unit is the length of a unit of either form: M is minutes, since months are not in the grammar.
func unit(name string) time.Duration {
	switch name {
	case "ms":
		return time.Millisecond
	case "s", "S":
		return time.Second
	case "m", "M":
		return time.Minute
	case "h", "H":
		return time.Hour
	case "W":
		return 7 * 24 * time.Hour
	}
	return 24 * time.Hour
}

// Quote shows a text in a message, cut to a readable length.
func Quote(text string) string {
	const most = 60
	if runes := []rune(text); len(runes) > most {
		text = string(runes[:most]) + "…"
	}
	return strconv.Quote(text)
}
