package check

import (
	"math/rand/v2"
	"regexp"
	"testing"

	"github.com/flowrun/flowrun/engine/spec"
)

// TestANameIsWhatThePatternSays, which editors and documents have: for texts of letters,
// marks, digits, signs and bytes that are none of them.
func TestANameIsWhatThePatternSays(t *testing.T) {
	pattern := regexp.MustCompile(spec.NamePattern)
	parts := []string{"", "a", "Z", "9", " ", ".", "_", "-", "\n", "\u0301", "é", "日", "٣", "Ⅷ", "½", "\xff", "\ufffd", "\u200d", "/", "😀", "ǅ", "ʰ"}
	random := rand.New(rand.NewPCG(1, 2))
	names := 0
	for range 20_000 {
		text := ""
		for range random.IntN(5) {
			text += parts[random.IntN(len(parts))]
		}
		if got, want := isName(text), pattern.MatchString(text); got != want {
			t.Fatalf("%q: %v, and the pattern says %v", text, got, want)
		} else if got {
			names++
		}
	}
	if names < 1000 {
		t.Errorf("%d of the texts are names", names)
	}
}
