// Package duration reads durations as workflows, flowrun.yaml, tests and the command line write them. It is the only reader of that grammar:
// what one place takes, all take.
package duration

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"sync"
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

var (
	whole = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(Pattern) })
	finer = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^` + isoHead + `+` + isoTail + `$`) })
	part  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`([0-9]+)(?:\.([0-9]+))?(ms|[smhdWDHMS])`) })
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

// magnitude adds the parts up.
func magnitude(text string) (time.Duration, error) {
	switch {
	case whole().MatchString(text):
	case finer().MatchString(text):
		return 0, fmt.Errorf("%s is finer than a nanosecond; write at most nine digits behind the point", Quote(text))
	default:
		return 0, fmt.Errorf("%s is not a duration; write 30s, 6h, 7d or PT20M", Quote(text))
	}
	total := time.Duration(0)
	for _, found := range part().FindAllStringSubmatch(text, -1) {
		size := unit(found[3])
		n, err := strconv.ParseInt(found[1], 10, 64)
		if err != nil || n > math.MaxInt64/int64(size) || total > math.MaxInt64-time.Duration(n)*size {
			return 0, fmt.Errorf("duration %s is too long", Quote(text))
		}
		total += time.Duration(n) * size
		if found[2] == "" {
			continue
		}
		nanos, err := strconv.ParseInt((found[2] + "00000000")[:9], 10, 64)
		if err != nil || total > math.MaxInt64-time.Duration(nanos) {
			return 0, fmt.Errorf("duration %s is too long", Quote(text))
		}
		total += time.Duration(nanos)
	}
	return total, nil
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
