package ratelimit_test

import (
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/ratelimit"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]ratelimit.Spec{
		"60/1m":     fixed(60, time.Minute),
		"60/10s":    fixed(60, 10*time.Second),
		"1/1h30m":   fixed(1, 90*time.Minute),
		"1000/1d":   fixed(1000, 24*time.Hour),
		"5/500ms":   fixed(5, 500*time.Millisecond),
		"100/1h":    fixed(100, time.Hour),
		"7/1h0m30s": fixed(7, time.Hour+30*time.Second),
	} {
		got, err := ratelimit.Parse(text)
		if err != nil || got != want {
			t.Errorf("Parse(%q) = %+v, %v", text, got, err)
		}
		if again, err := ratelimit.Parse(got.String()); err != nil || again != want {
			t.Errorf("Parse(%q) of String = %+v, %v", got.String(), again, err)
		}
	}
	for _, text := range []string{"", "60", "60/", "/1m", "0/1m", "-1/1m", "+1/1m", "60/0s", "60/-1m", "60/m", "60/1m/2", "6 0/1m", "60 / 1m", "1e3/1m", "9999999999999999999/1m", "60/99999999d"} {
		if got, err := ratelimit.Parse(text); err == nil {
			t.Errorf("Parse(%q) = %+v", text, got)
		}
	}
}
