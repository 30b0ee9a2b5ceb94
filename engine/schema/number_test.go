package schema

import (
	"testing"

	"github.com/flowrun/flowrun/internal/testpattern"
)

// TestNumbersAreWhatTheirPatternsSay compares what is read without an expression with the expressions.
func TestNumbersAreWhatTheirPatternsSay(t *testing.T) {
	parts := []string{"0", "1", "20", "-", "+", ".", ".5", "e", "E+3", "e-1", " ", "\n", "\t", "x", "٣", "Inf", "0x1", "_"}
	for pattern, is := range map[string]func(string) bool{
		`^-?(0|[1-9][0-9]*)$`:                              integerText,
		`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`: jsonNumber,
	} {
		testpattern.Same(t, pattern, is, parts)
	}
}
