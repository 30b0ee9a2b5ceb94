package duration_test

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/flowrun/flowrun/engine/duration"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"30s": 30 * time.Second, "1h30m": 90 * time.Minute, "7d": 168 * time.Hour, "500ms": 500 * time.Millisecond, "30m1h": 90 * time.Minute,
		"PT20M": 20 * time.Minute, "P7D": 168 * time.Hour, "P2W": 336 * time.Hour, "P1DT2H": 26 * time.Hour, "PT1.5S": 1500 * time.Millisecond,
		"PT0.000000001S": 1, "PT1H0M": time.Hour, "0h5s": 5 * time.Second, "106751d": 106751 * 24 * time.Hour, "007s": 7 * time.Second,
	} {
		if got, err := duration.Parse(text); err != nil || got != want {
			t.Errorf("Parse(%q) = %v, %v, want %v", text, got, err, want)
		}
		if got, err := duration.Signed("-" + text); err != nil || got != -want {
			t.Errorf("Signed(%q) = %v, %v, want %v", "-"+text, got, err, -want)
		}
	}
	for text, want := range map[string]string{
		"": "not a duration", "5": "not a duration", "1.5h": "not a duration", "P1M": "not a duration", "P1Y": "not a duration", "PT": "not a duration",
		"P": "not a duration", "P1DT": "not a duration", "h": "not a duration", "1h ": "not a duration", "-1h": "not a duration", "P1W1D": "not a duration",
		"PT1.S": "not a duration", "１s": "not a duration", "1S": "not a duration", "pt1s": "not a duration", "PT1.5H": "not a duration",
		"0s": "greater than 0", "PT0S": "greater than 0", "P0D": "greater than 0", "PT0.0S": "greater than 0",
		"PT1.0000000001S": "finer than a nanosecond", "PT1.1234567890S": "finer than a nanosecond",
		"99999999999d": "too long", "106752d": "too long", "9999999999999999999s": "too long", "PT9223372036.9S": "too long", "292y": "not a duration",
		strings.Repeat("x", 9000): strings.Repeat("x", 60) + "…\" is not",
	} {
		if got, err := duration.Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Parse(%.50q) = %v, %v, want %q", text, got, err, want)
		}
	}
	if got, err := duration.Signed("0s"); err != nil || got != 0 {
		t.Errorf("Signed of nothing: %v, %v", got, err)
	}
	if _, err := duration.Signed("--1h"); err == nil {
		t.Error("two signs are taken")
	}
}

// TestADurationIsWhatThePatternSays, which editors and documents have: for texts of digits, units and what is none.
func TestADurationIsWhatThePatternSays(t *testing.T) {
	pattern, finer := regexp.MustCompile(duration.Pattern), regexp.MustCompile(strings.Replace(duration.Pattern, "{1,9}", "+", 1))
	parts := []string{"0", "7", "12", "1", "3", "1234567890", "ms", "s", "m", "h", "d", "P", "T", "P", "T", "W", "D", "H", "M", "S", ".", ".5S", ".12345678901S", "-", " ", "\n", "é", "٣"}
	random := rand.New(rand.NewPCG(1, 2))
	taken, fine := 0, 0
	for i := range 100_000 {
		text := []string{"", "", "P", "PT"}[i%4]
		for range 1 + random.IntN(8) {
			text += parts[random.IntN(len(parts))]
		}
		_, err := duration.Parse(text)
		said := fmt.Sprint(err)
		switch {
		case pattern.MatchString(text) == (strings.Contains(said, "not a duration") || strings.Contains(said, "finer")):
			t.Fatalf("%q: %v, and the pattern says %v", text, err, pattern.MatchString(text))
		case !pattern.MatchString(text) && finer.MatchString(text) != strings.Contains(said, "finer"):
			t.Fatalf("%q: %v, and with more digits behind the point it matches: %v", text, err, finer.MatchString(text))
		case pattern.MatchString(text):
			taken++
		case finer.MatchString(text):
			fine++
		}
	}
	if taken < 400 || fine < 20 {
		t.Errorf("%d texts match, %d are too fine", taken, fine)
	}
}

func TestHint(t *testing.T) {
	for text, want := range map[string]string{"5": "write `5s`", "1.5": "", "0": "", "0.0": "", "5x": "", "": "", "1e3": "", "-5": "", "Inf": ""} {
		if got := duration.Hint(text); want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("Hint(%q) = %q", text, got)
		}
	}
}

// TestSumOfTheParts adds the parts up in another way, with numbers that can't overflow.
func TestSumOfTheParts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text, sum := drawn(t)
		got, err := duration.Parse(text)
		switch long := !sum.IsInt64(); {
		case long || sum.Sign() == 0:
			if err == nil {
				t.Fatalf("%s is %v, want an error", text, got)
			}
		case err != nil || int64(got) != sum.Int64():
			t.Fatalf("%s is %d, %v, want %s", text, got, err, sum)
		}
		if signed, err := duration.Signed("-" + text); err == nil && signed > 0 {
			t.Fatalf("-%s is %v", text, signed)
		}
	})
}

// drawn is a text of the grammar and its length in nanoseconds.
func drawn(t *rapid.T) (string, *big.Int) {
	sum, text := new(big.Int), ""
	number := rapid.OneOf(rapid.Int64Range(0, 100), rapid.Int64Range(0, math.MaxInt64))
	add := func(size time.Duration, name string) {
		n := number.Draw(t, name)
		text += fmt.Sprint(n) + name
		sum.Add(sum, new(big.Int).Mul(big.NewInt(n), big.NewInt(int64(size))))
	}
	units := []struct {
		size  time.Duration
		plain string
		iso   string
	}{{24 * time.Hour, "d", "D"}, {time.Hour, "h", "H"}, {time.Minute, "m", "M"}, {time.Second, "s", "S"}, {time.Millisecond, "ms", ""}}
	if rapid.Bool().Draw(t, "plain") {
		for range rapid.IntRange(1, 4).Draw(t, "parts") {
			unit := rapid.SampledFrom(units).Draw(t, "unit")
			add(unit.size, unit.plain)
		}
		return text, sum
	}
	text = "P"
	for i, unit := range units[:4] {
		if i == 1 {
			text += "T"
		}
		if rapid.Bool().Draw(t, unit.iso) {
			add(unit.size, unit.iso)
		}
	}
	if strings.HasSuffix(text, "T") {
		add(time.Minute, "M")
	}
	return text, sum
}

// FuzzParse holds what is true of all texts: both readers agree, and what is read is in bounds.
func FuzzParse(f *testing.F) {
	for _, text := range []string{"30s", "PT1.0000000001S", "P1DT2H", "1h30m", "-5s", "P", "99999999999d", "PT0S"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := duration.Parse(text)
		signed, signedErr := duration.Signed(text)
		switch {
		case err == nil && (d <= 0 || signedErr != nil || signed != d):
			t.Fatalf("%q is %v, and %v with %v", text, d, signed, signedErr)
		case err != nil && signedErr == nil && signed > 0:
			t.Fatalf("%q is refused (%v) and is %v", text, err, signed)
		}
		if err == nil && duration.Hint(text) != "" {
			t.Fatalf("%q is a duration and has a hint", text)
		}
	})
}

func TestText(t *testing.T) {
	for d, want := range map[time.Duration]string{30 * time.Second: "30s", 5 * time.Minute: "5m", 90 * time.Minute: "1h30m", 24 * time.Hour: "24h", 100 * time.Millisecond: "100ms", 10 * time.Second: "10s", 0: "0s", time.Hour + time.Second: "1h0m1s"} {
		if got := duration.Text(d); got != want {
			t.Errorf("Text(%d) = %q, want %q", d, got, want)
		}
	}
}

func TestDurationsAsPeopleSayThem(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-1: "0ms", 812 * time.Millisecond: "812ms", 4 * time.Second: "4s", 4290 * time.Millisecond: "4.2s",
		185 * time.Second: "3m05s", 123 * time.Minute: "2h03m",
	} {
		if got := duration.Brief(d); got != want {
			t.Errorf("Brief(%d) is %s, want %s", d, got, want)
		}
	}
}
