package importer

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/flowrun/flowrun/engine/duration"
)

var zoneName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z]+(?:[/_+-][A-Za-z0-9_+-]+)*$`)
})

func knownZone(name string) bool { return zoneName().MatchString(name) && len(name) < 64 }

func isDuration(text string) error {
	if _, err := duration.Parse(text); err != nil {
		return fmt.Errorf("`%s` is no duration", oneLine(text))
	}
	return nil
}

// durationOf makes a duration of what products write: 90, "2m", 1h30m, PT30S, "1.5h". A
// bare number counts units of unit.
func durationOf(text, unit string) (string, bool) {
	text = strings.TrimSpace(text)
	if isInteger(text) && text != "0" {
		text += unit
	}
	if isDuration(text) == nil {
		return text, true
	}
	// A fraction, or a unit that flowrun has not got.
	if len(text) > 1 && len(text) < 12 {
		unit := map[string]float64{"s": 1, "m": 60, "h": 3600, "d": 86400}[text[len(text)-1:]]
		if n, err := strconv.ParseFloat(text[:len(text)-1], 64); err == nil && unit > 0 && n > 0 && n < 1e6 {
			whole := int(n * unit)
			return strconv.Itoa(whole) + "s", whole > 0
		}
	}
	return "", false
}
