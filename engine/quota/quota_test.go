package quota_test

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/flowrun/flowrun/engine/quota"
)

func TestAQuotaGoesUpToItsCeiling(t *testing.T) {
	for _, which := range quota.All() {
		for set, want := range map[int64]int64{
			0: which.Default, -1: which.Default, 1: 1, which.Ceiling: which.Ceiling, which.Ceiling + 1: which.Ceiling, 1 << 62: which.Ceiling,
		} {
			if got := (quota.Values{which.Name: set}).Of(which.Name); got != want {
				t.Errorf("%s set to %d is %d, want %d", which.Name, set, got, want)
			}
		}
		if got := (quota.Values)(nil).Of(which.Name); got != which.Default || which.Default > which.Ceiling {
			t.Errorf("%s is %d, its default %d, its ceiling %d", which.Name, got, which.Default, which.Ceiling)
		}
	}
	if got := (quota.Values)(nil).Of("nothing"); got != 0 {
		t.Errorf("what there is no quota for is %d", got)
	}
}

func TestSizesHaveUnits(t *testing.T) {
	for text, want := range map[string]int64{"1B": 1, "16 KiB": 16 << 10, "64MiB": 64 << 20, "1GiB": 1 << 30} {
		if got, err := quota.ParseSize(text); err != nil || got != want {
			t.Errorf("%s is %d, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "64", "0B", "-1B", "1.5MiB", "1MB", "1mib", "1  B", "999999999999GiB", "1B "} {
		if got, err := quota.ParseSize(text); err == nil {
			t.Errorf("%q is taken for %d bytes", text, got)
		}
	}
}

// TestASizeIsWhatItsPatternSays compares what is read without an expression with the expression.
func TestASizeIsWhatItsPatternSays(t *testing.T) {
	pattern, random, taken := regexp.MustCompile(`^([1-9][0-9]{0,11}) ?(B|KiB|MiB|GiB)$`), rand.New(rand.NewPCG(1, 2)), 0
	parts := []string{"0", "1", "12", "99999999", " ", "B", "KiB", "MiB", "GiB", "K", "iB", "-", ".", "\n", "٣"}
	for range 100_000 {
		text := ""
		for range random.IntN(5) {
			text += parts[random.IntN(len(parts))]
		}
		_, err := quota.ParseSize(text)
		is := err == nil || strings.Contains(err.Error(), "too large")
		if want := pattern.MatchString(text); is != want {
			t.Fatalf("%q: %v, and the pattern says %v", text, err, want)
		} else if is {
			taken++
		}
	}
	if taken < 1000 {
		t.Errorf("%d of the texts are sizes", taken)
	}
}
