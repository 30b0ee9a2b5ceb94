package duration

import (
	"strings"
	"time"
)

// Text writes a duration for people: 30s, 5m, 1h30m.
func Text(d time.Duration) string {
	text := d.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, zero) {
			text = text[:len(text)-2]
		}
	}
	return text
}
