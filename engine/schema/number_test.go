package schema

import (
	"math/rand/v2"
	"regexp"
	"testing"
)

// TestNumbersAreWhatTheirPatternsSay compares what is read without an expression with the expressions.
func TestNumbersAreWhatTheirPatternsSay(t *testing.T) {
	for pattern, is := range map[string]func(string) bool{
		`^-?(0|[1-9][0-9]*)$`:                              integerText,
		`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`: jsonNumber,
	} {
		expression, random, taken := regexp.MustCompile(pattern), rand.New(rand.NewPCG(1, 2)), 0
		parts := []string{"0", "1", "20", "-", "+", ".", ".5", "e", "E+3", "e-1", " ", "\n", "\t", "x", "٣", "Inf", "0x1", "_"}
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
