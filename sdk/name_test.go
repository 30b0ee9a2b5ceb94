package sdk

import (
	"regexp"
	"strings"
	"testing"
)

// TestNamesAreThoseOfTheirGrammar holds what reads names against the grammar that the
// documents give, by texts made of its pieces.
func TestNamesAreThoseOfTheirGrammar(t *testing.T) {
	pieces := []string{"", "a", "z", "A", "0", "9", "_", "-", " ", "\n", "é", "`", "{", strings.Repeat("b", 61), strings.Repeat("c", 62), strings.Repeat("-", 62)}
	for letters, pattern := range map[string]*regexp.Regexp{
		nameLetters:       regexp.MustCompile(`^[a-z][a-z0-9_]{0,62}$`),
		nameLetters + "-": regexp.MustCompile(`^[a-z][a-z0-9_-]{0,62}$`),
	} {
		for _, first := range pieces {
			for _, second := range pieces {
				for _, third := range pieces {
					if text := first + second + third; isName(text, letters) != pattern.MatchString(text) {
						t.Errorf("%q is a name of %q: %v", text, letters, isName(text, letters))
					}
				}
			}
		}
	}
}
