package check

import (
	"math/rand/v2"
	"regexp"
	"testing"

	"github.com/flowrun/flowrun/engine/spec"
)

// TestNamesAreWhatThePatternsSay, which editors and documents have: for texts of letters,
// marks, digits, signs and bytes that are none of them.
func TestNamesAreWhatThePatternsSay(t *testing.T) {
	for pattern, is := range map[string]func(string) bool{spec.NamePattern: isName, spec.FieldPattern: isField, spec.IDPattern: isID, spec.TriggerPattern: isTrigger} {
		t.Run(pattern, func(t *testing.T) { compareNames(t, regexp.MustCompile(pattern), is) })
	}
}

func compareNames(t *testing.T, pattern *regexp.Regexp, is func(string) bool) {
	t.Helper()
	parts := []string{"", "a", "Z", "9", " ", ".", "_", "-", "\n", "\u0301", "é", "日", "٣", "Ⅷ", "½", "\xff", "\ufffd", "\u200d", "/", "😀", "ǅ", "ʰ", "b", "c1", "[", "`", "@", "{", "K"}
	random := rand.New(rand.NewPCG(1, 2))
	names := 0
	for range 40_000 {
		text := ""
		for range random.IntN(5) {
			text += parts[random.IntN(len(parts))]
		}
		if got, want := is(text), pattern.MatchString(text); got != want {
			t.Fatalf("%q: %v, and the pattern says %v", text, got, want)
		} else if got {
			names++
		}
	}
	if names < 1000 {
		t.Errorf("%d of the texts are names", names)
	}
}
