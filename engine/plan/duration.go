package plan

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

var (
	plainDuration = regexp.MustCompile(`^(?:[0-9]+(?:ms|s|m|h|d))+$`)
	plainPart     = regexp.MustCompile(`([0-9]+)(ms|s|m|h|d)`)
	isoDuration   = regexp.MustCompile(`^P(?:([0-9]+)W|(?:([0-9]+)D)?(?:T(?:([0-9]+)H)?(?:([0-9]+)M)?(?:([0-9]+(?:\.[0-9]+)?)S)?)?)$`)
)

// ParseDuration reads a duration of the language: numbers with ms, s, m, h or d
// ("1h30m", "7d"), or ISO 8601 without months and years ("PT20M", "P7D"). It
// must be greater than 0; a bare number is refused.
func ParseDuration(text string) (time.Duration, error) {
	var total time.Duration
	var err error
	switch {
	case plainDuration.MatchString(text):
		total, err = parsePlainDuration(text)
	case isoDuration.MatchString(text) && strings.ContainsAny(text, "0123456789") && !strings.HasSuffix(text, "T"):
		total, err = parseISODuration(text)
	default:
		return 0, fmt.Errorf("%q is not a duration; write 30s, 6h, 7d or PT20M", text)
	}
	if err != nil {
		return 0, err
	}
	if total <= 0 {
		return 0, fmt.Errorf("duration %q must be greater than 0", text)
	}
	return total, nil
}

func parsePlainDuration(text string) (time.Duration, error) {
	units := map[string]time.Duration{
		"ms": time.Millisecond, "s": time.Second, "m": time.Minute, "h": time.Hour, "d": 24 * time.Hour,
	}
	var total time.Duration
	for _, part := range plainPart.FindAllStringSubmatch(text, -1) {
		amount, err := scaled(part[1], units[part[2]], text)
		if err != nil {
			return 0, err
		}
		if total += amount; total < 0 {
			return 0, fmt.Errorf("duration %q is too long", text)
		}
	}
	return total, nil
}

func parseISODuration(text string) (time.Duration, error) {
	parts := isoDuration.FindStringSubmatch(text)
	var total time.Duration
	for i, unit := range []time.Duration{7 * 24 * time.Hour, 24 * time.Hour, time.Hour, time.Minute} {
		if parts[i+1] == "" {
			continue
		}
		amount, err := scaled(parts[i+1], unit, text)
		if err != nil {
			return 0, err
		}
		if total += amount; total < 0 {
			return 0, fmt.Errorf("duration %q is too long", text)
		}
	}
	if parts[5] != "" {
		seconds, err := time.ParseDuration(parts[5] + "s")
		if err != nil {
			return 0, fmt.Errorf("duration %q is too long", text)
		}
		if total += seconds; total < 0 {
			return 0, fmt.Errorf("duration %q is too long", text)
		}
	}
	return total, nil
}

func scaled(digits string, unit time.Duration, text string) (time.Duration, error) {
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n > int64(1<<63-1)/int64(unit) {
		return 0, fmt.Errorf("duration %q is too long", text)
	}
	return time.Duration(n) * unit, nil
}
