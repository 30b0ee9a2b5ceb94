package eval

import (
	"strings"
	"testing"
)

// What an expression may use up is one budget for all of it: two halves that are
// each within it are not, together.
func TestTheBudgetIsOneForTheWholeExpression(t *testing.T) {
	for _, c := range []struct{ half, want string }{
		{`count(1..70000, true)`, "too many steps"},
		{`len(repeat("a", 600000))`, "too much text"},
		{`len(1..150000)`, "too large"},
	} {
		if _, err := run(t, c.half); err != nil {
			t.Errorf("%s: %v", c.half, err)
		}
		if _, err := run(t, c.half+" + "+c.half); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("twice %s: %v, want an error with %q", c.half, err, c.want)
		}
	}
}

func TestAProductOfAnySizeIsExactOrRefused(t *testing.T) {
	for source, want := range map[string]any{
		`3037000499 * 3037000499`: 9223372030926249001, `-4611686018427387904 * 2`: -9223372036854775807 - 1, `4611686018427387904 * 2`: nil,
		`4294967296 * 4294967296`: nil, `9223372036854775807 * 9223372036854775807`: nil, `6442450944 * 5726623062`: nil, `-9223372036854775807 * 3`: nil,
	} {
		got, err := run(t, source)
		if want == nil && (err == nil || !strings.Contains(err.Error(), "64-bit")) {
			t.Errorf("%s is %v, %v", source, got, err)
		}
		if want != nil && (err != nil || got != want) {
			t.Errorf("%s is %v, %v, want %v", source, got, err, want)
		}
	}
}

func TestASourceOfEightKiBIsTheLongest(t *testing.T) {
	if _, err := Compile(strings.Repeat(" ", 8<<10-1) + "1"); err != nil {
		t.Errorf("8 KiB: %v", err)
	}
	if _, err := Compile(strings.Repeat(" ", 8<<10) + "1"); err == nil {
		t.Error("a byte more is taken")
	}
}
