package pluginhost

import (
	"strings"
	"testing"

	"github.com/flowrun/flowrun/internal/testpattern"
)

// TestNamesAreWhatThePatternSays compares what is read without an expression with the expression.
func TestNamesAreWhatThePatternSays(t *testing.T) {
	parts := []string{"a", "z", "9", "_", "-", "A", ".", " ", "\n", "é", "`", "{", "abcdefghijklmnopqrstuvwxyz", "0123456789_-0123456789_-0123456789_", strings.Repeat("a", 62), strings.Repeat("0a", 32), "\xff", "Z", "K"}
	for pattern, is := range map[string]func(string) bool{
		`^[a-z][a-z0-9_-]{0,62}$`: func(text string) bool { return isName(text, nameLetters+"-") },
		`^[a-z][a-z0-9_]{0,62}$`:  validAction,
		`^[0-9a-f]{64}$`:          isDigest,
	} {
		testpattern.Same(t, pattern, is, parts)
	}
}
