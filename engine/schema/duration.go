package schema

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
)

var (
	plainDuration = regexp.MustCompile(`^(?:[0-9]+(?:ms|s|m|h|d))+$`)
	plainPart     = regexp.MustCompile(`([0-9]+)(ms|s|m|h|d)`)
	isoDuration   = regexp.MustCompile(`^P(?:([0-9]+)W|(?:([0-9]+)D)?(?:T(?:([0-9]+)H)?(?:([0-9]+)M)?(?:([0-9]+)(\.[0-9]{1,9})?S)?)?)$`)
)

// ParseDuration reads a duration as workflows write it: "30s", "7d", "1h30m" or
// ISO 8601 without months and years. Values of the engine may also be 0 or have
// a minus sign in front; what an author writes must be greater than 0, which
// Accept and FromScalar check.
func ParseDuration(text string) (time.Duration, error) {
	rest, negative := strings.CutPrefix(text, "-")
	total, err := parseDuration(rest)
	if err != nil {
		return 0, err
	}
	if negative {
		total = -total
	}
	return total, nil
}

func parseDuration(text string) (time.Duration, error) {
	var sum durationSum
	switch {
	case plainDuration.MatchString(text):
		for _, part := range plainPart.FindAllStringSubmatch(text, -1) {
			sum.add(part[1], durationUnit(part[2]))
		}
	case strings.HasPrefix(text, "P") && len(text) > 2 && !strings.HasSuffix(text, "T"):
		parts := isoDuration.FindStringSubmatch(text)
		if parts == nil {
			return 0, notDuration(text)
		}
		for i, unit := range []time.Duration{7 * 24 * time.Hour, 24 * time.Hour, time.Hour, time.Minute, time.Second} {
			sum.add(parts[i+1], unit)
		}
		if fraction := strings.TrimPrefix(parts[6], "."); fraction != "" {
			sum.add((fraction + "000000000")[:9], time.Nanosecond)
		}
	default:
		return 0, notDuration(text)
	}
	if sum.overflow {
		return 0, fmt.Errorf("duration %s is too long", quote(text))
	}
	return sum.total, nil
}

func notDuration(text string) error {
	return fmt.Errorf("%s is not a duration; write 30s, 6h, 7d or PT20M", quote(text))
}

func durationUnit(name string) time.Duration {
	switch name {
	case "ms":
		return time.Millisecond
	case "s":
		return time.Second
	case "m":
		return time.Minute
	case "h":
		return time.Hour
	}
	return 24 * time.Hour
}

type durationSum struct {
	total    time.Duration
	overflow bool
}

func (s *durationSum) add(digits string, unit time.Duration) {
	if digits == "" {
		return
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n > math.MaxInt64/int64(unit) || s.total > math.MaxInt64-time.Duration(n)*unit {
		s.overflow = true
		return
	}
	s.total += time.Duration(n) * unit
}

// FormatDuration writes d so that ParseDuration reads it back: "1h30m", "500ms",
// "0s", "-2h", and ISO 8601 ("PT0.0000015S") below a millisecond.
func FormatDuration(d time.Duration) string {
	if d < 0 {
		if d == math.MinInt64 {
			d++ // has no positive counterpart; one nanosecond in 292 years
		}
		return "-" + FormatDuration(-d)
	}
	if rest := d % time.Millisecond; rest != 0 {
		fraction := strings.TrimRight(fmt.Sprintf("%09d", d%time.Second), "0")
		return fmt.Sprintf("PT%d.%sS", d/time.Second, fraction)
	}
	var b strings.Builder
	for _, unit := range []struct {
		size time.Duration
		name string
	}{{time.Hour, "h"}, {time.Minute, "m"}, {time.Second, "s"}, {time.Millisecond, "ms"}} {
		if n := d / unit.size; n > 0 {
			fmt.Fprintf(&b, "%d%s", n, unit.name)
			d %= unit.size
		}
	}
	if b.Len() == 0 {
		return "0s"
	}
	return b.String()
}
