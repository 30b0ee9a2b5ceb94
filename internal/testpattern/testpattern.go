// Package testpattern compares what reads a text by hand with the regular expression that
// says what it takes.
package testpattern

import (
	"math/rand/v2"
	"regexp"
	"testing"
)

// Same fails the test where is and the pattern differ about a text. The texts are made of up
// to five of the parts each, the same ones in each run; a hundred of them at least must match,
// or nothing was compared.
func Same(t *testing.T, pattern string, is func(text string) bool, parts []string) {
	t.Helper()
	expression, random, taken := regexp.MustCompile(pattern), rand.New(rand.NewPCG(1, 2)), 0
	for range 100_000 {
		text := ""
		for range random.IntN(6) {
			text += parts[random.IntN(len(parts))]
		}
		got, want := is(text), expression.MatchString(text)
		if got != want {
			t.Fatalf("%q: %v, and %s says %v", text, got, pattern, want)
		}
		if got {
			taken++
		}
	}
	if taken < 100 {
		t.Errorf("%d of the texts match %s", taken, pattern)
	}
}
