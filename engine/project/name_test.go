package project

import (
	"testing"

	"github.com/flowrun/flowrun/internal/testpattern"
)

// TestNamesAreWhatThePatternSays compares what is read without an expression with the expression.
func TestNamesAreWhatThePatternSays(t *testing.T) {
	parts := []string{"a", "z", "9", "_", "-", "A", ".", " ", "\n", "é", "`", "{", "abcdefghijklmnopqrstuvwxyz", "0123456789_-0123456789_-0123456789_", "\xff", "Z", "K"}
	for pattern, is := range map[string]func(string) bool{
		`^[a-z][a-z0-9_-]{0,62}$`:  isName,
		`^[A-Za-z_][A-Za-z0-9_]*$`: isVariable,
	} {
		testpattern.Same(t, pattern, is, parts)
	}
}
