package project

import (
	"math/rand/v2"
	"regexp"
	"testing"
)

// TestNamesAreWhatThePatternSays compares what is read without an expression with the expression.
func TestNamesAreWhatThePatternSays(t *testing.T) {
	for pattern, is := range map[string]func(string) bool{
		`^[a-z][a-z0-9_-]{0,62}$`:  isName,
		`^[A-Za-z_][A-Za-z0-9_]*$`: isVariable,
	} {
		expression, random, taken := regexp.MustCompile(pattern), rand.New(rand.NewPCG(1, 2)), 0
		parts := []string{"a", "z", "9", "_", "-", "A", ".", " ", "\n", "é", "`", "{", "abcdefghijklmnopqrstuvwxyz", "0123456789_-0123456789_-0123456789_", "\xff", "Z", "K"}
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
