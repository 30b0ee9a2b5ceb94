package pluginhost

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
)

// TestNamesAreWhatThePatternSays compares what is read without an expression with the expression.
func TestNamesAreWhatThePatternSays(t *testing.T) {
	for pattern, is := range map[string]func(string) bool{
		`^[a-z][a-z0-9_-]{0,62}$`: func(text string) bool { return isName(text, nameLetters+"-") },
		`^[a-z][a-z0-9_]{0,62}$`:  validAction,
		`^[0-9a-f]{64}$`:          isDigest,
	} {
		expression, random, taken := regexp.MustCompile(pattern), rand.New(rand.NewPCG(1, 2)), 0
		parts := []string{"a", "z", "9", "_", "-", "A", ".", " ", "\n", "é", "`", "{", "abcdefghijklmnopqrstuvwxyz", "0123456789_-0123456789_-0123456789_", strings.Repeat("a", 62), strings.Repeat("0a", 32), "\xff", "Z", "K"}
		for range 100_000 {
			text := ""
			for range random.IntN(6) {
				text += parts[random.IntN(len(parts))]
			}
			if got, want := is(text), expression.MatchString(text); got != want {
				t.Fatalf("%q: %v, and %s says %v", text, got, pattern, want)
			} else if got {
				taken++
			}
		}
		if taken < 100 {
			t.Errorf("%d of the texts match %s", taken, pattern)
		}
	}
}
