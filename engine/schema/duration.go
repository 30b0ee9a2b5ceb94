package schema

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// FormatDuration writes d so that duration.Signed reads it back: "1h30m", "500ms",
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
