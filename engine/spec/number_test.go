package spec

import (
	"testing"

	"github.com/flowrun/flowrun/internal/testpattern"
)

// TestNumbersAreWhatTheirPatternsSay compares what is read without an expression with the expressions.
func TestNumbersAreWhatTheirPatternsSay(t *testing.T) {
	parts := []string{"0", "1", "20", "-", "+", ".", ".5", "e", "E+3", "e-1", " ", "\n", "x", "٣", ".inf", ".Inf", ".INF", ".nan", ".NaN", ".NAN", "inf", ".iNf"}
	for pattern, is := range map[string]func(string) bool{
		`^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$`: jsonNumber,
		`^(?:[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$`:         notANumber,
	} {
		testpattern.Same(t, pattern, is, parts)
	}
}
